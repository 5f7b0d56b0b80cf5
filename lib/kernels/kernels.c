#include "lib/kernels/kernels.h"

#include <stdbool.h>

#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"

extern const tg_kernels tg_kernels_portable;
#ifdef TG_HAVE_avx2
extern const tg_kernels tg_kernels_avx2;
#endif
#ifdef TG_HAVE_avx512
extern const tg_kernels tg_kernels_avx512;
#endif

size_t tg_kernels_list(const tg_kernels *list[8])
{
    size_t n = 0;

#ifdef TG_HAVE_avx512
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq"))
        list[n++] = &tg_kernels_avx512;
#endif
#ifdef TG_HAVE_avx2
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        list[n++] = &tg_kernels_avx2;
#endif
    list[n++] = &tg_kernels_portable;
    return n;
}

const tg_kernels *tg_kernels_get(void)
{
    const tg_kernels *list[8];

    (void)tg_kernels_list(list);
    return list[0];
}

void tg_matmul_run(const tg_matmul *op, void *work)
{
    tg_kernels_get()->matmul(op, work);
}

size_t tg_matmul_work(void)
{
    return (A_FLOATS + B_FLOATS) * sizeof(float);
}

size_t tg_attend_work(size_t keys, size_t D)
{
    /* backward's: five times the keys, three times the queries of a block, two blocks
     * and a row of scores; rows are padded to the widest vector */
    const size_t P = tg_round_up(keys, TG_ATTEND_BLOCK), Dp = tg_round_up(D, 16);

    return (5 * P + 3 * TG_ATTEND_BLOCK) * Dp + (2 * TG_ATTEND_BLOCK + 1) * TG_ATTEND_BLOCK;
}
