/* lib/circuit against its definitions: full matrices [C,C] and [V,V] in double precision, made from the
 * model's tensors element by element; random matrices, whose mean score is known. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/circuit/compose.h"
#include "lib/circuit/eigen.h"
#include "lib/circuit/ends.h"
#include "lib/circuit/heads.h"
#include "lib/circuit/product64.h"
#include "lib/gpt/family.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

static double *zeros(size_t n)
{
    double *x = calloc(n, sizeof *x);

    CHECK(x != NULL);
    return x;
}

/* out [M,N] = a [M,K] b [K,N], as it is defined; to be freed. */
static double *times(const double *a, const double *b, size_t M, size_t K, size_t N)
{
    double *out = zeros(M * N);

    for (size_t m = 0; m < M; m++)
        for (size_t k = 0; k < K; k++)
            for (size_t n = 0; n < N; n++)
                out[m * N + n] += a[m * K + k] * b[k * N + n];
    return out;
}

static double *transpose(const double *a, size_t M, size_t N)
{
    double *out = zeros(M * N);

    for (size_t i = 0; i < M * N; i++)
        out[i % N * M + i / N] = a[i];
    return out;
}

static double norm_of(const double *a, size_t n)
{
    double sum = 0;

    for (size_t i = 0; i < n; i++)
        sum += a[i] * a[i];
    return sqrt(sum);
}

/* ---- products */

static void check_product(size_t M, size_t N, size_t K, bool turned)
{
    double *a = zeros(M * K), *b = zeros(K * N), *c = zeros(2 * M * N);
    float *single = calloc(K * N, sizeof *single);
    tg_product64 p = {.M = M, .N = N, .K = K, .b_row = N, .b_col = 1, .c = c, .ldc = N};

    CHECK(single != NULL);
    check_fill64(a, M * K, 1, 1);
    check_fill(single, K * N, 2, 1);
    for (size_t i = 0; i < K * N; i++)
        b[i] = (double)single[i];
    double *want = times(a, b, M, K, N), *a_turned = transpose(a, M, K);

    p.a = turned ? a_turned : a;
    p.a_type = TG_TYPE_DOUBLE;
    p.a_row = turned ? 1 : K;
    p.a_col = turned ? M : 1;
    p.b = turned ? (const void *)single : b;
    p.b_type = turned ? TG_TYPE_FLOAT : TG_TYPE_DOUBLE;
    tg_threads_set(1);
    tg_product64_run(&p);
    for (size_t i = 0; i < M * N; i++)
        CHECK_NEAR(c[i], want[i], 1e-15 * (double)K);
    p.c = c + M * N;
    tg_threads_set(3);
    tg_product64_run(&p);
    CHECK(memcmp(c, c + M * N, M * N * sizeof *c) == 0);
    free(a), free(b), free(c), free(single), free(want), free(a_turned);
}

static void products(void)
{
    check_product(1, 1, 1, false);
    check_product(3, 5, 7, true);
    check_product(33, 65, 130, false);
    check_product(100, 64, 64, true);
}

/* ---- eigenvalues */

/* The largest distance of a wanted eigenvalue from those that were found, each of which is taken once. */
static double eigenvalue_distance(const double *want_re, const double *want_im, double *re, double *im,
                                  size_t n)
{
    double worst = 0;

    for (size_t i = 0; i < n; i++) {
        size_t best = i;

        for (size_t j = i; j < n; j++)
            if (hypot(re[j] - want_re[i], im[j] - want_im[i]) <
                hypot(re[best] - want_re[i], im[best] - want_im[i]))
                best = j;
        worst = fmax(worst, hypot(re[best] - want_re[i], im[best] - want_im[i]));
        re[best] = re[i];
        im[best] = im[i];
    }
    return worst;
}

