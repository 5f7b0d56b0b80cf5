/*
 * bench: what the library reaches of what the processor can do.
 *
 * Each row is measured in a process of its own, which takes turns between the figure
 * and its limit, on the same threads: the share stays right when the machine's speed
 * drifts.  Figures, limits and shares are medians over the turns.
 *
 *     bench [NAME...]        only rows whose name contains a NAME
 *     BENCH_FORMAT=tsv       for machines; also with the seconds that a product, a step or
 *                            a token of each sequence took
 *     BENCH_TURNS=N          turns, 1 to 99 (5)
 */
#define _DEFAULT_SOURCE /* wait4 */
#include <fcntl.h>
#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "formats/sink.h"
#include "lib/base/rng.h"
#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/presets.h"
#include "lib/kernels/kernels.h"
#include "lib/lens/attribute.h"
#include "lib/lens/lens.h"
#include "lib/models/model_archive.h"
#include "lib/nn/attention.h"
#include "lib/text/bare_ids.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens_write.h"
#include "lib/train/trainer.h"
#include "tests/bench/bpe.h"
#include "tests/bench/dump.h"
#include "tests/bench/heads.h"
#include "tests/unit/fused_qkv.h"
#include "tests/bench/split.h"

enum { TURNS = 5, TURNS_MAX = 99 };

struct figure {
    double value, limit, share;
    double seconds;   /* that one call took */
    double megabytes; /* resident, at its peak */
    bool there;       /* false if this processor cannot */
};

/* One measurement: units of work done (operations, bytes, tokens), to be divided by
 * the seconds that it took.  context is the row's set-up. */
typedef double (*work)(void *context);

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void *must(void *p)
{
    if (!p) {
        fputs("bench: out of memory\n", stderr);
        exit(3);
    }
    return p;
}

static void check(tg_status status, const tg_err *err)
{
    if (status) {
        fprintf(stderr, "bench: %s\n", err->message);
        exit(1);
    }
}

/* Work repeated for at least `seconds`: units per second, and the seconds of one call. */
struct pace {
    double rate, seconds;
};

static struct pace pace(work f, void *context, double seconds)
{
    double start = now(), units = 0, calls = 0, t;

    do {
        units += f(context);
        calls++;
    } while ((t = now() - start) < seconds);
    return (struct pace){.rate = units / t, .seconds = t / calls};
}

/* ---- limits */

typedef double (*peak)(size_t rounds);

/* Of every instruction set in the Makefile's list, X(name) for each. */
#define X(isa)                                                                                               \
    double tg_peak_float32_##isa(size_t rounds);                                                             \
    double tg_peak_bf16_##isa(size_t rounds);
TG_ISAS
#undef X

static peak peak_of(bool bf16)
{
    static const struct {
        const char *isa;
        peak float32, bf16;
    } all[] = {
#define X(isa) {#isa, tg_peak_float32_##isa, tg_peak_bf16_##isa},
        TG_ISAS
#undef X
    };
    size_t i = 0;

    while (strcmp(all[i].isa, tg_kernels_get()->isa) != 0)
        i++;
    return bf16 ? all[i].bf16 : all[i].float32;
}

struct peaks {
    peak f;
    double *operations; /* of each part */
};

static void run_part(void *context, size_t begin, size_t end)
{
    const struct peaks *p = context;

    for (size_t i = begin; i < end; i++)
        p->operations[i] = p->f(1000000);
}

/* As many parts as threads. */
static double run_peak(void *context)
{
    double operations[TG_THREADS_MAX], sum = 0;
    struct peaks p = {*(peak *)context, operations};

    tg_threads_run(tg_threads(), 1, run_part, &p);
    for (size_t i = 0; i < tg_threads(); i++)
        sum += operations[i];
    return sum;
}

#define MEMORY ((size_t)512 << 20) /* beyond any cache */

static void read_piece(void *context, size_t begin, size_t end)
{
    static atomic_uint below;
    const float *x = context;
    float lane[64] = {0};

    for (size_t j = begin; j < end; j += 64)
        for (size_t l = 0; l < 64; l++)
            lane[l] += x[j + l];
    below += lane[0] + lane[63] < 0; /* uses the sums */
}

/* All threads read a big buffer. */
static double read_memory(void *context)
{
    tg_threads_run(MEMORY / sizeof(float), (size_t)1 << 18, read_piece, context);
    return (double)MEMORY;
}

/* One thread copies; the bytes count once. */
static double copy_memory(void *context)
{
    char *x = context;

    memcpy(x, x + MEMORY / 2, MEMORY / 2);
    return (double)(MEMORY / 2);
}

