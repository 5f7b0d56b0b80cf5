/* Muon (lib/gpt/muon.h): its steps are those of the equations in double precision, whatever the kernels and
 * the number of threads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/muon.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_muon.h"
#include "tests/unit/small_model.h"

enum { STEPS = 3, PARTS = 64 };
static const tg_muon_step step = {
    .momentum = 0.95, .weight_decay = 0.1, .learning_rate = 0.01, .grad_scale = 0.25};

/* ---- a model's optimizer */

struct rig {
    tg_model model;
    tg_matmul_scratch scratch;
    tg_muon muon;
    float *m, *v, *grads;
    tg_arena arena;
};

static void place_rig(tg_arena *arena, void *context)
{
    struct rig *r = context;
    const tg_params *table = &r->model.table;

    tg_matmul_place(arena, &r->scratch);
    tg_muon_place(arena, &r->muon, table, &r->model.config);
    r->m = tg_arena_take(arena, table->floats, sizeof *r->m);
    r->v = tg_arena_take(arena, table->floats, sizeof *r->v);
    r->grads = tg_arena_take(arena, table->floats, sizeof *r->grads);
}

/* Takes the model over. */
static void open_rig(struct rig *r, const tg_model *model)
{
    tg_err err = {0};

    *r = (struct rig){.model = *model};
    CHECK_OK(tg_arena_build(&r->arena, place_rig, r, &err), &err);
}

static void open_gpt2(struct rig *r, size_t C, size_t L)
{
    tg_model model;

    small_model_create(&model, small_config(L, 2, C, 16), 5);
    open_rig(r, &model);
}

static void close_rig(struct rig *r)
{
    tg_arena_free(&r->arena);
    tg_model_free(&r->model);
}

/* Step t of some parts, with gradients that depend on it. */
static void run_parts(struct rig *r, size_t t, size_t begin, size_t end)
{
    const size_t floats = r->model.table.floats;
    const tg_adamw_state state = {
        {.floats = r->model.params}, {.floats = r->m}, {.floats = r->v}, r->grads, 0};
    size_t part[PARTS];

    CHECK(end <= PARTS);
    check_fill(r->grads, floats, 100 + t, 1);
    tg_muon_momentum(&r->model.table, &state, &step, 0, floats);
    for (size_t i = begin; i < end; i++)
        part[i - begin] = i;
    tg_muon_update(&r->muon, &r->scratch, &state, &step, part, end - begin);
}

static void run_step(struct rig *r, size_t t)
{
    run_parts(r, t, 0, r->muon.n);
}

/* ---- the same in double precision */

/* One step of a matrix at w, whose rows are p->ld apart; m likewise. */
static void step_in_double(double *w, double *m, const float *g, const tg_muon_part *p)
{
    const double mu = step.momentum, gain = 1 - mu;
    double *u = calloc(2 * p->rows * p->cols, sizeof *u), *o = u + p->rows * p->cols;

    for (size_t i = 0; i < p->rows * p->cols; i++) {
        const size_t at = i / p->cols * p->ld + i % p->cols;
        const double clipped = (double)g[at] * step.grad_scale;

        m[at] = mu * m[at] + gain * clipped;
        u[i] = mu * m[at] + gain * clipped;
    }
    ref_muon_orthogonal(o, u, p->rows, p->cols);
    for (size_t i = 0; i < p->rows * p->cols; i++) {
        const size_t at = i / p->cols * p->ld + i % p->cols;

        w[at] -= step.learning_rate *
                 (0.2 * sqrt((double)tg_size_max(p->rows, p->cols)) * o[i] + step.weight_decay * w[at]);
    }
    free(u);
}

/* What is a matrix of its own is written down here once more: all of a hidden parameter, or a third of
 * GPT-2's c_attn, which has as many columns of queries as of keys and of values. */
static void step_of_param(double *w, double *m, const float *g, const tg_param *p)
{
    const size_t parts = p->kind == TG_QKV_W ? 3 : 1, cols = p->shape[1] / parts;

    for (size_t i = 0; i < parts; i++)
        step_in_double(w + i * cols, m + i * cols, g + i * cols,
                       &(tg_muon_part){.rows = p->shape[0], .cols = cols, .ld = p->shape[1]});
}

static void compare(const struct rig *r, const double *w, const double *m, const float *before)
{
    size_t hidden = 0;

    for (size_t k = 0; k < r->model.table.n; k++) {
        const tg_param *p = &r->model.table.entry[k];

        hidden += p->hidden;
        for (size_t i = p->offset; i < p->offset + p->count; i++)
            if (p->hidden) {
                CHECK_NEAR((double)r->m[i], m[i], 1e-6);
                CHECK_NEAR((double)r->model.params[i], w[i], 3e-6);
            } else {
                CHECK(r->m[i] == 0 && r->v[i] == 0 && r->model.params[i] == before[i]);
            }
    }
    CHECK(hidden > 0);
}

