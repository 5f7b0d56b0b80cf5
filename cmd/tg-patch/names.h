/*
 * names: lists of parts of a model, by the names that lib/patch/graph.h gives them.
 */
#ifndef TG_CMD_PATCH_NAMES_H
#define TG_CMD_PATCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/patch/graph.h"

/* Mark the senders [g->senders] that are named at list .. end - 1, with commas between them; and the
 * receivers [g->receivers], of which L.H names q, k and v of a head.  An empty list: all.  TG_EUSAGE: a name
 * is wrong, or out of range. */
TG_MUST_CHECK tg_status patch_mark_senders(bool *marked, const tg_patch_graph *g, const char *list,
                                           const char *end, tg_err *err);
TG_MUST_CHECK tg_status patch_mark_receivers(bool *marked, const tg_patch_graph *g, const char *list,
                                             const char *end, tg_err *err);

#endif
