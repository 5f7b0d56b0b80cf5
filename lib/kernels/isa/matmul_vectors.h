/*
 * matmul_vectors: packing, and a tile of MR x NR sums in vector registers; included by
 * matmul.c and matmul_bf16.c, which define
 *
 *   K_PER_WORD      values of k in a word: 1 or 2
 *   word()          the word of the value at x and, if it has two, the one at next; NULL: 0
 *   words_along()   VL words of VL * K_PER_WORD values that are contiguous along k
 *   words_across()  n <= VL words, from n first and n last values (the same if a word has one); others 0
 *   multiply_add()  sum + a b, summed over a word's values of k
 *   WORDS_PER_CHAIN words of k that a sum takes in a row; a multiple of STEP, or KC_WORDS
 *   A_MAY_BE_HALVES whether A may be bf16, as B may
 *
 * The first three take operands of a type that is a constant where they are called.
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
#define WORDS_PER_PASS A_FLOATS /* all */
#define STEP 4                  /* words of k between prefetches */

static void begin_tiles(void)
{
}

static void end_tiles(void)
{
}

/* ---- packing */

/* panel[i] = the word of x[i] .. x[i + (K_PER_WORD-1) k_step], for all i < width. */
INLINE void pack_across(float *restrict panel, const void *restrict x, size_t k_step, const size_t width,
                        const tg_type type)
{
    const void *last = element(x, (K_PER_WORD - 1) * k_step, type);
    const size_t some = width % VL, whole = width - some; /* constants */

    for (size_t i = 0; i < whole; i += VL)
        store(panel + i, words_across(element(x, i, type), element(last, i, type), VL, type));
    if (some > 0) {
        const vf words = words_across(element(x, whole, type), element(last, whole, type), some, type);

        memcpy(panel + whole, &words, some * sizeof *panel);
    }
}

/* panel[w*width + i] = word w of x + i*step, for i < n and w < VL; transposes in registers.  Of A, which
 * nobody has prefetched, prefetches what the next panel has there. */
INLINE void pack_block(float *restrict panel, const void *restrict x, size_t step, const size_t n,
                       const size_t width, const tg_type type)
{
    for (size_t i = 0; width == MR && i < n; i++)
        __builtin_prefetch(element(x, (width + i) * step, type), 0, 2);
    for (size_t i0 = 0; i0 < n; i0 += VL) {
        vf row[VL];

        for (size_t i = 0; i < VL; i++)
            row[i] = words_along(element(x, tg_size_min(i0 + i, n - 1) * step, type), type);
        transpose(row);
        for (size_t w = 0; w < VL; w++)
            memcpy(panel + w * width + i0, &row[w], tg_size_min(VL, n - i0) * sizeof(float));
    }
}

/* Pack the words of n rows or columns that can be packed as vectors; returns their number. */
INLINE size_t pack_words(float *restrict panel, const void *restrict x, size_t step, size_t k_step,
                         const size_t n, size_t kc, const size_t width, const tg_type type)
{
    size_t w = 0;

    if (step == 1)
        for (; (w + 1) * K_PER_WORD <= kc; w++)
            pack_across(panel + w * width, element(x, w * K_PER_WORD * k_step, type), k_step, n, type);
    else if (k_step == 1)
        for (; (w + VL) * K_PER_WORD <= kc; w += VL)
            pack_block(panel + w * width, element(x, w * K_PER_WORD, type), step, n, width, type);
    return w;
}

/*
 * Pack n rows of A, or columns of B, into a panel of `width` of them:
 *
 *   panel[w*width + i] = word w of x[i*step + k*k_step],  0 <= k < kc
 *
 * Zero-padded beyond kc.  Beyond n zero-padded as well, except that n == narrow leaves the
 * rest as it was.
 */
