/*
 * Attention in bf16 with the dot product of pairs (AVX-512 BF16): see attend16.h.
 *
 * The scheme is attend.c's, with blocks of scores [key][query]: what a query's softmax sums, and its
 * maximum, then come from the same lane of many vectors, and a row of k is an operand as it is.
 *
 * An operand of a product is an array of words, pairs of the bf16 that the product sums over: a row of
 * k is D/2 words; `across` two rows, as v is for the sum over keys, a word has an element of each.
 * Words are kept in arrays of float, which have their size.
 */
#include "lib/kernels/isa/kernels_isa.h"

#if defined(__AVX512BF16__)

#include <immintrin.h>
#include <math.h>
#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/transpose.h"

#define QB TG_ATTEND_BLOCK
#define KB TG_ATTEND_BLOCK
#define LOG2_E 1.44269504088896341f
#define LN_2 0.693147180559945309f

/* ---- small products of words */

/* What the mask leaves of a product in a block on the diagonal, where query i sees the keys j <= i. */
enum mask {
    MASK_NOTHING,
    MASK_COLUMNS,    /* c is [key][query]: vectors that are masked wholly are skipped */
    MASK_TERMS_FROM, /* c's rows are keys: the sum begins with the first query that sees one of a tile */
    MASK_TERMS_TO    /* c's rows are queries: the sum ends with the last key that one of a tile sees */
};

/* c = a b, or c + a b, or c times its row's factor + a b. */
struct product {
    float *c;
    size_t ldc;
    const float *a; /* words, any strides */
    size_t a_row, a_col;
    const float *b; /* words */
    size_t ldb;
    size_t M, N, K; /* N is a multiple of VL; K counts words */
    bool add;
    const float *factors; /* of c's rows, or NULL */
    enum mask mask;
};

INLINE vf multiply_add(vf sum, const float *a, vf b)
{
    int32_t pair;

    memcpy(&pair, a, sizeof pair);
    return (vf)_mm512_dpbf16_ps((__m512)sum, (__m512bh)_mm512_set1_epi32(pair), (__m512bh)b);
}

/* `rows` rows from m on and `vectors` vectors from column n on, words k0 .. k1-1.  A row beyond M repeats
 * the last one and is not stored. */
INLINE void small_tile(const struct product *p, size_t m, size_t n, size_t k0, size_t k1, const size_t rows,
                       const size_t vectors)
{
    const float *a[8];
    vf sum[16];

    for (size_t r = 0; r < rows; r++)
        a[r] = p->a + tg_size_min(m + r, p->M - 1) * p->a_row;
#pragma GCC unroll 16
    for (size_t t = 0; t < rows * vectors; t++)
        sum[t] = (vf){0};
    for (size_t k = k0; k < k1; k++) {
        vf b[4];

#pragma GCC unroll 4
        for (size_t v = 0; v < vectors; v++)
            b[v] = load(p->b + k * p->ldb + n + v * VL);
#pragma GCC unroll 16
        for (size_t t = 0; t < rows * vectors; t++)
            sum[t] = multiply_add(sum[t], a[t / vectors] + k * p->a_col, b[t % vectors]);
    }
#pragma GCC unroll 16
    for (size_t t = 0; t < rows * vectors; t++) {
        const size_t row = m + t / vectors;
        float *c = p->c + row * p->ldc + n + t % vectors * VL;

        if (row >= p->M)
            continue;
        if (p->factors)
            sum[t] = add_product(sum[t], load(c), splat(p->factors[row]));
        else if (p->add)
            sum[t] += load(c);
        store(c, sum[t]);
    }
}

