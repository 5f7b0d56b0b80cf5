/* Every instruction set's kernels that this processor runs, against plain loops in
 * double precision.  docs/numerics.md derives the tolerances. */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/kernels.h"
#include "tests/unit/check.h"

#define EPS 0x1p-24 /* half a unit in the last place of 1 */

static const tg_kernels *all[8];
static size_t n_all;

static float *floats(size_t n)
{
    float *p = malloc((n ? n : 1) * sizeof *p);

    if (!p)
        abort();
    return p;
}

/* ---- matmul */

struct shape {
    size_t M, N, K;
};

/* What is checked of `map`: that it saw each element once, when it was complete. */
static void twice(float *out, const float *inp, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 2 * inp[i];
}

/* x rounded to bf16: to nearest, ties to even. */
static double rounded(float x)
{
    uint32_t bits;

    memcpy(&bits, &x, sizeof bits);
    bits = (bits + 0x7fff + (bits >> 16 & 1)) & 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return (double)x;
}

/* One product with A and B stored plain or transposed; every epilogue in turn.  With
 * bf16 the operands are rounded first, and the sum is float32's all the same. */
static void check_product(const tg_kernels *k, bool bf16, struct shape s, bool a_t, bool b_t, int epilogue,
                          const tg_matmul_scratch *scratch)
{
    const size_t ldc = s.N + 3; /* not the width, so that strides count */
    /* + 1: operands that are aligned to nothing but their type */
    float *a = floats(s.M * s.K + 1), *b = floats(s.K * s.N + 1), *c = floats(s.M * ldc + 1);
    float *bias = floats(s.N), *add = floats(s.M * ldc), *mapped = floats(s.M * ldc);
    tg_matmul op = {
        .M = s.M, .N = s.N, .K = s.K,
        .a = a + 1, .a_row = a_t ? 1 : s.K, .a_col = a_t ? s.M : 1,
        .b = b + 1, .b_row = b_t ? 1 : s.N, .b_col = b_t ? s.K : 1,
        .c = c + 1, .ldc = ldc,
        .bias = epilogue == 1 || epilogue == 2 ? bias : NULL,
        .add = epilogue == 2 ? add : NULL,
        .accumulate = epilogue == 3,
        .map = epilogue == 1 ? twice : NULL, .mapped = mapped,
    };
    double worst = 0;
    /* of a large one some rows, in every place of a tile */
    const size_t every = s.M * s.N * s.K > 100000000 ? 7 : 1;
    bool outside_kept = true, map_kept = true;

    check_fill(a + 1, s.M * s.K, 1, 1);
    check_fill(b + 1, s.K * s.N, 2, 1);
    check_fill(bias, s.N, 3, 1);
    check_fill(add, s.M * ldc, 4, 1);
    for (size_t i = 0; i < s.M * ldc; i++)
        c[1 + i] = i % ldc >= s.N ? 7.0f : op.accumulate ? add[i] : NAN;
    (bf16 ? k->matmul_bf16 : k->matmul)(&op, scratch);
    for (size_t m = 0; m < s.M; m += every) {
        for (size_t n = 0; n < s.N; n++) {
            double want = 0, size = 0;

            for (size_t i = 0; i < s.K; i++) {
                float x = op.a[m * op.a_row + i * op.a_col], y = op.b[i * op.b_row + n * op.b_col];
                double term = bf16 ? rounded(x) * rounded(y) : (double)x * (double)y;

                want += term;
                size += fabs(term);
            }
            want += op.bias ? (double)bias[n] : 0;
            want += op.add || op.accumulate ? (double)add[m * ldc + n] : 0;
            /* a sum of K products and up to two more terms, each rounded */
            worst = fmax(worst, fabs((double)op.c[m * ldc + n] - want) / ((size + 2) * (double)(s.K + 3) * EPS));
            if (isnan(op.c[m * ldc + n]))
                worst = HUGE_VAL;
        }
        for (size_t n = s.N; n < ldc; n++)
            outside_kept = outside_kept && op.c[m * ldc + n] == 7.0f;
        for (size_t n = 0; op.map && n < s.N; n++)
            map_kept = map_kept && mapped[m * ldc + n] == 2 * op.c[m * ldc + n];
    }
    if (!(worst <= 1) || !outside_kept || !map_kept)
        printf("%s%s %zux%zux%zu a_t=%d b_t=%d epilogue=%d:\n", k->isa, bf16 ? " bf16" : "", s.M, s.N, s.K, a_t, b_t, epilogue);
    CHECK(worst <= 1);
    CHECK(outside_kept);
    CHECK(map_kept);
    free(a);
    free(b);
    free(c);
    free(bias);
    free(add);
    free(mapped);
}

