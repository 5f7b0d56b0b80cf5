/*
 * Matrix products, plain and with packed weights, of one instruction set's kernels,
 * against plain loops in double precision.  docs/numerics.md derives the tolerances.
 *
 * Shapes are stated in the constants of lib/kernels/isa/blocks.h: in the build with tiny
 * blocks (make VARIANT=tiny) small products cross every edge; the normal build proves
 * the production constants.
 */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/kernels.h"
#include "tests/unit/check.h"

#define EPS 0x1p-24 /* half a unit in the last place of 1 */
#define COUNT(a) (sizeof(a) / sizeof *(a))

enum { THREADS = 4 }; /* that scratch is for */

static const tg_kernels *kernels;

struct shape {
    size_t M, N, K;
};

/* ---- numbers */

enum { LENGTH = 99991 };

/* Random numbers in [-1, 1), every fifth half-way between two numbers of bf16. */
static const float *table_of_randoms(void)
{
    static float table[LENGTH];

    if (table[0] != 0)
        return table;
    check_fill(table, LENGTH, 1, 1);
    for (size_t i = 0; i < LENGTH; i += 5)
        table[i] = (float)(128 + i % 128) / 256 + 1.0f / 512;
    return table;
}

/* n floats of the table; those of another start are others. */
static float *randoms(size_t n, size_t start)
{
    const float *table = table_of_randoms();
    float *x = malloc((n ? n : 1) * sizeof *x);

    if (!x)
        abort();
    for (size_t i = 0, at = start * 7919 % LENGTH; i < n; i++, at = at + 1 == LENGTH ? 0 : at + 1)
        x[i] = table[at];
    return x;
}