/* Rows m .. m + rows - 1: four if there are many columns, else eight, so that enough sums are under way. */
static size_t small_rows(const struct product *p, size_t m)
{
    size_t n = p->mask == MASK_COLUMNS ? m / VL * VL : 0;
    const size_t rows = n + 2 * VL < p->N ? 4 : 8;
    const size_t k0 = p->mask == MASK_TERMS_FROM ? m / 2 : 0;
    const size_t k1 = p->mask == MASK_TERMS_TO ? tg_size_min(p->K, tg_ceil_div(m + rows, 2)) : p->K;

    for (; n + 3 * VL < p->N; n += 4 * VL)
        small_tile(p, m, n, k0, k1, 4, 4);
    if (n + 2 * VL < p->N)
        small_tile(p, m, n, k0, k1, 4, 3);
    else if (n < p->N && rows == 4)
        n + VL < p->N ? small_tile(p, m, n, k0, k1, 4, 2) : small_tile(p, m, n, k0, k1, 4, 1);
    else if (n < p->N)
        n + VL < p->N ? small_tile(p, m, n, k0, k1, 8, 2) : small_tile(p, m, n, k0, k1, 8, 1);
    return rows;
}

static void small_product(const struct product *p)
{
    for (size_t m = 0; m < p->M;)
        m += small_rows(p, m);
}

/* ---- packing */

/* The mask of the first n lanes, up to 32. */
INLINE uint32_t first_lanes(size_t n)
{
    return n < 32 ? (UINT32_C(1) << n) - 1 : UINT32_MAX;
}

/* 16 words of up to 32 elements; those from n on are 0. */
INLINE vf load_pairs(const tg_bf16 *x, size_t n)
{
    return (vf)_mm512_maskz_loadu_epi16(first_lanes(n), x);
}

/* Elements 0 .. D-1 as words from `word` on: none if the row has no more. */
INLINE vf row_pairs(const tg_bf16 *x, size_t D, size_t word)
{
    return 2 * word < D ? load_pairs(x + 2 * word, D - 2 * word) : (vf){0};
}

/* The words of elements 0 .. 15, or 16 .. 31, of two rows. */
INLINE vf words_across(vf even, vf odd, const int upper)
{
    const __m512i lanes =
        _mm512_setr_epi32(0 | 32 << 16, 1 | 33 << 16, 2 | 34 << 16, 3 | 35 << 16, 4 | 36 << 16, 5 | 37 << 16,
                          6 | 38 << 16, 7 | 39 << 16, 8 | 40 << 16, 9 | 41 << 16, 10 | 42 << 16,
                          11 | 43 << 16, 12 | 44 << 16, 13 | 45 << 16, 14 | 46 << 16, 15 | 47 << 16);

    return (vf)_mm512_permutex2var_epi16(
        (__m512i)even, _mm512_add_epi16(lanes, _mm512_set1_epi16(upper ? 16 : 0)), (__m512i)odd);
}

/* to[row][word]: rows as they are, zero-padded to W words. */
static void pack_rows(float *restrict to, size_t W, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t w = 0; w < W; w += VL)
            store(to + r * W + w, row_pairs(x + r * ld, D, w));
}

/* to[word][QB]: up to QB rows, transposed, zero-padded to W words and to whole vectors. */
static void pack_transposed(float *restrict to, size_t W, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    for (size_t r0 = 0; r0 < rows; r0 += VL)
        for (size_t w = 0; w < W; w += VL) {
            vf row[VL];

            for (size_t r = 0; r < VL; r++)
                row[r] = r0 + r < rows ? row_pairs(x + (r0 + r) * ld, D, w) : (vf){0};
            transpose(row);
            for (size_t i = 0; i < VL; i++)
                store(to + (w + i) * QB + r0, row[i]);
        }
}

/* to[rows/2][Dp]: words across two rows, zero-padded. */
static void pack_across(float *restrict to, size_t Dp, const tg_bf16 *x, size_t ld, size_t rows, size_t D)
{
    for (size_t r = 0; r < rows; r += 2, x += 2 * ld, to += Dp)
        for (size_t d = 0; d < Dp; d += 2 * VL) {
            const vf even = row_pairs(x, D, d / 2),
                     odd = r + 1 < rows ? row_pairs(x + ld, D, d / 2) : (vf){0};

            store(to + d, words_across(even, odd, 0));
            store(to + d + VL, words_across(even, odd, 1));
        }
}

