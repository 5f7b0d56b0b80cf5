/*
 * A second family of models, tests/unit/family_parallel.c, through all that runs GPT-2: a new
 * family is its own file, and nothing in lib/ knows of it.
 *
 * It is compared with a naive forward pass in double precision (tests/unit/ref_parallel.h).
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/attn/layers.h"
#include "lib/attn/plain_layers.h"
#include "lib/base/threads.h"
#include "lib/gpt/gradient64.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/model.h"
#include "lib/gpt/packed.h"
#include "lib/gpt/pass.h"
#include "lib/models/model_archive.h"
#include "lib/models/model_format.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/family_parallel.h"
#include "tests/unit/ref_parallel.h"
#include "tests/unit/small_model.h"

const tg_family *const tg_families[] = {&tg_gpt2, &family_parallel};
const tg_page *const tg_pages[] = {&tg_gpt2_page, &family_parallel_page};
const char tg_family_names[] = "gpt2|parallel";

enum { B = 2, T = 5, C = 8, V = 126 };

/* ---- a model to try it on */

static tg_config tiny(void)
{
    tg_config c = small_config(2, 2, C, 6);

    c.family = 1;
    c.vocab_size = V;
    return c;
}

struct setting {
    tg_model model;
    tg_pass pass;
    tg_arena arena;
    float *grads;
    ref_parallel ref;
    int32_t ids[B * T], targets[B * T];
};

static float *nans(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++)
        x[i] = NAN;
    return x;
}

static void set_up(struct setting *s, const tg_config *config)
{
    tg_err err;

    memset(s, 0, sizeof *s);
    small_model_create(&s->model, *config, 1);
    small_model_stir(&s->model, 100, 0.5, 0.3); /* no gradient near zero */
    tg_pass_place(&s->arena, &s->pass, &s->model, &(tg_pass_size){.B = B, .T = T, .gradients = true});
    CHECK_OK(tg_arena_alloc(&s->arena, &err), &err);
    check_fill_arena(&s->arena); /* NaN everywhere */
    tg_pass_place(&s->arena, &s->pass, &s->model, &(tg_pass_size){.B = B, .T = T, .gradients = true});
    s->grads = nans(s->model.table.floats);
    ref_parallel_open(&s->ref, &s->model, B, T);
    for (int i = 0; i < B * T; i++) {
        s->ids[i] = (i * 37 + 11) % V;
        s->targets[i] = (i * 53 + 7) % V;
    }
    s->ids[3] = s->ids[4]; /* a row of the embedding that two places share */
}

static void tear_down(struct setting *s)
{
    free(s->grads);
    ref_parallel_close(&s->ref);
    tg_arena_free(&s->arena);
    tg_model_free(&s->model);
}

/* ---- float32: the loss and every parameter's gradient */

static double loss_of(void *context)
{
    struct setting *s = context;

    return ref_parallel_loss(&s->ref, s->ids, s->targets);
}

static void check_gradients(struct setting *s)
{
    small_model_check_gradients(&s->model.table, s->grads, s->ref.flat, check_step(SMALL_MODEL_STEP), loss_of,
                                s);
}

static void gradients_of(const tg_config *config)
{
    struct setting s;
    double loss;

    set_up(&s, config);
    loss = tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    CHECK_NEAR(loss, ref_parallel_loss(&s.ref, s.ids, s.targets), 1e-5);
    check_gradients(&s);
    tear_down(&s);
}

static void gradients(void)
{
    const tg_config c = tiny();

    gradients_of(&c);
}

static void gradients_untied_without_biases(void)
{
    tg_config c = tiny();

    c.n_head = 1;
    c.tied = c.layer_norm_bias = c.linear_bias = false;
    c.head_bias = true;
    c.activation = TG_GELU_ERF;
    gradients_of(&c);
}

static void gradients_with_dropout(void)
{
    const tg_config c = tiny();
    tg_plain_masks masks;
    double *m;
    struct setting s;
    double loss, plain;

    set_up(&s, &c);
    plain = ref_parallel_loss(&s.ref, s.ids, s.targets);
    s.pass.acts.dropout = 0.3f;
    s.pass.acts.rng = (tg_rng){.seed = 5, .step = 9};
    m = small_model_masks(&masks, &s.pass, &c);
    s.ref.masks = masks;
    loss = tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
    CHECK_NEAR(loss, ref_parallel_loss(&s.ref, s.ids, s.targets), 1e-5);
    CHECK(fabs(loss - plain) > 1e-3);
    check_gradients(&s);
    tear_down(&s);
    free(m);
}