static double *doubles(size_t n)
{
    double *x = malloc(n * sizeof *x);

    if (!x)
        abort();
    return x;
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

/* n values, `step` apart, rounded to int8 with their scale: to nearest, ties to even. */
static void round_to_int8(double *to, const float *x, size_t n, size_t to_step, size_t step)
{
    float scale = 0;

    for (size_t i = 0; i < n; i++)
        scale = fmaxf(scale, fabsf(x[i * step]) / 127);
    for (size_t i = 0; i < n; i++)
        to[i * to_step] = scale < 0x1p-126f ? 0 : (double)rintf(x[i * step] / scale) * (double)scale;
}

/* What is checked of `map`: that it saw each element once, when it was complete. */
static void twice(float *out, const float *inp, size_t n)
{
    for (size_t i = 0; i < n; i++)
        out[i] = 2 * inp[i];
}

/* What is checked of `slope`. */
static void times_pre(float *c, const float *pre, size_t n)
{
    for (size_t i = 0; i < n; i++)
        c[i] *= pre[i];
}

/* ---- one product against the reference */

/* What reads and writes the test's own arrays alone: the sanitizers would take half of their time for it. */
#define REFERENCE __attribute__((no_sanitize("address"), no_sanitize("undefined")))

/* What an operand is rounded to. */
enum { A_BF16 = 1, B_BF16 = 2, B_INT8 = 4 };

/* The operands in double, both with N or K contiguous, and a row of results. */
struct reference {
    double *a, *b, *want, *size; /* [M,K], [K,N], [N], [N] */
};

REFERENCE static struct reference reference_of(const tg_matmul *op, const float *b, size_t b_row,
                                               size_t b_col, int precision)
{
    struct reference r = {doubles(op->M * op->K), doubles(op->K * op->N), doubles(op->N), doubles(op->N)};

    for (size_t m = 0; m < op->M; m++)
        for (size_t k = 0; k < op->K; k++) {
            const float x = ((const float *)op->a)[m * op->a_row + k * op->a_col];

            r.a[m * op->K + k] = precision & A_BF16 ? rounded(x) : (double)x;
        }
    for (size_t k = 0; k < op->K; k++)
        for (size_t n = 0; n < op->N; n++) {
            const float y = b[k * b_row + n * b_col];

            r.b[k * op->N + n] = precision & B_BF16 ? rounded(y) : (double)y;
        }
    for (size_t n = 0; precision & B_INT8 && n < op->N; n++)
        round_to_int8(r.b + n, b + n * b_col, op->K, op->N, b_row);
    return r;
}

static void reference_free(struct reference *r)
{
    free(r->a);
    free(r->b);
    free(r->want);
    free(r->size);
}

/* Row m: want[n], and size[n], the sum of the terms' magnitudes. */
REFERENCE static void reference_row(const struct reference *r, const tg_matmul *op, const float *add,
                                    size_t m)
{
    double *restrict want = r->want, *restrict size = r->size;

    for (size_t n = 0; n < op->N; n++) {
        want[n] = (op->bias ? (double)op->bias[n] : 0) + (add ? (double)add[m * op->ldc + n] : 0);
        size[n] = 2;
    }
    for (size_t k = 0; k < op->K; k++) {
        const double x = r->a[m * op->K + k], *restrict b = r->b + k * op->N;

#pragma omp simd
        for (size_t n = 0; n < op->N; n++) {
            want[n] += x * b[n];
            size[n] += fabs(x * b[n]);
        }
    }
    for (size_t n = 0; op->slope && n < op->N; n++) {
        want[n] *= (double)((const float *)op->pre)[m * op->ldc + n];
        size[n] *= fabs((double)((const float *)op->pre)[m * op->ldc + n]) + 0.1;
    }
}

struct outcome {
    double worst; /* error, in units of the bound */
    bool outside_kept, map_right;
};

/* Rows 0, every, 2 every ... and the last; add: what C held before, or op->add, or NULL. */
static struct outcome compare(const struct reference *r, const tg_matmul *op, const float *add, size_t every)
{
    struct outcome o = {.outside_kept = true, .map_right = true};

    for (size_t m = 0; m < op->M; m = m + every < op->M || m + 1 == op->M ? m + every : op->M - 1) {
        const float *c = (const float *)op->c + m * op->ldc;
        const float *mapped = op->mapped;

        reference_row(r, op, add, m);
        for (size_t n = 0; n < op->N; n++) {
            /* a sum of K products and up to two more terms, each rounded */
            const double off = fabs((double)c[n] - r->want[n]) / (r->size[n] * (double)(op->K + 3) * EPS);

            o.worst = off <= o.worst ? o.worst : isnan(off) ? HUGE_VAL : off;
            o.map_right = o.map_right && (!op->map || mapped[m * op->ldc + n] == 2 * c[n]);
        }
        for (size_t n = op->N; n < op->ldc; n++)
            o.outside_kept = o.outside_kept && c[n] == 7.0f;
    }
    return o;
}

/* Checks the outcome; says which case it was of if it is bad. */
static void judge(const struct outcome *o, const char *what, const struct shape *s, int form)
{
    if (!(o->worst <= 1) || !o->outside_kept || !o->map_right)
        printf("%s %s %zux%zux%zu form %d:\n", kernels->isa, what, s->M, s->N, s->K, form);
    CHECK(o->worst <= 1);
    CHECK(o->outside_kept);
    CHECK(o->map_right);
}

/* A form is a number: A transposed or not, B transposed or not, and what is done with the sum. */
enum { FORMS = 20, A_TRANSPOSED = 1, B_TRANSPOSED = 2 };
enum epilogue { PLAIN, BIAS_AND_MAP, BIAS_AND_ADD, ACCUMULATE, SLOPE };

/* C before the product: 7 beyond its N columns, which must stay; otherwise NaN or what is added to. */
static void prepare_c(tg_matmul *op, const float *add)
{
    for (size_t i = 0; i < op->M * op->ldc; i++)
        ((float *)op->c)[i] = i % op->ldc >= op->N ? 7.0f : op->accumulate ? add[i] : NAN;
}

static void set_epilogue(tg_matmul *op, enum epilogue e, const float *bias, const float *add, float *mapped)
{
    op->bias = e == BIAS_AND_MAP || e == BIAS_AND_ADD ? bias : NULL;
    op->add = e == BIAS_AND_ADD ? add : NULL;
    op->accumulate = e == ACCUMULATE;
    op->map = e == BIAS_AND_MAP ? twice : NULL;
    op->mapped = mapped;
    op->slope = e == SLOPE ? times_pre : NULL;
    op->pre = add;
}

/* The product of a [M,K] and b [K,N]; the caller adds where it goes. */
static tg_matmul row_major(const struct shape *s, const float *a, const float *b)
{
    return (tg_matmul){.M = s->M,
                       .N = s->N,
                       .K = s->K,
                       .a = a,
                       .a_row = s->K,
                       .a_col = 1,
                       .b = b,
                       .b_row = s->N,
                       .b_col = 1,
                       .ldc = s->N};
}

/* ---- operands and results in bf16 */

static tg_bf16 *halves(const float *x, size_t n)
{
    tg_bf16 *h = malloc((n ? n : 1) * sizeof *h);

    if (!h)
        abort();
    for (size_t i = 0; i < n; i++)
        h[i] = tg_bf16_from_float(x[i]);
    return h;
}

/* Whether C is op->c rounded, 7 beyond its columns; and mapped16 what twice() makes of that. */
static bool is_rounded(const tg_matmul *op, const tg_bf16 *c16, const tg_bf16 *mapped16)
{
    bool right = true;

    for (size_t m = 0; m < op->M; m++)
        for (size_t n = 0; n < op->ldc; n++) {
            const size_t at = m * op->ldc + n;
            const tg_bf16 want = n < op->N ? tg_bf16_from_float(((const float *)op->c)[at]) : 7;

            right = right && c16[at] == want;
            if (op->map && n < op->N)
                right = right && mapped16[at] == tg_bf16_from_float(2 * tg_float_from_bf16(want));
        }
    return right;
}

/* The same product as op, which is complete, with a and b rounded beforehand: the same bits.  With a bf16 C:
 * those rounded, unless the sum is over several blocks of k. */
static void check_halves(const tg_matmul *op, size_t a_n, size_t b_n, const float *before,
                         const tg_matmul_scratch *scratch)
{
    const size_t n = op->M * op->ldc;
    tg_bf16 *a = halves(op->a, a_n), *b = halves(op->b, b_n), *pre = op->pre ? halves(op->pre, n) : NULL;
    tg_bf16 *c16 = malloc(n * sizeof *c16), *mapped16 = malloc(n * sizeof *mapped16);
    float *c = randoms(n, 7), *mapped = randoms(n, 7), *rounded_pre = randoms(n, 7);
    tg_matmul h = *op;

    memcpy(c, before, n * sizeof *c);
    h.c = c;
    h.mapped = mapped;
    h.a = a;
    h.a_type = TG_TYPE_BF16;
    kernels->matmul_bf16(&h, scratch);
    CHECK(memcmp(c, op->c, n * sizeof *c) == 0);
    memcpy(c, before, n * sizeof *c);
    h.b = b;
    h.b_type = TG_TYPE_BF16;
    for (size_t i = 0; i < n && pre; i++)
        rounded_pre[i] = tg_float_from_bf16(pre[i]);
    h.pre = rounded_pre;
    kernels->matmul_bf16(&h, scratch);
    if (!op->slope)
        CHECK(memcmp(c, op->c, n * sizeof *c) == 0);
    if (!op->add && !op->accumulate && op->K <= KC_WORDS) {
        const tg_matmul in_float = h;

        for (size_t i = 0; i < n; i++)
            c16[i] = 7;
        h.c = c16;
        h.c_type = TG_TYPE_BF16;
        h.mapped = mapped16;
        h.pre = pre;
        kernels->matmul_bf16(&h, scratch);
        CHECK(is_rounded(&in_float, c16, mapped16));
    }
    free(a);
    free(b);
    free(pre);
    free(c16);
    free(mapped16);
    free(c);
    free(mapped);
    free(rounded_pre);
}

/* In float32, a bf16 B is the same B widened. */
static void check_half_b(const tg_matmul *op, size_t b_n, const float *before,
                         const tg_matmul_scratch *scratch)
{
    const size_t n = op->M * op->ldc;
    tg_bf16 *b = halves(op->b, b_n);
    float *wide = malloc(b_n * sizeof *wide), *c[2], *mapped[2];

    for (size_t i = 0; i < b_n; i++)
        wide[i] = tg_float_from_bf16(b[i]);
    for (size_t i = 0; i < 2; i++) {
        tg_matmul h = *op;

        h.c = c[i] = randoms(n, 7);
        h.mapped = mapped[i] = randoms(n, 7);
        memcpy(c[i], before, n * sizeof *c[i]);
        h.b = i == 0 ? (const void *)wide : b;
        h.b_type = i == 0 ? TG_TYPE_FLOAT : TG_TYPE_BF16;
        kernels->matmul(&h, scratch);
    }
    CHECK(memcmp(c[0], c[1], n * sizeof *c[0]) == 0);
    CHECK(memcmp(mapped[0], mapped[1], n * sizeof *mapped[0]) == 0);
    for (size_t i = 0; i < 2; i++) {
        free(c[i]);
        free(mapped[i]);
    }
    free(wide);
    free(b);
}

static void check_product(bool bf16, struct shape s, int form, const tg_matmul_scratch *scratch)
{
    const size_t ldc = s.N + 3; /* not the width, so that strides count */
    /* + 1: operands that are aligned to nothing but their type */
    float *a = randoms(s.M * s.K + 1, 1), *b = randoms(s.K * s.N + 1, 2), *c = randoms(s.M * ldc + 1, 3);
    float *bias = randoms(s.N, 4), *add = randoms(s.M * ldc, 5), *mapped = randoms(s.M * ldc, 6);
    float *before = randoms(s.M * ldc, 7);
    const bool a_t = form & A_TRANSPOSED, b_t = form & B_TRANSPOSED;
    tg_matmul op = {
        .M = s.M,
        .N = s.N,
        .K = s.K,
        .a = a + 1,
        .a_row = a_t ? 1 : s.K,
        .a_col = a_t ? s.M : 1,
        .b = b + 1,
        .b_row = b_t ? 1 : s.N,
        .b_col = b_t ? s.K : 1,
        .c = c + 1,
        .ldc = ldc,
    };
    struct reference r = reference_of(&op, op.b, op.b_row, op.b_col, bf16 ? A_BF16 | B_BF16 : 0);
    struct outcome o;

    set_epilogue(&op, (enum epilogue)(form / 4), bias, add, mapped);
    prepare_c(&op, add);
    memcpy(before, op.c, s.M * ldc * sizeof *before);
    (bf16 ? kernels->matmul_bf16 : kernels->matmul)(&op, scratch);
    /* of a large one some rows, in every place of a tile */
    o = compare(&r, &op, op.add || op.accumulate ? add : NULL, s.M * s.N * s.K > 10000000 ? 7 : 1);
    judge(&o, bf16 ? "bf16" : "float32", &s, form);
    if (bf16)
        check_halves(&op, s.M * s.K, s.K * s.N, before, scratch);
    else
        check_half_b(&op, s.K * s.N, before, scratch);
    reference_free(&r);
    free(before);
    free(a);
    free(b);
    free(c);
    free(bias);
    free(add);
    free(mapped);
}

/* ---- products of all shapes */

enum { GUARD = 1 << 20 }; /* bytes after the scratch, which must stay */

static tg_matmul_scratch new_scratch(size_t threads)
{
    const size_t size = tg_matmul_work(threads);
    unsigned char *packed = aligned_alloc(64, size + GUARD);

    if (!packed)
        abort();
    memset(packed + size, 7, GUARD);
    return (tg_matmul_scratch){.packed = packed, .threads = threads};
}

static void scratch_free(const tg_matmul_scratch *scratch)
{
    const unsigned char *end = (unsigned char *)scratch->packed + tg_matmul_work(scratch->threads);
    bool kept = true;

    for (size_t i = 0; i < GUARD; i++)
        kept = kept && end[i] == 7;
    CHECK(kept);
    free(scratch->packed);
}

static void at_all_edges(bool bf16)
{
    static const size_t edge[] = {1,  2,  4,  5,  6,  7,  8,  9,  12, 13, 15, 16,
                                  17, 31, 32, 33, 47, 48, 49, 64, 65, 80, 97};
    const tg_matmul_scratch scratch = new_scratch(THREADS);
    const size_t step = check_soak(6, 3); /* of the depths some in turn */
    int number = 0;

    for (size_t i = 0; i < COUNT(edge); i++)
        for (size_t j = 0; j < COUNT(edge); j++)
            for (size_t l = (i + j) % step; l < COUNT(edge); l += step, number++)
                check_product(bf16, (struct shape){edge[i], edge[j], edge[l]}, number % FORMS, &scratch);
    scratch_free(&scratch);
}

/* Small shapes in all forms, large ones in one or two, in make soak in twice as many: over a list in all. */
static void in_forms(bool bf16, const struct shape *shapes, size_t n, const tg_matmul_scratch *scratch)
{
    const size_t period = 8 * check_soak(2, 1);

    for (size_t i = 0; i < n; i++) {
        const bool small = shapes[i].M * shapes[i].N * shapes[i].K < 300000;

        for (size_t form = 0; form < FORMS; form++)
            if (small || form % period == i * 5 % period)
                check_product(bf16, shapes[i], (int)form, scratch);
    }
}

/* A block's depth, its rows, a panel's columns, the parts of one row, and either side of each. */
static void across_blocks(bool bf16)
{
    const size_t depth = bf16 ? 2 : 1, K = depth * KC_WORDS, rows = A_FLOATS / KC_WORDS;
    const struct shape shapes[] = {
        {13, 33, K - 1},     {13, 33, K},          {13, 33, K + 1}, {20, 40, 2 * K},   {20, 40, 2 * K + 1},
        {20, 40, 4 * K + 7}, {5, 1500, 60},        {2000, 3, 100},  {rows - 1, 33, K}, {rows + 6, 33, K + 1},
        {3, 5, 255},         {rows * 2, 9, K - 1}, {1, 300, 70},    {1, 511, 20},      {1, 512, 9},
        {1, 513, 9},         {1, 1100, 20},        {1, 129, 600},
    };
    const tg_matmul_scratch scratch = new_scratch(THREADS);

    in_forms(bf16, shapes, COUNT(shapes), &scratch);
    scratch_free(&scratch);
}

/* More rows than a block of A holds by more columns than are packed of B at a time, for one thread. */
static void beyond_what_is_packed(bool bf16)
{
    const size_t words = KC_WORDS - 2, depth = bf16 ? 2 : 1;
    const struct shape shapes[] = {
        {A_FLOATS / words + 6, (B_FLOATS + SUMS_FLOATS) / words + 100, depth * words},
        {A_FLOATS / words * 2, 33, depth * (2 * words + 1)}, /* and more of k than a block's */
        {A_FLOATS / words * 3 + 1, B_FLOATS / words * 2 + 5, depth * 9},
    };
    const tg_matmul_scratch scratch = new_scratch(1);

    in_forms(bf16, shapes, COUNT(shapes), &scratch);
    scratch_free(&scratch);
}

static void products_float32(void)
{
    at_all_edges(false);
    across_blocks(false);
    beyond_what_is_packed(false);
}

/* A bf16 C whose sums are deeper than a block: one rounding of the sum, and that of the result. */
static void deep_bf16(void)
{
    const struct shape s = {37, 53, tg_matmul_depth()};
    const tg_matmul_scratch scratch = new_scratch(THREADS);
    float *a = randoms(s.M * s.K, 1), *b = randoms(s.K * s.N, 2), *c = randoms(s.M * s.N, 3);
    tg_bf16 *c16 = halves(c, s.M * s.N);
    tg_matmul op = row_major(&s, a, b);
    struct reference r = reference_of(&op, b, s.N, 1, A_BF16 | B_BF16);

    op.c = c16;
    op.c_type = TG_TYPE_BF16;
    kernels->matmul_bf16(&op, &scratch);
    for (size_t m = 0; m < s.M; m++) {
        reference_row(&r, &op, NULL, m);
        for (size_t n = 0; n < s.N; n++) {
            const double off = fabs((double)tg_float_from_bf16(c16[m * s.N + n]) - r.want[n]);

            CHECK(off <= r.size[n] * (double)(s.K + 3) * EPS + 0x1p-8 * fabs(r.want[n]));
        }
    }
    reference_free(&r);
    scratch_free(&scratch);
    free(a);
    free(b);
    free(c);
    free(c16);
}

static void products_bf16(void)
{
    deep_bf16();
    at_all_edges(true);
    across_blocks(true);
    beyond_what_is_packed(true);
}

/* The tile unit's product on a model of the tile unit; the rest of it takes the avx512bf16 instructions. */
static void products_on_modelled_tiles(void)
{
#ifdef TG_TILES_MODEL
    void tg_matmul_bf16_tiles_model(const tg_matmul *op, const tg_matmul_scratch *scratch);
    const tg_kernels *const here = kernels;
    tg_kernels tiles = *kernels;

    if (strcmp(kernels->isa, "avx512bf16") != 0)
        return;
    tiles.isa = "tiles_model";
    tiles.matmul_bf16 = tg_matmul_bf16_tiles_model;
    kernels = &tiles;
    at_all_edges(true);
    across_blocks(true);
    beyond_what_is_packed(true);
    kernels = here;
#endif
}

/* ---- packed weights */

/* b [K,N], or its transpose, packed; to be freed by arena. */
static tg_packed_matrix packed(tg_arena *arena, tg_weight_type type, const float *b, const struct shape *s,
                               bool b_t)
{
    tg_packed_matrix w;
    tg_err err;

    tg_packed_matrix_place(arena, &w, s->K, s->N, type);
    CHECK_OK(tg_arena_alloc(arena, &err), &err);
    tg_packed_matrix_place(arena, &w, s->K, s->N, type);
    kernels->packed_matrix_pack(&w, b, b_t ? 1 : s->N, b_t ? s->K : 1);
    return w;
}

/* Every row alone has the bits that it has among the others. */
static void check_rows_alone(const tg_matmul *op, const tg_packed_matrix *w, const float *add)
{
    float *row = randoms(op->N, 0);
    bool alike = true;

    for (size_t m = 0; m < op->M; m++) {
        tg_matmul alone = *op;

        alone.M = 1;
        alone.map = NULL;
        alone.a = (const float *)op->a + m * op->a_row;
        alone.c = memcpy(row, add + m * op->ldc, op->N * sizeof *row);
        alone.add = op->add ? add + m * op->ldc : NULL;
        kernels->packed_matrix_run(&alone, w);
        alike = alike && memcmp(row, (const float *)op->c + m * op->ldc, op->N * sizeof *row) == 0;
    }
    CHECK(alike);
    free(row);
}

static void check_weights(tg_weight_type type, struct shape s, bool b_t, enum epilogue epilogue)
{
    static const char *const names[] = {"packed float32", "packed bf16", "packed int8"};
    static const int rounding[] = {0, B_BF16, B_INT8};
    const size_t ldc = s.N + 3, lda = s.K + 1;
    float *a = randoms(s.M * lda, 1), *b = randoms(s.K * s.N, 2), *c = randoms(s.M * ldc, 3);
    float *bias = randoms(s.N, 4), *add = randoms(s.M * ldc, 5), *mapped = randoms(s.M * ldc, 6);
    tg_arena arena = {0};
    const tg_packed_matrix w = packed(&arena, type, b, &s, b_t);
    tg_matmul op = {.M = s.M, .N = s.N, .K = s.K, .a = a, .a_row = lda, .a_col = 1, .c = c, .ldc = ldc};
    struct reference r = reference_of(&op, b, b_t ? 1 : s.N, b_t ? s.K : 1, rounding[type]);
    struct outcome o;

    set_epilogue(&op, epilogue, bias, add, mapped);
    prepare_c(&op, add);
    kernels->packed_matrix_run(&op, &w);
    o = compare(&r, &op, op.add || op.accumulate ? add : NULL, 1);
    judge(&o, names[type], &s, (int)epilogue);
    check_rows_alone(&op, &w, add);
    reference_free(&r);
    tg_arena_free(&arena);
    free(a);
    free(b);
    free(c);
    free(bias);
    free(add);
    free(mapped);
}

static void weights_packed_beforehand(void)
{
    static const size_t rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 13, 16, 17, 24, 25, 49};
    static const size_t columns[] = {1, 3, 4, 5, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 200};
    static const size_t depth[] = {1, 7, 8, 9, 300, 1300};
    int number = 0;

    for (size_t i = 0; i < COUNT(rows); i++)
        for (size_t j = 0; j < COUNT(columns); j++)
            for (size_t l = 0; l < COUNT(depth); l++, number++)
                if (depth[l] < 1000 || columns[j] > 60) /* all edges at once are enough of long sums */
                    check_weights((tg_weight_type)(number % 3), (struct shape){rows[i], columns[j], depth[l]},
                                  number / 3 % 2, (enum epilogue)(number / 6 % 4));
}

