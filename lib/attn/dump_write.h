/*
 * dump_write: attention as an archive of kind "attention", whose arrays formats/README.md
 * lists; dump_read reads it.
 */
#ifndef TG_ATTN_DUMP_WRITE_H
#define TG_ATTN_DUMP_WRITE_H

#include "lib/attn/layers.h"
#include "lib/attn/stage.h"

/* What goes into it, beside what the layers say themselves. */
typedef struct tg_dump_settings {
    tg_attn_stage stage; /* only this one; TG_ATTN_EVERY: all that the layers have */
    size_t layer;        /* only this one, or TG_ATTN_ALL */
    tg_attn_mask mask;   /* what stands for a masked score */
    const int32_t *ids;  /* [T] the tokens; NULL: there are none, nor text */
    const char *text;    /* [T][text_size] each token's text, NUL-padded */
    size_t text_size;    /* >= 1 */
} tg_dump_settings;

/*
 * Write the layers that are left to fd.  Needs room for one layer's array at a time, the
 * largest being scores [B,H,T,T] of float32: rows are computed once for the scores and once
 * for the probabilities.
 * TG_EUSAGE: the layer is out of range.  TG_EDATA: a number is not finite, with its place.
 * TG_EIO, TG_ENOMEM.  After a failure what has been written is not an archive.
 */
TG_MUST_CHECK tg_status tg_dump_write(int fd, tg_attn_layers *layers, const tg_dump_settings *dump,
                                      tg_err *err);

#endif
