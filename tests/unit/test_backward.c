/* Backward that keeps less, or computes the gradients of some parameters: the same numbers, bit for bit. */
#include <stdlib.h>
#include <string.h>

#include "lib/gpt/freeze.h"
#include "lib/gpt/pass.h"
#include "lib/kernels/matmul.h"
#include "tests/unit/bodies.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

enum { B = 2, T = 12 };

/* Model i: those of bodies.h, then GPT-2, with a layer more. */
static void create(tg_model *m, size_t i)
{
    if (i < BODIES) {
        body_create(m, i);
        return;
    }
    small_model_create(m, small_config(3, 3, 12, 16), 1);
    small_model_stir(m, 100, 0.5, 0.3);
}

/* The gradients of a pass with dropout, in the model's order.  Returns the bytes that it takes. */
static size_t run(const tg_model *m, const tg_pass_size *size, float *grads, double *loss)
{
    int32_t ids[B * T], targets[B * T];
    tg_arena arena = {0};
    tg_pass pass;
    tg_err err = {0};
    size_t bytes;

    for (size_t i = 0; i < B * T; i++) {
        ids[i] = (int32_t)(7 * i % 101);
        targets[i] = i % 5 == 3 ? -1 : (int32_t)(5 * i % 97);
    }
    tg_pass_place(&arena, &pass, m, size);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    check_fill_arena(&arena);
    tg_pass_place(&arena, &pass, m, size);
    pass.acts.dropout = 0.2f;
    pass.acts.rng = (tg_rng){.seed = 3, .step = 5};
    *loss = tg_pass_run(&pass, ids, targets, grads, 1);
    bytes = arena.used;
    tg_arena_free(&arena);
    return bytes;
}

static void compare(const tg_model *m, tg_precision precision)
{
    const size_t n = m->table.floats;
    float *grads[2] = {malloc(n * sizeof(float)), malloc(n * sizeof(float))};
    size_t bytes[2];
    double loss[2];

    for (size_t i = 0; i < 2; i++) {
        const tg_pass_size size = {
            .B = B, .T = T, .gradients = true, .recompute = i == 1, .precision = precision};

        check_fill(grads[i], n, i, 1);
        bytes[i] = run(m, &size, grads[i], &loss[i]);
    }
    CHECK(loss[0] == loss[1]);
    CHECK_EQ(memcmp(grads[0], grads[1], n * sizeof(float)), 0);
    CHECK(bytes[1] < bytes[0]);
    free(grads[0]);
    free(grads[1]);
}

static void computed_again(void)
{
    for (size_t i = 0; i <= BODIES; i++) {
        tg_model m;

        create(&m, i);
        compare(&m, TG_PRECISION_FLOAT32);
        if (tg_matmul_has_bf16())
            compare(&m, TG_PRECISION_BF16);
        tg_model_free(&m);
    }
}

/* ---- frozen parameters */

static const char *const lists[] = {
    "wte.weight",          "wpe.weight", "embedding", "layers:0",     "layers:1",
    "embedding,layers:0",  "*.weight",   "*.bias",    "*norm*,*ln_*", "*.v_proj.*,layers:1,*attn*",
    "embedding,layers:0-1"};
#define LISTS (sizeof lists / sizeof lists[0])

/* The gradients of what is left are those of the whole model's pass; values are where the table says. */
static void freeze(size_t body, const char *list, tg_precision precision, const tg_model *whole,
                   const float *want, double loss)
{
    const size_t n = whole->table.n;
    const tg_pass_size size = {.B = B, .T = T, .gradients = true, .precision = precision};
    unsigned char *frozen = malloc(n);
    float *grads;
    tg_model m;
    tg_err err = {0};
    double got;

    create(&m, body);
    if (tg_freeze_find(frozen, &m.table, list, &err)) { /* no such parameters, or all */
        CHECK_EQ(err.code, TG_EUSAGE);
        goto done;
    }
    CHECK_OK(tg_model_freeze(&m, frozen, &err), &err);
    grads = malloc(m.trained.floats * sizeof *grads);
    check_fill(grads, m.trained.floats, 1, 1);
    run(&m, &size, grads, &got);
    CHECK(got == loss);
    for (size_t i = 0; i < n; i++) {
        const tg_param *p = &m.table.entry[i], *q = &whole->table.entry[i];

        CHECK_EQ(tg_model_is_frozen(&m, i), frozen[i]);
        CHECK_EQ(memcmp(m.params + p->offset, whole->params + q->offset, p->count * sizeof(float)), 0);
        if (!frozen[i])
            CHECK_EQ(memcmp(grads + p->offset, want + q->offset, p->count * sizeof(float)), 0);
    }
    free(grads);
done:
    tg_model_free(&m);
    free(frozen);
}

static void freeze_all(tg_precision precision)
{
    for (size_t i = 0; i <= BODIES; i++) {
        const tg_pass_size size = {.B = B, .T = T, .gradients = true, .precision = precision};
        tg_model m;
        float *want;
        double loss;

        create(&m, i);
        want = malloc(m.table.floats * sizeof *want);
        run(&m, &size, want, &loss);
        for (size_t k = 0; k < LISTS; k++)
            freeze(i, lists[k], precision, &m, want, loss);
        free(want);
        tg_model_free(&m);
    }
}

static void frozen(void)
{
    freeze_all(TG_PRECISION_FLOAT32);
    if (tg_matmul_has_bf16())
        freeze_all(TG_PRECISION_BF16);
}

/* Where the blocks of what is left begin, which the processes of a team divide by. */
static void blocks_of_what_is_left(void)
{
    tg_model m;
    unsigned char frozen[64];
    tg_err err = {0};

    create(&m, BODIES);
    CHECK_OK(tg_freeze_find(frozen, &m.table, "embedding,layers:0-1", &err), &err);
    CHECK_OK(tg_model_freeze(&m, frozen, &err), &err);
    CHECK_EQ(m.trained.blocks, 3);
    CHECK_EQ(m.trained.block_begin[0], 0);
    CHECK_EQ(m.trained.block_begin[1], 0);
    CHECK_EQ(m.trained.block_begin[2], 0);
    CHECK_EQ(m.trained.block_begin[3], tg_params_find(&m.trained, "ln_f.weight")->offset);
    tg_model_free(&m);
}

static void tests(void)
{
    RUN(computed_again);
    RUN(frozen);
    RUN(blocks_of_what_is_left);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
