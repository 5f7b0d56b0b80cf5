/* Which instruction sets there are, and which of them this processor runs: see isas.h. */
#define _DEFAULT_SOURCE /* syscall */
#include "lib/kernels/isas.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include <string.h>

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

static const struct {
    const char *name;
    bool (*runs)(void);
} isas[] = {
#define X(isa) {#isa, runs_##isa},
    TG_ISAS
#undef X
};

bool tg_isas_is_slow(const char *name)
{
#ifdef __x86_64__
    return __builtin_cpu_is("intel") && strcmp(name, "avx512bf16") == 0;
#else
    (void)name;
    return false;
#endif
}

size_t tg_isas_list(size_t list[TG_ISAS_MAX])
{
    size_t n = 0;

    for (int slow = 0; slow <= 1; slow++)
        for (size_t i = 0; i < sizeof isas / sizeof *isas; i++)
            if (tg_isas_is_slow(isas[i].name) == slow && isas[i].runs())
                list[n++] = i;
    return n;
}

tg_status tg_isas_find(size_t *isa, const char *name, tg_err *err)
{
    size_t list[TG_ISAS_MAX];
    char names[128] = "";
    const size_t n = tg_isas_list(list);

    for (size_t i = 0; i < n; i++) {
        *isa = list[i];
        if (!name || strcmp(name, isas[*isa].name) == 0)
            return TG_OK;
        strcat(strcat(names, " "), isas[*isa].name);
    }
    return tg_fail(err, TG_EUSAGE, "there is no instruction set %s here; there are%s", name, names);
}

tg_status tg_isas_fail(const char *isa, tg_err *err)
{
    return tg_fail(err, TG_EDATA, "the %s kernels compute wrongly here; using the portable ones", isa);
}