/* 32 values, rounded: words of neighbours. */
INLINE vf round_pairs(vf low, vf high)
{
    return (vf)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
}

/* Rows of D, times a factor, rounded. */
INLINE void unpack_row(tg_bf16 *x, const float *from, size_t D, float factor)
{
    for (size_t d = 0; d < D; d += 2 * VL) {
        _mm512_mask_storeu_epi16(
            x + d, first_lanes(D - d),
            (__m512i)round_pairs(load(from + d) * splat(factor), load(from + d + VL) * splat(factor)));
    }
}

static void unpack_rows(tg_bf16 *x, size_t ld, const float *from, size_t Dp, size_t rows, size_t D,
                        float factor)
{
    for (size_t r = 0; r < rows; r++)
        unpack_row(x + r * ld, from + r * Dp, D, factor);
}

/* ---- softmax */

/*
 * 2^x, relative error below 1.5e-7 before x's own; 0 below -150, NaN for NaN.
 * A minimax polynomial of the fraction of x, relative error 8.3e-8, exact at 0, times 2 to the integer
 * below x.
 */
INLINE vf exp2_of(vf x)
{
    const vf r = (vf)_mm512_reduce_ps((__m512)x, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC);
    vf p = splat(0x1.e97502p-10f);

    p = p * r + splat(0x1.277854p-7f);
    p = p * r + splat(0x1.c91ce6p-5f);
    p = p * r + splat(0x1.ebdb56p-3f);
    p = p * r + splat(0x1.62e4bap-1f);
    p = p * r + splat(1.0f);
    return (vf)_mm512_scalef_ps((__m512)p, (__m512)x);
}

/*
 * log2(x) for x > 0, error below 4e-7 max(1, |log2(x)|).
 * x = 2^n m with 1 <= m < 2.  log(m / sqrt(2)) = 2 artanh(y), y = (m - sqrt(2)) / (m + sqrt(2)), by its
 * series up to y^9, whose remainder is below 1e-9.
 */
INLINE vf log2_of(vf x)
{
    const vf m = (vf)_mm512_getmant_ps((__m512)x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_nan);
    const vf root = splat(1.41421356237309505f), y = (m - root) / (m + root), square = y * y;
    vf p = splat(1.0f / 9);

    p = p * square + splat(1.0f / 7);
    p = p * square + splat(1.0f / 5);
    p = p * square + splat(1.0f / 3);
    p = p * square + splat(1.0f);
    return (vf)_mm512_getexp_ps((__m512)x) + (splat(0.5f) + splat(2 * LOG2_E) * (y * p));
}

/* The lanes of queries i0 .. i0+15 of a block that see key j, if the block is on the diagonal. */
INLINE __mmask16 seen(bool diagonal, size_t i0, size_t j)
{
    return (__mmask16)(!diagonal || j <= i0 ? 0xFFFF : j - i0 < VL ? 0xFFFF << (j - i0) : 0);
}

INLINE vf only(__mmask16 lanes, vf x)
{
    return (vf)_mm512_maskz_mov_ps(lanes, (__m512)x);
}

/* The larger of a and b; a in other lanes. */
INLINE vf larger_of(vf a, vf b, __mmask16 lanes)
{
    return (vf)_mm512_mask_max_ps((__m512)a, lanes, (__m512)a, (__m512)b);
}

/* factors[key][QB]: dropout's factors of a block, from rows of queries, zero where nothing is kept or seen.
 */
