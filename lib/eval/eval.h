/*
 * eval: how well a model predicts a text; lib/tg/eval.h says which tokens are scored, and has the types.
 *
 *     tg_eval_open(&e, model, &plan, &err)
 *     tg_eval_run(&e, &stream, take, context, &err)      for each text
 *     tg_eval_loss(&e.sums), ...
 *     tg_eval_close(&e)
 *
 * The members of a team take turns with batches of windows (lib/tokens/windows.h, lib/tokens/window_map.h).
 */
#ifndef TG_EVAL_EVAL_H
#define TG_EVAL_EVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/team.h"
#include "lib/gpt/pass.h"
#include "lib/gpt/score.h"
#include "lib/tg/eval.h"
#include "lib/tokens/stream.h"
#include "lib/tokens/window_map.h"
#include "lib/tokens/windows.h"

typedef struct tg_eval {
    const tg_model *model;
    tg_eval_plan plan;
    tg_eval_sums sums; /* over all texts so far */
    tg_tokens_windows windows;
    tg_pass pass;
    tg_eval_row *rows; /* [rows of a block of logits] */
    int32_t *top;      /* [rows][plan.top] */
    tg_tokens_window_map map;
    tg_arena arena;
} tg_eval;

/* The plan's numbers must be in range.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_eval_open(tg_eval *e, const tg_model *model, const tg_eval_plan *plan,
                                     tg_err *err);
void tg_eval_close(tg_eval *e);

#endif