/* Scratch for four threads. */
static tg_matmul_scratch room(void)
{
    return (tg_matmul_scratch){.packed = aligned_alloc(64, tg_matmul_work(4)), .threads = 4};
}

static void matmul_at_all_edges(bool bf16)
{
    static const size_t edge[] = {1, 2, 4, 5, 6, 7, 8, 9, 12, 13, 15, 16, 17,
                                  31, 32, 33, 47, 48, 49, 64, 65, 80, 97};
    const size_t n = sizeof edge / sizeof edge[0];
    const tg_matmul_scratch scratch = room();
    size_t number = 0;

    for (size_t k = 0; k < n_all; k++)
        for (size_t i = 0; (!bf16 || all[k]->matmul_bf16) && i < n; i++)
            for (size_t j = 0; j < n; j++)
                for (size_t l = 0; l < n; l += 3, number++)
                    check_product(all[k], bf16, (struct shape){edge[i], edge[j], edge[l]}, number % 2,
                                  number / 2 % 2, (int)(number / 4 % 4), &scratch);
    free(scratch.packed);
}

static void matmul_across_blocks(bool bf16)
{
    static const struct shape shapes[] = {
        {3, 5, 255},    {3, 5, 257},     {20, 40, 511},  {20, 40, 513}, {20, 40, 1100},
        {1, 300, 70},   {1, 129, 600},   {2000, 3, 300}, {5, 4100, 260},
        /* a block's depth in float32, in bf16, and either side of it; more rows than one's */
        {13, 33, 767},  {13, 33, 769},   {13, 33, 1535}, {13, 33, 1537}, {20, 40, 3100},
        {390, 33, 769}, {770, 33, 1537}, {1, 1100, 20},  {1, 513, 9},
    };
    const tg_matmul_scratch scratch = room();

    for (size_t k = 0; k < n_all; k++)
        for (size_t i = 0; (!bf16 || all[k]->matmul_bf16) && i < sizeof shapes / sizeof shapes[0]; i++)
            for (int form = 0; form < 16; form++)
                check_product(all[k], bf16, shapes[i], form & 1, form >> 1 & 1, form >> 2, &scratch);
    free(scratch.packed);
}

/* More rows than a block of A holds by more columns than are packed of B at a time, for one thread. */
static void matmul_beyond_what_is_packed(bool bf16)
{
    const size_t words = KC_WORDS - 2;
    const size_t depth = bf16 ? 2 : 1;
    const struct shape shapes[] = {
        {A_FLOATS / words + 6, B_FLOATS / words + 34, depth * words},
        {A_FLOATS / words * 2, 33, depth * (2 * words + 1)}, /* and more of k than a block's */
    };
    tg_matmul_scratch scratch = room();

    scratch.threads = 1;
    for (size_t k = 0; k < n_all; k++)
        for (int form = 0; (!bf16 || all[k]->matmul_bf16) && form < 8; form++)
            check_product(all[k], bf16, shapes[form / 4], form & 1, form >> 1 & 1, form % 4, &scratch);
    free(scratch.packed);
}

static void matmul_float32(void)
{
    matmul_at_all_edges(false);
    matmul_across_blocks(false);
    matmul_beyond_what_is_packed(false);
}

static void matmul_bf16(void)
{
    matmul_at_all_edges(true);
    matmul_across_blocks(true);
    matmul_beyond_what_is_packed(true);
}

/* ---- weights packed beforehand */

