#include "cmd/tg-train/speed.h"

#include <math.h>

#include "cmd/cli/cli.h"
#include "lib/base/arena.h"
#include "lib/kernels/matmul.h"

#define SECONDS 0.05

/* The product of the first layer of an MLP, for the tokens of a step. */
enum { TOKENS = 768, IN = 128, OUT = 512 };

struct product {
    float *x, *w, *y;
    tg_matmul_scratch scratch;
};

static void place(tg_arena *arena, void *context)
{
    struct product *p = context;

    p->x = tg_arena_take_rows(arena, TOKENS, IN, sizeof *p->x);
    p->w = tg_arena_take_rows(arena, IN, OUT, sizeof *p->w);
    p->y = tg_arena_take_rows(arena, TOKENS, OUT, sizeof *p->y);
    tg_matmul_place(arena, &p->scratch);
}

static double time_of(const struct product *p)
{
    const double began = cli_now();

    tg_matmul_run(&(tg_matmul){.M = TOKENS,
                               .N = OUT,
                               .K = IN,
                               .a = p->x,
                               .b = p->w,
                               .c = p->y,
                               .a_row = IN,
                               .a_col = 1,
                               .b_row = OUT,
                               .b_col = 1,
                               .ldc = OUT},
                  &p->scratch);
    return cli_now() - began;
}

tg_status train_speed(double *per_second, tg_err *err)
{
    struct product p;
    tg_arena arena = {0};
    tg_status status = tg_arena_build(&arena, place, &p, err);
    double began, best = HUGE_VAL; /* others on the machine only make it slower */

    if (status)
        return status;
    if (tg_matmul_prefers_bf16())
        p.scratch.precision = TG_PRECISION_BF16;
    began = cli_now();
    while (cli_now() - began < SECONDS)
        best = fmin(best, time_of(&p));
    tg_arena_free(&arena);
    *per_second = 2.0 * TOKENS * IN * OUT / best;
    return TG_OK;
}
