/* What kernels need besides their operands: see matmul.h, packed_matrix.h and attend.h. */
#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/isa/blocks.h"
#include "lib/kernels/kernels.h"

size_t tg_matmul_depth(void)
{
    /* as much as a packed block holds with the most rows, or columns, of a tile */
    return tg_size_min(A_FLOATS / 32, B_FLOATS / 48);
}

void tg_matmul_place(tg_arena *arena, tg_matmul_scratch *scratch)
{
    scratch->precision = TG_PRECISION_FLOAT32;
    scratch->threads = tg_threads();
    scratch->packed = tg_arena_take(arena, 1, tg_matmul_work(scratch->threads));
}

size_t tg_matmul_work(size_t threads)
{
    return threads * (A_FLOATS + B_FLOATS + SUMS_FLOATS) * sizeof(float);
}

void tg_packed_matrix_place(tg_arena *arena, tg_packed_matrix *w, size_t K, size_t N, tg_weight_type type)
{
    static const size_t each[] = {
        [TG_WEIGHT_FLOAT32] = sizeof(float), [TG_WEIGHT_BF16] = sizeof(uint16_t), [TG_WEIGHT_INT8] = 1};
    const size_t columns = tg_round_up(N, 64); /* of whole panels, with the longest vectors */

    *w = (tg_packed_matrix){.K = K, .N = N, .type = type};
    w->panels = tg_arena_take_rows(arena, columns, K, each[type]);
    if (type == TG_WEIGHT_INT8)
        w->scales = tg_arena_take(arena, columns, sizeof *w->scales);
}

size_t tg_attention_head_work(size_t keys, size_t D)
{
    /* backward needs most: five arrays of keys, three of a block's queries, two blocks of
     * scores and one row of factors, with rows padded to the longest vector */
    const size_t P = tg_round_up(keys, TG_ATTEND_BLOCK), Dp = tg_round_up(D, 16);

    return (5 * P + 3 * TG_ATTEND_BLOCK) * Dp + (2 * TG_ATTEND_BLOCK + 1) * TG_ATTEND_BLOCK;
}

size_t tg_attention_head16_work(size_t keys, size_t D)
{
    /* with bf16 instructions backward needs most: five packed arrays of keys, which are bf16, or float32
     * sums; as much for a block's queries; scores and what becomes of them; dropout's factors */
    const size_t P = tg_round_up(keys, TG_ATTEND_BLOCK), Dp = tg_round_up(D, 32), Q = TG_ATTEND_BLOCK;
    const size_t packed = (7 * P / 2 + 3 * Q) * Dp + (11 * Q / 2 + 3) * Q;

    /* without them eight arrays of rows in float32, and what they need in float32 */
    return tg_size_max(packed, 8 * keys * D + tg_attention_head_work(keys, D));
}