static void same_bits_at_any_thread_count(void)
{
    const size_t before = tg_threads();
    tg_config c = tiny();
    float *first = NULL;

    c.n_embd = 68; /* of no block's size, but enough to go parallel */
    for (size_t threads = 1; threads <= 4; threads++) {
        struct setting s;

        tg_threads_set(threads);
        set_up(&s, &c);
        s.pass.acts.dropout = 0.25f;
        (void)tg_pass_run(&s.pass, s.ids, s.targets, s.grads, 1);
        if (first)
            CHECK(memcmp(first, s.grads, s.model.table.floats * sizeof(float)) == 0);
        else
            first = s.grads, s.grads = NULL;
        tear_down(&s);
    }
    tg_threads_set(before);
    free(first);
}

/* ---- in place: inference, and a pass that is resumed */

/* The pass's x and losses, which tg_infer makes without a cache, at once and step by step. */
static void inference_is_the_forward_pass(void)
{
    const tg_config c = tiny();
    float logits[T * V], losses[T], x[T * C];
    small_decoder d;
    struct setting s;

    set_up(&s, &c);
    s.pass.acts.B = 1;
    (void)tg_pass_run(&s.pass, s.ids, s.targets, NULL, 1);
    small_decoder_open(&d, &s.model, T, 0, 0);
    tg_infer_run(&d.infer, s.ids, T, logits);
    CHECK(check_distance(d.infer.x, tg_floats(s.pass.acts.x), T * C) < 1e-5);
    memcpy(x, d.infer.x, sizeof x);
    tg_infer_logits(&d.infer, 0, T, logits);
    tg_crossentropy_forward_ref(losses, logits, s.targets, T, V);
    CHECK(check_distance(losses, s.pass.losses, T) < 1e-5);

    tg_infer_begin(&d.infer, s.ids, T);
    for (size_t l = 0; l < c.n_layer; l++) {
        tg_infer_layers(&d.infer, tg_place(&d.infer.acts, l, 0), tg_place(&d.infer.acts, l + 1, 0));
    }
    tg_infer_end(&d.infer);
    CHECK(memcmp(x, d.infer.x, sizeof x) == 0);
    tg_arena_free(&d.arena);
    tear_down(&s);
}

/* Three tokens, then one at a time, and all of that after a reset: each one's logits, with the
 * model's own matrices and with packed ones. */
static void inference_with_a_cache(void)
{
    const tg_config c = tiny();
    tg_packed_model packed;
    small_decoder d;
    struct setting s;
    tg_err err;

    set_up(&s, &c);
    (void)ref_parallel_loss(&s.ref, s.ids, s.targets);
    CHECK_OK(tg_packed_model_create(&packed, &s.model, TG_WEIGHT_FLOAT32, &err), &err);
    small_decoder_open(&d, &s.model, 3, 1, c.n_ctx);
    for (int round = 0; round < 3; round++) {
        d.infer.packed = round < 2 ? NULL : &packed;
        for (size_t t = 2; t < T; t++) {
            float logits[V];

            tg_infer_run(&d.infer, t == 2 ? s.ids : s.ids + t, t == 2 ? 3 : 1, logits);
            CHECK(check_distance64(logits, s.ref.logits + t * V, V) < 1e-5);
        }
        CHECK_EQ(d.infer.cache.past, T);
        tg_infer_reset(&d.infer);
    }
    tg_packed_model_free(&packed);
    tg_arena_free(&d.arena);
    tear_down(&s);
}

static size_t after_att(const tg_pass *p, size_t l)
{
    return tg_place(&p->acts, l, p->acts.family->att) + 1;
}

/* From a block's x and att to the loss. */
static double rest_of_pass(tg_pass *p, size_t l, const int32_t *targets)
{
    CHECK(tg_pass_layers(p, after_att(p, l), tg_layers_end(&p->acts), NULL));
    return tg_pass_loss(p, targets);
}

