#include "tests/unit/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/kernels/kernels.h"

static int failures;
static int tests_run;

void check_run(const char *name, void (*test)(void))
{
    int before = failures;

    test();
    tests_run++;
    printf("%s %s\n", failures == before ? "ok" : "FAILED", name);
}

int check_done(void)
{
    if (tests_run == 0)
        printf("FAILED: no test ran\n");
    return failures > 0 || tests_run == 0;
}

static void with_isa(const char *isa, void (*tests)(void))
{
    tg_err err;
    const tg_status status = tg_kernels_choose(isa, &err);

    printf("# %s\n", isa);
    CHECK_OK(status, &err);
    if (status == TG_OK)
        tests();
}

int check_each_isa(int argc, char **argv, void (*tests)(void))
{
    const tg_kernels *here[8];
    const size_t n = tg_kernels_list(here);
    bool found = argc < 2;

    for (size_t i = 0; i < n; i++)
        if (argc < 2 || strcmp(argv[1], here[i]->isa) == 0 || (i == 0 && strcmp(argv[1], "best") == 0)) {
            with_isa(here[i]->isa, tests);
            found = true;
        }
    if (found)
        return check_done();
    printf("%s: not on this machine, which runs", argv[1]);
    for (size_t i = 0; i < n; i++)
        printf(" %s", here[i]->isa);
    printf("\n");
    return CHECK_SKIPPED;
}

static void failed(const char *file, int line)
{
    failures++;
    printf("%s:%d: ", file, line);
}

void check_true(const char *file, int line, bool ok, const char *what)
{
    if (ok)
        return;
    failed(file, line);
    printf("%s\n", what);
}

void check_equal(const char *file, int line, long long got, long long want, const char *what)
{
    if (got == want)
        return;
    failed(file, line);
    printf("%s is %lld, not %lld\n", what, got, want);
}

void check_near(const char *file, int line, double got, double want, double tolerance, const char *what)
{
    if (fabs(got - want) <= tolerance)
        return;
    failed(file, line);
    printf("%s is %.9g, not %.9g (off by %.3g, tolerance %.3g)\n", what, got, want, fabs(got - want),
           tolerance);
}

void check_contains(const char *file, int line, const char *text, const char *part)
{
    if (strstr(text, part))
        return;
    failed(file, line);
    printf("\"%s\" does not contain \"%s\"\n", text, part);
}

void check_ok(const char *file, int line, tg_status status, const tg_err *err)
{
    if (status == TG_OK)
        return;
    failed(file, line);
    printf("status %d: %s\n", (int)status, err ? err->message : "");
}

double check_random(uint64_t seed, uint64_t index)
{
    tg_rng rng = {.seed = seed, .purpose = 1000};

    return 2 * tg_rng_uniform(&rng, index) - 1;
}

void check_fill(float *x, size_t n, uint64_t seed, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(scale * check_random(seed, i));
}

void check_fill64(double *x, size_t n, uint64_t seed, double scale)
{
    for (size_t i = 0; i < n; i++)
        x[i] = scale * check_random(seed, i);
}

static double worst(double seen, double a, double b)
{
    double d = fabs(a - b) / fmax(1.0, fabs(b));

    return d > seen || isnan(d) ? (isnan(d) ? HUGE_VAL : d) : seen;
}

double check_distance(const float *a, const float *b, size_t n)
{
    double seen = 0;

    for (size_t i = 0; i < n; i++)
        seen = worst(seen, (double)a[i], (double)b[i]);
    return seen;
}

double check_distance64(const float *a, const double *b, size_t n)
{
    double seen = 0;

    for (size_t i = 0; i < n; i++)
        seen = worst(seen, (double)a[i], b[i]);
    return seen;
}

/* Not memset(), which AddressSanitizer checks wherever it is called from. */
__attribute__((no_sanitize("address"))) void check_fill_arena(const tg_arena *arena)
{
    /* volatile: the compiler must not make a memset() of it, which the sanitizer watches */
    volatile uint64_t *words = (volatile uint64_t *)arena->base;

    for (size_t i = 0; i < arena->size / sizeof *words; i++)
        words[i] = UINT64_MAX;
}

size_t check_soak(size_t usual, size_t soak)
{
    return getenv("TG_SOAK") ? soak : usual;
}

size_t check_rounds(size_t n)
{
    return getenv("TG_QUICK") ? (n + 9) / 10 : n;
}

size_t check_step(size_t n)
{
    return getenv("TG_QUICK") ? n : 1;
}