/* Memory as the library places it. */
static void *placed(size_t bytes)
{
    tg_arena arena = {0};
    tg_err err;

    (void)tg_arena_take(&arena, 1, bytes);
    check(tg_arena_alloc(&arena, &err), &err);
    return tg_arena_take(&arena, 1, bytes);
}

static void *big_buffer(void)
{
    return memset(placed(MEMORY), 1, MEMORY);
}

/* ---- turns */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static size_t turns(void)
{
    const char *given = getenv("BENCH_TURNS");
    const long n = given ? strtol(given, NULL, 10) : TURNS;

    return n < 1 || n > TURNS_MAX ? TURNS : (size_t)n;
}

static double median(double *x, size_t n)
{
    qsort(x, n, sizeof *x, ascending);
    return x[n / 2];
}

static struct figure compare(work f, void *context, double seconds, work limit, void *limit_context)
{
    double value[TURNS_MAX], most[TURNS_MAX], share[TURNS_MAX], each[TURNS_MAX];
    const size_t n = turns();

    (void)f(context); /* warm up */
    for (size_t i = 0; i < n; i++) {
        struct pace p;

        most[i] = pace(limit, limit_context, 0.1).rate;
        p = pace(f, context, seconds);
        most[i] = 0.5 * (most[i] + pace(limit, limit_context, 0.1).rate);
        value[i] = p.rate;
        each[i] = p.seconds;
        share[i] = value[i] / most[i];
    }
    return (struct figure){.value = median(value, n),
                           .limit = median(most, n),
                           .share = median(share, n),
                           .seconds = median(each, n),
                           .there = true};
}

static struct figure against_peak(work f, void *context, double seconds, bool bf16)
{
    peak p = peak_of(bf16);

    if (bf16 && p(1) == 0) /* bf16 in memory only */
        p = peak_of(false);
    return compare(f, context, seconds, run_peak, &p);
}

/* ---- products */

struct product {
    tg_matmul op;
    tg_matmul_scratch scratch;
};

static double run_product(void *context)
{
    struct product *p = context;

    tg_matmul_run(&p->op, &p->scratch);
    return 2.0 * (double)p->op.M * (double)p->op.N * (double)p->op.K;
}

static float *filled(size_t n)
{
    float *x = placed(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i * 7 % 13) / 13.0f - 0.5f;
    return x;
}

struct row {
    const char *name;
    struct figure (*measure)(const struct row *row);
    size_t a, b, c, d; /* the row's numbers */
    bool bf16;
    const char *unit, *of;
};

static tg_bf16 *filled16(size_t n)
{
    tg_bf16 *y = placed(n * sizeof *y);

    (void)tg_round_to_bf16(y, filled(n), n);
    return y;
}

/* Activations in bf16: A, and B and C where they are none of a weight; a sum over more than the channels
 * is the residual stream's, in float32. */
static void in_bf16(tg_matmul *op, bool to_weight)
{
    op->a = filled16(op->M * op->K);
    op->a_type = TG_TYPE_BF16;
    if (to_weight) {
        op->b = filled16(op->K * op->N);
        op->b_type = TG_TYPE_BF16;
    } else if (op->K <= op->N) {
        op->c = filled16(op->M * op->N);
        op->c_type = TG_TYPE_BF16;
    }
}

/* a x c times c x b; d: 0 forward, 1 to the input (B transposed), 2 to the weight (A). */
static struct figure product(const struct row *row)
{
    const size_t M = row->a, N = row->b, K = row->c;
    struct product p = {
        .op = {.M = M, .N = N, .K = K, .a = filled(M * K), .b = filled(K * N), .c = filled(M * N), .ldc = N},
        .scratch = {.packed = must(aligned_alloc(64, tg_matmul_work(tg_threads()))),
                    .threads = tg_threads(),
                    .precision = row->bf16 ? TG_PRECISION_BF16 : TG_PRECISION_FLOAT32},
    };

    p.op.a_row = row->d == 2 ? 1 : K;
    p.op.a_col = row->d == 2 ? M : 1;
    p.op.b_row = row->d == 1 ? 1 : N;
    p.op.b_col = row->d == 1 ? K : 1;
    if (row->bf16)
        in_bf16(&p.op, row->d == 2);
    return against_peak(run_product, &p, 0.2, row->bf16);
}

/* ---- attention */

/* Its arrays are float32, or all but lse bf16. */
struct attention {
    tg_attention op;
    tg_type type;
    bool backward;
    void *qkv, *dqkv, *out, *dout;
    float *lse;
    tg_attention_scratch scratch;
    tg_arena arena;
};