/* a = S B S^-1, for a triangular S with ones, and blocks of B with known eigenvalues. */
static void check_spectrum(size_t n, uint64_t seed)
{
    double *a = zeros(n * n), *want_re = zeros(n), *want_im = zeros(n), *re = zeros(n), *im = zeros(n);

    for (size_t i = 0; i < n; i++) {
        const bool complex = i + 1 < n && i % 3 == 0;
        const double x = 2 * check_random(seed, 2 * i), y = complex ? check_random(seed, 2 * i + 1) : 0;

        a[i * n + i] = want_re[i] = x;
        if (!complex)
            continue;
        a[i * n + i + 1] = y;
        a[(i + 1) * n + i] = -y;
        a[(i + 1) * n + i + 1] = want_re[i + 1] = x;
        want_im[i] = y;
        want_im[++i] = -y;
    }
    for (size_t i = 0; i + 1 < n; i++) { /* row i += f row i+1; column i+1 -= f column i; and downwards */
        const double f = check_random(seed + 1, i), g = check_random(seed + 2, i);

        for (size_t c = 0; c < n; c++)
            a[i * n + c] += f * a[(i + 1) * n + c];
        for (size_t r = 0; r < n; r++)
            a[r * n + i + 1] -= f * a[r * n + i];
        for (size_t c = 0; c < n; c++)
            a[(i + 1) * n + c] += g * a[i * n + c];
        for (size_t r = 0; r < n; r++)
            a[r * n + i] -= g * a[r * n + i + 1];
    }
    CHECK(tg_eigenvalues(re, im, a, n));
    CHECK_NEAR(eigenvalue_distance(want_re, want_im, re, im, n), 0, 1e-9);
    free(a), free(want_re), free(want_im), free(re), free(im);
}

/* The sums of the powers of the eigenvalues are the traces of the powers. */
static void check_powers(size_t n, uint64_t seed)
{
    double *a = zeros(n * n), *re = zeros(n), *im = zeros(n), *power, sums[4] = {0}, size = 1;

    check_fill64(a, n * n, seed, 1);
    power = zeros(n * n);
    memcpy(power, a, n * n * sizeof *a);
    double *square = times(a, a, n, n, n), *cube = times(square, a, n, n, n);
    const double *powers[3] = {power, square, cube};

    CHECK(tg_eigenvalues(re, im, a, n));
    for (size_t i = 0; i < n; i++) {
        sums[0] += re[i];
        sums[1] += re[i] * re[i] - im[i] * im[i];
        sums[2] += re[i] * re[i] * re[i] - 3 * re[i] * im[i] * im[i];
        sums[3] += im[i];
    }
    for (size_t k = 0; k < 3; k++) {
        double trace = 0;

        size *= norm_of(power, n * n);
        for (size_t i = 0; i < n; i++)
            trace += powers[k][i * n + i];
        CHECK_NEAR(sums[k], trace, 1e-13 * size * (double)n);
    }
    CHECK_NEAR(sums[3], 0, 1e-12);
    free(a), free(re), free(im), free(power), free(square), free(cube);
}