/* A block's x and att are all that a pass in place needs to be resumed there. */
static void resumed_from_x_and_att(void)
{
    const tg_config c = tiny();
    tg_arena arena = {0};
    tg_pass p;
    struct setting s;
    tg_err err;

    set_up(&s, &c);
    tg_pass_place(&arena, &p, &s.model, &(tg_pass_size){.B = B, .T = T});
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_pass_place(&arena, &p, &s.model, &(tg_pass_size){.B = B, .T = T});
    tg_pass_begin(&p, s.ids);
    for (size_t l = 0; l < c.n_layer; l++) {
        float *x_l = tg_floats(tg_acts_row(&p.acts, l, TG_ACT_X));
        float *att_l = tg_floats(tg_acts_row(&p.acts, l, p.acts.family->att));
        float x[B * T * C], att[B * T * C];
        double first;

        CHECK(tg_pass_layers(&p, tg_place(&p.acts, l, 0), after_att(&p, l), NULL));
        memcpy(x, x_l, sizeof x);
        memcpy(att, att_l, sizeof att);
        first = rest_of_pass(&p, l, s.targets);
        CHECK_NEAR(first, ref_parallel_loss(&s.ref, s.ids, s.targets), 1e-5);
        memcpy(x_l, x, sizeof x);
        memcpy(att_l, att, sizeof att);
        CHECK(rest_of_pass(&p, l, s.targets) == first);
        memcpy(x_l, x, sizeof x);
        memcpy(att_l, att, sizeof att);
        CHECK(tg_pass_layers(&p, after_att(&p, l), tg_place(&p.acts, l + 1, 0), NULL));
    }
    tg_arena_free(&arena);
    tear_down(&s);
}

/* ---- double precision: the derivative of one prediction's loss */

static const int32_t text[T] = {84, 111, 32, 98, 101};
enum { target = 120 };

struct derivation {
    tg_model model;
    tg_attn_layers layers;
    tg_arena arena;
    tg_gradient64 g;
    ref_parallel ref;
};

/* The loss and its gradient down to layer l's attention. */
static void derive(struct derivation *d, const tg_config *config, size_t l)
{
    tg_attn_layer layer;
    tg_err err = {0};

    memset(d, 0, sizeof *d);
    small_model_create(&d->model, *config, 1);
    small_model_stir(&d->model, 100, 0.5, 0.3);
    CHECK_OK(tg_attn_layers_model(&d->layers, &d->model, text, T, &err), &err);
    CHECK(tg_attn_layers_find(&d->layers, l, &layer));
    tg_gradient64_place(&d->arena, &d->g, &d->model, l, T);
    CHECK_OK(tg_arena_alloc(&d->arena, &err), &err);
    check_fill_arena(&d->arena);
    tg_gradient64_place(&d->arena, &d->g, &d->model, l, T);
    tg_gradient64_begin(&d->g, layer.residual, &layer.rows);
    tg_gradient64_loss(&d->g, target);
    tg_gradient64_run(&d->g);
    ref_parallel_open(&d->ref, &d->model, 1, T);
}

static void end_derivation(struct derivation *d)
{
    ref_parallel_close(&d->ref);
    tg_arena_free(&d->arena);
    tg_attn_layers_close(&d->layers);
    tg_model_free(&d->model);
}

/* Only the last token predicts. */
static const int32_t last_target[T] = {-1, -1, -1, -1, target};

/* The reference's loss of that prediction, from the layer's x and att on, when attention adds
 * `extra` more. */
static double loss_from(struct derivation *d, const double *att, const double *extra)
{
    const size_t l = d->g.layer;

    return T * ref_parallel_loss_from(&d->ref, l, tg_doubles(tg_acts_row(&d->g.acts, l, TG_ACT_X)), att,
                                      extra, last_target);
}

/* Its slope in element i of what the layer's attention computes (att), or of what it adds. */
static double slope(struct derivation *d, size_t i, bool of_att)
{
    const double h = 1e-5;
    double att[T * C], extra[T * C] = {0}, *moved = of_att ? att : extra, was, up;

    memcpy(att, tg_doubles(tg_acts_row(&d->g.acts, d->g.layer, d->g.acts.family->att)), T * C * sizeof *att);
    was = moved[i];
    moved[i] = was + h;
    up = loss_from(d, att, extra);
    moved[i] = was - h;
    return (up - loss_from(d, att, extra)) / (2 * h);
}