static double run_attention(void *context)
{
    struct attention *a = context;
    const tg_attention *op = &a->op;
    const size_t C = op->H * op->D;
    const double operations = 2.0 * (double)op->B * (double)C * (double)op->T * (double)(op->T + 1);
    const tg_qkv qkv = fused_qkv_matrices(a->qkv, a->type, op);
    const tg_qkv dqkv = fused_qkv_matrices(a->dqkv, a->type, op);
    const tg_matrix out = tg_matrix_of(a->out, a->type, C), dout = tg_matrix_of(a->dout, a->type, C);
    const tg_matrix lse = tg_matrix_of(a->lse, TG_TYPE_FLOAT, op->H);

    if (a->backward)
        tg_attention_backward(&dqkv, dout, out, lse, &qkv, op);
    else
        tg_attention_forward(out, lse, &qkv, op);
    return a->backward ? 2.5 * operations : operations; /* five products for forward's two */
}

/* B, T, C, H = a..d; bf16 stands for backward here. */
static struct figure attention_in(const struct row *row, bool half)
{
    const size_t B = row->a, T = row->b, C = row->c, H = row->d, n = B * T * C;
    struct attention a = {.op = {FUSED_QKV(B, T, C, H)}, .type = half ? TG_TYPE_BF16 : TG_TYPE_FLOAT};
    tg_err err;

    a.qkv = half ? (void *)filled16(3 * n) : filled(3 * n);
    a.dqkv = half ? (void *)filled16(3 * n) : filled(3 * n);
    a.out = half ? (void *)filled16(n) : filled(n);
    a.dout = half ? (void *)filled16(n) : filled(n);
    a.lse = filled(B * H * T);
    tg_attention_place(&a.arena, &a.scratch, a.type, T, C / H, 1);
    check(tg_arena_alloc(&a.arena, &err), &err);
    tg_attention_place(&a.arena, &a.scratch, a.type, T, C / H, 1);
    a.op.scratch = &a.scratch;
    (void)run_attention(&a);
    a.backward = row->bf16;
    return against_peak(run_attention, &a, 0.2, half);
}

static struct figure attention(const struct row *row)
{
    return attention_in(row, false);
}

static struct figure attention16(const struct row *row)
{
    return attention_in(row, true);
}

/* ---- training steps */

/* Models, as presets or as changed ones: mid has 6 layers, 6 heads, 384 wide, of the size that people train
 * on a few million characters; cs336 is the model of Stanford's course of that number. */
enum { BABY, GPT2, MID, SMOLLM2, CS336 };

static tg_config config_of(size_t model)
{
    static const char *const presets[] = {"baby", "gpt2", "baby", "smollm2-135m", "baby-llama"};
    tg_config c = tg_config_preset(0);

    for (size_t i = 0; tg_config_preset_name(i); i++)
        if (strcmp(tg_config_preset_name(i), presets[model]) == 0)
            c = tg_config_preset(i);
    if (model == MID) {
        c.n_layer = c.n_head = 6;
        c.n_embd = 384;
        c.n_ctx = 256;
    }
    if (model == CS336) {
        c.n_layer = 4;
        c.n_head = c.n_kv_head = 16;
        c.n_embd = 512;
        c.n_inner = 1344;
        c.n_ctx = 256;
        c.vocab_size = 10000;
        c.tied = false;
    }
    tg_config_derive(&c);
    return c;
}

/* The parameters that a token is multiplied with. */
static double multiplied(const tg_model *m)
{
    const tg_config *c = &m->config;
    const double positions = tg_model_weight(m, TG_WPE, 0) ? (double)(c->n_ctx * c->n_embd) : 0;

    return (double)m->table.count - positions - (c->tied ? 0 : (double)(c->vocab_size * c->n_embd));
}

/* The operations of attention for a token among T, of which the causal mask leaves half. */
static double attended(const tg_config *c, size_t T)
{
    return 2.0 * (double)c->n_layer * (double)(T + 1) * (double)tg_dim_size(TG_DIM_Q, c);
}

static tg_model new_model_with(size_t model, const tg_tokenizer *tok)
{
    tg_config config = config_of(model);
    tg_model m;
    tg_err err;

    check(tg_model_create(&m, &config, tok, 1, &err), &err);
    tg_tokenizer_free(tok);
    return m;
}

static tg_model new_model(size_t model)
{
    const tg_tokenizer *tok;
    tg_err err;

    check(tg_tokenizer_create(&tok, "bytes", &err), &err);
    return new_model_with(model, tok);
}

static tg_tokens random_text(size_t n)
{
    const tg_rng rng = {.seed = 1, .purpose = TG_RNG_SAMPLE};
    tg_tokens t = {.count = n, .width = 1, .data = must(malloc(n))};

    for (size_t i = 0; i < n; i++)
        t.data[i] = (unsigned char)tg_rng_u64(&rng, i);
    return t;
}

