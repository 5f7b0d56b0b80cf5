/* The choice of the instruction set, and calls of its kernels: see kernels.h. */
#define _DEFAULT_SOURCE /* syscall */
#include "lib/kernels/kernels.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <assert.h>
#include <stdbool.h>
#include <string.h>

/* ---- the instruction sets: the Makefile's list, TG_ISAS, is X(name) for each, best first */

/* Whether this processor, and the system, let a process use the set, which a build may lack (make ISAS=). */
#define MAY_LACK __attribute__((unused))

static bool runs_portable(void)
{
    return true;
}

#ifdef __x86_64__
MAY_LACK static bool runs_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static bool runs_avx512(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("fma");
}

static bool runs_avx512bf16(void)
{
    return runs_avx512() && __builtin_cpu_supports("avx512bf16");
}

/* The tile registers are so large that a process has them only after it asked for them. */
MAY_LACK static bool runs_amx(void)
{
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
    const long request_permission = 0x1023, tile_data = 18;
    unsigned a, b, c, d;

    return runs_avx512bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amx_bf16) && (d & amx_tile) &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

#ifdef __aarch64__
MAY_LACK static bool runs_neon(void)
{
    return true;
}
#endif

#define X(isa) extern const tg_kernels tg_kernels_##isa;
TG_ISAS
#undef X

size_t tg_kernels_list(const tg_kernels *list[8])
{
    size_t n = 0;

#define X(isa)                                                                                               \
    if (runs_##isa())                                                                                        \
        list[n++] = &tg_kernels_##isa;
    TG_ISAS
#undef X
    return n;
}

/* ---- the choice */

static const tg_kernels *_Atomic in_use;

const tg_kernels *tg_kernels_get(void)
{
    const tg_kernels *list[8], *k = in_use;
    tg_err err;

    if (!k) {
        (void)tg_kernels_list(list);
        k = tg_kernels_check(list[0], &err) == TG_EDATA ? &tg_kernels_portable : list[0];
        in_use = k;
    }
    return k;
}

static tg_status find(const char *isa, const tg_kernels **k, tg_err *err)
{
    const tg_kernels *list[8];
    char names[128] = "";
    size_t n = tg_kernels_list(list);

    for (size_t i = 0; i < n; i++) {
        if (!isa || strcmp(isa, list[i]->isa) == 0) {
            *k = list[i];
            return TG_OK;
        }
        strcat(strcat(names, " "), list[i]->isa);
    }
    return tg_fail(err, TG_EUSAGE, "there is no instruction set %s here; there are%s", isa, names);
}

tg_status tg_kernels_choose(const char *isa, tg_err *err)
{
    const tg_kernels *k = NULL;
    tg_status status = find(isa, &k, err);

    if (status)
        return status;
    status = tg_kernels_check(k, err);
    if (status != TG_ENOMEM)
        in_use = status ? &tg_kernels_portable : k;
    return status;
}

/* ---- calls of the table in use */

bool tg_matmul_has_bf16(void)
{
    return tg_kernels_get()->has_bf16;
}

void tg_matmul_run(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    const tg_kernels *k = tg_kernels_get();

    assert(!op->c16 || (op->K <= tg_matmul_depth() && !op->accumulate && !op->add));
    (scratch->precision == TG_PRECISION_BF16 ? k->matmul_bf16 : k->matmul)(op, scratch);
}

void tg_packed_matrix_pack(const tg_packed_matrix *w, const float *b, size_t b_row, size_t b_col)
{
    tg_kernels_get()->packed_matrix_pack(w, b, b_row, b_col);
}

void tg_packed_matrix_run(const tg_matmul *op, const tg_packed_matrix *w)
{
    assert(op->K == w->K && op->N == w->N && op->a_col == 1);
    tg_kernels_get()->packed_matrix_run(op, w);
}
