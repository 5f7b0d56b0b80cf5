/*
 * dump_read: what tg-attn-dump -o wrote, or another program in the same form: an archive
 * of kind "attention", with the stages of attention of some layers.
 *
 * Row-major, last index contiguous, C = H*D; N counts the model's layers from 0:
 *
 *     dump/layout, dump/n_layer, dump/n_head, dump/n_embd, dump/mask
 *     dump/ids [T], dump/text [T]            the tokens, unless there are none
 *     h.N.x, h.N.out            [B,T,C]
 *     h.N.qkv                   [B,T,3C]
 *     h.N.q, .k, .v, .att       [B,T,H,D] or, with layout "bhtd", [B,H,T,D]
 *     h.N.scores, .probs        [B,H,T,T]    anything stands in scores where j > i
 *
 * All but the first five may be left out; arrays of other names are passed over.
 */
#ifndef TG_ATTN_DUMP_READ_H
#define TG_ATTN_DUMP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

typedef enum tg_dump_stage {
    TG_DUMP_X,
    TG_DUMP_QKV,
    TG_DUMP_Q,
    TG_DUMP_K,
    TG_DUMP_V,
    TG_DUMP_SCORES,
    TG_DUMP_PROBS,
    TG_DUMP_ATT,
    TG_DUMP_OUT,
    TG_DUMP_STAGES
} tg_dump_stage;

#define TG_DUMP_BIT(stage) (1u << (stage))
#define TG_DUMP_EVERY (TG_DUMP_BIT(TG_DUMP_STAGES) - 1)
#define TG_DUMP_ALL SIZE_MAX

/* One layer's arrays; NULL: not in the archive, or not wanted. */
typedef struct tg_dump_layer {
    size_t number; /* N */
    const float *data[TG_DUMP_STAGES];
    void *owned[TG_DUMP_STAGES]; /* copies of those that could not be used where they lie */
} tg_dump_layer;

typedef struct tg_dump {
    bool heads_first;     /* layout "bhtd": a head's tokens lie side by side */
    char mask[8];         /* "-1e9", "-inf" or "min" */
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
    size_t layer;    /* a number, or TG_DUMP_ALL */
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

/* "scores" */
const char *tg_dump_stage_name(tg_dump_stage stage);

/* Where head h of token (b,t) starts in q, k, v and att. */
static inline size_t tg_dump_base(const tg_dump *a, size_t b, size_t t, size_t h)
{
    return (a->heads_first ? (b * a->H + h) * a->T + t : (b * a->T + t) * a->H + h) * a->D;
}

/* Where scores [b,h,i,j] and probs [b,h,i,j] lie. */
static inline size_t tg_dump_offset(const tg_dump *a, size_t b, size_t h, size_t i, size_t j)
{
    return ((b * a->H + h) * a->T + i) * a->T + j;
}

#endif
