#define _DEFAULT_SOURCE /* syscall */
#include "lib/kernels/kernels.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <assert.h>
#include <math.h>
#include <omp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/kernels/isa/blocks.h"

/* ---- the instruction sets: the Makefile's list, TG_ISAS, is X(name) for each, best first */

/* Whether this processor, and the system, let a process use the set. */
static bool runs_portable(void)
{
    return true;
}

#ifdef __x86_64__
static bool runs_avx2(void)
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
static bool runs_amx(void)
{
    const unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
    const long request_permission = 0x1023, tile_data = 18;
    unsigned a, b, c, d;

    return runs_avx512bf16() && __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d & amx_bf16) && (d & amx_tile) &&
           syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}
#endif

#ifdef __aarch64__
static bool runs_neon(void)
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

    if (!k) {
        (void)tg_kernels_list(list);
        in_use = k = list[0];
    }
    return k;
}

static float value(size_t i)
{
    return (float)(i * 7 % 13) / 13.0f - 0.5f;
}

/* Whether n values are those of the portable kernels, within what rounding explains. */
static bool agree(const float *a, const float *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i]))))
            return false;
    return true;
}

enum { SIDE = 19, SQUARE = SIDE * SIDE }; /* of no vector's width */

struct trial {
    float product[SQUARE], packed[2][SQUARE], gelu[SQUARE], softmax[SQUARE], norm[SQUARE], att[SQUARE];
};

/* x x by way of packed weights. */
static void try_weights(const tg_kernels *k, float *out, const float *x, tg_precision precision, void *work)
{
    const tg_packed_matrix w = {.K = SIDE, .N = SIDE, .precision = precision, .panels = work};
    const tg_matmul product = {.M = SIDE, .N = SIDE, .K = SIDE, .a = x, .a_row = SIDE, .a_col = 1,
                               .c = out, .ldc = SIDE};

    k->packed_matrix_pack(&w, x, SIDE, 1);
    k->packed_matrix_run(&product, &w);
}

static void try_kernels(const tg_kernels *k, struct trial *t, void *work)
{
    float x[SQUARE], lse[SIDE], mean, rstd;
    const tg_matmul product = {.M = SIDE, .N = SIDE, .K = SIDE, .a = x, .a_row = 1, .a_col = SIDE,
                               .b = x, .b_row = SIDE, .b_col = 1, .c = t->product, .ldc = SIDE};
    const tg_attend attend = {.queries = SIDE, .D = SIDE, .scale = 0.3f, .q = x, .k = x, .v = x,
                              .ldq = SIDE, .ldk = SIDE, .ldv = SIDE, .out = t->att, .ldo = SIDE, .lse = lse};

    for (size_t i = 0; i < SQUARE; i++)
        x[i] = value(i);
    k->matmul(&product, &(tg_matmul_scratch){.packed = work, .threads = 1});
    try_weights(k, t->packed[0], x, TG_PRECISION_FLOAT32, work);
    try_weights(k, t->packed[1], x, TG_PRECISION_BF16, work);
    k->gelu_tanh_forward(t->gelu, x, SQUARE);
    k->softmax_row(t->softmax, x, SQUARE);
    k->layernorm_row(t->norm, &mean, &rstd, x, NULL, NULL, SQUARE, 1e-5f);
    k->attend_forward(&attend, work);
}

static tg_status self_test(const tg_kernels *k, tg_err *err)
{
    const tg_kernels *reference = &tg_kernels_portable;
    struct trial *t = calloc(2, sizeof *t);
    void *work = aligned_alloc(TG_ALIGN, tg_matmul_work(1)); /* the others' are smaller */
    tg_status status = TG_OK;

    if (!t || !work) {
        status = tg_fail_memory(err, tg_matmul_work(1), "the self-test");
        goto done;
    }
    try_kernels(reference, &t[0], work);
    try_kernels(k, &t[1], work);
    if (!agree((const float *)&t[1], (const float *)&t[0], sizeof *t / sizeof(float)))
        status = tg_fail(err, TG_EDATA, "the %s kernels compute wrongly here; using the %s ones", k->isa,
                         reference->isa);

done:
    free(work);
    free(t);
    return status;
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
    status = self_test(k, err);
    in_use = status ? &tg_kernels_portable : k;
    return status;
}

/* ---- sizes and shorthands */

bool tg_matmul_has(tg_precision precision)
{
    return precision == TG_PRECISION_FLOAT32 || tg_kernels_get()->matmul_bf16;
}

void tg_matmul_run(const tg_matmul *op, const tg_matmul_scratch *scratch)
{
    const tg_kernels *k = tg_kernels_get();

    (scratch->precision == TG_PRECISION_BF16 ? k->matmul_bf16 : k->matmul)(op, scratch);
}

void tg_matmul_place(tg_arena *arena, tg_matmul_scratch *scratch)
{
    scratch->precision = TG_PRECISION_FLOAT32;
    scratch->threads = (size_t)omp_get_max_threads();
    scratch->packed = tg_arena_take(arena, 1, tg_matmul_work(scratch->threads));
}

size_t tg_matmul_work(size_t threads)
{
    return threads * (A_FLOATS + B_FLOATS + SUMS_FLOATS) * sizeof(float);
}

void tg_packed_matrix_place(tg_arena *arena, tg_packed_matrix *w, size_t K, size_t N, tg_precision precision)
{
    const size_t widest = 32; /* columns of a panel, of the kernels with the longest vectors */
    const size_t each = precision == TG_PRECISION_BF16 ? sizeof(uint16_t) : sizeof(float);

    *w = (tg_packed_matrix){.K = K, .N = N, .precision = precision};
    w->panels = tg_arena_take_rows(arena, tg_round_up(N, widest), K, each);
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

size_t tg_attend_work(size_t keys, size_t D)
{
    /* backward's: five times the keys, three times the queries of a block, two blocks
     * and a row of scores; rows are padded to the widest vector */
    const size_t P = tg_round_up(keys, TG_ATTEND_BLOCK), Dp = tg_round_up(D, 16);

    return (5 * P + 3 * TG_ATTEND_BLOCK) * Dp + (2 * TG_ATTEND_BLOCK + 1) * TG_ATTEND_BLOCK;
}
