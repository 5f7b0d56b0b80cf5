/*
 * dump_read: read what tg-attn-dump -o or another program wrote: an archive of kind
 * "attention" with the stages of attention of some layers.
 *
 * Row-major, last index contiguous, C = H*D; N is a layer's number in the model, from 0:
 *
 *     dump/layout, dump/n_layer, dump/n_head, dump/n_embd, dump/mask
 *     dump/n_kv_head, dump/head_dim          before dump/n_embd, where they are not n_head and n_embd/n_head
 *     dump/attn_scale, dump/attn_cap         before dump/n_embd, where the scores have them, as a config does
 *     dump/window, dump/window_layers        (lib/gpt/config.h)
 *     dump/source                            what names the input on a command line of tg-attn-dump
 *     dump/ids [T], dump/text [T]            the tokens, if there are any
 *     h.N.STAGE                              in the layout's shape (lib/attn/shape.h); masked
 *                                            scores may have any value
 *     and those of dump_extras.h
 *
 * All except the first line's may be missing; other arrays are skipped.
 */
#ifndef TG_DUMP_READ_H
#define TG_DUMP_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "formats/fields.h"
#include "lib/attn/shape.h"
#include "lib/base/status.h"
#include "lib/dump/dump_extras.h"
#include "lib/tg/dump.h"

/* The archive's "kind" and "version". */
#define TG_DUMP_KIND "attention"
#define TG_DUMP_VERSION 1

/* One layer's arrays; NULL: not in the archive, or not wanted. */
typedef struct tg_dump_layer {
    size_t number; /* N */
    const float *data[TG_ATTN_STAGE_COUNT];
    void *owned[TG_ATTN_STAGE_COUNT]; /* copies of those that could not be used in place */
    tg_dump_extra_array extra[TG_DUMP_LAYER_EXTRAS];
} tg_dump_layer;

/* Of dump/source, with the NUL. */
#define TG_DUMP_SOURCE_SIZE 1024

typedef struct tg_dump {
    tg_attn_layout layout;
    tg_attn_mask mask;
    size_t n_layer;              /* of the model */
    size_t B, T, C, H, KV, D;    /* B = T = 0: the archive has neither layers nor tokens */
    double attn_scale, attn_cap; /* of scores: tg_dump_rule() */
    size_t window;
    uint64_t window_layers;
    tg_dump_layer *layer; /* [n] the wanted layers that have an array, in ascending order */
    size_t n;
    int64_t *ids; /* [T], or NULL */
    char *text;   /* [T][text_size], NUL-padded; or NULL */
    size_t text_size;
    tg_dump_extra_array extra[TG_DUMP_EXTRA_COUNT]; /* those that are not of layers */
    char source[TG_DUMP_SOURCE_SIZE];               /* "-m FILE", "--qkv FILE" or another text; "": none */
    tg_archive_reader *reader;                      /* keeps the file mapped */
} tg_dump;

/* Write the settings, dump/layout to dump/mask; the heads' only where C does not give them, and the rule's
 * only where they are not 0.  Fails like tg_archive_put(). */
TG_MUST_CHECK tg_status tg_dump_put_settings(const tg_dump *dump, tg_archive_writer *w, tg_err *err);

/*
 * Read one archive from fd, which must stay open: arrays of a mapped file are used in place.
 * TG_EDATA: an array is missing, contradicts the others in type or shape, or holds a number that
 * is not finite (except masked scores); another archive follows; anything that formats/archive.h
 * refuses.  TG_EIO, TG_ENOMEM.  After a failure there is nothing to free.
 */
TG_MUST_CHECK tg_status tg_dump_read(tg_dump *dump, int fd, tg_dump_want want, tg_err *err);
void tg_dump_free(tg_dump *dump);

/* The same from a reader whose first array, the kind, has been read; the dump takes it, also after a failure.
 */
TG_MUST_CHECK tg_status tg_dump_read_after_kind(tg_dump *dump, tg_archive_reader *reader, tg_dump_want want,
                                                tg_err *err);

/* The layer of that number, or NULL. */
const tg_dump_layer *tg_dump_find(const tg_dump *dump, size_t number);

/* The rule of a layer's scores. */
tg_attention_rule tg_dump_rule(const tg_dump *dump, size_t layer);

/* "h.0.scores": the name of a layer's stage in the archive. */
void tg_dump_array_name(char name[TG_DUMP_NAME_SIZE], size_t layer, tg_attn_stage stage);

#endif
