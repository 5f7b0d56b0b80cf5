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

/* MR rows of NV vectors. */
#if VL == 16 || defined(__aarch64__) /* 32 vector registers */
#define MR 8
#define NV 3
#else
#define MR 6
#define NV 2
#endif
#define NR (NV * VL)
#define NR_UNIT VL
#define PART KC_WORDS
#define STEP 4 /* words of k between two looks at what to ask for */

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

/* panel[w*width + i] = word w of x + i*step, for all i < n and VL words, by way of
 * blocks in registers. */
INLINE void pack_block(float *restrict panel, const float *restrict x, size_t step, const size_t n,
                       const size_t width)
{
    for (size_t i0 = 0; i0 < n; i0 += VL) {
        vf row[VL];

        for (size_t i = 0; i < VL; i++)
            row[i] = words_along(x + tg_size_min(i0 + i, n - 1) * step);
        transpose(row);
        for (size_t w = 0; w < VL; w++)
            memcpy(panel + w * width + i0, &row[w], tg_size_min(VL, n - i0) * sizeof(float));
    }
}

/* The words of n vectors that can be packed several at a time; returns how many words those are. */
INLINE size_t pack_words(float *restrict panel, const float *restrict x, size_t step, size_t k_step,
                         const size_t n, size_t kc, const size_t width)
{
    size_t w = 0;

    if (step == 1)
        for (; (w + 1) * DEPTH <= kc; w++)
            pack_across(panel + w * width, x + w * DEPTH * k_step, k_step, n);
    else if (k_step == 1)
        for (; (w + VL) * DEPTH <= kc; w += VL)
            pack_block(panel + w * width, x + w * DEPTH, step, n, width);
    return w;
}

/*
 * A panel of up to `width` vectors (rows of A, or columns of B) over k:
 * panel[w*width + i] = word w of x[i*step + k*k_step], zeros beyond kc.  Beyond n: zeros, or
 * what was there, if n is `part` vectors.
 */
INLINE void pack(float *restrict panel, const float *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const size_t width, const size_t part)
{
    const size_t words = tg_ceil_div(kc, DEPTH);
    size_t w = 0;

    if (n == width)
        w = pack_words(panel, x, step, k_step, width, kc, width);
    else if (n == part)
        w = pack_words(panel, x, step, k_step, part, kc, width);
    else
        memset(panel, 0, words * width * sizeof *panel);
    for (size_t i = 0; i < n; i++)
        for (size_t j = w; j < words; j++) {
            const float *at = x + i * step + j * DEPTH * k_step;

            panel[j * width + i] = word(at[0], (j + 1) * DEPTH <= kc ? at[(DEPTH - 1) * k_step] : 0);
        }
}

#define SIDE 8 /* panels that are packed side by side */

/* Rows that lie side by side in memory, A being transposed: several panels at a time, since a line
 * of memory belongs to two or three. */
INLINE void pack_side_by_side(float *restrict panels, const float *restrict x, size_t k_step, size_t kc)
{
    const size_t words = tg_ceil_div(kc, DEPTH);

    for (size_t w = 0; w < words; w++)
        for (size_t p = 0; p < SIDE; p++)
            pack_across(panels + (p * words + w) * MR, x + w * DEPTH * k_step + p * MR, k_step, MR);
}

INLINE void pack_a(float *panels, const float *x, size_t step, size_t k_step, size_t m, size_t kc)
{
    const size_t panel = tg_ceil_div(kc, DEPTH) * MR;
    size_t i = 0;

    if (step == 1 && kc % DEPTH == 0)
        for (; i + SIDE * MR <= m; i += SIDE * MR, panels += SIDE * panel)
            pack_side_by_side(panels, x + i, k_step, kc);
    for (; i < m; i += MR, panels += panel)
        pack(panels, x + i * step, step, k_step, tg_size_min(MR, m - i), kc, MR, MR);
}

INLINE void pack_b(float *panel, const float *x, size_t step, size_t k_step, size_t n, size_t kc)
{
    pack(panel, x, step, k_step, n, kc, NR, (NV - 1) * VL);
}

