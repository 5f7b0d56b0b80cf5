/* A program that knows nothing but lib/tg.h: what one part of it says, another one says too. */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/tg.h"
#include "tests/unit/check.h"

static const char text[] =
    "The first one then, the other; there they were together: this, that and the rest of "
    "them, thirty-three in all, thought of the weather, of the north and of nothing.";

static tg_err err;

/* A file without a name, and a path to it. */
typedef struct file {
    int fd;
    char path[40];
} file;

static file new_file(void)
{
    file f = {memfd_create("test_program", 0), ""};

    snprintf(f.path, sizeof f.path, "/proc/self/fd/%d", f.fd);
    CHECK(f.fd >= 0);
    return f;
}

static void rewind_file(file f)
{
    CHECK_EQ(lseek(f.fd, 0, SEEK_SET), 0);
}

/* Bytes, and "th", "the", "ing". */
static const tg_tokenizer *new_tokenizer(void)
{
    static const char merges[] = "#version: 0.2\nt h\nth e\ni n\nin g\n";
    const tg_tokenizer *tok;
    file f = new_file();

    CHECK_EQ(write(f.fd, merges, sizeof merges - 1), sizeof merges - 1);
    CHECK_OK(tg_tokenizer_open(&tok, f.path, NULL, &err), &err);
    close(f.fd);
    return tok;
}

static tg_model *new_model(void)
{
    const tg_tokenizer *tok = new_tokenizer();
    tg_model *m;

    CHECK_OK(tg_model_new(&m, "tinygpt", tok, 7, &err), &err);
    CHECK_OK(tg_model_set_heads(m, 4, &err), &err);
    tg_tokenizer_free(tok);
    return m;
}

static tg_tokens_prompt ids_of(const tg_model *m)
{
    tg_tokens_prompt p;

    CHECK_OK(tg_model_prompt(&p, m, text, sizeof text - 1, &err), &err);
    CHECK(!p.begun);
    return p;
}

/* The loss of predicting each of T ids from those before it. */
static double loss_of(const tg_model *m, const int32_t *ids, size_t T, float *grads)
{
    const tg_pass_size size = {.B = 1, .T = T, .gradients = grads != NULL};
    tg_pass *p;
    double loss;

    CHECK_OK(tg_pass_new(&p, m, &size, &err), &err);
    loss = tg_pass_run(p, ids, ids + 1, grads, 1.0f);
    tg_pass_destroy(p);
    return loss;
}

/* ---- models */

