/*
 * spm_pieces: the common part of the readers of other projects' SentencePiece vocabularies: pieces in the
 * order of their ids, then the tokenizer.
 *
 *     tg_spm_pieces p = {0};
 *     tg_spm_pieces_add(&p, text, n, score, type, &err) ...
 *     tg_spm_pieces_build(&tok, &p, prefix, &err)
 *     tg_spm_pieces_free(&p)
 *
 * Errors: TG_EDATA, with the piece at fault; TG_ENOMEM.
 */
#ifndef TG_VOCAB_SPM_PIECES_H
#define TG_VOCAB_SPM_PIECES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/spm/spm.h"
#include "lib/text/tokenizer.h"

typedef struct tg_spm_pieces {
    bool spaced; /* the caller's: all pieces may have spaces */
    size_t n, n_bytes, n_special;
    uint32_t *ends;
    unsigned char *tokens;
    float *scores;
    unsigned char *types;
    uint32_t *special;
    size_t ends_capacity, tokens_capacity, scores_capacity, types_capacity, special_capacity;
} tg_spm_pieces;

/*
 * Append the piece of the next id, with U+2581 for spaces; a user-defined one may have spaces, and with
 * p->spaced any.  A byte is written "<0x0A>".  Control pieces and the unknown one become special.
 */
TG_MUST_CHECK tg_status tg_spm_pieces_add(tg_spm_pieces *p, const void *text, size_t n, double score,
                                          int64_t type, tg_err *err);

/* Whether a text is that of a byte; then *byte is the byte. */
bool tg_spm_is_byte(const void *text, size_t n, unsigned char *byte);

/* The tokenizer, to be freed; NULL after a failure. */
TG_MUST_CHECK tg_status tg_spm_pieces_build(const tg_tokenizer **tok, const tg_spm_pieces *p,
                                            tg_spm_prefix prefix, tg_err *err);

/* Zeroed ones are fine. */
void tg_spm_pieces_free(tg_spm_pieces *p);

#endif
