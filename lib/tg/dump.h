/*
 * dump: archives with the stages of attention of some layers, as tg-attn-dump -o writes them
 * (formats/README.md).
 */
#ifndef TG_TG_DUMP_H
#define TG_TG_DUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/attention.h"
#include "lib/tg/status.h"

TG_API_BEGIN

/* Sets of stages. */
#define TG_DUMP_BIT(stage) (1u << (stage))
#define TG_DUMP_EVERY (TG_DUMP_BIT(TG_ATTN_STAGE_COUNT) - 1)

/* ---- writing */

/* Copy the text of the token `id`, without NUL, to out, in at most `size` bytes; returns their number. */
typedef size_t (*tg_dump_text_of)(const void *context, char *out, size_t size, int32_t id);

/* What to write, besides what the layers hold. */
typedef struct tg_dump_settings {
    unsigned stages;    /* TG_DUMP_BIT()s: of these, all that the layers have */
    tg_attn_mask mask;  /* the value of masked scores */
    const int32_t *ids; /* [T] the tokens; NULL: none, and no text */
    const char *text;   /* [T][text_size] each token's text, NUL-padded; NULL: none */
    size_t text_size;   /* >= 1, with text */
    const char *source; /* "-m FILE", "--qkv FILE" or "--example NAME"; NULL: none */
    /* of a model, which formats/README.md lists: */
    bool weights;          /* the output projections */
    bool next;             /* the tokens that it predicts, if the last layer is among those that are kept */
    const double *changes; /* [L,H] in the loss without each head (lib/tg/ablate.h); NULL: none */
    bool gradient; /* of the loss of predicting `target` after the text; each layer runs the rest of the model
                    * forward and backward in double precision */
    int32_t target;
    tg_dump_text_of text_of; /* of the tokens that are predicted; NULL: none */
    const void *context;     /* its first argument */
} tg_dump_settings;

/*
 * Write the remaining layers that the layers' filter keeps to fd: whole arrays, whatever heads,
 * queries and keys it keeps.  Needs memory for one array at a time, of which the largest is
 * scores [B,H,T,T] of float32; each row is computed twice, for the scores and for the
 * probabilities.
 * TG_EDATA: a number is not finite, with its place.  TG_EIO, TG_ENOMEM.  After a failure the bytes
 * already written are not a valid archive.
 */
TG_MUST_CHECK tg_status tg_dump_write(int fd, tg_attn_layers *layers, const tg_dump_settings *dump,
                                      tg_err *err);

/* ---- reading */

typedef struct tg_dump tg_dump;

/* What to keep; other arrays are verified and dropped. */
typedef struct tg_dump_want {
    size_t layer;    /* a number, or TG_ATTN_ALL */
    unsigned stages; /* TG_DUMP_BIT()s */
    bool extras;     /* also the weights, the predictions and the gradient */
} tg_dump_want;

/*
 * Read one archive from fd, which must stay open: arrays of a mapped file are used in place.
 * TG_EDATA: an array is missing, contradicts the others in type or shape, or holds a number that is not
 * finite (except masked scores); another archive follows; anything that lib/tg/archive.h refuses.  TG_EIO,
 * TG_ENOMEM. *d is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_dump_load(tg_dump **d, int fd, tg_dump_want want, tg_err *err);
void tg_dump_destroy(tg_dump *d); /* NULL is fine */

/* The dump's shape and layout; the pointers are NULL. */
tg_qkv_view tg_dump_shape(const tg_dump *dump);

/* An array of a layer, in the order of the view's layout (formats/README.md has the shapes), valid as long as
 * d. NULL: the dump does not have it, or it is not wanted. */
const float *tg_dump_stage(const tg_dump *d, size_t layer, tg_attn_stage stage);

/* The tokens [T]; NULL: it has none.  And token t's text, NUL-terminated or of *size bytes; NULL likewise. */
const int64_t *tg_dump_ids(const tg_dump *d);
const char *tg_dump_text(const tg_dump *d, size_t t, size_t *size);

TG_API_END

#endif