INLINE void pack(float *restrict panel, const void *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const size_t width, const size_t narrow, const tg_type type)
{
    const size_t words = tg_ceil_div(kc, K_PER_WORD);
    size_t w = 0;

    if (n == width)
        w = pack_words(panel, x, step, k_step, width, kc, width, type);
    else if (n == narrow)
        w = pack_words(panel, x, step, k_step, narrow, kc, width, type);
    else
        memset(panel, 0, words * width * sizeof *panel);
    for (size_t i = 0; i < n; i++)
        for (size_t j = w; j < words; j++) {
            const void *at = element(x, i * step + j * K_PER_WORD * k_step, type);
            const bool whole = (j + 1) * K_PER_WORD <= kc;

            panel[j * width + i] =
                word(at, whole ? element(at, (K_PER_WORD - 1) * k_step, type) : NULL, type);
        }
}

#define TOGETHER 8                              /* panels that are packed together */
#define PER_VECTOR (VL % MR == 0 ? VL / MR : 1) /* panels that a vector's words belong to */
#define AHEAD 12                                /* words of k between packing and prefetching */

/* Pack several panels of a transposed A together: a cache line belongs to two or more. */
INLINE void pack_together(float *restrict panels, const void *restrict x, size_t k_step, size_t kc,
                          const tg_type type)
{
    const size_t words = tg_ceil_div(kc, K_PER_WORD);

    for (size_t w = 0; w < words; w++) {
        for (size_t k = 0; k < K_PER_WORD; k++)
            for (size_t i = 0; i < TOGETHER * MR * size_of(type); i += 64)
                __builtin_prefetch(
                    (const char *)element(x, ((w + AHEAD) * K_PER_WORD + k) * k_step, type) + i, 0, 2);
        for (size_t p = 0; p < TOGETHER; p += PER_VECTOR) {
            float row[PER_VECTOR * MR];

            pack_across(row, element(x, w * K_PER_WORD * k_step + p * MR, type), k_step, PER_VECTOR * MR,
                        type);
            for (size_t q = 0; q < PER_VECTOR; q++)
                memcpy(panels + ((p + q) * words + w) * MR, row + q * MR, MR * sizeof *row);
        }
    }
}

INLINE void pack_rows(float *panels, const void *x, size_t step, size_t k_step, size_t m, size_t kc,
                      const tg_type type)
{
    const size_t panel = tg_ceil_div(kc, K_PER_WORD) * MR;
    size_t i = 0;

    if (step == 1 && kc % K_PER_WORD == 0)
        for (; i + TOGETHER * MR <= m; i += TOGETHER * MR, panels += TOGETHER * panel)
            pack_together(panels, element(x, i, type), k_step, kc, type);
    for (; i < m; i += MR, panels += panel)
        pack(panels, element(x, i * step, type), step, k_step, tg_size_min(MR, m - i), kc, MR, MR, type);
}

INLINE void pack_a(float *panels, const void *x, size_t step, size_t k_step, size_t m, size_t kc,
                   tg_type type)
{
    if (A_MAY_BE_HALVES && type == TG_TYPE_BF16)
        pack_rows(panels, x, step, k_step, m, kc, TG_TYPE_BF16);
    else
        pack_rows(panels, x, step, k_step, m, kc, TG_TYPE_FLOAT);
}

INLINE void pack_b(float *panel, const void *x, size_t step, size_t k_step, size_t n, size_t kc, tg_type type)
{
    if (type == TG_TYPE_BF16)
        pack(panel, x, step, k_step, n, kc, NR, (NV - 1) * VL, TG_TYPE_BF16);
    else
        pack(panel, x, step, k_step, n, kc, NR, (NV - 1) * VL, TG_TYPE_FLOAT);
}

/* ---- the tile */

/*
 * For each sum t: vector t % vectors of row t / vectors.  One flat loop, because the compiler
 * unrolls an innermost loop early enough to keep the array in registers.
 */
#define EACH_SUM(t) _Pragma("GCC unroll 24") for (size_t t = 0; t < rows * vectors; t++)

/* sum[r][v] += a[r] b[v], for one word of k. */
INLINE void multiply_word(vf *sum, const float *restrict a, const float *restrict b, const size_t rows,
                          const size_t vectors)
{
    vf b_k[NV];

    for (size_t v = 0; v < vectors; v++)
        b_k[v] = load(b + v * VL);
    EACH_SUM(t)
        sum[t] = multiply_add(sum[t], a[t / vectors], b_k[t % vectors]);
}

