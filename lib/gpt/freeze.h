/*
 * freeze: parameters that training leaves as they are.  They have no gradient and no moments, and backward
 * ends at the first block that has others, unless the embedding is trained.
 */
#ifndef TG_GPT_FREEZE_H
#define TG_GPT_FREEZE_H

#include "lib/base/status.h"
#include "lib/gpt/model.h"

/*
 * Which entries [table->n] of a model's table a list names, 1 or 0: "embedding", the tables of tokens and
 * positions; "layers:0-11" or "layers:3", blocks; or a pattern of names, as "*.mlp.*" (fnmatch(3); '*' also
 * matches '.'). TG_EUSAGE: a word names none, or nothing is left to be trained.
 */
TG_MUST_CHECK tg_status tg_freeze_find(unsigned char *frozen, const tg_params *table, const char *list,
                                       tg_err *err);

/*
 * Freeze these entries [m->table.n], at least one and not all, and no others, of a model with flat
 * parameters. These move (m->params); they need not exist yet.  TG_ENOMEM: *m can only be freed.
 */
TG_MUST_CHECK tg_status tg_model_freeze(tg_model *m, const unsigned char *frozen, tg_err *err);

#endif