static void block_factors(const tg_attend16 *op, float *factors, float *rows, size_t q0, size_t queries,
                          size_t k0)
{
    for (size_t r = 0; r < QB; r++) {
        const size_t n = r < queries ? tg_size_min(KB, q0 + r + 1 - k0) : 0;

        if (n > 0)
            op->keep(rows + r * KB, q0 + r, k0, n, op->context);
        memset(rows + r * KB + n, 0, (KB - n) * sizeof *rows);
    }
    for (size_t r = 0; r < QB; r += VL)
        for (size_t j = 0; j < KB; j += VL) {
            vf square[VL];

            for (size_t i = 0; i < VL; i++)
                square[i] = load(rows + (r + i) * KB + j);
            transpose(square);
            for (size_t i = 0; i < VL; i++)
                store(factors + (j + i) * QB + r, square[i]);
        }
}

/* ---- forward */

struct forward {
    float *k, *v;       /* [keys][W] rows, [keys/2][Dp] across */
    float *qt;          /* [W][QB] */
    float *s, *p;       /* [KB][QB] scores, [KB/2][QB] their exponentials, across keys */
    float *o;           /* [QB][Dp] */
    float *max, *sum;   /* [QB], the maximum as an exponent of 2 */
    float *rescale;     /* [QB] */
    float *drop, *rows; /* [KB][QB], [QB][KB] */
    size_t W, Dp;
};

/* The exponentials of n keys' scores for the queries of a vector, from i on in the block. */
INLINE void softmax_step(const tg_attend16 *op, const struct forward *f, size_t i, size_t n,
                         const bool diagonal)
{
    const vf factor = splat(op->scale * LOG2_E), before = load(f->max + i);
    vf max = splat(-INFINITY), odd_max = max, sum = {0}, odd_sum = {0}, rescale;

    for (size_t j = 0; j < n; j += 2) { /* an odd n is that of a diagonal, whose queries do not see key n */
        max = larger_of(max, load(f->s + j * QB + i), seen(diagonal, i, j));
        odd_max = larger_of(odd_max, load(f->s + (j + 1) * QB + i), seen(diagonal, i, j + 1));
    }
    max = larger_of(before, larger_of(max, odd_max, 0xFFFF) * factor, 0xFFFF);
    for (size_t j = 0; j < n; j += 2) {
        vf even = exp2_of(load(f->s + j * QB + i) * factor - max);
        vf odd = exp2_of(load(f->s + (j + 1) * QB + i) * factor - max);
        vf both;

        if (diagonal) {
            even = only(seen(true, i, j), even);
            odd = only(seen(true, i, j + 1), odd);
        }
        sum += even;
        odd_sum += odd;
        if (op->keep) {
            even *= load(f->drop + j * QB + i);
            odd *= load(f->drop + (j + 1) * QB + i);
        }
        both = round_pairs(even, odd);
        store(f->p + j / 2 * QB + i,
              words_across(both, (vf)_mm512_shuffle_i64x2((__m512i)both, (__m512i)both, 0x4E), 0));
    }
    rescale = exp2_of(before - max);
    store(f->rescale + i, rescale);
    store(f->sum + i, load(f->sum + i) * rescale + (sum + odd_sum));
    store(f->max + i, max);
}

