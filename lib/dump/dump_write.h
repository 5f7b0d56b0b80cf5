/*
 * dump_write: write attention as an archive of kind "attention".  formats/README.md lists its
 * arrays; dump_read reads it.
 */
#ifndef TG_DUMP_WRITE_H
#define TG_DUMP_WRITE_H

#include "lib/attn/layers.h"
#include "lib/attn/stage.h"
#include "lib/dump/dump_read.h"
#include "lib/tg/dump.h"

/* Let a dump of a model have what it predicts, with texts as text_of() gives them, if its tokens have any;
 * and the output projections, unless those of the layers that are kept take more than 64 MiB, as *weights
 * says. */
#define TG_DUMP_WEIGHTS_MAX ((size_t)64 << 20)
void tg_dump_add_extras(tg_dump_settings *dump, const tg_attn_layers *layers, tg_dump_text_of text_of,
                        size_t *weights);

/* Write what `option` names, as "-m FILE", for dump->source.  Returns text; NULL: it would be too long. */
const char *tg_dump_source(char text[TG_DUMP_SOURCE_SIZE], const char *option, const char *name);

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

#endif