static void follow(struct rig *r)
{
    const size_t n = r->model.table.floats;
    double *w = calloc(2 * n, sizeof *w), *m = w + n;
    float *before = calloc(n, sizeof *before);

    memcpy(before, r->model.params, n * sizeof *before);
    for (size_t i = 0; i < n; i++)
        w[i] = (double)before[i];
    for (size_t t = 0; t < STEPS; t++) {
        run_step(r, t);
        for (size_t k = 0; k < r->model.table.n; k++) {
            const tg_param *p = &r->model.table.entry[k];

            if (p->hidden)
                step_of_param(w + p->offset, m + p->offset, r->grads + p->offset, p);
        }
    }
    compare(r, w, m, before);
    free(before);
    free(w);
    close_rig(r);
}

static void gpt2_follows_the_equations(void)
{
    struct rig r;

    open_gpt2(&r, 24, 2);
    follow(&r);
}

static void families_follow_the_equations(void)
{
    for (size_t i = 0; i < BODIES; i += check_step(3)) {
        tg_model model;
        struct rig r;

        body_create(&model, i);
        open_rig(&r, &model);
        follow(&r);
    }
}

/* A matrix whose products are cut into blocks: attention's projection. */
static void a_large_matrix_follows_the_equations(void)
{
    struct rig r;

    open_gpt2(&r, 258, 1);
    const tg_param *p = &r.model.table.entry[tg_params_index(&r.model.table, TG_ATT_PROJ_W, 0)];
    double *w = calloc(2 * p->count, sizeof *w), *m = w + p->count;
    size_t part = 0;

    for (size_t i = 0; i < p->count; i++)
        w[i] = (double)r.model.params[p->offset + i];
    while (r.muon.part[part].offset != p->offset)
        part++;
    run_parts(&r, 0, part, part + 1);
    step_of_param(w, m, r.grads + p->offset, p);
    for (size_t i = 0; i < p->count; i++)
        CHECK_NEAR((double)r.model.params[p->offset + i], w[i], 3e-6);
    free(w);
    close_rig(&r);
}

/* ---- what it is for */

/* Of a matrix whose singular values are known, those of at least 0.0015 come near 1, and smaller ones come
 * nearer; 0 stays 0. */
static void singular_values_become_one(void)
{
    enum { ROWS = 70, COLS = 73 };
    double u[ROWS * COLS] = {0}, o[ROWS * COLS], norm = 0;
    size_t smaller = 0;

    for (size_t i = 0; i + 1 < ROWS; i++) {
        const double value = pow(0.9, (double)i);

        u[i * COLS + (i * 4 + 2) % COLS] = value;
        norm += value * value;
    }
    ref_muon_orthogonal(o, u, ROWS, COLS);
    for (size_t i = 0; i < sizeof u / sizeof *u; i++) {
        const double before = u[i] / sqrt(norm);

        smaller += u[i] > 0 && before < 0.0015;
        if (u[i] == 0)
            CHECK(o[i] == 0);
        else
            CHECK(before < 0.0015 ? o[i] > 100 * before && o[i] < 1 : o[i] > 0.68 && o[i] < 1.21);
    }
    CHECK(smaller > 5);
}

/* ---- threads */

static void any_number_of_threads_gives_the_same_bits(void)
{
    const size_t threads = tg_threads();
    struct rig first, other;

    tg_threads_set(4);
    open_gpt2(&first, 40, 2);
    for (size_t n = 4; n >= 1; n--)
        for (size_t slots = 1; slots <= first.muon.slots; slots += 3) {
            open_gpt2(&other, 40, 2);
            other.muon.slots = slots;
            for (size_t t = 0; t < 2; t++) {
                tg_threads_set(4);
                if (n == 4 && slots == 1)
                    run_step(&first, t);
                tg_threads_set(n);
                run_step(&other, t);
            }
            tg_threads_set(4);
            CHECK(memcmp(first.model.params, other.model.params,
                         first.model.table.floats * sizeof *first.model.params) == 0);
            close_rig(&other);
        }
    close_rig(&first);
    tg_threads_set(threads);
}

static void tests(void)
{
    RUN(gpt2_follows_the_equations);
    RUN(families_follow_the_equations);
    RUN(a_large_matrix_follows_the_equations);
    RUN(any_number_of_threads_gives_the_same_bits);
}

int main(int argc, char **argv)
{
    RUN(singular_values_become_one);
    return check_each_isa(argc, argv, tests);
}