static void eigenvalues(void)
{
    /* x^4 - 10 x^3 + 35 x^2 - 50 x + 24 = (x - 1)(x - 2)(x - 3)(x - 4); then a cycle: roots of x^4 = 1 */
    double companion[16] = {10, -35, 50, -24, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    double cycle[16] = {0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0};
    double nothing[9] = {0}, wrong[4] = {1, nan(""), 0, 1}, re[4], im[4];

    CHECK(tg_eigenvalues(re, im, companion, 4));
    CHECK_NEAR(eigenvalue_distance((double[]){1, 2, 3, 4}, (double[]){0, 0, 0, 0}, re, im, 4), 0, 1e-12);
    CHECK(tg_eigenvalues(re, im, cycle, 4));
    CHECK_NEAR(eigenvalue_distance((double[]){1, -1, 0, 0}, (double[]){0, 0, 1, -1}, re, im, 4), 0, 1e-14);
    CHECK(tg_eigenvalues(re, im, nothing, 3));
    CHECK(re[0] == 0 && re[1] == 0 && re[2] == 0);
    CHECK(!tg_eigenvalues(re, im, wrong, 2));
    for (size_t n = 1; n < 40; n++) {
        check_powers(n, 7 + n);
        if (n <= 12)
            check_spectrum(n, 1000 * n);
    }
}

/* ---- the full matrices of a head, from the tensors */

/* A layer's weight [in,out] of one element, with GPT-2's q, k and v side by side. */
static double weight(const tg_model *m, tg_param_kind kind, size_t l, size_t in, size_t out)
{
    const tg_params *t = &m->table;
    const size_t fused = tg_params_index(t, TG_QKV_W, l), C = m->config.n_embd;
    const bool inside = fused < t->n && kind != TG_ATT_PROJ_W;
    const tg_param *p = &t->entry[inside ? fused : tg_params_index(t, kind, l)];
    const float *w = tg_model_weight(m, p->kind, l);

    out += inside ? (kind == TG_Q_W ? 0 : kind == TG_K_W ? C : 2 * C) : 0;
    return (double)(p->transposed ? w[out * p->shape[1] + in] : w[in * p->shape[1] + out]);
}

static double gain(const tg_model *m, tg_param_kind kind, size_t l, size_t c)
{
    const float *w = tg_model_weight(m, kind, l);

    return w ? m->config.norm_offset + (double)w[c] : 1;
}

/* For LayerNorm, I - 1 1^T / C; else I. */
static double centring(const tg_model *m, size_t i, size_t j)
{
    const bool centred = tg_config_family(&m->config)->layernorm;

    return (i == j) - (centred ? 1 / (double)m->config.n_embd : 0);
}

/* [C,D] = P diag(g) W diag(own gains) of a head. */
static double *reading(const tg_model *m, tg_param_kind kind, tg_param_kind own, size_t l, size_t head)
{
    const size_t C = m->config.n_embd, D = tg_config_head_dim(&m->config);
    const size_t i = own ? tg_params_index(&m->table, own, l) : m->table.n;
    const bool all = i < m->table.n && m->table.entry[i].count > D;
    double *out = zeros(C * D);

    for (size_t c = 0; c < C; c++)
        for (size_t d = 0; d < D; d++)
            for (size_t b = 0; b < C; b++)
                out[c * D + d] += centring(m, c, b) * gain(m, TG_LN1_W, l, b) *
                                  weight(m, kind, l, b, head * D + d) *
                                  (own ? gain(m, own, l, all ? head * D + d : d) : 1);
    return out;
}

struct full {
    double *ov, *qk; /* [C,C] */
};

static struct full full_of(const tg_model *m, size_t l, size_t h)
{
    const size_t C = m->config.n_embd, D = tg_config_head_dim(&m->config);
    const size_t kv = h * tg_config_kv_heads(&m->config) / m->config.n_head;
    double *q = reading(m, TG_Q_W, TG_Q_NORM_W, l, h), *k = reading(m, TG_K_W, TG_K_NORM_W, l, kv);
    double *v = reading(m, TG_V_W, 0, l, kv), *o = zeros(D * C), *k_turned = transpose(k, C, D);
    struct full f;

    for (size_t i = 0; i < D * C; i++)
        o[i] = weight(m, TG_ATT_PROJ_W, l, h * D + i / C, i % C) * gain(m, TG_OUT_NORM_W, l, i % C);
    f = (struct full){.ov = times(v, o, C, D, C), .qk = times(q, k_turned, C, D, C)};
    free(q), free(k), free(v), free(o), free(k_turned);
    return f;
}

static void full_free(struct full *f)
{
    free(f->ov);
    free(f->qk);
}

/* sum Re l / sum |l| of left x right^T [V,V], left and right [V,C]. */
static double signed_share(const double *left, const double *x, const double *right, size_t V, size_t C,
                           double *positive)
{
    double *lx = times(left, x, V, C, C), *turned = transpose(right, V, C), *all = times(lx, turned, V, C, V);
    double *re = zeros(V), *im = zeros(V), trace = 0, sizes = 0, above = 0;

    for (size_t i = 0; i < V; i++)
        trace += all[i * V + i];
    CHECK(tg_eigenvalues(re, im, all, V));
    for (size_t i = 0; i < V; i++) {
        sizes += hypot(re[i], im[i]);
        above += re[i] > 0 ? hypot(re[i], im[i]) : 0;
    }
    *positive = above / sizes;
    free(lx), free(turned), free(all), free(re), free(im);
    return trace / sizes;
}

/* How many times the row of the embedding E has: 1 / rms for nanochat, whose epsilon is a float. */
static double row_scale(const tg_model *m, const float *row)
{
    const size_t C = m->config.n_embd;
    double square = 0;

    if (strcmp(tg_config_family(&m->config)->name, "nanochat") != 0)
        return m->config.embed_scale > 0 ? m->config.embed_scale : 1;
    for (size_t c = 0; c < C; c++)
        square += (double)row[c] * (double)row[c] / (double)C;
    return 1 / sqrt(square + (double)(float)m->config.layer_norm_epsilon);
}

/* Rows [V,C] of the tokens' vectors, and of U^T. */
static void both_ends(const tg_model *m, double **e, double **u)
{
    const size_t V = tg_tokenizer_vocab_size(m->tokenizer), C = m->config.n_embd;
    const float *wte = tg_model_weight(m, TG_WTE, 0);
    const float *head = tg_model_weight(m, m->config.tied ? TG_WTE : TG_HEAD_W, 0);

    *e = zeros(V * C);
    *u = zeros(V * C);
    for (size_t i = 0; i < V * C; i++) {
        (*e)[i] = row_scale(m, wte + i / C * C) * (double)wte[i];
        for (size_t c = 0; c < C; c++)
            (*u)[i] += centring(m, i % C, c) * gain(m, TG_LNF_W, 0, c) * (double)head[i / C * C + c];
    }
}

/* ---- numbers of heads */

/* p[i,i-1] and p[i,i] of position i of GPT-2. */
static void see_positions(const tg_model *m, const double *qk, size_t i, double *previous, double *diagonal)
{
    const size_t C = m->config.n_embd;
    const float *wpe = tg_model_weight(m, TG_WPE, 0);
    double sum = 0, score = 0;

    for (size_t j = 0; j <= i; j++) {
        double rms[2];

        for (size_t n = 0; n < 2; n++) {
            const float *x = wpe + (n == 0 ? i : j) * C;
            double mean = 0, square = 0;

            for (size_t c = 0; c < C; c++)
                mean += (double)x[c] / (double)C;
            for (size_t c = 0; c < C; c++)
                square += ((double)x[c] - mean) * ((double)x[c] - mean) / (double)C;
            rms[n] = sqrt(square + (double)(float)m->config.layer_norm_epsilon);
        }
        score = 0;
        for (size_t a = 0; a < C * C; a++)
            score += (double)wpe[i * C + a / C] * qk[a] * (double)wpe[j * C + a % C];
        score /= rms[0] * rms[1] * sqrt((double)tg_config_head_dim(&m->config));
        *previous = j + 1 == i ? exp(score) : *previous;
        sum += exp(score);
    }
    *previous /= sum;
    *diagonal = exp(score) / sum;
}

static void check_positions(const tg_model *m, const tg_head_numbers *got, const double *qk)
{
    const size_t T = m->config.n_ctx;
    double previous = 0, diagonal = 0;

    if (tg_params_index(&m->table, TG_WPE, 0) == m->table.n) {
        CHECK(isnan(got->previous) && isnan(got->diagonal));
        return;
    }
    for (size_t i = 1; i < T; i++) {
        double p[2] = {0};

        see_positions(m, qk, i, &p[0], &p[1]);
        previous += p[0] / (double)(T - 1);
        diagonal += p[1] / (double)(T - 1);
    }
    CHECK_NEAR(got->previous, previous, 1e-12);
    CHECK_NEAR(got->diagonal, diagonal, 1e-12);
}

static void check_head(const tg_model *m, const tg_head_numbers *got, size_t l, size_t h, bool all)
{
    const size_t C = m->config.n_embd, V = tg_tokenizer_vocab_size(m->tokenizer);
    struct full f = full_of(m, l, h);
    double *e, *u, positive, unused;

    CHECK_NEAR(got->ov_norm / norm_of(f.ov, C * C), 1, 1e-12);
    CHECK_NEAR(got->qk_norm / norm_of(f.qk, C * C), 1, 1e-12);
    check_positions(m, got, f.qk);
    if (all) {
        both_ends(m, &e, &u);
        CHECK_NEAR(got->copying, signed_share(e, f.ov, u, V, C, &positive), 1e-9);
        CHECK_NEAR(got->positive, positive, 1e-9);
        CHECK_NEAR(got->duplicate, signed_share(e, f.qk, e, V, C, &unused), 1e-9);
        free(e), free(u);
    }
    full_free(&f);
}

struct heads {
    const tg_model *m;
    tg_factors f;
    tg_vocab_grams vocab;
    tg_heads_scratch scratch;
    tg_head_numbers *numbers;
};

static void place_heads(tg_arena *arena, void *context)
{
    struct heads *s = context;

    tg_factors_place(arena, &s->f, &s->m->config);
    tg_vocab_grams_place(arena, &s->vocab, &s->m->config);
    tg_heads_scratch_place(arena, &s->scratch, s->m);
    s->numbers = tg_arena_take(arena, s->m->config.n_head, sizeof *s->numbers);
}

static void check_heads(const tg_model *m)
{
    const size_t L = m->config.n_layer, H = m->config.n_head;
    struct heads s = {.m = m};
    tg_arena arena;
    tg_err err = {0};

    CHECK_OK(tg_arena_build(&arena, place_heads, &s, &err), &err);
    CHECK(tg_vocab_grams_set(&s.vocab, m, NULL));
    for (size_t l = 0; l < L; l++) {
        tg_factors_set(&s.f, m, l);
        tg_heads_of_layer(s.numbers, &s.f, &s.vocab, m, &s.scratch);
        for (size_t h = 0; h < H; h++)
            check_head(m, &s.numbers[h], l, h, l + 1 == L && h + 1 == H);
    }
    tg_arena_free(&arena);
}

/* ---- composition */

struct composing {
    const tg_model *m;
    tg_compose c;
};

static void place_compose(tg_arena *arena, void *context)
{
    struct composing *s = context;

    tg_compose_place(arena, &s->c, &s->m->config);
}

static double score_of(const double *a, const double *b, size_t C)
{
    double *product = times(a, b, C, C, C);
    const double score = norm_of(product, C * C) / (norm_of(a, C * C) * norm_of(b, C * C));

    free(product);
    return score;
}

static void check_pair(const tg_compose *c, const tg_model *m, size_t from, size_t to)
{
    const size_t C = c->C, at = from * c->N + to;
    struct full a = full_of(m, from / c->H, from % c->H), b = full_of(m, to / c->H, to % c->H);
    double *turned = transpose(b.qk, C, C);

    CHECK_NEAR(c->score[TG_COMPOSE_Q][at], score_of(a.ov, b.qk, C), 1e-10);
    CHECK_NEAR(c->score[TG_COMPOSE_K][at], score_of(a.ov, turned, C), 1e-10);
    CHECK_NEAR(c->score[TG_COMPOSE_V][at], score_of(a.ov, b.ov, C), 1e-10);
    free(turned);
    full_free(&a);
    full_free(&b);
}

static void compose(tg_arena *arena, struct composing *s, const tg_model *m)
{
    tg_err err = {0};

    s->m = m;
    CHECK_OK(tg_arena_build(arena, place_compose, s, &err), &err);
    CHECK(tg_compose_run(&s->c, m, NULL));
}

static void check_compose(const tg_model *m)
{
    struct composing s = {0}, other = {0};
    tg_arena arena, arena_2;

    tg_threads_set(1);
    compose(&arena, &s, m);
    tg_threads_set(3);
    compose(&arena_2, &other, m);
    for (size_t from = 0; from < s.c.N; from++)
        for (size_t to = 0; to < s.c.N; to++) {
            const size_t at = from * s.c.N + to;

            if (from / s.c.H < to / s.c.H)
                check_pair(&s.c, m, from, to);
            else
                CHECK(isnan(s.c.score[TG_COMPOSE_Q][at]));
            for (size_t t = 0; t < TG_COMPOSITIONS; t++)
                CHECK(memcmp(&s.c.score[t][at], &other.c.score[t][at], sizeof(double)) == 0);
        }
    tg_arena_free(&arena);
    tg_arena_free(&arena_2);
}

/* ---- directions and tokens */

/* rank: rows of x that are not 0. */
static void check_directions(size_t D, size_t C, size_t rank)
{
    double *x = zeros(D * C), *y = zeros(D * C), *size = zeros(D);

    check_fill64(x, rank * C, 5, 1);
    check_fill64(y, D * C, 6, 1);
    double *turned = transpose(x, D, C), *want = times(turned, y, C, D, C);

    tg_directions(x, y, size, D, C);
    for (size_t i = 0; i < C * C; i++) {
        double sum = 0;

        for (size_t d = 0; d < D; d++)
            sum += size[d] * x[d * C + i / C] * y[d * C + i % C];
        CHECK_NEAR(sum, want[i], 1e-13 * (double)D);
    }
    for (size_t i = 0; i < rank * rank; i++) {
        const double *a = x + i / rank * C, *b = x + i % rank * C;
        const double *c = y + i / rank * C, *d = y + i % rank * C;
        double of_x = 0, of_y = 0;

        for (size_t n = 0; n < C; n++) {
            of_x += a[n] * b[n];
            of_y += c[n] * d[n];
        }
        CHECK_NEAR(of_x, i / rank == i % rank, 1e-13);
        CHECK_NEAR(of_y, i / rank == i % rank, 1e-13);
    }
    for (size_t d = 1; d < D; d++)
        CHECK(size[d] <= size[d - 1] && (d < rank ? size[d] > 1e-3 : size[d] < 1e-14));
    free(x), free(y), free(size), free(turned), free(want);
}

static void directions(void)
{
    check_directions(1, 3, 1);
    check_directions(5, 9, 5);
    check_directions(16, 40, 16);
    check_directions(6, 8, 4);
}

struct ends {
    const tg_model *m;
    size_t n, top;
    tg_factors f;
    tg_ends ends;
};

static void place_ends(tg_arena *arena, void *context)
{
    struct ends *s = context;

    tg_factors_place(arena, &s->f, &s->m->config);
    tg_ends_place(arena, &s->ends, &s->m->config, s->n, s->top);
}

/* The tokens of an end are the first of all products [V], in falling order. */
static void check_end(const struct ends *s, tg_end end, size_t h, const double *all, size_t V)
{
    const double *values;
    const int32_t *ids = tg_ends_tokens(&values, &s->ends, end, h, 0);
    size_t above = 0;

    for (size_t i = 0; i < s->top; i++) {
        CHECK_NEAR(values[i], all[ids[i]], 1e-12);
        CHECK(i == 0 || values[i] <= values[i - 1]);
    }
    for (size_t t = 0; t < V; t++)
        above += all[t] > values[s->top - 1] + 1e-12;
    CHECK(above < s->top);
}

/* Element t of row, or of column, `token` of left x right^T [V,V]. */
static void check_token_end(const struct ends *s, tg_end end, const double *left, const double *x,
                            const double *right, size_t token, bool column)
{
    const size_t C = s->m->config.n_embd, V = tg_tokenizer_vocab_size(s->m->tokenizer);
    double *lx = times(left, x, V, C, C), *turned = transpose(right, V, C), *all = times(lx, turned, V, C, V);
    double *line = zeros(V);

    for (size_t t = 0; t < V; t++)
        line[t] = column ? all[t * V + token] : all[token * V + t];
    check_end(s, end, s->m->config.n_head - 1, line, V);
    free(lx), free(turned), free(all), free(line);
}

static void check_ends(const tg_model *m)
{
    const size_t token = 7, l = m->config.n_layer - 1;
    struct ends s = {.m = m, .n = 1, .top = 4};
    struct full f = full_of(m, l, m->config.n_head - 1);
    double *e, *u;
    tg_arena arena;
    tg_err err = {0};

    CHECK_OK(tg_arena_build(&arena, place_ends, &s, &err), &err);
    tg_factors_set(&s.f, m, l);
    tg_ends_of_token(&s.ends, &s.f, m, token);
    both_ends(m, &e, &u);
    check_token_end(&s, TG_END_WRITES, e, f.ov, u, token, false);
    check_token_end(&s, TG_END_READS, e, f.ov, u, token, true);
    check_token_end(&s, TG_END_KEY, e, f.qk, e, token, false);
    check_token_end(&s, TG_END_QUERY, e, f.qk, e, token, true);
    free(e), free(u);
    full_free(&f);
    tg_arena_free(&arena);
}

/* ---- every family */

static void check_model(const tg_model *m)
{
    check_heads(m);
    check_compose(m);
    check_ends(m);
}

static void gpt2(void)
{
    tg_model m;

    small_model_create(&m, small_config(2, 3, 12, 20), 3);
    small_model_stir(&m, 5, 0.7, 0.4);
    check_model(&m);
    tg_model_free(&m);
    small_model_create(&m, small_config(2, 2, 140, 70), 3); /* several blocks */
    small_model_stir(&m, 5, 0.2, 0.4);
    check_model(&m);
    tg_model_free(&m);
}

static void families(void)
{
    for (size_t i = 0; i < BODIES; i += check_step(3)) {
        tg_model m;

        body_create(&m, i);
        check_model(&m);
        tg_model_free(&m);
    }
}

/* ---- random matrices */

/* The squares' mean over all pairs is 1 / C.  With D channels a square's relative deviation is below 2 / D,
 * of which 96 pairs that are not quite independent have the mean. */
static void check_mean(const tg_model *m)
{
    const double baseline = tg_compose_baseline(&m->config), D = (double)tg_config_head_dim(&m->config);
    struct composing s = {0};
    tg_arena arena;

    compose(&arena, &s, m);
    for (size_t t = 0; t < TG_COMPOSITIONS; t++) {
        double sum = 0, n = 0;

        for (size_t i = 0; i < s.c.N * s.c.N; i++)
            if (!isnan(s.c.score[t][i])) {
                sum += s.c.score[t][i] * s.c.score[t][i];
                n++;
            }
        CHECK_NEAR(sum / n / (baseline * baseline), 1, 5 * 2 / D / sqrt(96));
    }
    tg_arena_free(&arena);
}

/* Fresh weights are normal, and gains 1. */
static void random_matrices(void)
{
    tg_model m;

    small_model_create(&m, small_config(4, 4, 64, 8), 11);
    check_mean(&m);
    tg_model_free(&m);
    for (size_t i = 0; i < BODIES; i++) {
        tg_config c;

        body_create(&m, i);
        c = m.config;
        tg_model_free(&m);
        c.n_layer = c.n_head = c.n_kv_head = 4;
        c.head_dim = 16;
        c.n_embd = 64;
        small_model_create(&m, c, 12 + i);
        check_mean(&m);
        tg_model_free(&m);
    }
}

int main(void)
{
    RUN(products);
    RUN(eigenvalues);
    RUN(directions);
    RUN(gpt2);
    RUN(families);
    RUN(random_matrices);
    return check_done();
}
