/* Activations that backward computes again: the same gradients, bit for bit, in less memory. */
#include <stdlib.h>
#include <string.h>

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

static void same_gradients(void)
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

static void tests(void)
{
    RUN(same_gradients);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
