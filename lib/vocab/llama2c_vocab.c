/*
 * llama2.c's tokenizer.bin: the bytes of the longest piece, then of each piece its score, its length and its
 * text, in 32-bit little-endian words.  Pieces are SentencePiece's, with spaces; ids 1 and 2 begin and end a
 * text, and have line ends around them; bytes are written "<0x0A>".
 */
#include <string.h>

#include "formats/span.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/spm_pieces.h"

enum { WORD = 4, HEADER = WORD, BEGIN = 1, END = 2 };

bool tg_llama2c_vocab_recognize(const void *first, size_t n)
{
    static const char unknown[] = "<unk>";
    const unsigned char *p = first;
    const size_t length = strlen(unknown);

    return n >= HEADER + 2 * WORD + length && tg_get32(p) >= length && tg_get32(p) <= UINT16_MAX &&
           tg_get32(p + HEADER + WORD) == length && memcmp(p + HEADER + 2 * WORD, unknown, length) == 0;
}

/* Add the piece with this text. */
static tg_status add(tg_spm_pieces *pieces, const unsigned char *text, size_t n, float score, tg_err *err)
{
    unsigned char byte;

    if (pieces->n == 0)
        return tg_spm_pieces_add(pieces, text, n, (double)score, TG_SPM_UNKNOWN, err);
    if (pieces->n == BEGIN || pieces->n == END)
        return tg_spm_pieces_add(pieces, pieces->n == BEGIN ? "<s>" : "</s>", pieces->n == BEGIN ? 3 : 4,
                                 (double)score, TG_SPM_CONTROL, err);
    if (tg_spm_is_byte(text, n, &byte) && pieces->n < 3 + 256)
        return tg_spm_pieces_add(pieces, text, n, (double)score, TG_SPM_BYTE, err);
    return tg_spm_pieces_add(pieces, text, n, (double)score, TG_SPM_NORMAL, err);
}

static tg_status take_pieces(tg_spm_pieces *pieces, const tg_file_text *file, tg_err *err)
{
    size_t at = HEADER;
    tg_status status = TG_OK;

    while (!status && at < file->n) {
        const unsigned char *p = file->text + at;
        const size_t left = file->n - at, n = left >= 2 * WORD ? tg_get32(p + WORD) : 0;
        uint32_t bits;
        float score;

        if (left < 2 * WORD || left - 2 * WORD < n)
            return tg_fail(err, TG_EDATA, "the file ends in token %zu, at offset %zu", pieces->n, at);
        bits = tg_get32(p);
        memcpy(&score, &bits, sizeof score);
        status = add(pieces, p + 2 * WORD, n, score, err);
        at += 2 * WORD + n;
    }
    return status;
}

tg_status tg_llama2c_vocab_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    tg_spm_pieces pieces = {.spaced = true};
    tg_status status = take_pieces(&pieces, file, err);

    *tok = NULL;
    if (!status)
        status = tg_spm_pieces_build(tok, &pieces, TG_SPM_PREFIX_PARTS, err);
    tg_spm_pieces_free(&pieces);
    return status ? tg_err_in(err, file->name) : TG_OK;
}
