/* Steering: vectors added to the residual stream, heads silenced, means of the stream in archives. */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/gpt/family.h"
#include "lib/heads/steer.h"
#include "lib/heads/vectors.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

enum { T = 7, C_MAX = 64 };
static int32_t ids[T];
static float vector[C_MAX];

/* The logits [T,V] of a steered run. */
static float *steered(const tg_model *m, const tg_steer *steer)
{
    const size_t V = m->config.vocab_size;
    float *logits = malloc(T * V * sizeof *logits);
    const tg_tap tap = tg_steer_tap(steer);
    small_decoder d;

    small_decoder_open(&d, m, T, 0, 0);
    d.infer.tap = &tap;
    tg_infer_begin(&d.infer, ids, T);
    tg_infer_layers(&d.infer, 0, tg_layers_end(&d.infer.acts));
    tg_infer_logits(&d.infer, 0, T, logits);
    tg_arena_free(&d.arena);
    return logits;
}

/* The same by hand: stop before the layer and change its input. */
static float *added(const tg_model *m, size_t layer, double scale)
{
    const size_t V = m->config.vocab_size, C = m->config.n_embd;
    float *logits = malloc(T * V * sizeof *logits);
    small_decoder d;
    size_t place;
    float *x;

    small_decoder_open(&d, m, T, 0, 0);
    place = tg_place(&d.infer.acts, layer, 0);
    tg_infer_begin(&d.infer, ids, T);
    tg_infer_layers(&d.infer, 0, place);
    x = tg_floats(d.infer.acts.x);
    for (size_t n = 0; n < T * C; n++)
        x[n] += (float)(scale * (double)vector[n % C]);
    tg_infer_layers(&d.infer, place, tg_layers_end(&d.infer.acts));
    tg_infer_logits(&d.infer, 0, T, logits);
    tg_arena_free(&d.arena);
    return logits;
}

static bool same(float *a, float *b, const tg_model *m)
{
    const bool equal = memcmp(a, b, T * m->config.vocab_size * sizeof *a) == 0;

    free(a);
    free(b);
    return equal;
}

static void check_vectors(const tg_model *m)
{
    const tg_steer none = {0};

    for (size_t l = 0; l <= m->config.n_layer; l++) {
        const tg_steer_vector once = {l, 1.5, vector}, twice[] = {{l, 1, vector}, {l, -1, vector}};

        CHECK(same(steered(m, &(tg_steer){.add = &once, .n_add = 1}), added(m, l, 1.5), m));
        CHECK(!same(steered(m, &(tg_steer){.add = &once, .n_add = 1}), steered(m, &none), m));
        CHECK(same(steered(m, &(tg_steer){.add = twice, .n_add = 1}), added(m, l, 1), m));
    }
    CHECK(same(steered(m, &none), added(m, 0, 0), m));
}

/* Without a head, its rows of the projection may be anything. */
static void check_silence(tg_model *m)
{
    const size_t D = tg_config_head_dim(&m->config), H = m->config.n_head;
    const tg_ablate_head head = {1, H - 1};
    const tg_steer steer = {.silent = &head, .n_silent = 1}, none = {0};
    const tg_param *p = &m->table.entry[tg_params_index(&m->table, TG_ATT_PROJ_W, 1)];
    float *w = m->params + p->offset, *want = steered(m, &steer);

    CHECK(!same(steered(m, &steer), steered(m, &none), m));
    for (size_t c = 0; c < m->config.n_embd; c++)
        for (size_t d = (H - 1) * D; d < H * D; d++)
            w[p->transposed ? c * p->shape[1] + d : d * p->shape[1] + c] = 0;
    CHECK(same(want, steered(m, &none), m));
}

/* ---- means */

static void check_means(const tg_model *m)
{
    const size_t C = m->config.n_embd;
    const int fd = memfd_create("vectors", 0);
    float mean[C_MAX];
    tg_attn_layers layers;
    small_decoder d;
    tg_err err;

    CHECK_OK(tg_attn_layers_model(&layers, m, ids, T, &err), &err);
    CHECK_OK(tg_vectors_write(fd, &layers, &err), &err);
    tg_attn_layers_close(&layers);
    for (size_t l = 0; l <= m->config.n_layer; l++) {
        CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
        CHECK_OK(tg_vectors_read(mean, fd, l, C, &err), &err);
        small_decoder_open(&d, m, T, 0, 0);
        tg_infer_begin(&d.infer, ids, T);
        tg_infer_layers(&d.infer, 0, tg_place(&d.infer.acts, l, 0));
        for (size_t c = 0; c < C; c++) {
            double sum = 0;

            for (size_t t = 0; t < T; t++)
                sum += (double)tg_floats(d.infer.acts.x)[t * C + c];
            CHECK(mean[c] == (float)(sum / T));
        }
        tg_arena_free(&d.arena);
    }
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_EQ(tg_vectors_read(mean, fd, m->config.n_layer + 1, C, &err), TG_EDATA);
    CHECK_HAS(err.message, "there is no vector of layer 3");
    CHECK_EQ(lseek(fd, 0, SEEK_SET), 0);
    CHECK_EQ(tg_vectors_read(mean, fd, 1, C - 1, &err), TG_EDATA);
    CHECK_HAS(err.message, "h.1.resid has ");
    close(fd);
}

static void families(void)
{
    for (size_t i = 0; i < BODIES; i++) {
        tg_model m;

        body_create(&m, i);
        check_vectors(&m);
        check_means(&m);
        check_silence(&m);
        tg_model_free(&m);
    }
}

static void gpt2(void)
{
    tg_model m;

    small_model_create(&m, small_config(2, 3, 12, 16), 3);
    check_vectors(&m);
    check_means(&m);
    check_silence(&m);
    tg_model_free(&m);
}

int main(void)
{
    for (size_t t = 0; t < T; t++)
        ids[t] = (int32_t)((t * 79 + t * t * 13) % 256);
    for (size_t c = 0; c < C_MAX; c++)
        vector[c] = (float)(c % 5) - 1.75f;
    RUN(gpt2);
    RUN(families);
    return check_done();
}
