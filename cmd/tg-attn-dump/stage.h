/*
 * stage: what the jobs that take --stage share.
 */
#ifndef TG_CMD_ATTN_DUMP_STAGE_H
#define TG_CMD_ATTN_DUMP_STAGE_H

#include "cmd/tg-attn-dump/input.h"

/* TG_EUSAGE: only a model has the stage, and the input is not a model. */
TG_MUST_CHECK tg_status check_stage(const attn_input *in, const attn_options *o, tg_err *err);

#endif