/* sum[r][v] = sum_k a[k*MR + r] b[k*NR + v], for the first `rows` rows and `vectors` vectors
 * of the tile; k counts words. */
INLINE void accumulate_chain(vf *sum, const float *restrict a, const float *restrict b, size_t words,
                             const size_t rows, const size_t vectors, struct prefetch *next)
{
    size_t k = 0;

    EACH_SUM(t)
        sum[t] = (vf){0};
    for (; k + STEP <= words; k += STEP) {
        /* a little at a time: the processor has few misses in flight at once */
        for (size_t i = 0; i < STEP * MR; i += 16)
            __builtin_prefetch(next->a + k * MR + i, 0, 3);
        if (next->times > 0) {
            for (size_t i = 0; i < NR; i += 16)
                __builtin_prefetch(next->at + i * sizeof(float), 0, 2);
            next->at += next->step;
            next->times--;
        }
        for (size_t w = 0; w < STEP; w++, a += MR, b += NR)
            multiply_word(sum, a, b, rows, vectors);
    }
    for (; k < words; k++, a += MR, b += NR)
        multiply_word(sum, a, b, rows, vectors);
}

/* The same in chains of at most WORDS_PER_CHAIN, whose sums are added in turn. */
INLINE void accumulate_tile(vf *sum, const float *restrict a, const float *restrict b, size_t words,
                            const size_t rows, const size_t vectors, struct prefetch next)
{
    vf total[MR * NV];
    size_t k = WORDS_PER_CHAIN < KC_WORDS ? tg_size_min(words, WORDS_PER_CHAIN) : words;

    accumulate_chain(sum, a, b, k, rows, vectors, &next);
    for (; k < words; k += WORDS_PER_CHAIN) {
        EACH_SUM(t)
            total[t] = sum[t];
        next.a += WORDS_PER_CHAIN * MR;
        accumulate_chain(sum, a + k * MR, b + k * NR, tg_size_min(words - k, WORDS_PER_CHAIN), rows, vectors,
                         &next);
        EACH_SUM(t)
            sum[t] += total[t];
    }
}

/* Store m rows of whole vectors. */
INLINE void store_rows(const vf *sum, const struct epilogue *e, const size_t rows, size_t m,
                       const size_t vectors)
{
    EACH_SUM(t) {
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

/* Store m rows of n columns that are not whole vectors. */
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

/* A tile of m rows by n columns, computed as `rows` rows of `vectors` vectors. */
INLINE void part_tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m,
                      size_t n, const size_t rows, const size_t vectors)
{
    vf sum[MR * NV];

    accumulate_tile(sum, a, b, words, rows, vectors, e->next);
    if (n == vectors * VL)
        store_rows(sum, e, rows, m, vectors);
    else
        store_columns(sum, e, m, n, vectors);
}

#define TILE(name, rows, vectors)                                                                            \
    OUT_OF_LINE void name(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m,  \
                          size_t n)                                                                          \
    {                                                                                                        \
        part_tile(a, b, words, e, m, n, rows, vectors);                                                      \
    }
TILE(upper_1, MR / 2, 1)
TILE(upper_2, MR / 2, 2)
TILE(upper_all, MR / 2, NV)
TILE(rows_1, MR, 1)
TILE(rows_2, MR, 2)
TILE(rows_all, MR, NV)

OUT_OF_LINE void whole_tile(const float *a, const float *b, size_t words, const struct epilogue *e)
{
    for (size_t r = 0; r < MR; r++) /* prefetch where the sums will go */
        for (size_t v = 0; v < NV; v++)
            __builtin_prefetch(e->c + r * e->ldc + v * VL, 1);
    part_tile(a, b, words, e, MR, NR, MR, NV);
}

INLINE void tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m, size_t n)
{
    if (m == MR && n == NR)
        whole_tile(a, b, words, e);
    else if (m <= MR / 2)
        (n <= VL ? upper_1 : n <= 2 * VL ? upper_2 : upper_all)(a, b, words, e, m, n);
    else
        (n <= VL ? rows_1 : n <= 2 * VL ? rows_2 : rows_all)(a, b, words, e, m, n);
}
