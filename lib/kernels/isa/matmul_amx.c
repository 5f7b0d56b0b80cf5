/*
 * The matrix product with bf16 operands on the tile unit (AMX): see matmul_body.h.
 *
 * A tile register holds 16 rows of 64 bytes.  Four of them hold a 32 x 32 tile of C in
 * float32; two hold 32 rows of A with 32 values of k each; two hold 16 pairs of k for
 * 32 columns of B.  One instruction multiplies 16 x 32 by 32 x 16.
 */
#include "lib/kernels/isa/kernels_isa.h"
#include "lib/kernels/isa/tiles.h"

#ifdef TG_TILES

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/isa/matmul_tile.h"
#include "lib/kernels/isa/matmul_words.h"
#include "lib/kernels/isa/transpose.h"

#define WORDS_UNIT 16
#define MR 32
#define NR 32
#define NR_UNIT 32
#define WORDS_PER_PASS PASS_WORDS

/* ---- packing */

/* to[w*stride] = word w of x[k*k_step], 0 <= k < n, n <= 32. */
INLINE void some_words(float *to, size_t stride, const void *x, size_t k_step, size_t n, const tg_type type)
{
    for (size_t k = 0; k < n; k += 2)
        to[k / 2 * stride] =
            word(element(x, k * k_step, type), k + 1 < n ? element(x, (k + 1) * k_step, type) : NULL, type);
}

/* Words k/2 .. k/2 + 15 of VL rows or columns along k, x[row*step + k]: word[row]. */
INLINE void square_along(vf word[VL], const void *x, size_t step, const tg_type type)
{
    for (size_t r = 0; r < VL; r++)
        word[r] = words_along(element(x, r * step, type), type);
}

/* The same of adjacent rows or columns, x[row + k*k_step]: word[k/2]. */
INLINE void square_across(vf word[VL], const void *x, size_t k_step, const tg_type type)
{
    for (size_t p = 0; p < VL; p++)
        word[p] =
            words_across(element(x, 2 * p * k_step, type), element(x, (2 * p + 1) * k_step, type), VL, type);
}

/* Rows of x, x[row*step + k*k_step], into panel[k/32][row][16 words]; or columns into panel[word][column]. */
INLINE void pack(float *restrict panel, const void *restrict x, size_t step, size_t k_step, size_t n,
                 size_t kc, const bool columns, const tg_type type)
{
    const size_t next = columns ? 1 : 16, next_word = columns ? NR : 1;

    if (n < MR || kc % 32 != 0)
        memset(panel, 0, tg_round_up(tg_ceil_div(kc, K_PER_WORD), WORDS_UNIT) * MR * sizeof *panel);
    for (size_t k = 0; k < kc; k += 32, panel += MR * 16) {
        const size_t k_n = tg_size_min(32, kc - k);
        const void *from = element(x, k * k_step, type);

        if (!columns && k_step == 1 && k_n == 32) {
            for (size_t i = 0; i < n; i++)
                store(panel + i * 16, words_along(element(from, i * step, type), type));
        } else if (k_n == 32 && n == MR && (step == 1 || k_step == 1)) {
            for (size_t i = 0; i < MR; i += VL) {
                vf words[VL];

                if (step == 1)
                    square_across(words, element(from, i, type), k_step, type);
                else
                    square_along(words, element(from, i * step, type), step, type);
                if ((step == 1) != columns)
                    transpose(words);
                for (size_t r = 0; r < VL; r++)
                    store(panel + (columns ? r * NR + i : (i + r) * 16), words[r]);
            }
        } else {
            for (size_t i = 0; i < n; i++)
                some_words(panel + i * next, next_word, element(from, i * step, type), k_step, k_n, type);
        }
    }
}

static void pack_a(float *panels, const void *x, size_t step, size_t k_step, size_t m, size_t kc,
                   tg_type type)
{
    const size_t panel = tg_round_up(tg_ceil_div(kc, K_PER_WORD), WORDS_UNIT) * MR;

    for (size_t i = 0; i < m; i += MR, panels += panel) {
        const size_t n = tg_size_min(MR, m - i);

        if (type == TG_TYPE_BF16)
            pack(panels, element(x, i * step, TG_TYPE_BF16), step, k_step, n, kc, false, TG_TYPE_BF16);
        else
            pack(panels, element(x, i * step, TG_TYPE_FLOAT), step, k_step, n, kc, false, TG_TYPE_FLOAT);
    }
}

static void pack_b(float *panel, const void *x, size_t step, size_t k_step, size_t n, size_t kc, tg_type type)
{
    if (type == TG_TYPE_BF16)
        pack(panel, x, step, k_step, n, kc, true, TG_TYPE_BF16);
    else
        pack(panel, x, step, k_step, n, kc, true, TG_TYPE_FLOAT);
}

/* ---- the tile */

/* Registers: C is 0 1 over 2 3; A is 4 over 5; B is 6 and 7 side by side. */
INLINE void load_sums(const float *from, size_t ld)
{
    const size_t stride = ld * sizeof(float);

    tile_load(0, from, stride);
    tile_load(1, from + 16, stride);
    tile_load(2, from + 16 * ld, stride);
    tile_load(3, from + 16 * ld + 16, stride);
}

INLINE void store_sums(float *to, size_t ld)
{
    const size_t stride = ld * sizeof(float);

    tile_store(0, to, stride);
    tile_store(1, to + 16, stride);
    tile_store(2, to + 16 * ld, stride);
    tile_store(3, to + 16 * ld + 16, stride);
}

INLINE void accumulate_tile(const float *a, const float *b, size_t words, struct prefetch next)
{
    const size_t each = tg_ceil_div(next.times * 16, words);

    for (size_t w = 0; w < words; w += 16, a += MR * 16, b += NR * 16) {
        for (size_t p = 0; p < each; p++, next.at += next.step) {
            __builtin_prefetch(next.at, 0, 2);
            __builtin_prefetch(next.at + 64, 0, 2);
        }
        tile_load(4, a, 64);
        tile_load(6, b, NR * sizeof(float));
        tile_load(7, b + 16, NR * sizeof(float));
        tile_load(5, a + 16 * 16, 64);
        tile_multiply(0, 4, 6);
        tile_multiply(1, 4, 7);
        tile_multiply(2, 5, 6);
        tile_multiply(3, 5, 7);
    }
}

INLINE void zero_sums(void)
{
    tile_zero(0);
    tile_zero(1);
    tile_zero(2);
    tile_zero(3);
}

static void tile(const float *a, const float *b, size_t words, const struct epilogue *e, size_t m, size_t n)
{
    const bool whole = m == MR && n == NR && !e->bias; /* the sums are C's tile as they are */
    float sums[MR * NR];

    if (e->before)
        load_sums(e->before, NR);
    else if (whole && e->add)
        load_sums(e->add, e->ldc);
    else
        zero_sums();
    accumulate_tile(a, b, words, e->next);
    if (e->after || whole) {
        store_sums(e->after ? e->after : e->c, e->after ? NR : e->ldc);
        return;
    }
    store_sums(sums, NR);
    for (size_t r = 0; r < m; r++)
        for (size_t j = 0; j < n; j++)
            e->c[r * e->ldc + j] =
                sums[r * NR + j] + (e->bias ? e->bias[j] : 0) + (e->add ? e->add[r * e->ldc + j] : 0);
}

#include "lib/kernels/isa/matmul_body.h"

size_t ISA_NAME(matmul_bf16_part)(size_t K)
{
    return part_of_k(K);
}

void ISA_NAME(matmul_bf16)(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    multiply_blocks(op, scratch);
}

#endif