/* Columns of zeros, of magnitudes for which there is no scale, of the least that have one, and of the
 * greatest; and one number among zeros. */
static void scales_of_int8(void)
{
    enum { K = 40, N = 70 };
    static const float largest[] = {0, 0x1p-149f, 0x1p-120f, 0x1.fcp-120f, 1e-30f, 1, FLT_MAX};
    const struct shape s = {1, N, K};
    float *b = randoms(K * N, 2), a[K], c[N];
    tg_arena arena = {0};
    tg_packed_matrix w;
    const tg_matmul op = {.M = 1, .N = N, .K = K, .a = a, .a_row = K, .a_col = 1, .c = c, .ldc = N};

    for (size_t n = 0; n < N; n++) {
        for (size_t k = 0; k < K; k++)
            b[k * N + n] =
                n >= COUNT(largest) * 5 && k != n % K ? 0 : b[k * N + n] * 0.5f * largest[n % COUNT(largest)];
        b[(n % K) * N + n] = n % 2 ? -largest[n % COUNT(largest)] : largest[n % COUNT(largest)];
    }
    w = packed(&arena, TG_WEIGHT_INT8, b, &s, false);
    for (size_t k = 0; k < K; k++) { /* one weight at a time, so that each is seen exactly */
        double want[K];

        for (size_t i = 0; i < K; i++)
            a[i] = i == k ? 1.0f : 0.0f;
        kernels->packed_matrix_run(&op, &w);
        for (size_t n = 0; n < N; n++) {
            round_to_int8(want, b + n, K, 1, N);
            CHECK(c[n] == (float)want[k]);
        }
    }
    tg_arena_free(&arena);
    free(b);
}