/* w [K,N], b_row and b_col as given; to be freed by arena. */
static tg_packed_matrix packed(tg_arena *arena, const tg_kernels *k, tg_precision precision, const float *b,
                         const struct shape *s, bool b_t)
{
    tg_packed_matrix w;
    tg_err err;

    tg_packed_matrix_place(arena, &w, s->K, s->N, precision);
    CHECK_OK(tg_arena_alloc(arena, &err), &err);
    tg_packed_matrix_place(arena, &w, s->K, s->N, precision);
    k->packed_matrix_pack(&w, b, b_t ? 1 : s->N, b_t ? s->K : 1);
    return w;
}

/* Against the product's sum; and every row against the same row alone, bit for bit. */
static void check_weights(const tg_kernels *k, tg_precision precision, struct shape s, bool b_t, int epilogue)
{
    const size_t ldc = s.N + 3, lda = s.K + 1;
    float *a = floats(s.M * lda), *b = floats(s.K * s.N), *c = floats(s.M * ldc), *row = floats(s.N);
    float *bias = floats(s.N), *add = floats(s.M * ldc);
    tg_arena arena = {0};
    const tg_packed_matrix w = (check_fill(b, s.K * s.N, 2, 1), packed(&arena, k, precision, b, &s, b_t));
    tg_matmul op = {.M = s.M, .N = s.N, .K = s.K, .a = a, .a_row = lda, .a_col = 1, .c = c, .ldc = ldc,
                    .bias = epilogue == 1 || epilogue == 2 ? bias : NULL,
                    .add = epilogue == 2 ? add : NULL, .accumulate = epilogue == 3,
                    .map = epilogue == 0 ? twice : NULL, .mapped = add};
    double worst = 0;
    bool outside_kept = true, rows_alike = true, map_kept = true;

    check_fill(a, s.M * lda, 1, 1);
    check_fill(bias, s.N, 3, 1);
    check_fill(add, s.M * ldc, 4, 1);
    for (size_t i = 0; i < s.M * ldc; i++)
        c[i] = i % ldc >= s.N ? 7.0f : op.accumulate ? add[i] : NAN;
    k->packed_matrix_run(&op, &w);
    for (size_t m = 0; m < s.M; m++) {
        for (size_t n = 0; n < s.N; n++) {
            double want = 0, size = 0;

            for (size_t i = 0; i < s.K; i++) {
                float y = b[b_t ? n * s.K + i : i * s.N + n];
                double term = (double)a[m * lda + i] *
                              (precision == TG_PRECISION_BF16 ? rounded(y) : (double)y);

                want += term;
                size += fabs(term);
            }
            want += op.bias ? (double)bias[n] : 0;
            want += op.add || op.accumulate ? (double)add[m * ldc + n] : 0;
            worst = fmax(worst, fabs((double)c[m * ldc + n] - want) / ((size + 2) * (double)(s.K + 3) * EPS));
            if (isnan(c[m * ldc + n]))
                worst = HUGE_VAL;
        }
        for (size_t n = s.N; n < ldc; n++)
            outside_kept = outside_kept && c[m * ldc + n] == 7.0f;
        for (size_t n = 0; op.map && n < s.N; n++)
            map_kept = map_kept && add[m * ldc + n] == 2 * c[m * ldc + n];
    }
    CHECK(map_kept);
    for (size_t m = 0; m < s.M; m++) {
        tg_matmul alone = op;

        alone.M = 1;
        alone.map = NULL;
        alone.a = a + m * lda;
        alone.c = memcpy(row, add + m * ldc, s.N * sizeof *row);
        alone.add = op.add ? add + m * ldc : NULL;
        k->packed_matrix_run(&alone, &w);
        rows_alike = rows_alike && memcmp(row, c + m * ldc, s.N * sizeof *row) == 0;
    }
    if (!(worst <= 1) || !outside_kept || !rows_alike)
        printf("%s %zux%zux%zu precision %d b_t=%d epilogue=%d:\n", k->isa, s.M, s.N, s.K, (int)precision, b_t,
               epilogue);
    CHECK(worst <= 1);
    CHECK(outside_kept);
    CHECK(rows_alike);
    tg_arena_free(&arena);
    free(a);
    free(b);
    free(c);
    free(row);
    free(bias);
    free(add);
}