static double run_step(void *context)
{
    tg_trainer *t = context;
    const tg_settings *s = &t->run->settings;
    const tg_config *c = &t->run->model.config;
    tg_step_report report;
    tg_err err;
    double tokens = (double)(s->batch * s->context);

    check(tg_trainer_step(t, &report, &err), &err);
    /* forward, and twice that backward */
    return tokens * 3.0 * (2.0 * multiplied(&t->run->model) + attended(c, s->context));
}

/* model a, batch b x c; d: with Muon, whose own operations do not count */
static struct figure step(const struct row *row)
{
    tg_run run = {0};
    tg_batches batches;
    tg_trainer t;
    tg_err err;
    tg_model m = new_model(row->a);
    tg_tokens text = random_text(200000);

    check(tg_run_begin(&run, &m, &err), &err);
    run.settings.batch = row->b;
    run.settings.context = row->c;
    run.settings.lr = 1e-5;
    run.settings.optimizer = row->d ? TG_OPTIMIZER_MUON : TG_OPTIMIZER_ADAMW;
    run.settings.precision = row->bf16 ? TG_PRECISION_BF16 : TG_PRECISION_FLOAT32;
    check(tg_batches_init(&batches, &text, 1, row->c, true, (tg_held_out){0, 1, NULL}, &err), &err);
    check(tg_trainer_open(&t, &run, &batches, &tg_team_alone, &err), &err);
    return against_peak(run_step, &t, 0.5, row->bf16);
}

/* ---- sampling */

struct sampling {
    tg_infer f;
    tg_packed_model packed;
    int32_t *ids;
    float *logits;
    double work; /* bytes of weights, or operations, for each token of all sequences */
};

static double run_token(void *context)
{
    struct sampling *s = context;

    if (s->f.cache.past + 1 >= s->f.cache.keys)
        tg_infer_reset(&s->f);
    tg_infer_run(&s->f, s->ids, 1, s->logits);
    return s->work;
}

/* model a, b sequences together, weights of type c: d 0 bytes of weights read a second, or, where these are
 * so many operations that reading is not the limit, d 1 operations: all are in float32 */
static struct figure sampling(const struct row *row)
{
    static const size_t bytes[] = {[TG_WEIGHT_FLOAT32] = 4, [TG_WEIGHT_BF16] = 2, [TG_WEIGHT_INT8] = 1};
    static tg_model m;
    const tg_weight_type type = (tg_weight_type)row->c;
    struct sampling s = {0};
    tg_arena arena = {0};
    tg_err err;
    size_t keys;

    m = new_model(row->a);
    keys = tg_size_min(m.config.n_ctx, 256);
    tg_infer_place(&arena, &s.f, &m, row->b, row->b, keys);
    check(tg_arena_alloc(&arena, &err), &err);
    tg_infer_place(&arena, &s.f, &m, row->b, row->b, keys);
    tg_infer_select(&s.f, 0, row->b);
    if (type != TG_WEIGHT_FLOAT32 || row->b > 1) {
        check(tg_packed_model_create(&s.packed, &m, type, &err), &err);
        s.f.packed = &s.packed;
    }
    s.ids = must(calloc(row->b, sizeof *s.ids));
    s.logits = filled(row->b * m.config.vocab_size);
    s.work = multiplied(&m);
    s.work *= row->d == 1 ? 2.0 * (double)row->b : (double)bytes[type];
    if (row->d == 1)
        return against_peak(run_token, &s, 0.5, false);
    return compare(run_token, &s, 0.5, read_memory, big_buffer());
}

/* ---- prompts */

struct prompt {
    struct sampling s;
    size_t n;
};

static double run_prompt(void *context)
{
    struct prompt *p = context;
    const tg_model *m = p->s.f.model;

    tg_infer_reset(&p->s.f);
    tg_infer_run(&p->s.f, p->s.ids, p->n, p->s.logits);
    return (double)p->n * (2.0 * multiplied(m) + attended(&m->config, p->n));
}

/* model a, b tokens, weights of type c */
static struct figure prompt(const struct row *row)
{
    static tg_model m;
    const tg_weight_type type = (tg_weight_type)row->c;
    struct prompt p = {.n = row->b};
    tg_arena arena = {0};
    tg_err err;

    m = new_model(row->a);
    tg_infer_place(&arena, &p.s.f, &m, p.n, 1, p.n);
    check(tg_arena_alloc(&arena, &err), &err);
    tg_infer_place(&arena, &p.s.f, &m, p.n, 1, p.n);
    if (type != TG_WEIGHT_FLOAT32) {
        check(tg_packed_model_create(&p.s.packed, &m, type, &err), &err);
        p.s.f.packed = &p.s.packed;
    }
    p.s.ids = must(calloc(p.n, sizeof *p.s.ids));
    p.s.logits = filled(m.config.vocab_size);
    return against_peak(run_prompt, &p, 0.5, row->bf16);
}