static void forward_block(const tg_attend16 *op, const struct forward *f, size_t q0, size_t rows)
{
    const size_t W = f->W, Dp = f->Dp, columns = tg_round_up(rows, VL);

    for (size_t i = 0; i < QB; i++) {
        f->max[i] = -INFINITY;
        f->sum[i] = 0;
    }
    pack_transposed(f->qt, W, op->q + q0 * op->ldq, op->ldq, rows, op->D);
    for (size_t k0 = 0; k0 <= q0; k0 += KB) {
        const bool diagonal = k0 == q0;
        const size_t n = diagonal ? rows : KB;
        const struct product scores = {
            .c = f->s,
            .ldc = QB,
            .a = f->k + k0 * W,
            .a_row = W,
            .a_col = 1,
            .b = f->qt,
            .ldb = QB,
            .M = n,
            .N = columns,
            .K = tg_ceil_div(op->D, 2),
            .mask = diagonal ? MASK_COLUMNS : MASK_NOTHING,
        };
        const struct product gather = {
            .c = f->o,
            .ldc = Dp,
            .a = f->p,
            .a_row = 1,
            .a_col = QB,
            .b = f->v + k0 / 2 * Dp,
            .ldb = Dp,
            .M = rows,
            .N = tg_round_up(op->D, VL),
            .K = tg_ceil_div(n, 2),
            .factors = k0 > 0 ? f->rescale : NULL,
            .mask = diagonal ? MASK_TERMS_TO : MASK_NOTHING,
        };

        if (op->keep)
            block_factors(op, f->drop, f->rows, q0, rows, k0);
        small_product(&scores);
        for (size_t i = 0; i < rows; i += VL)
            if (diagonal)
                softmax_step(op, f, i, tg_size_min(n, i + VL), true);
            else
                softmax_step(op, f, i, n, false);
        small_product(&gather);
    }
    for (size_t i = 0; i < rows; i += VL) {
        const vf sum = load(f->sum + i);

        if (op->lse)
            _mm512_mask_storeu_ps(op->lse + q0 + i, (__mmask16)first_lanes(rows - i),
                                  (__m512)((load(f->max + i) + log2_of(sum)) * splat(LN_2)));
        store(f->sum + i, splat(1) / sum);
    }
    for (size_t r = 0; r < rows; r++)
        unpack_row(op->out + (q0 + r) * op->ldo, f->o + r * Dp, op->D, f->sum[r]);
}

void ISA_NAME(attend16_forward)(const tg_attend16 *op, float *work)
{
    const size_t T = op->queries, D = op->D, P = tg_round_up(T, KB), Dp = tg_round_up(D, 2 * VL), W = Dp / 2;
    struct forward f = {.W = W, .Dp = Dp};

    f.k = work;
    f.v = f.k + P * W;
    f.qt = f.v + P / 2 * Dp;
    f.s = f.qt + W * QB;
    f.p = f.s + KB * QB;
    f.o = f.p + KB / 2 * QB;
    f.max = f.o + QB * Dp;
    f.sum = f.max + QB;
    f.rescale = f.sum + QB;
    f.drop = f.rescale + QB;
    f.rows = f.drop + KB * QB;
    pack_rows(f.k, W, op->k, op->ldk, T, D);
    pack_across(f.v, Dp, op->v, op->ldv, T, D);
    for (size_t q0 = 0; q0 < T; q0 += QB)
        forward_block(op, &f, q0, tg_size_min(QB, T - q0));
}

/* ---- backward */

struct backward {
    float *k, *v;            /* [keys][W] rows */
    float *k_across;         /* [keys/2][Dp] */
    float *dk, *dv, *dq;     /* [keys][Dp] twice, [QB][Dp] */
    float *qt, *dout_t;      /* [W][QB] */
    float *q, *dout;         /* [QB/2][Dp] across */
    float *s, *dp;           /* [KB][QB] */
    float *p, *ds;           /* [KB][QB/2]: words of queries */
    float *ds_across;        /* [KB/2][QB]: words of keys */
    float *lse, *mean_dp;    /* [QB], lse as an exponent of 2 */
    float *drop, *drop_rows; /* [KB][QB], [QB][KB] */
    size_t W, Dp;
};

/* dout_i . out_i, which is sum_j p_ij dp_ij, for the rows of a block. */
static void means(const tg_attend16 *op, float *mean_dp, size_t q0, size_t rows)
{
    for (size_t r0 = 0; r0 < rows; r0 += VL) {
        vf part[VL];

        for (size_t r = 0; r < VL; r++) {
            const size_t at = (q0 + tg_size_min(r0 + r, rows - 1)) * op->ldo;

            part[r] = (vf){0};
            for (size_t w = 0; 2 * w < op->D; w += VL)
                part[r] = (vf)_mm512_dpbf16_ps((__m512)part[r], (__m512bh)row_pairs(op->dout + at, op->D, w),
                                               (__m512bh)row_pairs(op->saved_out + at, op->D, w));
        }
        transpose(part);
        for (size_t n = VL / 2; n > 0; n /= 2)
            for (size_t l = 0; l < n; l++)
                part[l] += part[l + n];
        store(mean_dp + r0, part[0]);
    }
}

