/*
 * ablate: how the loss of a text changes without each head.
 */
#ifndef TG_CMD_ATTN_DUMP_ABLATE_H
#define TG_CMD_ATTN_DUMP_ABLATE_H

#include "cmd/tg-attn-dump/input.h"

/* The changes [L,H] of an input with a model and its text, of the layers that its filter keeps; the others
 * are 0. They are what --ablate all prints for the same tokens.  The caller frees *changes.  TG_EDATA: there
 * is one token, or a loss is not finite; TG_ENOMEM. */
TG_MUST_CHECK tg_status ablate_changes(double **changes, const attn_input *in, tg_err *err);

#endif