/* ---- what each layer predicts, and the parts of a logit */

struct lens {
    tg_model model;
    tg_lens lens;
    tg_attribution parts;
    int32_t *ids;
    double work; /* operations of a run */
};

static tg_status take_nothing(void *context, const tg_lens_row *row, tg_err *err)
{
    (void)context;
    (void)row;
    (void)err;
    return TG_OK;
}

static double run_lens(void *context)
{
    struct lens *n = context;
    tg_err err;

    check(tg_lens_run(&n->lens, n->ids, take_nothing, NULL, &err), &err);
    return n->work;
}

static double run_parts(void *context)
{
    struct lens *n = context;
    tg_err err;

    check(tg_attribution_run(&n->parts, n->ids, &err), &err);
    return n->work;
}

/* Model a with a text of T tokens, whose ids have no text; n->work is that of its blocks. */
static void begin_lens(struct lens *n, const struct row *row, size_t T)
{
    const size_t V = config_of(row->a).vocab_size;
    const tg_rng rng = {.seed = 1, .purpose = TG_RNG_SAMPLE};
    const tg_tokenizer *tok;
    const tg_config *c;
    tg_err err;

    check(tg_bare_ids_create(&tok, V, &err), &err);
    n->model = new_model_with(row->a, tok);
    c = &n->model.config;
    n->ids = must(calloc(T, sizeof *n->ids));
    for (size_t t = 0; t < T; t++)
        n->ids[t] = (int32_t)(tg_rng_u64(&rng, t) % V);
    n->work = (double)T * (2.0 * (multiplied(&n->model) - (double)(V * c->n_embd)) + attended(c, T));
}

/* model a, b tokens, the c most probable tokens of each row */
static struct figure lens(const struct row *row)
{
    static struct lens n;
    const size_t T = row->b;
    tg_lens_plan plan = {.top = row->c, .layer = TG_LENS_ALL, .position = TG_LENS_ALL};
    const tg_config *c = &n.model.config;
    tg_err err;

    begin_lens(&n, row, T);
    plan.targets = n.ids;
    check(tg_lens_open(&n.lens, &n.model, T, &plan, &err), &err);
    n.work += 2.0 * (double)(c->n_layer + 1) * (double)T * (double)(c->vocab_size * c->n_embd);
    return against_peak(run_lens, &n, 0.5, false);
}

/* model a, b tokens: of the last one's logit */
static struct figure attribution(const struct row *row)
{
    static struct lens n;
    const tg_attribute_plan plan = {.position = row->b - 1, .token = 1, .minus = 2};
    tg_err err;

    begin_lens(&n, row, row->b);
    check(tg_attribution_open(&n.parts, &n.model, row->b, &plan, &err), &err);
    return against_peak(run_parts, &n, 0.5, false);
}

/* ---- heads; what is in double precision has half of the peak at most */

/* a tokens: all patches; with d = 1 what they, with 2 what all edges would change to first order */
static struct figure patches(const struct row *row)
{
    static double (*const run[])(void *) = {patching_run, patching_estimate, patching_edges};

    return against_peak(run[row->d], patching_open(row->a), 0.5, false);
}

static struct figure compose(const struct row *row)
{
    (void)row;
    return against_peak(compose_run, compose_open(), 0.5, false);
}

static struct figure circuit(const struct row *row)
{
    (void)row;
    return against_peak(table_run, table_open(), 0.5, false);
}

/* ---- files */

struct file {
    const tg_model *model;
    const unsigned char *text;
    size_t n;
    int fd;
};

static double run_archive_write(void *context)
{
    struct file *f = context;
    tg_err err;

    if (lseek(f->fd, 0, SEEK_SET) != 0)
        exit(3);
    check(tg_model_write(f->model, f->fd, &err), &err);
    return (double)lseek(f->fd, 0, SEEK_CUR);
}

static double run_archive_read(void *context)
{
    struct file *f = context;
    tg_model m;
    tg_err err;
    double bytes = (double)lseek(f->fd, 0, SEEK_END);

    if (lseek(f->fd, 0, SEEK_SET) != 0)
        exit(3);
    check(tg_model_read(&m, f->fd, false, NULL, NULL, &err), &err);
    tg_model_free(&m);
    return bytes;
}

/* A file without a name. */
static int new_file(void)
{
    char path[] = "/tmp/bench-XXXXXX";
    const int fd = mkstemp(path);

    if (fd < 0 || unlink(path) != 0)
        exit(3);
    return fd;
}

/* a: 0 writing, 1 reading (mapped) a model of GPT-2's size, in the page cache */
static struct figure archive(const struct row *row)
{
    static tg_model m;
    struct file f = {.model = &m, .fd = new_file()};
    void *buffer = big_buffer();

