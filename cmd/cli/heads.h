/*
 * cli_heads: a list of heads, as "0.3,2.*": LAYER.HEAD, or LAYER.* for all heads of a layer, with commas
 * between.
 */
#ifndef TG_CMD_CLI_HEADS_H
#define TG_CMD_CLI_HEADS_H

#include "cmd/cli/cli.h"
#include "lib/gpt/config.h"
#include "lib/heads/ablate.h"

/* Whether it is such a list; what can be checked without a model. */
bool cli_heads_given(const char *list);

/* The heads of a list, each once, in ascending order; the caller frees *out, also after a failure.
 * TG_EUSAGE: the model lacks one; the message names it.  TG_ENOMEM. */
TG_MUST_CHECK tg_status cli_heads_find(tg_ablate_head **out, size_t *n, const char *list, const tg_config *c,
                                       tg_err *err);

#endif
