/*
 * matmul_vectors: the matrix product's packing and its tile, MR x NR sums in vector
 * registers; included by matmul.c and matmul_bf16.c, which define
 *
 *   DEPTH           how many k's a word holds: 1 or 2
 *   word()          the word of a value and of the last one that shares it
 *   words_along()   VL words of values that lie side by side in k
 *   words_across()  VL words, each of a value and of the last one that shares it
 *   multiply_add()  sum + a b for the k's of a word
 */
#include "lib/kernels/isa/transpose.h"

/* MR rows of two vectors. */
#if VL == 16 || defined(__aarch64__) /* 32 vector registers */
#define MR 12
#else
#define MR 6
#endif
#define NR (2 * VL)

/* ---- packing */

/* panel[i] = the word of x[i] and what shares it, for all i < width. */
INLINE void pack_across(float *restrict panel, const float *restrict x, size_t k_step, const size_t width)
{
    if (DEPTH == 1) { /* not by way of a vector, which would wait for its parts to be stored */
        memcpy(panel, x, width * sizeof *panel);
        return;
    }
    for (size_t i = 0; i < width; i += VL) {
        const size_t bytes = tg_size_min(VL, width - i) * sizeof(float);
        float first[VL] = {0}, last[VL] = {0};
        vf words;

        memcpy(first, x + i, bytes);
        memcpy(last, x + i + (DEPTH - 1) * k_step, bytes);
        words = words_across(first, last);
        memcpy(panel + i, &words, bytes);
    }
}

/* panel[w*width + i] = word w of x + i*step, for all i < width and VL words, by way of
 * blocks in registers. */
INLINE void pack_block(float *restrict panel, const float *restrict x, size_t step, const size_t width)
{
    for (size_t i0 = 0; i0 < width; i0 += VL) {
        vf row[VL];

        for (size_t i = 0; i < VL; i++)
            row[i] = words_along(x + tg_size_min(i0 + i, width - 1) * step);
        transpose(row);
        for (size_t w = 0; w < VL; w++)
            memcpy(panel + w * width + i0, &row[w], tg_size_min(VL, width - i0) * sizeof(float));
    }
}

/*
 * A panel of up to `width` vectors (rows of A, or columns of B) over k:
 * panel[w*width + i] = word w of x[i*step + k*k_step], zeros beyond n and kc.
 */
INLINE void pack(float *restrict panel, const float *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const size_t width)
{
    const size_t words = tg_ceil_div(kc, DEPTH);
    size_t w = 0;

    if (n < width)
        memset(panel, 0, words * width * sizeof *panel);
    else if (step == 1)
        for (; (w + 1) * DEPTH <= kc; w++)
            pack_across(panel + w * width, x + w * DEPTH * k_step, k_step, width);
    else if (k_step == 1)
        for (; (w + VL) * DEPTH <= kc; w += VL)
            pack_block(panel + w * width, x + w * DEPTH, step, width);
    for (size_t i = 0; i < n; i++)
        for (size_t j = w; j < words; j++) {
            const float *at = x + i * step + j * DEPTH * k_step;

            panel[j * width + i] = word(at[0], (j + 1) * DEPTH <= kc ? at[(DEPTH - 1) * k_step] : 0);
        }
}

INLINE void pack_a(float *panel, const float *x, size_t step, size_t k_step, size_t n, size_t kc)
{
    pack(panel, x, step, k_step, n, kc, MR);
}

INLINE void pack_b(float *panel, const float *x, size_t step, size_t k_step, size_t n, size_t kc)
{
    pack(panel, x, step, k_step, n, kc, NR);
}

/* ---- the tile */

/* sum[r][v] = sum_k a[k*MR + r] b[k*NR + v], for the tile's first rows and vectors; k
 * counts words. */
INLINE void multiply(vf sum[MR][2], const float *restrict a, const float *restrict b, size_t words,
                     const size_t rows, const size_t vectors, struct wanted next)
{
    for (size_t r = 0; r < rows; r++)
        for (size_t v = 0; v < vectors; v++)
            sum[r][v] = (vf){0};
    for (size_t k = 0; k < words; k++, a += MR, b += NR) {
        vf b_k[2];

        if (k % 16 == 0) { /* a little at a time: the processor has few misses in flight */
            __builtin_prefetch(next.at, 0, 2);
            __builtin_prefetch(next.at + 64, 0, 2);
            next.at += next.step;
        }
        for (size_t v = 0; v < vectors; v++)
            b_k[v] = load(b + v * VL);
        for (size_t r = 0; r < rows; r++)
            for (size_t v = 0; v < vectors; v++)
                sum[r][v] = multiply_add(sum[r][v], a[r], b_k[v]);
    }
}

/* Store the sums where whole vectors fit. */
INLINE void store_rows(vf sum[MR][2], const struct epilogue *e, size_t m, const size_t vectors)
{
    for (size_t r = 0; r < m; r++)
        for (size_t v = 0; v < vectors; v++) {
            vf s = sum[r][v];

            if (e->bias)
                s += load(e->bias + v * VL);
            if (e->add)
                s += load(e->add + r * e->ldc + v * VL);
            store(e->c + r * e->ldc + v * VL, s);
        }
}

/* n columns, which are not whole vectors. */
static void store_columns(vf sum[MR][2], const struct epilogue *e, size_t m, size_t n)
{
    float row[NR];

    for (size_t r = 0; r < m; r++) {
        store(row, sum[r][0]);
        store(row + VL, sum[r][1]);
        for (size_t j = 0; j < n; j++) {
            float s = row[j];

            if (e->bias)
                s += e->bias[j];
            if (e->add)
                s += e->add[r * e->ldc + j];
            e->c[r * e->ldc + j] = s;
        }
    }
}

/* A tile of which m rows, at most `rows`, and n columns count. */
INLINE void some_rows(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m,
                      size_t n, const size_t rows)
{
    vf sum[MR][2];

    if (n == VL) {
        multiply(sum, a, b, words, rows, 1, e->next);
        store_rows(sum, e, m, 1);
        return;
    }
    multiply(sum, a, b, words, rows, 2, e->next);
    if (n == NR)
        store_rows(sum, e, m, 2);
    else
        store_columns(sum, e, m, n);
}

static void tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m, size_t n)
{
    if (m == MR && n == NR) {
        vf sum[MR][2];

        for (size_t r = 0; r < MR; r++) { /* where the sums will go, while they are made */
            __builtin_prefetch(e->c + r * e->ldc, 1);
            __builtin_prefetch(e->c + r * e->ldc + VL, 1);
        }
        multiply(sum, a, b, words, MR, 2, e->next);
        store_rows(sum, e, MR, 2);
    } else if (m <= MR / 3) {
        some_rows(a, b, words, e, m, n, MR / 3);
    } else if (m <= 2 * MR / 3) {
        some_rows(a, b, words, e, m, n, 2 * MR / 3);
    } else {
        some_rows(a, b, words, e, m, n, MR);
    }
}