    m = new_model(GPT2);
    (void)run_archive_write(&f);
    return compare(row->a ? run_archive_read : run_archive_write, &f, 0.3, copy_memory, buffer);
}

static double run_tokenize(void *context)
{
    struct file *f = context;
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_err err;

    check(tg_tokenizer_create(&tok, "bytes", &err), &err);
    check(tg_tokens_create(&w, f->fd, tok, &err), &err);
    check(tg_tokens_write_packed(w, f->text, f->n, &err), &err);
    check(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    tg_tokenizer_free(tok);
    return (double)f->n;
}

/* A text to a pipe, which another process empties. */
static struct figure tokenize(const struct row *row)
{
    struct file f = {.n = (size_t)64 << 20};
    const int text = new_file();
    int ends[2];
    pid_t reader;
    struct figure result;
    void *buffer;
    tg_err err;

    (void)row;
    if (pipe(ends) != 0 || (reader = fork()) < 0)
        exit(3);
    if (reader == 0) {
        static char sink[1 << 18];

        close(ends[1]);
        while (read(ends[0], sink, sizeof sink) > 0)
            ;
        _exit(0);
    }
    close(ends[0]);
    f.fd = ends[1];
    buffer = big_buffer();
    check(tg_write_all(text, buffer, f.n, &err), &err);
    f.text = mmap(NULL, f.n, PROT_READ, MAP_PRIVATE, text, 0);
    if (f.text == MAP_FAILED)
        exit(3);
    result = compare(run_tokenize, &f, 0.3, copy_memory, buffer);
    close(ends[1]);
    waitpid(reader, NULL, 0);
    return result;
}

/* a: the rule */
static struct figure split(const struct row *row)
{
    return compare(split_run, split_open((tg_split)row->a), 0.3, copy_memory, big_buffer());
}

/* a: the text */
static struct figure bpe(const struct row *row)
{
    return compare(bpe_run, bpe_open((enum bpe_text)row->a), 0.3, copy_memory, big_buffer());
}

/* a: the text */
static struct figure learning(const struct row *row)
{
    return compare(bpe_learn, bpe_open((enum bpe_text)row->a), 0.3, copy_memory, big_buffer());
}

/* Scores of a layer as TSV: how much computing them, and keeping the order, costs besides
 * the text itself. */
static struct figure dump(const struct row *row)
{
    struct dump *d = dump_open(row->a, row->b, row->c);

    return compare(dump_rows, d, 0.3, dump_text, d);
}

/* ---- the table */

#define GF 1e9
#define FLOPS "GFLOP/s", "peak"
#define BYTES "GB/s"

static const struct row rows[] = {
    {"product gpt2 qkv 256x2304x768", product, 256, 2304, 768, 0, false, FLOPS},
    {"product gpt2 fc 1024x3072x768", product, 1024, 3072, 768, 0, false, FLOPS},
    {"product gpt2 fc to input 1024x768x3072", product, 1024, 768, 3072, 1, false, FLOPS},
    {"product gpt2 fc to weight 768x3072x1024", product, 768, 3072, 1024, 2, false, FLOPS},
    {"product gpt2 head 256x50257x768", product, 256, 50257, 768, 1, false, FLOPS},
    {"product baby fc 768x512x128", product, 768, 512, 128, 0, false, FLOPS},
    {"product baby proj 768x128x512", product, 768, 128, 512, 0, false, FLOPS},
    {"product baby to weight 128x512x768", product, 128, 512, 768, 2, false, FLOPS},
    {"product bf16 gpt2 qkv 256x2304x768", product, 256, 2304, 768, 0, true, FLOPS},
    {"product bf16 gpt2 fc 1024x3072x768", product, 1024, 3072, 768, 0, true, FLOPS},
    {"product bf16 gpt2 fc to input 1024x768x3072", product, 1024, 768, 3072, 1, true, FLOPS},
    {"product bf16 gpt2 fc to weight 768x3072x1024", product, 768, 3072, 1024, 2, true, FLOPS},
    {"product bf16 gpt2 head 256x50257x768", product, 256, 50257, 768, 1, true, FLOPS},
    {"product bf16 baby fc 768x512x128", product, 768, 512, 128, 0, true, FLOPS},
    {"product bf16 baby proj 768x128x512", product, 768, 128, 512, 0, true, FLOPS},
    {"product bf16 baby to weight 128x512x768", product, 128, 512, 768, 2, true, FLOPS},
    {"attention forward gpt2 4x1024", attention, 4, 1024, 768, 12, false, FLOPS},
    {"attention backward gpt2 4x1024", attention, 4, 1024, 768, 12, true, FLOPS},
    {"attention forward baby 12x64", attention, 12, 64, 128, 4, false, FLOPS},
    {"attention backward baby 12x64", attention, 12, 64, 128, 4, true, FLOPS},
    {"attention bf16 forward gpt2 4x1024", attention16, 4, 1024, 768, 12, false, FLOPS},
    {"attention bf16 backward gpt2 4x1024", attention16, 4, 1024, 768, 12, true, FLOPS},
    {"attention bf16 forward baby 12x64", attention16, 12, 64, 128, 4, false, FLOPS},
    {"attention bf16 backward baby 12x64", attention16, 12, 64, 128, 4, true, FLOPS},
    {"step baby 12x64", step, BABY, 12, 64, 0, false, FLOPS},
    {"step bf16 baby 12x64", step, BABY, 12, 64, 0, true, FLOPS},
    {"step mid 16x256", step, MID, 16, 256, 0, false, FLOPS},
    {"step bf16 mid 16x256", step, MID, 16, 256, 0, true, FLOPS},
    {"step gpt2 4x64", step, GPT2, 4, 64, 0, false, FLOPS},
    {"step bf16 gpt2 4x64", step, GPT2, 4, 64, 0, true, FLOPS},
    {"step gpt2 4x1024", step, GPT2, 4, 1024, 0, false, FLOPS},
    {"step bf16 gpt2 4x1024", step, GPT2, 4, 1024, 0, true, FLOPS},
    {"step cs336 16x256", step, CS336, 16, 256, 0, false, FLOPS},
    {"step bf16 cs336 16x256", step, CS336, 16, 256, 0, true, FLOPS},
    {"step smollm2 4x256", step, SMOLLM2, 4, 256, 0, false, FLOPS},
    {"step bf16 smollm2 4x256", step, SMOLLM2, 4, 256, 0, true, FLOPS},
    {"step muon baby 12x64", step, BABY, 12, 64, 1, false, FLOPS},
    {"step muon bf16 baby 12x64", step, BABY, 12, 64, 1, true, FLOPS},
    {"step muon mid 16x256", step, MID, 16, 256, 1, false, FLOPS},
    {"step muon bf16 mid 16x256", step, MID, 16, 256, 1, true, FLOPS},
    {"step muon gpt2 4x1024", step, GPT2, 4, 1024, 1, false, FLOPS},
    {"step muon bf16 gpt2 4x1024", step, GPT2, 4, 1024, 1, true, FLOPS},
    {"prompt smollm2 512", prompt, SMOLLM2, 512, TG_WEIGHT_FLOAT32, 0, false, FLOPS},
    {"prompt bf16 smollm2 512", prompt, SMOLLM2, 512, TG_WEIGHT_BF16, 0, true, FLOPS},
    {"prompt int8 smollm2 512", prompt, SMOLLM2, 512, TG_WEIGHT_INT8, 0, false, FLOPS},
    {"sample smollm2 one sequence", sampling, SMOLLM2, 1, TG_WEIGHT_FLOAT32, 0, false, BYTES, "reading"},
    {"sample bf16 smollm2 one sequence", sampling, SMOLLM2, 1, TG_WEIGHT_BF16, 0, false, BYTES, "reading"},
    {"sample int8 smollm2 one sequence", sampling, SMOLLM2, 1, TG_WEIGHT_INT8, 0, false, BYTES, "reading"},
    {"sample gpt2 one sequence", sampling, GPT2, 1, TG_WEIGHT_FLOAT32, 0, false, BYTES, "reading"},
    {"sample bf16 gpt2 one sequence", sampling, GPT2, 1, TG_WEIGHT_BF16, 0, false, BYTES, "reading"},
    {"sample int8 gpt2 one sequence", sampling, GPT2, 1, TG_WEIGHT_INT8, 0, false, BYTES, "reading"},
    {"sample gpt2 16 sequences", sampling, GPT2, 16, TG_WEIGHT_FLOAT32, 0, false, BYTES, "reading"},
    {"sample bf16 gpt2 16 sequences", sampling, GPT2, 16, TG_WEIGHT_BF16, 1, false, FLOPS},
    {"sample int8 gpt2 16 sequences", sampling, GPT2, 16, TG_WEIGHT_INT8, 1, false, FLOPS},
    {"sample baby one sequence", sampling, BABY, 1, 0, 0, false, BYTES, "reading"},
    {"lens gpt2 1024, top 10", lens, GPT2, 1024, 10, 0, false, FLOPS},
    {"attribute gpt2 1024", attribution, GPT2, 1024, 0, 0, false, FLOPS},
    {"attribute smollm2 512", attribution, SMOLLM2, 512, 0, 0, false, FLOPS},
    {"patch gpt2 144 heads x 15", patches, 15, 0, 0, 0, false, FLOPS},
    {"patch attribution gpt2 15", patches, 15, 0, 0, 1, false, FLOPS},
    {"patch edges gpt2 15", patches, 15, 0, 0, 2, false, FLOPS},
    {"compose gpt2", compose, 0, 0, 0, 0, false, FLOPS},
    {"circuit gpt2", circuit, 0, 0, 0, 0, false, FLOPS},
    {"tokenize bytes to a pipe", tokenize, 0, 0, 0, 0, false, BYTES, "memcpy"},
    {"split gpt2", split, TG_SPLIT_GPT2, 0, 0, 0, false, BYTES, "memcpy"},
    {"split cl100k", split, TG_SPLIT_CL100K, 0, 0, 0, false, BYTES, "memcpy"},
    {"split o200k", split, TG_SPLIT_O200K, 0, 0, 0, false, BYTES, "memcpy"},
    {"encode bpe english", bpe, BPE_ENGLISH, 0, 0, 0, false, BYTES, "memcpy"},
    {"encode bpe one letter", bpe, BPE_LETTER, 0, 0, 0, false, BYTES, "memcpy"},
    {"encode bpe spaces", bpe, BPE_SPACES, 0, 0, 0, false, BYTES, "memcpy"},
    {"encode bpe digits", bpe, BPE_DIGITS, 0, 0, 0, false, BYTES, "memcpy"},
    {"encode bpe cjk", bpe, BPE_CJK, 0, 0, 0, false, BYTES, "memcpy"},
    {"encode bpe random bytes", bpe, BPE_RANDOM, 0, 0, 0, false, BYTES, "memcpy"},
    {"learn bpe english", learning, BPE_ENGLISH, 0, 0, 0, false, BYTES, "memcpy"},
    {"learn bpe one letter", learning, BPE_LETTER, 0, 0, 0, false, BYTES, "memcpy"},
    {"dump gpt2 scores as tsv 1024x12x64", dump, 1024, 12, 64, 0, false, BYTES, "formatting"},
    {"archive write gpt2", archive, 0, 0, 0, 0, false, BYTES, "memcpy"},
    {"archive read gpt2", archive, 1, 0, 0, 0, false, BYTES, "memcpy"},
};

static bool wanted(const struct row *row, int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (strstr(row->name, argv[i]))
            return true;
    return argc == 1;
}

/* Measure a row in a child, which leaves nothing to the next one.  The parent runs no
 * threads: a child would wait forever for those that it did not inherit. */
static struct figure in_child(const struct row *row, const char *isa)
{
    struct figure f = {0};
    tg_err err;
    struct rusage usage;
    int ends[2], status;
    pid_t child;

    if (pipe(ends) != 0 || (child = fork()) < 0) {
        perror("bench");
        exit(3);
    }
    if (child == 0) {
        close(ends[0]);
        if (isa)
            check(tg_kernels_choose(isa, &err), &err);
        f = row->measure(row);
        _exit(write(ends[1], &f, sizeof f) == (ssize_t)sizeof f ? 0 : 3);
    }
    close(ends[1]);
    if (read(ends[0], &f, sizeof f) != (ssize_t)sizeof f)
        f = (struct figure){0};
    close(ends[0]);
    if (wait4(child, &status, 0, &usage) != child || status != 0) {
        fprintf(stderr, "bench: %s failed\n", row->name);
        exit(1);
    }
    f.megabytes = (double)usage.ru_maxrss / 1024;
    return f;
}

static void print(const struct row *row, const struct figure *f, bool tsv)
{
    if (tsv)
        printf("%s\t%.3f\t%s\t%.3f\t%s\t%.4f\t%.0f\t%.4g\n", row->name, f->value / GF, row->unit,
               f->limit / GF, row->of, f->share, f->megabytes, f->seconds);
    else if (!f->there)
        printf("%-45s %9s\n", row->name, "not here");
    else
        printf("%-45s %9.*f %-8s of %7.1f %-8s %5.1f %%  %6.0f MiB\n", row->name, f->value < GF ? 3 : 1,
               f->value / GF, row->unit, f->limit / GF, row->of, 100 * f->share, f->megabytes);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *format = getenv("BENCH_FORMAT"), *isa = getenv("TG_ISA");
    const bool tsv = format && strcmp(format, "tsv") == 0;

    if (tsv)
        puts("row\tvalue\tunit\tlimit\tof\tshare\tmib\tseconds");
    else
        printf("%s kernels\n\n%-45s %18s    %-20s\n", isa ? isa : tg_kernels_get()->isa, "", "figure",
               "limit, share, memory");
    fflush(stdout);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (wanted(&rows[i], argc, argv)) {
            struct figure f = in_child(&rows[i], isa);

            print(&rows[i], &f, tsv);
        }
    return 0;
}