/*
 * As in attend.c, with ds not yet times scale.  Keys j and j + 1, queries from i on, two vectors of them.
 * Lanes of queries beyond `rows` are 0, because products sum over them.
 */
INLINE void softmax_backward(const tg_attend16 *op, const struct backward *b, size_t i, size_t j, size_t rows,
                             const bool masked, const bool diagonal)
{
    const vf factor = splat(op->scale * LOG2_E);
    vf ds_rows[2];

    for (size_t k = 0; k < 2; k++) {
        vf p[2], ds[2];

        for (size_t v = 0; v < 2; v++) {
            const size_t i0 = i + v * VL, at = (j + k) * QB + i0;
            vf dp = load(b->dp + at);

            p[v] = exp2_of(load(b->s + at) * factor - load(b->lse + i0));
            if (op->keep) {
                const vf kept = load(b->drop + at);

                ds[v] = p[v] * (dp * kept - load(b->mean_dp + i0));
                p[v] *= kept;
            } else {
                ds[v] = p[v] * (dp - load(b->mean_dp + i0));
            }
            if (masked) {
                const __mmask16 lanes =
                    (__mmask16)(seen(diagonal, i0, j + k) & (i0 >= rows       ? 0
                                                             : rows - i0 < VL ? (1u << (rows - i0)) - 1
                                                                              : 0xFFFF));

                p[v] = only(lanes, p[v]);
                ds[v] = only(lanes, ds[v]);
            }
        }
        ds_rows[k] = round_pairs(ds[0], ds[1]);
        store(b->p + (j + k) * (QB / 2) + i / 2, round_pairs(p[0], p[1]));
        store(b->ds + (j + k) * (QB / 2) + i / 2, ds_rows[k]);
    }
    store(b->ds_across + j / 2 * QB + i, words_across(ds_rows[0], ds_rows[1], 0));
    store(b->ds_across + j / 2 * QB + i + VL, words_across(ds_rows[0], ds_rows[1], 1));
}

/* A block of n keys. */
static void softmax_block(const tg_attend16 *op, const struct backward *b, size_t n, size_t rows,
                          bool diagonal)
{
    for (size_t j = 0; j < n; j += 2)
        if (diagonal || rows < QB)
            for (size_t i = diagonal ? j / (2 * VL) * (2 * VL) : 0; i < rows; i += 2 * VL)
                softmax_backward(op, b, i, j, rows, true, diagonal);
        else
            for (size_t i = 0; i < QB; i += 2 * VL)
                softmax_backward(op, b, i, j, rows, false, false);
}