/* ---- the tile */

/*
 * The sums are a flat array, vector v of row r at r*vectors + v: only a loop that has no loop in it
 * is unrolled in time for the compiler to keep the array in registers.
 */
#define EACH_SUM _Pragma("GCC unroll 24") for (size_t t = 0; t < rows * vectors; t++)

/* sum[r][v] += a[r] b[v], for a word of k. */
INLINE void multiply_word(vf *sum, const float *restrict a, const float *restrict b, const size_t rows,
                          const size_t vectors)
{
    vf b_k[NV];

    for (size_t v = 0; v < vectors; v++)
        b_k[v] = load(b + v * VL);
    EACH_SUM
        sum[t] = multiply_add(sum[t], a[t / vectors], b_k[t % vectors]);
}

/* sum[r][v] = sum_k a[k*MR + r] b[k*NR + v], for the tile's first rows and vectors; k
 * counts words. */
INLINE void accumulate_tile(vf *sum, const float *restrict a, const float *restrict b, size_t words,
                     const size_t rows, const size_t vectors, struct wanted next)
{
    size_t k = 0;

    EACH_SUM
        sum[t] = (vf){0};
    for (; k + STEP <= words; k += STEP) {
        /* a little at a time: the processor has few misses in flight */
        for (size_t i = 0; i < STEP * MR; i += 16)
            __builtin_prefetch(next.a + k * MR + i, 0, 3);
        if (next.times > 0) {
            for (size_t i = 0; i < NR; i += 16)
                __builtin_prefetch(next.at + i * sizeof(float), 0, 2);
            next.at += next.step;
            next.times--;
        }
        for (size_t w = 0; w < STEP; w++, a += MR, b += NR)
            multiply_word(sum, a, b, rows, vectors);
    }
    for (; k < words; k++, a += MR, b += NR)
        multiply_word(sum, a, b, rows, vectors);
}

/* Store the sums where whole vectors fit. */
INLINE void store_rows(const vf *sum, const struct epilogue *e, const size_t rows, size_t m, const size_t vectors)
{
    EACH_SUM {
        const size_t r = t / vectors, v = t % vectors;
        vf s = sum[t];

        if (r >= m)
            continue;
        if (e->bias)
            s += load(e->bias + v * VL);
        if (e->add)
            s += load(e->add + r * e->ldc + v * VL);
        store(e->c + r * e->ldc + v * VL, s);
    }
}

/* n columns, which are not whole vectors. */
INLINE void store_columns(const vf *sum, const struct epilogue *e, size_t m, size_t n, const size_t vectors)
{
    float row[NR];

    for (size_t r = 0; r < m; r++) {
        for (size_t v = 0; v < vectors; v++)
            store(row + v * VL, sum[r * vectors + v]);
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

/* A tile of which m rows, at most `rows`, and n columns, at most those of the vectors, count. */
INLINE void part_tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m, size_t n,
                      const size_t rows, const size_t vectors)
{
    vf sum[MR * NV];

    accumulate_tile(sum, a, b, words, rows, vectors, e->next);
    if (n == vectors * VL)
        store_rows(sum, e, rows, m, vectors);
    else
        store_columns(sum, e, m, n, vectors);
}

INLINE void some_rows(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m,
                      size_t n, const size_t rows)
{
    if (n <= VL)
        part_tile(a, b, words, e, m, n, rows, 1);
    else if (n <= 2 * VL)
        part_tile(a, b, words, e, m, n, rows, 2);
    else
        part_tile(a, b, words, e, m, n, rows, NV);
}

static void tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m, size_t n)
{
    if (m == MR && n == NR) {
        for (size_t r = 0; r < MR; r++) /* where the sums will go, while they are made */
            for (size_t v = 0; v < NV; v++)
                __builtin_prefetch(e->c + r * e->ldc + v * VL, 1);
        part_tile(a, b, words, e, MR, NR, MR, NV);
    } else if (m <= MR / 2) {
        some_rows(a, b, words, e, m, n, MR / 2);
    } else {
        some_rows(a, b, words, e, m, n, MR);
    }
}
