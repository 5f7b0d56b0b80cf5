#include "lib/eval/logits.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/base/arena.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/tokens/chunk.h"

struct tg_logits_writer {
    tg_archive_writer *archive;
    size_t V, width;    /* width: bytes of a stored token */
    size_t rows, n;     /* of a full chunk; gathered for the next one */
    size_t chunks;      /* written */
    unsigned char *ids; /* [rows] the tokens, as they are stored */
    float *logits;      /* [rows,V]; the system provides a page when it is first written */
    tg_arena arena;
};

static void place_writer(tg_arena *arena, void *context)
{
    tg_logits_writer *w = context;

    w->ids = tg_arena_take(arena, w->rows, w->width);
    w->logits = tg_arena_take_rows(arena, w->rows, w->V, sizeof *w->logits);
}

static tg_status put_header(tg_logits_writer *w, int fd, const tg_tokenizer *tok, tg_err *err)
{
    tg_status status;

    if ((status = tg_archive_create(&w->archive, fd, err)) ||
        (status = tg_archive_put_text(w->archive, "kind", "logits", err)) ||
        (status = tg_archive_put_i64(w->archive, "version", TG_LOGITS_VERSION, err)))
        return status;
    return tg_tokenizer_put(tok, w->archive, err);
}

tg_status tg_logits_create(tg_logits_writer **out, int fd, const tg_model *model, tg_err *err)
{
    const size_t V = model->config.vocab_size;
    tg_logits_writer *w = malloc(sizeof *w);
    tg_status status;

    *out = NULL;
    if (!w)
        return tg_fail_memory(err, sizeof *w, "the writer of logits");
    *w = (tg_logits_writer){.V = V,
                            .width = tg_ids_width(tg_tokenizer_vocab_size(model->tokenizer)),
                            .rows = tg_size_max(TG_LOGITS_CHUNK / sizeof(float) / V, 1)};
    if ((status = tg_arena_build(&w->arena, place_writer, w, err)) ||
        (status = put_header(w, fd, model->tokenizer, err)))
        tg_logits_abandon(w);
    else
        *out = w;
    return status;
}

static tg_status put_chunk(tg_logits_writer *w, tg_err *err)
{
    const size_t shape[] = {w->n, w->V};
    char tokens[TG_CHUNK_NAME_SIZE], logits[TG_CHUNK_NAME_SIZE];
    tg_status status;

    snprintf(tokens, sizeof tokens, TG_CHUNK_NAME, w->chunks);
    snprintf(logits, sizeof logits, "logits/%08zu", w->chunks);
    w->chunks++;
    if ((status = tg_archive_put(w->archive, tokens, (tg_dtype){'u', w->width}, 1, shape, w->ids, err)))
        return status;
    w->n = 0;
    return tg_archive_put(w->archive, logits, TG_F32, 2, shape, w->logits, err);
}

tg_status tg_logits_write(tg_logits_writer *w, int32_t token, const float *logits, tg_err *err)
{
    tg_ids_pack(w->ids + w->n * w->width, w->width, &token, 1);
    memcpy(w->logits + w->n * w->V, logits, w->V * sizeof *logits);
    w->n++;
    return w->n == w->rows ? put_chunk(w, err) : TG_OK;
}

tg_status tg_logits_finish(tg_logits_writer *w, tg_err *err)
{
    const tg_status status = w->n > 0 ? put_chunk(w, err) : TG_OK;

    return status ? status : tg_archive_finish(w->archive, err);
}

void tg_logits_abandon(tg_logits_writer *w)
{
    if (!w)
        return;
    tg_archive_abandon(w->archive);
    tg_arena_free(&w->arena);
    free(w);
}