static void weights_packed_beforehand(void)
{
    static const size_t rows[] = {1, 2, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 21};
    static const size_t columns[] = {1, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 65, 200};
    static const size_t depth[] = {1, 7, 8, 9, 300};
    int number = 0;

    for (size_t k = 0; k < n_all; k++)
        for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
            for (size_t j = 0; j < sizeof columns / sizeof *columns; j++)
                for (size_t l = 0; l < sizeof depth / sizeof *depth; l++, number++)
                    check_weights(all[k], number % 3 ? TG_PRECISION_BF16 : TG_PRECISION_FLOAT32,
                                  (struct shape){rows[i], columns[j], depth[l]}, number / 3 % 2,
                                  number / 6 % 4);
}

/* The product of every form, with an activation in place, as it is in decoding. */
enum form { PRODUCT, PRODUCT_BF16, WEIGHTS, WEIGHTS_BF16 };

static void same_bits(const tg_kernels *k, enum form form, struct shape s, const tg_matmul_scratch *scratch)
{
    const tg_precision precision = form == WEIGHTS_BF16 ? TG_PRECISION_BF16 : TG_PRECISION_FLOAT32;
    float *a = floats(s.M * s.K), *b = floats(s.K * s.N), *c = floats(2 * s.M * s.N);
    tg_arena arena = {0};
    tg_packed_matrix w = (check_fill(b, s.K * s.N, 2, 1), packed(&arena, k, precision, b, &s, false));
    tg_matmul op = {.M = s.M, .N = s.N, .K = s.K, .a = a, .a_row = s.K, .a_col = 1,
                    .b = b, .b_row = s.N, .b_col = 1, .c = c, .ldc = s.N,
                    .map = k->gelu_tanh_forward, .mapped = c};

    static const int threads[] = {1, 2, 3, 5, 9}; /* more than there is room for, too */

    check_fill(a, s.M * s.K, 1, 1);
    for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
        omp_set_num_threads(threads[i]);
        check_fill(op.c, s.M * s.N, 3, 1);
        if (form == WEIGHTS || form == WEIGHTS_BF16) {
            memset(w.panels, 1, tg_round_up(s.N, 32) * s.K * (form == WEIGHTS ? 4 : 2));
            k->packed_matrix_pack(&w, b, s.N, 1);
            k->packed_matrix_run(&op, &w);
        } else {
            (form == PRODUCT ? k->matmul : k->matmul_bf16)(&op, scratch);
        }
        CHECK(i == 0 || memcmp(c, op.c, s.M * s.N * sizeof(float)) == 0);
        op.c = op.mapped = c + s.M * s.N;
    }
    tg_arena_free(&arena);
    free(a);
    free(b);
    free(c);
}

static void matmul_same_bits_at_any_thread_count(void)
{
    static const struct shape shapes[] = {{70, 90, 300}, {1, 500, 300}, {1, 2001, 40},     {8, 40, 300},
                                          {3, 33, 999},  {9, 333, 65},  {768, 128, 512}, {390, 70, 1600}};
    const tg_matmul_scratch scratch = room();

    for (size_t k = 0; k < n_all; k++)
        for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
            same_bits(all[k], PRODUCT, shapes[i], &scratch);
            same_bits(all[k], WEIGHTS, shapes[i], &scratch);
            same_bits(all[k], WEIGHTS_BF16, shapes[i], &scratch);
            if (all[k]->matmul_bf16)
                same_bits(all[k], PRODUCT_BF16, shapes[i], &scratch);
        }
    free(scratch.packed);
}

/* ---- exp and tanh, through the kernels that are made of them */

/* softmax of {0, x}: its ratio is exp(x) up to two roundings. */
static void exp_over_the_whole_range(void)
{
    for (size_t k = 0; k < n_all; k++) {
        double worst = 0;

        for (int i = 0; i < 200000; i++) {
            float x = -87.0f * (float)i / 200000.0f, row[2] = {0, x}, probs[2];

            all[k]->softmax_row(probs, row, 2);
            worst = fmax(worst, fabs((double)probs[1] / (double)probs[0] / exp((double)x) - 1));
        }
        CHECK_NEAR(worst, 0, 2e-7 + 3 * EPS);
    }
}