/* datt and dout, and the losses.  1e-8: check_slopes() in test_gradient.c; 2e-5: the layers before
 * the derivation are run in float32, FLOAT_TOLERANCE there.  Two sums in double of the same terms,
 * at most 256 of order 1, differ by less than 1e-12. */
static void derivative_of_a_prediction(void)
{
    tg_config c = small_config(3, 2, C, 6);

    c.family = 1;
    for (size_t l = 0; l < c.n_layer; l++) {
        struct derivation d;
        double largest = 0;

        derive(&d, &c, l);
        CHECK_NEAR(d.g.loss, T * ref_parallel_loss(&d.ref, text, last_target), 2e-5);
        CHECK_NEAR(d.g.loss, loss_from(&d, tg_doubles(tg_acts_row(&d.g.acts, l, d.g.acts.family->att)), NULL),
                   1e-12);
        for (size_t i = 0; i < T * C; i++) {
            CHECK_NEAR(d.g.datt[i], slope(&d, i, true), 1e-8);
            CHECK_NEAR(d.g.dout[i], slope(&d, i, false), 1e-8);
            largest = fmax(largest, fmin(fabs(d.g.datt[i]), fabs(d.g.dout[i])));
        }
        CHECK(largest > 1e-3);
        end_derivation(&d);
    }
}

/* ---- the parameters */

/* The table of a tiny model of bytes by hand: C = 8, 6 positions, offsets rounded up to 16 floats. */
enum { BLOCK_FLOATS = 896, TABLE_FLOATS = 3920, TABLE_COUNT = 3824 };

static const struct want {
    const char *name;
    size_t shape[2], offset;
} before[] = {{"positions.weight", {6, 8}, 0}, {"tokens.weight", {256, 8}, 48}},
  in_block[] = {{"mlp.up.weight", {8, 32}, 2096},
                {"mlp.up.bias", {32, 1}, 2352},
                {"mlp.down.weight", {32, 8}, 2384},
                {"mlp.down.bias", {8, 1}, 2640},
                {"attention.dense.weight", {8, 8}, 2656},
                {"attention.dense.bias", {8, 1}, 2720},
                {"attention.qkv.weight", {8, 24}, 2736},
                {"attention.qkv.bias", {24, 1}, 2928},
                {"norm.bias", {8, 1}, 2960},
                {"norm.weight", {8, 1}, 2976}},
  after[] = {{"final_norm.bias", {8, 1}, 3888}, {"final_norm.weight", {8, 1}, 3904}};

static void check_entry(const tg_model *m, size_t *i, const struct want *want, size_t layer, bool of_block)
{
    const tg_param *p = &m->table.entry[*i];
    char name[80];

    if (of_block)
        snprintf(name, sizeof name, "transformer.layers.%zu.%s", layer, want->name);
    else
        snprintf(name, sizeof name, "%s", want->name);
    CHECK(*i < m->table.n && strcmp(p->name, name) == 0);
    CHECK(p->shape[0] == want->shape[0] && p->shape[1] == want->shape[1]);
    CHECK_EQ(p->count, want->shape[0] * want->shape[1]);
    CHECK_EQ(p->offset, want->offset + layer * BLOCK_FLOATS);
    CHECK_EQ(tg_params_index(&m->table, p->kind, p->layer), *i);
    CHECK(m->weight[*i] == m->params + p->offset);
    CHECK(tg_model_weight(m, p->kind, layer) == m->weight[*i]);
    ++*i;
}

static void table_is_the_familys(void)
{
    tg_config c = tiny();
    tg_model m;
    size_t i = 0;

    c.vocab_size = 256;
    small_model_create(&m, c, 7);
    for (size_t n = 0; n < sizeof before / sizeof *before; n++)
        check_entry(&m, &i, &before[n], 0, false);
    for (size_t l = 0; l < 2; l++)
        for (size_t n = 0; n < sizeof in_block / sizeof *in_block; n++)
            check_entry(&m, &i, &in_block[n], l, true);
    for (size_t n = 0; n < sizeof after / sizeof *after; n++)
        check_entry(&m, &i, &after[n], 0, false);
    CHECK_EQ(m.table.n, i);
    CHECK_EQ(m.table.count, TABLE_COUNT);
    CHECK_EQ(m.table.floats, TABLE_FLOATS);
    CHECK_EQ(m.memory.used, TABLE_FLOATS * sizeof(float));
    CHECK(tg_model_weight(&m, TG_LN2_W, 0) == NULL && tg_model_weight(&m, TG_LN2_B, 1) == NULL);
    tg_model_free(&m);
}

