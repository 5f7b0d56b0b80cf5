/*
 * names: what the parts of a model and the edges between them are called, on the command line and in lines.
 *
 *     embed  L.H  L.mlp               senders
 *     L.H.q  L.H.k  L.H.v  L.mlp  logits    receivers
 *     SENDER:RECEIVER                 an edge
 *
 * Layers L and heads H count from 0; heads of k and v are those of the keys.
 */
#ifndef TG_CMD_PATCH_NAMES_H
#define TG_CMD_PATCH_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"
#include "lib/patch/graph.h"

/* Bytes of the name of a part, and of an edge, NUL included. */
#define PATCH_PART_SIZE 64
#define PATCH_NAME_SIZE 128

void patch_sender_name(char *out, size_t size, const tg_patch_graph *g, size_t sender);
void patch_receiver_name(char *out, size_t size, const tg_patch_graph *g, size_t receiver);
void patch_edge_name(char *out, size_t size, const tg_patch_graph *g, const tg_patch_edge *edge);

/* Mark the senders [g->senders] that are named at list .. end - 1, with commas between them; and the
 * receivers [g->receivers], of which L.H names q, k and v of a head.  An empty list: all.  TG_EUSAGE: a name
 * is wrong, or out of range. */
TG_MUST_CHECK tg_status patch_mark_senders(bool *marked, const tg_patch_graph *g, const char *list,
                                           const char *end, tg_err *err);
TG_MUST_CHECK tg_status patch_mark_receivers(bool *marked, const tg_patch_graph *g, const char *list,
                                             const char *end, tg_err *err);

#endif