static void test_model(void)
{
    tg_model *m = new_model(), *read;
    const tg_model_shape s = tg_model_shape_of(m);
    file f = new_file();

    CHECK(strcmp(s.family, "gpt2") == 0);
    CHECK_EQ(s.head_dim * s.n_head, s.n_embd);
    CHECK_EQ(s.vocab_size % 64, 0);
    CHECK(s.vocab_size >= tg_tokenizer_vocab_size(tg_model_tokenizer(m)));
    CHECK_OK(tg_model_write(m, f.fd, &err), &err);
    CHECK_OK(tg_model_load(&read, f.path, &err), &err);
    CHECK_OK(tg_tokenizer_same(tg_model_tokenizer(m), tg_model_tokenizer(read), &err), &err);
    CHECK_EQ(tg_model_tensors(m), tg_model_tensors(read));
    for (size_t i = 0; i < tg_model_tensors(m); i++) {
        const tg_model_tensor a = tg_model_tensor_at(m, i), b = tg_model_tensor_at(read, i);
        const size_t n = a.shape[0] * (a.ndim > 1 ? a.shape[1] : 1);

        CHECK(strcmp(a.name, b.name) == 0);
        CHECK(a.values == tg_model_parameters(m) + a.offset && a.offset + n <= tg_model_floats(m));
        CHECK(memcmp(a.values, b.values, n * sizeof *a.values) == 0);
    }
    CHECK_EQ(tg_model_set_heads(m, s.n_embd + 1, &err), TG_EUSAGE);
    tg_model_destroy(read);
    close(f.fd);

    CHECK_EQ(tg_model_new(&read, "none", tg_model_tokenizer(m), 0, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "\"none\": expected tinygpt|");
    CHECK(!read);
    CHECK_EQ(tg_model_load(&read, "/proc/self/none", &err), TG_EIO);
    CHECK(!read);
    tg_model_destroy(m);
}

static void test_infer(void)
{
    tg_model *m = new_model();
    tg_tokens_prompt p = ids_of(m);
    const size_t V = tg_model_shape_of(m).vocab_size, T = 20;
    float *all = malloc(T * V * sizeof *all), *last = malloc(V * sizeof *last);
    double loss = 0;
    tg_infer *f;

    CHECK_OK(tg_infer_new(&f, m, T, 0, 0, &err), &err);
    tg_infer_run(f, p.ids, T, last);
    tg_infer_logits(f, 0, T, all);
    for (size_t v = 0; v < V; v++) /* other kernels compute a single row */
        CHECK_NEAR((double)last[v], (double)all[(T - 1) * V + v], 1e-5);
    for (size_t t = 0; t < T; t++)
        loss -= tg_score_row(all + t * V, V, V, p.ids[t + 1]).log_prob;
    CHECK_NEAR(loss / (double)T, loss_of(m, p.ids, T, NULL), 1e-5);
    tg_infer_destroy(f);

    /* token by token, with a cache */
    CHECK_OK(tg_infer_new(&f, m, 1, 1, T, &err), &err);
    for (size_t t = 0; t < T; t++) {
        tg_infer_run(f, p.ids + t, 1, last);
        for (size_t v = 0; v < V; v++)
            CHECK_NEAR((double)last[v], (double)all[t * V + v], 1e-4);
    }
    tg_infer_destroy(f);
    free(all);
    free(last);
    tg_tokens_prompt_free(&p);
    tg_model_destroy(m);
}

static void test_generator(void)
{
    const tg_sampling greedy = {.greedy = true};
    tg_model *m = new_model();
    tg_tokens_prompt p = ids_of(m);
    const size_t ids = tg_tokenizer_vocab_size(tg_model_tokenizer(m)), V = tg_model_shape_of(m).vocab_size;
    float *logits = malloc(V * sizeof *logits);
    tg_generator *g;
    tg_infer *f;
    int32_t best;

    CHECK_OK(tg_generator_new(&g, m, TG_WEIGHT_FLOAT32, 1, 30, &err), &err);
    CHECK_OK(tg_infer_new(&f, m, 20, 1, 30, &err), &err);
    CHECK_EQ(tg_generator_begin(g, p.ids, 20), 20);
    tg_infer_run(f, p.ids, 20, logits);
    for (size_t n = 0; n < 10; n++) {
        tg_top_ids(&best, 1, logits, ids);
        CHECK_OK(tg_generator_choose(g, &greedy, &err), &err);
        CHECK_EQ(tg_generator_ids(g)[0], best);
        CHECK_NEAR((double)tg_generator_logits(g)[best], (double)logits[best], 1e-4);
        if (n < 9) {
            tg_generator_extend(g);
            tg_infer_run(f, &best, 1, logits);
        }
    }
    tg_infer_destroy(f);
    tg_generator_destroy(g);
    free(logits);
    tg_tokens_prompt_free(&p);
    tg_model_destroy(m);
}

static void test_gradient(void)
{
    tg_model *m = new_model();
    tg_tokens_prompt p = ids_of(m);
    float *grads = malloc(tg_model_floats(m) * sizeof *grads), *w = tg_model_parameters(m);
    const size_t T = 20;

    (void)loss_of(m, p.ids, T, grads);
    for (size_t i = 0; i < tg_model_tensors(m); i++) {
        const tg_model_tensor t = tg_model_tensor_at(m, i);
        const float old = w[t.offset], step = 1e-2f;
        double up, down;

        w[t.offset] = old + step;
        up = loss_of(m, p.ids, T, NULL);
        w[t.offset] = old - step;
        down = loss_of(m, p.ids, T, NULL);
        w[t.offset] = old;
        CHECK_NEAR((double)grads[t.offset], (up - down) / (2 * (double)step), 3e-4);
    }
    free(grads);
    tg_tokens_prompt_free(&p);
    tg_model_destroy(m);
}

/* ---- losses of a text */

/* Silences head 1 of layer 1. */
static bool silence(void *context, tg_acts *a, size_t layer, size_t row)
{
    const tg_model_shape *s = context;
    size_t cols, ld;
    float *att;

    if (layer != 1 || row != tg_acts_find(a, "att"))
        return true;
    att = tg_acts_values(a, layer, row, &cols, &ld);
    CHECK_EQ(cols, s->n_embd);
    for (size_t t = 0; t < s->n_ctx; t++)
        memset(att + t * ld + s->head_dim, 0, s->head_dim * sizeof *att);
    return true;
}

/* Where the last operation writes: the residual stream. */
typedef struct stream_at {
    float *x;
    size_t cols, ld;
} stream_at;

static bool find_stream(void *context, tg_acts *a, size_t layer, size_t row)
{
    stream_at *at = context;

    at->x = tg_acts_values(a, layer, row, &at->cols, &at->ld);
    return true;
}

/* The loss of the first token by the logits of the stream after the last block. */
static void check_stream(const tg_model *m, const int32_t *ids)
{
    const tg_model_shape s = tg_model_shape_of(m);
    const tg_pass_size size = {.B = 1, .T = 20};
    stream_at at;
    const tg_tap tap = {find_stream, &at};
    const float *logits;
    double loss, sum = 0;
    tg_pass *p;

    CHECK_OK(tg_pass_new(&p, m, &size, &err), &err);
    (void)tg_pass_run_tapped(p, ids, ids + 1, &tap);
    loss = (double)tg_pass_losses(p)[0];
    CHECK_EQ(at.cols, s.n_embd);
    CHECK(tg_pass_logits_rows(p) >= 1);
    logits = tg_pass_logits_of(p, at.x, at.ld, 1);
    for (size_t v = 0; v < s.vocab_size; v++)
        sum += exp((double)logits[v]);
    CHECK_NEAR(log(sum) - (double)logits[ids[1]], loss, 1e-5);
    tg_pass_destroy(p);
}

static bool stop(void *context, tg_acts *a, size_t layer, size_t row)
{
    (void)context;
    CHECK(!tg_acts_name(a, 0) && !tg_acts_name(a, 1000) && tg_acts_find(a, "none") == 0);
    CHECK(tg_acts_find(a, tg_acts_name(a, row)) == row);
    return layer == 0 && row > 0 ? false : true;
}

static void test_losses(void)
{
    tg_model *m = new_model();
    tg_model_shape s = tg_model_shape_of(m);
    tg_tokens_prompt p = ids_of(m);
    const tg_eval_plan plan = {.context = s.n_ctx, .stride = s.n_ctx, .prefix = -1};
    const tg_pass_size size = {.B = 1, .T = s.n_ctx};
    const tg_tap tap = {silence, &s}, ending = {stop, NULL};
    const tg_ablate_head head = {1, 1};
    const tg_ablate_heads heads = {.head = &head, .n = 1};
    const double loss = loss_of(m, p.ids, s.n_ctx, NULL);
    tg_tokens_stream *stream;
    tg_eval_sums sums;
    tg_eval *e;
    tg_ablate *a;
    tg_pass *pass;
    double tapped, of_tokens = 0;

    CHECK(p.n > s.n_ctx);
    CHECK_EQ(tg_eval_new(&e, m, &(tg_eval_plan){.context = 0}, &err), TG_EUSAGE);
    CHECK_EQ(tg_ablate_new(&a, m, &(tg_ablate_heads){.head = &(tg_ablate_head){2, 0}, .n = 1}, &err),
             TG_EUSAGE);
    CHECK_EQ(tg_ablate_new(&a, m, &(tg_ablate_heads){.n = 0}, &err), TG_EUSAGE);
    CHECK(!e && !a);
    CHECK_OK(tg_eval_new(&e, m, &plan, &err), &err);
    CHECK_OK(tg_tokens_stream_new_ids(&stream, tg_model_tokenizer(m), p.ids, s.n_ctx + 1, &err), &err);
    CHECK_OK(tg_eval_run(e, stream, NULL, NULL, &err), &err);
    tg_tokens_stream_destroy(stream);
    sums = tg_eval_result(e);
    CHECK_EQ(sums.scored, s.n_ctx);
    CHECK_NEAR(tg_eval_loss(&sums), loss, 1e-5);
    CHECK_NEAR(tg_eval_perplexity(&sums), exp(loss), 1e-3);
    tg_eval_destroy(e);

    CHECK_OK(tg_pass_new(&pass, m, &size, &err), &err);
    tapped = tg_pass_run_tapped(pass, p.ids, p.ids + 1, &tap);
    for (size_t t = 0; t < s.n_ctx; t++)
        of_tokens += (double)tg_pass_losses(pass)[t];
    CHECK_NEAR(of_tokens / (double)s.n_ctx, tapped, 1e-5);
    CHECK(tapped != loss);
    CHECK(isnan(tg_pass_run_tapped(pass, p.ids, p.ids + 1, &ending)));
    CHECK_NEAR(tg_pass_run_tapped(pass, p.ids, p.ids + 1, NULL), loss, 1e-5);
    tg_pass_destroy(pass);

    check_stream(m, p.ids);

    CHECK_OK(tg_ablate_new(&a, m, &heads, &err), &err);
    CHECK_OK(tg_tokens_stream_new_ids(&stream, tg_model_tokenizer(m), p.ids, s.n_ctx + 1, &err), &err);
    CHECK_OK(tg_ablate_run(a, stream, NULL, NULL, &err), &err);
    CHECK_NEAR(tg_ablate_baseline(a), loss, 1e-5);
    CHECK_NEAR(tg_ablate_loss(a, 0), tapped, 1e-5);
    tg_tokens_stream_destroy(stream);
    tg_ablate_destroy(a);
    tg_tokens_prompt_free(&p);
    tg_model_destroy(m);
}

/* ---- attention */

enum { T = 12 };

/* The row of one query, kept. */
typedef struct kept {
    size_t rows, offset;
    double scores[T], probs[T], sum;
} kept;

static bool keep(void *context, const tg_attn_row *row)
{
    kept *k = context;

    k->rows++;
    k->offset = tg_attn_offset(row->view, row->b, row->h, row->i, 0);
    memcpy(k->scores, row->scores, sizeof k->scores);
    memcpy(k->probs, row->probs, sizeof k->probs);
    k->sum = 0;
    for (size_t j = row->first; j <= row->i; j++)
        k->sum += row->probs[j];
    return true;
}

static void check_derivation(const tg_model *m, const int32_t *ids, const kept *k)
{
    const tg_derive_what what = {.layer = 1, .at = {0, 1, T - 1, 3}, .backward = true, .target = 5};
    tg_attn_layers *layers;
    tg_derivation *d;

    CHECK_OK(tg_attn_layers_new(&layers, m, ids, T, &err), &err);
    CHECK_OK(tg_derivation_new(&d, layers, &what, &err), &err);
    CHECK(tg_derivation_trace(d)->scores[3] == k->scores[3] &&
          tg_derivation_trace(d)->probs[3] == k->probs[3]);
    CHECK(tg_derivation_datt(d)[0] != 0 && tg_derivation_trace(d)->dscores[3] != 0);
    CHECK(strcmp(tg_derivation_output(d)->name, "h.1.attn.c_proj.weight") == 0);
    tg_derivation_destroy(d);
    CHECK_OK(tg_derivation_new(&d, layers, &what, &err), &err); /* of layers that have been visited */
    CHECK(tg_derivation_trace(d)->scores[3] == k->scores[3]);
    tg_derivation_destroy(d);
    CHECK_EQ(tg_derivation_new(&d, layers, &(tg_derive_what){.layer = 9}, &err), TG_EUSAGE);
    CHECK(!d);
    tg_attn_layers_destroy(layers);
}

static void check_dump(const tg_model *m, const int32_t *ids, const kept *k)
{
    const tg_dump_settings settings = {.stages = TG_DUMP_EVERY, .ids = ids};
    const tg_dump_want want = {TG_ATTN_ALL, TG_DUMP_BIT(TG_ATTN_SCORES), false};
    file f = new_file();
    tg_attn_layers *layers;
    tg_dump *d;
    size_t size;

    CHECK_OK(tg_attn_layers_new(&layers, m, ids, T, &err), &err);
    CHECK_OK(tg_dump_write(f.fd, layers, &settings, &err), &err);
    tg_attn_layers_destroy(layers);
    rewind_file(f);
    CHECK_OK(tg_dump_load(&d, f.fd, want, &err), &err);
    CHECK_EQ(tg_dump_shape(d).H, tg_model_shape_of(m).n_head);
    CHECK(!tg_dump_stage(d, 1, TG_ATTN_PROBS) && !tg_dump_stage(d, 99, TG_ATTN_SCORES));
    for (size_t j = 0; j < T; j++)
        CHECK(tg_dump_stage(d, 1, TG_ATTN_SCORES)[k->offset + j] == (float)k->scores[j]);
    CHECK_EQ(tg_dump_ids(d)[T - 1], ids[T - 1]);
    CHECK(!tg_dump_text(d, 0, &size));
    tg_dump_destroy(d);
    close(f.fd);
}

static void test_attention(void)
{
    const tg_attn_filter only = {1, 1, T - 1, TG_ATTN_ALL}, outside = {9, 0, 0, 0};
    tg_model *m = new_model();
    tg_tokens_prompt p = ids_of(m);
    tg_attn_layers *layers;
    kept k = {0};

    CHECK_OK(tg_attn_layers_new(&layers, m, p.ids, T, &err), &err);
    CHECK_EQ(tg_attn_layers_select(layers, &outside, &err), TG_EUSAGE);
    CHECK_OK(tg_attn_layers_walk(layers, keep, &k, &err), &err);
    CHECK_EQ(k.rows, tg_model_shape_of(m).n_layer * tg_model_shape_of(m).n_head * T);
    CHECK_NEAR(k.sum, 1, 1e-12);
    tg_attn_layers_rewind(layers);
    k.rows = 0;
    CHECK_OK(tg_attn_layers_select(layers, &only, &err), &err);
    CHECK_OK(tg_attn_layers_walk(layers, keep, &k, &err), &err);
    CHECK_EQ(k.rows, 1);
    tg_attn_layers_destroy(layers);
    check_derivation(m, p.ids, &k);
    check_dump(m, p.ids, &k);
    CHECK_EQ(tg_attn_layers_new(&layers, m, p.ids, 0, &err), TG_EUSAGE);
    p.ids[3] = (int32_t)tg_model_shape_of(m).vocab_size;
    CHECK_EQ(tg_attn_layers_new(&layers, m, p.ids, T, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "token 3 is ");
    p.ids[3] = p.ids[2];
    tg_tokens_prompt_free(&p);
    tg_model_destroy(m);
}

/* ---- texts */

static file write_tokens(const tg_tokenizer *tok, size_t times)
{
    file f = new_file();
    tg_tokens_prompt p;
    tg_tokens_writer *w;

    CHECK_OK(tg_tokens_prompt_text(&p, tok, text, sizeof text - 1, &err), &err);
    CHECK_OK(tg_tokens_create(&w, f.fd, tok, &err), &err);
    for (size_t i = 0; i < times; i++)
        CHECK_OK(tg_tokens_write(w, p.ids, p.n, &err), &err);
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    tg_tokens_prompt_free(&p);
    rewind_file(f);
    return f;
}

static void test_tokens(void)
{
    const tg_tokenizer *tok = new_tokenizer(), *none;
    file f = write_tokens(tok, 1);
    tg_text rest = {(const unsigned char *)text, 5};
    tg_tokens_prompt p;
    tg_tokens_stream *s;
    tg_encoder *e;
    int32_t ids[200], first[8];
    size_t n, m, at = 0;
    tg_decoder d = {.tok = tok};

    CHECK_OK(tg_tokens_prompt_text(&p, tok, text, sizeof text - 1, &err), &err);
    CHECK_OK(tg_tokens_stream_new(&s, tok, f.fd, &err), &err);
    CHECK_OK(tg_tokens_stream_next(s, ids, 200, &n, &err), &err);
    CHECK(n == p.n && memcmp(ids, p.ids, n * sizeof *ids) == 0);
    CHECK(!tg_tokens_stream_goes_on(s));
    tg_tokens_stream_destroy(s);
    close(f.fd);

    for (size_t i = 0; i < p.n; i++) {
        const unsigned char *bytes = tg_decoder_next(&d, p.ids[i], &n);

        CHECK(at + n < sizeof text && memcmp(text + at, bytes, n) == 0);
        at += n;
    }
    CHECK_EQ(at, sizeof text - 1);

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_OK(tg_encoder_encode(e, &rest, first, 8, &n, &err), &err);
    CHECK_OK(tg_encoder_finish(e, first + n, 8 - n, &m, &err), &err);
    tg_encoder_free(e);
    CHECK(n + m >= 3 && memcmp(first, p.ids, 3 * sizeof *first) == 0); /* "T", "he", ... */
    tg_tokens_prompt_free(&p);

    CHECK_EQ(tg_tokenizer_open(&none, "/dev/null", "nothing", &err), TG_EUSAGE);
    CHECK_HAS(err.message, "\"nothing\": expected none|gpt2");
    CHECK(!none);
    tg_tokenizer_free(tok);
}

static tg_status count_ids(void *context, const int32_t *ids, size_t n, bool is_answer, tg_err *e)
{
    size_t *count = context;

    (void)ids;
    (void)e;
    count[is_answer] += n;
    return TG_OK;
}

static void test_chat(void)
{
    const tg_tokenizer *tok = new_tokenizer();
    size_t count[2] = {0};
    tg_chat *chat;

    CHECK_EQ(tg_chat_new(&chat, TG_CHAT_CHATML, tok, count_ids, count, &err), TG_EDATA);
    CHECK(!chat);
    CHECK_OK(tg_chat_new(&chat, TG_CHAT_PLAIN, tok, count_ids, count, &err), &err);
    tg_chat_begin(chat);
    CHECK_OK(tg_chat_message(chat, TG_CHAT_USER, "Hello", 5, &err), &err);
    CHECK_OK(tg_chat_message(chat, TG_CHAT_ASSISTANT, "Yes", 3, &err), &err);
    CHECK_OK(tg_chat_end(chat, &err), &err);
    CHECK(count[0] > 5 && count[1] >= 3);
    tg_chat_destroy(chat);
    tg_tokenizer_free(tok);
}

/* ---- training */

static tg_training *new_training(file tokens, const char *model)
{
    tg_training *t;

    CHECK_OK(tg_training_new(&t, tokens.path, model, &err), &err);
    return t;
}

static void run_to(tg_training *t, size_t steps)
{
    tg_step_report report;

    while (tg_training_done(t) < steps)
        CHECK_OK(tg_training_step(t, &report, &err), &err);
}

static void test_training(void)
{
    const tg_tokenizer *tok = new_tokenizer();
    file tokens = write_tokens(tok, 20), whole = new_file(), half = new_file(), resumed = new_file();
    tg_training *t = new_training(tokens, NULL);
    tg_step_report report;
    double loss;

    CHECK_EQ(tg_training_set(t, "stepz", "4", &err), TG_EUSAGE);
    CHECK_EQ(tg_training_set(t, "steps", "4x", &err), TG_EUSAGE);
    CHECK_EQ(tg_training_set(t, "lr", "", &err), TG_EUSAGE);
    CHECK_EQ(tg_training_set(t, "packing", "2", &err), TG_EUSAGE);
    CHECK_EQ(tg_training_set(t, "optimizer", "sgd", &err), TG_EUSAGE);
    CHECK_OK(tg_training_set(t, "steps", "4", &err), &err);
    CHECK_OK(tg_training_set(t, "lr", "2e-3", &err), &err);
    CHECK_OK(tg_training_set(t, "optimizer", "muon", &err), &err);
    CHECK_OK(tg_training_set(t, "packing", "1", &err), &err);
    CHECK_OK(tg_training_set(t, "seed", "18446744073709551615", &err), &err);
    CHECK(!tg_training_model(t) && tg_training_steps(t) == 0);
    CHECK_EQ(tg_training_write(t, whole.fd, &err), TG_EUSAGE);
    CHECK_OK(tg_training_validate(t, &loss, &err), &err);
    CHECK_NEAR(loss, log((double)tg_model_shape_of(tg_training_model(t)).vocab_size), 0.3);
    CHECK_EQ(tg_training_steps(t), 4);
    CHECK_EQ(tg_training_set(t, "steps", "5", &err), TG_EUSAGE);
    run_to(t, 2);
    CHECK_OK(tg_training_write(t, half.fd, &err), &err);
    run_to(t, 4);
    CHECK_EQ(tg_training_step(t, &report, &err), TG_EUSAGE);
    CHECK_OK(tg_training_write(t, whole.fd, &err), &err);
    tg_training_destroy(t);

    /* stopped and continued */
    rewind_file(tokens);
    rewind_file(half);
    t = new_training(tokens, half.path);
    CHECK_OK(tg_training_begin(t, &err), &err);
    CHECK_EQ(tg_training_done(t), 2);
    run_to(t, 4);
    CHECK_OK(tg_training_write(t, resumed.fd, &err), &err);
    tg_training_destroy(t);
    {
        const off_t size = lseek(whole.fd, 0, SEEK_END);
        char *a = malloc((size_t)size), *b = malloc((size_t)size);

        CHECK_EQ(lseek(resumed.fd, 0, SEEK_END), size);
        CHECK_EQ(pread(whole.fd, a, (size_t)size, 0), size);
        CHECK_EQ(pread(resumed.fd, b, (size_t)size, 0), size);
        CHECK(memcmp(a, b, (size_t)size) == 0);
        free(a);
        free(b);
    }

    rewind_file(tokens);
    t = new_training(tokens, NULL);
    CHECK_EQ(tg_training_freeze(t, "nothing", &err), TG_EUSAGE);
    CHECK_OK(tg_training_freeze(t, "embedding", &err), &err);
    run_to(t, 1);
    CHECK_EQ(tg_training_freeze(t, "layers:0", &err), TG_EUSAGE);
    tg_training_destroy(t);
    CHECK_EQ(tg_training_new(&t, "/proc/self/none", NULL, &err), TG_EIO);
    CHECK(!t);
    CHECK_EQ(tg_training_new(&t, whole.path, NULL, &err), TG_EDATA);
    close(whole.fd);
    close(half.fd);
    close(resumed.fd);
    close(tokens.fd);
    tg_tokenizer_free(tok);
}

static void test_machine(void)
{
    const char *best;

    CHECK_OK(tg_kernels_choose("portable", &err), &err);
    CHECK(strcmp(tg_kernels_name(), "portable") == 0);
    CHECK_OK(tg_kernels_choose(NULL, &err), &err);
    best = tg_kernels_name();
    CHECK_EQ(tg_kernels_choose("none", &err), TG_EUSAGE);
    CHECK(strcmp(tg_kernels_name(), best) == 0);
    tg_threads_set(1);
    CHECK_EQ(tg_threads(), 1);
    tg_threads_set(2);
    CHECK(tg_threads_processors() >= 1);
}

int main(void)
{
    RUN(test_machine);
    RUN(test_model);
    RUN(test_infer);
    RUN(test_generator);
    RUN(test_gradient);
    RUN(test_losses);
    RUN(test_attention);
    RUN(test_tokens);
    RUN(test_chat);
    RUN(test_training);
    return check_done();
}
