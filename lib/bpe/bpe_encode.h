/*
 * bpe_encode: the encoder of kind "bpe".
 *
 * Text is processed in place, one window at a time: the splitter marks where pieces begin, and each
 * complete piece becomes ids.  Only an incomplete piece at the end of the caller's text is copied,
 * until more text completes it.
 */
#ifndef TG_BPE_BPE_ENCODE_H
#define TG_BPE_BPE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/bpe/bpe_pieces.h"
#include "lib/text/encoder.h"
#include "lib/unicode/normalize.h"
#include "lib/split/split.h"

/* Text of an incomplete piece, from the piece's start, kept until more text arrives. */
typedef struct tg_waiting_text {
    unsigned char *data; /* owned */
    size_t n, capacity;
} tg_waiting_text;

typedef struct tg_bpe_encoder {
    tg_splitter splitter;
    uint64_t *starts; /* the splitter's marks in a window; owned */
    size_t window;    /* bytes of a window */
    size_t undecided; /* bytes of the last window if the splitter decided none of it */

    /* The text still to be encoded begins with `waiting` and continues in the caller's text.  It
     * begins at the start of a piece, or at the unencoded rest of a long piece. */
    tg_waiting_text waiting;
    size_t decided;  /* bytes of `waiting` that the splitter has decided: they are of one piece */
    uint64_t offset; /* where `waiting` begins, for messages */
    bool more;       /* it may have further pieces, but enough ids are pending */
    bool ending;     /* the text's end has been encoded, but ids are pending */

    tg_bpe_pieces pieces;
    tg_nfc *nfc; /* NULL: the text is not normalised */
} tg_bpe_encoder;

/* For the kind: lib/text/kind.h. */
tg_status tg_bpe_encoder_start(void *encoder, const void *tok, tg_err *err);
tg_status tg_bpe_encoder_encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max,
                                size_t *n, tg_err *err);
tg_status tg_bpe_encoder_finish(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n,
                                tg_err *err);
void tg_bpe_encoder_stop(void *encoder);
void tg_bpe_encoder_offset(void *encoder, uint64_t offset);
size_t tg_bpe_cut(const void *tok, const unsigned char *text, size_t n, size_t reach);

#endif