/* ---- the same bits with any number of threads */

/* The product of every kind, with an activation in place, as it is in decoding. */
enum kind { PRODUCT, PRODUCT_BF16, WEIGHTS, WEIGHTS_BF16, WEIGHTS_INT8 };

static void run_kind(enum kind kind, const tg_matmul *op, const tg_packed_matrix *w,
                     const tg_matmul_scratch *scratch)
{
    if (kind >= WEIGHTS) {
        memset(w->panels, 1, tg_round_up(op->N, 64) * op->K * (size_t)(4 >> (kind - WEIGHTS)));
        kernels->packed_matrix_pack(w, op->b, op->N, 1);
        kernels->packed_matrix_run(op, w);
    } else {
        (kind == PRODUCT ? kernels->matmul : kernels->matmul_bf16)(op, scratch);
    }
}

static void check_thread_counts(enum kind kind, struct shape s, const tg_matmul_scratch *scratch)
{
    static const int threads[] = {1, 2, 3, 5, 9}; /* also more than scratch is for */
    const tg_weight_type type = kind >= WEIGHTS ? (tg_weight_type)(kind - WEIGHTS) : TG_WEIGHT_FLOAT32;
    float *a = randoms(s.M * s.K, 1), *b = randoms(s.K * s.N, 2), *c = randoms(2 * s.M * s.N, 3);
    tg_arena arena = {0};
    const tg_packed_matrix w = packed(&arena, type, b, &s, false);
    tg_matmul op = row_major(&s, a, b);

    op.c = op.mapped = c;
    op.map = kernels->gelu_tanh_forward;
    for (size_t i = 0; i < COUNT(threads); i++) {
        tg_threads_set((size_t)threads[i]);
        memset(op.c, 1, s.M * s.N * sizeof(float));
        run_kind(kind, &op, &w, scratch);
        CHECK(i == 0 || memcmp(c, op.c, s.M * s.N * sizeof(float)) == 0);
        op.c = op.mapped = c + s.M * s.N;
    }
    tg_arena_free(&arena);
    free(a);
    free(b);
    free(c);
}

