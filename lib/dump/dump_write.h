/*
 * dump_write: write attention as an archive of kind "attention".  formats/README.md lists its
 * arrays; dump_read reads it.
 */
#ifndef TG_DUMP_WRITE_H
#define TG_DUMP_WRITE_H

#include "lib/attn/layers.h"
#include "lib/attn/stage.h"
#include "lib/base/api.h"
#include "lib/dump/dump_read.h"

TG_API_BEGIN

/* Copy the text of the token `id`, without NUL, to out, in at most `size` bytes; returns their number. */
typedef size_t (*tg_dump_text_of)(const void *context, char *out, size_t size, int32_t id);

/* What to write, besides what the layers hold. */
typedef struct tg_dump_settings {
    unsigned stages;    /* TG_DUMP_BIT()s: of these, all that the layers have */
    tg_attn_mask mask;  /* the value of masked scores */
    const int32_t *ids; /* [T] the tokens; NULL: none, and no text */
    const char *text;   /* [T][text_size] each token's text, NUL-padded */
    size_t text_size;   /* >= 1 */
    const char *source; /* "-m FILE", "--qkv FILE" or "--example NAME"; NULL: none */
    /* of a model, what dump_extras.h lists: */
    bool weights;          /* the output projections */
    bool next;             /* the tokens that it predicts, if the last layer is among those that are kept */
    const double *changes; /* [L,H] in the loss without each head (lib/heads/ablate.h); NULL: none */
    bool gradient; /* of the loss of predicting `target` after the text; each layer runs the rest of the model
                    * forward and backward in double precision */
    int32_t target;
    tg_dump_text_of text_of; /* of the tokens that are predicted; NULL: none */
    const void *context;     /* its first argument */
} tg_dump_settings;

/* Let a dump of a model have what it predicts, with texts as text_of() gives them, if its tokens have any;
 * and the output projections, unless those of the layers that are kept take more than 64 MiB, as *weights
 * says. */
#define TG_DUMP_WEIGHTS_MAX ((size_t)64 << 20)
void tg_dump_add_extras(tg_dump_settings *dump, const tg_attn_layers *layers, tg_dump_text_of text_of,
                        size_t *weights);

/* Write what `option` names, as "-m FILE", for dump->source.  Returns text; NULL: it would be too long. */
const char *tg_dump_source(char text[TG_DUMP_SOURCE_SIZE], const char *option, const char *name);

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

/* The memory that this needs, for who writes several dumps of the same shape and stages. */
typedef struct tg_dump_buffers {
    tg_stage_scratch scratch;
    int64_t *ids; /* [T] */
    float *array; /* one stage */
} tg_dump_buffers;
void tg_dump_place(tg_arena *arena, tg_dump_buffers *buffers, const tg_attn_layers *layers, unsigned stages);

/* tg_dump_write() in these buffers. */
TG_MUST_CHECK tg_status tg_dump_write_in(tg_dump_buffers *buffers, int fd, tg_attn_layers *layers,
                                         const tg_dump_settings *dump, tg_err *err);

TG_API_END

#endif
