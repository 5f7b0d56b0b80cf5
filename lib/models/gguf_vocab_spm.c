/* SentencePiece's vocabularies as llama.cpp has them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/models/gguf_vocab.h"
#include "lib/models/writing.h"
#include "lib/spm/spm.h"

#define NO_SCORE (-1000.0F) /* of rows without a piece, as llama.cpp's converter has it */

/* ---- what llama.cpp does otherwise */

static bool has_type(const tg_spm_vocab *spm, tg_spm_type type)
{
    return memchr(spm->types, (int)type, spm->n) != NULL;
}

/* Where llama.cpp puts a space, user-defined pieces divide a text as special tokens do. */
static tg_status check_prefix(const tg_spm_vocab *spm, bool lossy, tg_notes *notes, tg_err *err)
{
    if (spm->prefix == TG_SPM_PREFIX_NONE || spm->prefix == TG_SPM_PREFIX_DIVIDED ||
        (spm->prefix == TG_SPM_PREFIX_PARTS && !has_type(spm, TG_SPM_USER_DEFINED)))
        return TG_OK;
    return tg_lose(notes, lossy, err, "llama.cpp", "it puts a space before each part of a text");
}

static tg_status check_pieces(const tg_spm_vocab *spm, bool lossy, tg_notes *notes, tg_err *err)
{
    const tg_status status = check_prefix(spm, lossy, notes, err);

    if (status || has_type(spm, TG_SPM_BYTE))
        return status;
    return tg_lose(notes, lossy, err, "llama.cpp", "it needs a piece for each byte");
}

/* ---- pieces */

/* llama.cpp looks for user-defined pieces in the text itself, where spaces are spaces. */
static tg_status put_spaced(tg_gguf_texts *t, const unsigned char *text, size_t n, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0, length; !status && i < n; i += length) {
        const bool space =
            n - i >= TG_SPM_SPACE_BYTES && memcmp(text + i, TG_SPM_SPACE, TG_SPM_SPACE_BYTES) == 0;

        length = space ? TG_SPM_SPACE_BYTES : 1;
        status = tg_gguf_texts_put(t, space ? " " : (const char *)text + i, 1, false, err);
    }
    return status;
}

static tg_status put_piece(tg_gguf_vocab *v, const tg_spm_vocab *spm, size_t id, tg_err *err)
{
    const uint32_t begin = id > 0 ? spm->ends[id - 1] : 0;
    const unsigned char *text = spm->tokens + begin;
    const size_t n = spm->ends[id] - begin;
    char byte[8];

    if (spm->types[id] == TG_SPM_USER_DEFINED)
        return put_spaced(&v->tokens, text, n, err);
    if (spm->types[id] != TG_SPM_BYTE)
        return tg_gguf_texts_put(&v->tokens, text, n, false, err);
    snprintf(byte, sizeof byte, "<0x%02X>", text[0]);
    return tg_gguf_texts_put(&v->tokens, byte, 6, false, err);
}

static bool is_empty(const tg_spm_vocab *spm, size_t id)
{
    return id >= spm->n || spm->ends[id] == (id > 0 ? spm->ends[id - 1] : 0);
}

static tg_status put_row(tg_gguf_vocab *v, const tg_spm_vocab *spm, size_t id, tg_err *err)
{
    const bool empty = is_empty(spm, id);
    char buffer[TG_GGUF_PADDING_SIZE];
    const char *const padding = tg_gguf_padding(buffer, id);
    tg_status status;

    v->type[id] = empty ? TG_GGUF_UNUSED : spm->types[id];
    v->scores[id] = id < spm->n ? spm->scores[id] : NO_SCORE;
    status = empty ? tg_gguf_texts_put(&v->tokens, padding, strlen(padding), false, err)
                   : put_piece(v, spm, id, err);
    return status ? status : tg_gguf_texts_end(&v->tokens, err);
}

tg_status tg_gguf_spm_make(tg_gguf_vocab *v, const tg_spm_vocab *spm, bool lossy, tg_notes *notes,
                           tg_err *err)
{
    tg_status status = check_pieces(spm, lossy, notes, err);

    if (status)
        return status;
    v->unknown = v->n;
    v->prefix = spm->prefix != TG_SPM_PREFIX_NONE;
    v->type = malloc(v->n * sizeof *v->type);
    v->scores = malloc(v->n * sizeof *v->scores);
    if (!v->type || !v->scores)
        return tg_fail_memory(err, v->n * (sizeof *v->type + sizeof *v->scores), "a vocabulary");
    for (size_t id = 0; !status && id < v->n; id++) {
        status = put_row(v, spm, id, err);
        if (v->type[id] == TG_GGUF_UNKNOWN && v->unknown == v->n)
            v->unknown = id;
    }
    return status;
}

void tg_gguf_spm_put(tg_gguf_writer *w, const tg_gguf_vocab *v)
{
    tg_gguf_put_f32s(w, "tokenizer.ggml.scores", v->scores, v->n);
    tg_gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", v->prefix);
    if (v->unknown < v->n)
        tg_gguf_put_u32(w, "tokenizer.ggml.unknown_token_id", (uint32_t)v->unknown);
}
