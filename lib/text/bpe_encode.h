/*
 * bpe_encode: the encoder of kind "bpe".
 *
 * Text is looked at where it is, a window at a time: the splitter marks where pieces begin, and
 * each piece that is complete becomes ids.  Only an incomplete piece at the end of the caller's text
 * is copied and waits for more.
 */
#ifndef TG_TEXT_BPE_ENCODE_H
#define TG_TEXT_BPE_ENCODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/text/bpe_pieces.h"
#include "lib/text/bpe_state.h"
#include "lib/text/encoder.h"
#include "lib/text/normalize.h"
#include "lib/text/split.h"

/* Text that waits for more: of an incomplete piece, from its start on. */
typedef struct tg_waiting_text {
    unsigned char *data; /* owned */
    size_t n, capacity;
} tg_waiting_text;

typedef struct tg_bpe_encoder {
    tg_splitter splitter;
    uint64_t *starts; /* the splitter's marks in a window; owned */
    size_t window;    /* bytes of a window */
    size_t undecided; /* bytes of the last one if the splitter decided none of it */

    /* The text that is still to be encoded begins with `waiting` and continues in the caller's.  It
     * begins where a piece does, or where the long piece does that is being encoded. */
    tg_waiting_text waiting;
    size_t decided;  /* bytes of it that the splitter has decided: one piece's */
    uint64_t offset; /* where it begins, for messages */
    bool more;       /* it may have further pieces, but enough ids wait */
    bool ending;     /* the text's end has been encoded, but ids wait */

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