static void same_bits_at_any_thread_count(void)
{
    const size_t rows = A_FLOATS / KC_WORDS;
    const struct shape shapes[] = {
        {70, 90, 300}, {1, 500, 300}, {1, 2001, 40},   {8, 40, 300},
        {3, 33, 999},  {9, 333, 65},  {400, 128, 100}, {rows + 6, 70, 2 * KC_WORDS + 64},
    };
    const tg_matmul_scratch scratch = new_scratch(THREADS);
    const size_t before = tg_threads();

    for (size_t i = 0; i < COUNT(shapes); i++) {
        check_thread_counts(PRODUCT, shapes[i], &scratch);
        check_thread_counts(WEIGHTS, shapes[i], &scratch);
        check_thread_counts(WEIGHTS_BF16, shapes[i], &scratch);
        check_thread_counts(PRODUCT_BF16, shapes[i], &scratch);
        check_thread_counts(WEIGHTS_INT8, shapes[i], &scratch);
    }
    tg_threads_set(before);
    scratch_free(&scratch);
}

/* A product along k in pieces of whole parts has the bits of the whole, if they are of several rows. */
static void check_pieces(bool bf16, size_t K, const tg_matmul_scratch *scratch)
{
    const size_t M = 7, N = 40, part = bf16 ? kernels->matmul_bf16_part(K) : kernels->matmul_part(K);
    float *a = randoms(M * K, 1), *b = randoms(K * N, 2), *c = randoms(M * N, 3), *pieces = randoms(M * N, 4);
    tg_matmul op = {.M = M,
                    .N = N,
                    .K = K,
                    .a = a,
                    .a_row = K,
                    .a_col = 1,
                    .b = b,
                    .b_row = N,
                    .b_col = 1,
                    .c = c,
                    .ldc = N};

    CHECK(part > 0 && part <= (bf16 ? 2 : 1) * KC_WORDS);
    (bf16 ? kernels->matmul_bf16 : kernels->matmul)(&op, scratch);
    op.c = pieces;
    op.part = part;
    for (size_t k = 0; k < K; k += op.K) {
        op.K = k == 0 ? 2 * part : part;
        op.K = op.K < K - k ? op.K : K - k;
        op.a = a + k;
        op.b = b + k * N;
        op.accumulate = k > 0;
        (bf16 ? kernels->matmul_bf16 : kernels->matmul)(&op, scratch);
    }
    CHECK(memcmp(c, pieces, M * N * sizeof *c) == 0);
    free(a);
    free(b);
    free(c);
    free(pieces);
}

static void pieces_along_k(void)
{
    const tg_matmul_scratch scratch = new_scratch(THREADS);

    for (int bf16 = 0; bf16 <= 1; bf16++)
        for (size_t more = 0; more < 5; more++)
            check_pieces(bf16, (bf16 ? 2 : 1) * KC_WORDS * (more + 3) - 7 * more - 1, &scratch);
    scratch_free(&scratch);
}

static void tests(void)
{
    kernels = tg_kernels_get();
    RUN(products_float32);
    RUN(products_bf16);
    RUN(products_on_modelled_tiles);
    RUN(weights_packed_beforehand);
    RUN(scales_of_int8);
    RUN(same_bits_at_any_thread_count);
    RUN(pieces_along_k);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