static void backward_products(const tg_attend16 *op, const struct backward *b, size_t q0, size_t rows,
                              size_t k0)
{
    const bool diagonal = k0 == q0;
    const size_t W = b->W, Dp = b->Dp, n = diagonal ? rows : KB, N = tg_round_up(op->D, VL);
    const size_t keys = tg_ceil_div(n, 2), queries = tg_ceil_div(rows, 2), words = tg_ceil_div(op->D, 2);
    const size_t columns = tg_round_up(rows, VL);
    const enum mask skip = diagonal ? MASK_COLUMNS : MASK_NOTHING;
    const enum mask from = diagonal ? MASK_TERMS_FROM : MASK_NOTHING,
                    to = diagonal ? MASK_TERMS_TO : MASK_NOTHING;
    float *dk = b->dk + k0 * Dp, *dv = b->dv + k0 * Dp;
    const struct product products[] = {
        /* s = k q^T, dp = v dout^T */
        {b->s, QB, b->k + k0 * W, W, 1, b->qt, QB, n, columns, words, false, NULL, skip},
        {b->dp, QB, b->v + k0 * W, W, 1, b->dout_t, QB, n, columns, words, false, NULL, skip},
        /* dq += ds k, dk += ds^T q, dv += p^T dout; a query's first keys, and a key's first queries, begin */
        {b->dq, Dp, b->ds_across, 1, QB, b->k_across + k0 / 2 * Dp, Dp, rows, N, keys, k0 > 0, NULL, to},
        {dk, Dp, b->ds, QB / 2, 1, b->q, Dp, n, N, queries, !diagonal, NULL, from},
        {dv, Dp, b->p, QB / 2, 1, b->dout, Dp, n, N, queries, !diagonal, NULL, from},
    };

    small_product(&products[0]);
    small_product(&products[1]);
    softmax_block(op, b, n, rows, diagonal);
    for (size_t i = 2; i < 5; i++)
        small_product(&products[i]);
}

static void backward_block(const tg_attend16 *op, const struct backward *b, size_t q0, size_t rows)
{
    const tg_bf16 *q = op->q + q0 * op->ldq, *dout = op->dout + q0 * op->ldo;

    pack_transposed(b->qt, b->W, q, op->ldq, rows, op->D);
    pack_transposed(b->dout_t, b->W, dout, op->ldo, rows, op->D);
    pack_across(b->q, b->Dp, q, op->ldq, rows, op->D);
    pack_across(b->dout, b->Dp, dout, op->ldo, rows, op->D);
    means(op, b->mean_dp, q0, rows);
    for (size_t r = 0; r < rows; r++)
        b->lse[r] = op->saved_lse[q0 + r] * LOG2_E;
    for (size_t k0 = 0; k0 <= q0; k0 += KB) {
        if (op->keep)
            block_factors(op, b->drop, b->drop_rows, q0, rows, k0);
        backward_products(op, b, q0, rows, k0);
    }
    unpack_rows(op->dq + q0 * op->ldq, op->ldq, b->dq, b->Dp, rows, op->D, op->scale);
}

void ISA_NAME(attend16_backward)(const tg_attend16 *op, float *work)
{
    const size_t T = op->queries, D = op->D, P = tg_round_up(T, KB), Dp = tg_round_up(D, 2 * VL), W = Dp / 2;
    struct backward b = {.W = W, .Dp = Dp};

    b.k = work;
    b.v = b.k + P * W;
    b.k_across = b.v + P * W;
    b.dk = b.k_across + P / 2 * Dp;
    b.dv = b.dk + P * Dp;
    b.dq = b.dv + P * Dp;
    b.qt = b.dq + QB * Dp;
    b.dout_t = b.qt + W * QB;
    b.q = b.dout_t + W * QB;
    b.dout = b.q + QB / 2 * Dp;
    b.s = b.dout + QB / 2 * Dp;
    b.dp = b.s + KB * QB;
    b.p = b.dp + KB * QB;
    b.ds = b.p + KB * QB / 2;
    b.ds_across = b.ds + KB * QB / 2;
    b.lse = b.ds_across + KB * QB / 2;
    b.mean_dp = b.lse + QB;
    b.drop = b.mean_dp + QB;
    b.drop_rows = b.drop + KB * QB;
    pack_rows(b.k, W, op->k, op->ldk, T, D);
    pack_rows(b.v, W, op->v, op->ldv, T, D);
    pack_across(b.k_across, Dp, op->k, op->ldk, T, D);
    for (size_t q0 = 0; q0 < T; q0 += QB)
        backward_block(op, &b, q0, tg_size_min(QB, T - q0));
    unpack_rows(op->dk, op->ldk, b.dk, Dp, T, D, op->scale);
    unpack_rows(op->dv, op->ldv, b.dv, Dp, T, D, 1);
}

#endif
