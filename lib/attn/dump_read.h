/*
 * dump_read: what tg-attn-dump -o wrote, or another program in the same form: an archive
 * of kind "attention", with the stages of attention of some layers.
 *
 * Row-major, last index contiguous, C = H*D; N counts the model's layers from 0:
 *
 *     dump/layout, dump/n_layer, dump/n_head, dump/n_embd, dump/mask
 *     dump/ids [T], dump/text [T]            the tokens, unless there are none
 *     h.N.STAGE                              in the shape that shape.h has for the layout;
 *                                            anything stands in scores where j > i
 *
 * All but the first five may be left out; arrays of other names are passed over.
 */
#ifndef TG_ATTN_DUMP_READ_H
#define TG_ATTN_DUMP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/attn/shape.h"
#include "lib/base/status.h"

/* What the archive says it is. */
#define TG_DUMP_KIND "attention"
#define TG_DUMP_VERSION 1

/* Sets of stages. */
#define TG_DUMP_BIT(stage) (1u << (stage))
#define TG_DUMP_EVERY (TG_DUMP_BIT(TG_ATTN_STAGE_COUNT) - 1)

/* One layer's arrays; NULL: not in the archive, or not wanted. */
typedef struct tg_dump_layer {
    size_t number; /* N */
    const float *data[TG_ATTN_STAGE_COUNT];
    void *owned[TG_ATTN_STAGE_COUNT]; /* copies of those that could not be used where they lie */
} tg_dump_layer;

typedef struct tg_dump {
    tg_attn_layout layout;
    tg_attn_mask mask;
    size_t n_layer;       /* of the model */
    size_t B, T, C, H, D; /* B = T = 0: neither layers nor tokens are in the archive */
    tg_dump_layer *layer; /* [n] those wanted of which the archive has an array, by ascending number */
    size_t n;
    int64_t *ids; /* [T], or NULL */
    char *text;   /* [T][text_size], NUL-padded; or NULL */
    size_t text_size;
    tg_archive_reader *reader; /* keeps mapped arrays */
} tg_dump;

/* What to keep; the rest is read past, and still verified. */
typedef struct tg_dump_want {
    size_t layer;    /* a number, or TG_ATTN_ALL */
    unsigned stages; /* TG_DUMP_BIT()s */
} tg_dump_want;

/*
 * Read one archive from fd, which must stay open; arrays of a mapped file are used where
 * they lie.
 * TG_EDATA: an array is missing, of another type or shape than the others say, or holds
 * a number that is not finite (but for masked scores); another archive follows; anything
 * that formats/archive.h refuses.  TG_EIO, TG_ENOMEM.  After a failure *dump needs no free.
 */
TG_MUST_CHECK tg_status tg_dump_read(tg_dump *dump, int fd, tg_dump_want want, tg_err *err);
void tg_dump_free(tg_dump *dump);

/* The layer of that number, or NULL. */
const tg_dump_layer *tg_dump_find(const tg_dump *dump, size_t number);

/* Its shape and layout; the pointers are NULL. */
tg_attn_view tg_dump_shape(const tg_dump *dump);

/* "h.0.scores", what the archive calls a layer's stage. */
#define TG_DUMP_NAME_ROOM 40
void tg_dump_array_name(char name[TG_DUMP_NAME_ROOM], size_t layer, tg_attn_stage stage);

#endif