static void tanh_through_gelu(void)
{
    const double scale = sqrt(2 / 3.14159265358979323846);

    for (size_t k = 0; k < n_all; k++) {
        double worst = 0;
        float x[1000], y[1000];

        for (int i = 0; i < 1000; i++)
            x[i] = (float)(i - 500) / 50.0f;
        all[k]->gelu_tanh_forward(y, x, 1000);
        for (int i = 0; i < 1000; i++) {
            double v = (double)x[i], want = 0.5 * v * (1 + tanh(scale * (v + 0.044715 * v * v * v)));

            /* half of x times tanh's error, and the roundings of the rest */
            worst = fmax(worst, fabs((double)y[i] - want) / (0.5 * fabs(v) * 3e-7 + 4 * EPS * fabs(v) + 1e-30));
        }
        CHECK_NEAR(worst, 0, 1);
    }
}

static void a_nan_stays_one(void)
{
    for (size_t k = 0; k < n_all; k++) {
        float row[40] = {0}, out[40];

        row[3] = NAN;
        all[k]->gelu_tanh_forward(out, row, 40);
        CHECK(isnan(out[3]) && !isnan(out[4]));
        CHECK(isnan(all[k]->crossentropy_row(row, 40, 0, 0)));
    }
}

/* ---- the optimizer and the norm */

static void adamw_is_the_equation(void)
{
    const size_t n = 37;

    for (size_t k = 0; k < n_all; k++) {
        float w[37], m[37], v[37], g[37];
        const tg_adamw_step s = {.learning_rate = 0.01f, .beta1 = 0.9f, .beta2 = 0.99f, .epsilon = 1e-8f,
                                 .weight_decay = 0.1f, .correction1 = 0.19f, .correction2 = 0.0199f,
                                 .grad_scale = 0.5f};

        check_fill(w, n, 1, 1);
        check_fill(m, n, 2, 1);
        check_fill(g, n, 3, 1);
        for (size_t i = 0; i < n; i++)
            v[i] = m[i] * m[i];
        for (size_t i = 0; i < n; i++) {
            double gi = 0.5 * (double)g[i], mi = 0.9 * (double)m[i] + 0.1 * gi;
            double vi = 0.99 * (double)v[i] + 0.01 * gi * gi;
            double wi = (double)w[i] - 0.01 * (mi / 0.19 / (sqrt(vi / 0.0199) + 1e-8) + 0.1 * (double)w[i]);

            all[k]->adamw(w + i, m + i, v + i, g + i, 1, &s);
            CHECK_NEAR((double)w[i], wi, 40 * EPS);
            CHECK_NEAR((double)m[i], mi, 40 * EPS);
            CHECK_NEAR((double)v[i], vi, 40 * EPS);
        }
    }
}

static void sum_of_squares(void)
{
    float x[1001];
    double want = 0;

    check_fill(x, 1001, 1, 3);
    for (size_t i = 0; i < 1001; i++)
        want += (double)x[i] * (double)x[i];
    for (size_t k = 0; k < n_all; k++)
        CHECK_NEAR(all[k]->sum_squares(x, 1001), want, 1e-12 * want);
}

static void choosing(void)
{
    tg_err err;

    for (size_t k = 0; k < n_all; k++) {
        CHECK_OK(tg_kernels_choose(all[k]->isa, &err), &err);
        CHECK(tg_kernels_get() == all[k]);
    }
    CHECK_EQ(tg_kernels_choose("z80", &err), TG_EUSAGE);
    CHECK_HAS(err.message, "z80");
    CHECK_HAS(err.message, "portable");
    CHECK(tg_kernels_get() == all[n_all - 1]);
    CHECK_OK(tg_kernels_choose(NULL, &err), &err);
    CHECK(tg_kernels_get() == all[0]);
}

int main(void)
{
    n_all = tg_kernels_list(all);
    for (size_t i = 0; i < n_all; i++)
        printf("# %s%s\n", all[i]->isa, all[i]->matmul_bf16 ? ", with bf16" : "");
    RUN(matmul_float32);
    RUN(matmul_bf16);
    RUN(weights_packed_beforehand);
    RUN(matmul_same_bits_at_any_thread_count);
    RUN(exp_over_the_whole_range);
    RUN(tanh_through_gelu);
    RUN(a_nan_stays_one);
    RUN(adamw_is_the_equation);
    RUN(sum_of_squares);
    RUN(choosing);
    return check_done();
}