/* Gains 1, biases 0, and narrower projections: by the rows, wherever they are. */
static void initial_values_are_the_rows(void)
{
    tg_model m;

    small_model_create(&m, tiny(), 7);
    for (size_t i = 0; i < m.table.n; i++) {
        const tg_param *p = &m.table.entry[i];
        const bool residual = strstr(p->name, "down.weight") || strstr(p->name, "dense.weight");

        if (p->ndim == 2)
            CHECK_NEAR(p->std, residual ? 0.02 / sqrt(4) : 0.02, 1e-12);
        for (size_t e = 0; p->ndim == 1 && e < p->count; e++)
            CHECK(m.weight[i][e] == (strstr(p->name, "norm.weight") ? 1 : 0));
        CHECK(p->decay == (p->ndim == 2));
    }
    tg_model_free(&m);
}

/* Archives have its name, after which its tensors are read by its table. */
static void is_stored_by_name(void)
{
    tg_model m, back;
    tg_err err;
    int fd = memfd_create("model", 0);

    small_model_create(&m, tiny(), 7);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(tg_model_read(&back, fd, true, NULL, NULL, &err), &err);
    CHECK(tg_config_family(&back.config) == &family_parallel);
    CHECK_EQ(back.table.n, m.table.n);
    for (size_t i = 0; i < m.table.n; i++) {
        const tg_param *p = &m.table.entry[i];

        CHECK(strcmp(back.table.entry[i].name, p->name) == 0);
        CHECK(memcmp(back.weight[i], m.weight[i], p->count * sizeof *m.weight[i]) == 0);
    }
    tg_model_free(&back);
    tg_model_free(&m);
    close(fd);
}

/* Other projects' formats have no names for it, and say so. */
static void is_refused_elsewhere(void)
{
    static const char *const formats[] = {"hf", "safetensors", "gguf", "llmc"};
    const tg_write_options plain = {0};
    tg_model m;
    tg_model_file f;
    tg_source source;
    tg_notes notes = {0};
    tg_err err;
    int fd = memfd_create("model", 0);

    small_model_create(&m, tiny(), 7);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_OK(tg_model_file_open_source(&f, &source, "model", NULL, &err), &err);
    CHECK_OK(tg_model_writer_named("npz")->check(&f, &plain, &notes, &err), &err);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        CHECK_EQ(tg_model_writer_named(formats[i])->check(&f, &plain, &notes, &err), TG_EUSAGE);
        CHECK_HAS(err.message, "has no names for the tensors of a model of the family parallel");
    }
    tg_notes_free(&notes);
    tg_model_file_close(&f);
    tg_model_free(&m);
    close(fd);
}

/* Nor has it a plain model: those of lib/ do not read all of its parameters. */
static void has_no_plain_model(void)
{
    const int32_t ids[2] = {1, 2};
    tg_plain_layers p;
    tg_model m;
    tg_err err;

    small_model_create(&m, tiny(), 7);
    CHECK_EQ(tg_plain_layers_open(&p, &m, ids, 2, &err), TG_EDATA);
    CHECK_HAS(err.message, "no plain model is of the family parallel");
    tg_model_free(&m);
}

int main(void)
{
    RUN(gradients);
    RUN(gradients_untied_without_biases);
    RUN(gradients_with_dropout);
    RUN(same_bits_at_any_thread_count);
    RUN(inference_is_the_forward_pass);
    RUN(inference_with_a_cache);
    RUN(resumed_from_x_and_att);
    RUN(derivative_of_a_prediction);
    RUN(table_is_the_familys);
    RUN(initial_values_are_the_rows);
    RUN(is_stored_by_name);
    RUN(is_refused_elsewhere);
    RUN(has_no_plain_model);
    return check_done();
}
