/*
 * spm_encode: the encoder of kind "sentencepiece".
 *
 * No merge joins two characters that are adjacent in no piece.  So a text is divided between them: its parts,
 * strings, are encoded separately, and short ones have often been encoded before
 * (lib/bpe/piece_cache.h, wide_cache.h).  In Llama's vocabulary practically every word is a string, in others
 * a string may be the whole text (long_string.h).
 *
 * Text is processed in place: spaces stay as they are.  Only U+2581 in a text is replaced, by a space, in a
 * copy.  Text whose strings are not decided at the end of the caller's text waits for more.
 */
#ifndef TG_SPM_SPM_ENCODE_H
#define TG_SPM_SPM_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/piece_cache.h"
#include "lib/spm/long_string.h"
#include "lib/spm/spm_ids.h"
#include "lib/spm/spm_merge.h"
#include "lib/spm/spm_state.h"
#include "lib/spm/wide_cache.h"
#include "lib/text/encoder.h"
#include "lib/text/kind.h"

typedef struct tg_spm_encoder {
    const tg_spm *spm;
    tg_spm_ids ids;
    tg_spm_merger merger;
    tg_spm_long long_string;
    tg_piece_cache cache;
    tg_wide_cache wide;

    /* The text still to be encoded begins with `waiting`, in which spaces stand for U+2581, and the first
     * `held` bytes of a U+2581 that is not complete; it continues in the caller's text.  It begins with a
     * string. */
    unsigned char *waiting; /* owned */
    size_t n_waiting, capacity;
    size_t held;
    size_t seen; /* bytes of the first string that are known to have no border */

    tg_text_follows after; /* what is before the text */
    bool begun;            /* some of the text has been seen */
    bool prefix_due;   /* before the text that is not in `waiting`; if pieces divide texts, before the first
                        * string, unless a user-defined piece comes first */
    bool prefix_now;   /* before the first string, and no such piece comes first */
    bool after_prefix; /* the first string begins with it: no user-defined piece begins there */
    bool ending;       /* the text's end has been encoded, but ids are pending */
} tg_spm_encoder;

/* For the kind: lib/text/kind.h. */
tg_status tg_spm_encoder_start(void *encoder, const void *tok, tg_err *err);
tg_status tg_spm_encoder_encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max,
                                size_t *n, tg_err *err);
tg_status tg_spm_encoder_finish(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n,
                                tg_err *err);
void tg_spm_encoder_stop(void *encoder);
void tg_spm_encoder_follows(void *encoder, tg_text_follows what);
size_t tg_spm_cut(const void *tok, const unsigned char *text, size_t n, size_t reach);

#endif
