#include "lib/bpe/bpe_encode.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"

/* Bytes of a window at first: little enough for the first-level cache, with the ids. */
#ifndef TG_BPE_WINDOW
#define TG_BPE_WINDOW ((size_t)8192)
#endif

/* Bytes of the caller's text that follow an incomplete piece of its earlier text, at first. */
#define FOLLOWING TG_BPE_WINDOW

/* Every rule may leave up to this many bytes undecided, so a call may have just one more than them. */
#define UNDECIDED ((size_t)64)

/* ---- text */

/* Double the window, because a rule looks far ahead. */
static tg_status widen(tg_bpe_encoder *e, tg_err *err)
{
    const size_t window = e->window == 0 ? TG_BPE_WINDOW : tg_size_mul_sat(e->window, 2);

    free(e->starts);
    e->starts = malloc(tg_size_mul_sat(TG_SPLIT_WORDS(window), sizeof *e->starts));
    if (!e->starts)
        return tg_fail_memory(err, window / 8, "marks of pieces");
    e->window = window;
    return TG_OK;
}

/*
 * Encode as much as possible of text [n], whose first `decided` bytes are decided; *used: bytes that are
 * finished.  last: the text ends at text + n; then all of it is encoded.
 */
static tg_status encode_text(tg_bpe_encoder *e, const unsigned char *text, size_t n, bool last, size_t *used,
                             tg_err *err)
{
    size_t at = 0, seen = tg_size_min(e->decided, n), begun = 0;
    tg_status status = TG_OK;

    for (;;) {
        const size_t take = tg_size_min(n - seen, e->window);
        size_t decided;
        bool end;

        if (!last && (status = tg_bpe_pieces_encode_begun(&e->pieces, text + at, seen - at, &begun,
                                                          e->offset + at, err)))
            return status;
        at += begun;
        e->more = e->pieces.queue.n >= TG_LONG_PIECE_IDS && !last;
        if (e->more || (!last && (take == 0 || take < 2 * e->undecided)))
            break;
        end = last && take == n - seen;
        decided = tg_splitter_mark(&e->splitter, e->starts, text + seen, take, end);
        status =
            tg_bpe_pieces_encode_marked(&e->pieces, text, n, e->starts, seen, decided, &at, e->offset, err);
        if (status)
            return status;
        e->undecided = decided == 0 && take > UNDECIDED ? take : 0;
        seen += decided;
        if (end || (decided == 0 && take < e->window))
            break;
        if (decided == 0 && (status = widen(e, err)))
            return status;
    }
    if (last && n > at) {
        status = tg_bpe_pieces_encode(&e->pieces, text + at, n - at, e->offset + at, err);
        at = seen = n;
    }
    e->decided = seen - at;
    e->offset += at;
    *used = at;
    return status;
}

/* ---- text that waits */

static tg_status wait_for_more(tg_waiting_text *w, const unsigned char *text, size_t n, tg_err *err)
{
    const tg_status status =
        tg_grow(&w->data, &w->capacity, tg_size_add_sat(w->n, n), 1, "an incomplete piece", err);

    if (status)
        return status;
    memcpy(w->data + w->n, text, n);
    w->n += n;
    return TG_OK;
}

/* Encode the waiting text with some of the text after it.  Once the rest is entirely in the caller's
 * text, nothing is left waiting. */
static tg_status encode_waiting(tg_bpe_encoder *e, tg_text *text, tg_err *err)
{
    tg_waiting_text *w = &e->waiting;
    const size_t before = w->n, follow = e->more ? 0 : tg_size_max(FOLLOWING, before);
    const size_t take = tg_size_min(text->n, follow);
    size_t used;
    tg_status status;

    if (take > 0 && (status = wait_for_more(w, text->next, take, err)))
        return status;
    if ((status = encode_text(e, w->data, w->n, false, &used, err)))
        return status;
    if (used >= before) {
        tg_text_take(text, used - before);
        w->n = 0;
        return TG_OK;
    }
    tg_text_take(text, take);
    if (used > 0)
        memmove(w->data, w->data + used, w->n - used);
    w->n -= used;
    return TG_OK;
}

static tg_status encode_direct(tg_bpe_encoder *e, tg_text *text, tg_err *err)
{
    size_t used;
    tg_status status = encode_text(e, text->next, text->n, false, &used, err);

    if (status)
        return status;
    tg_text_take(text, used);
    if (e->more)
        return TG_OK;
    used = text->n;
    return wait_for_more(&e->waiting, tg_text_take(text, used), used, err);
}

/* Normalise some of the text, and encode it. */
static tg_status encode_normalised(tg_bpe_encoder *e, tg_text *text, bool last, tg_err *err)
{
    const size_t take = tg_size_min(text->n, TG_BPE_WINDOW);
    tg_text none = {(const unsigned char *)"", 0};
    const unsigned char *normal;
    size_t n;
    tg_status status = tg_nfc_next(e->nfc, &normal, &n, tg_text_take(text, take), take, last, err);

    if (status || n == 0 || (status = wait_for_more(&e->waiting, normal, n, err)))
        return status;
    return encode_waiting(e, &none, err);
}

/* ---- the kind's functions */

tg_status tg_bpe_encoder_start(void *encoder, const void *tok, tg_err *err)
{
    tg_bpe_encoder *e = encoder;
    const tg_bpe *b = tok;
    tg_status status;

    tg_splitter_start(&e->splitter, b->vocab.split);
    if ((status = widen(e, err)) || (status = tg_bpe_pieces_create(&e->pieces, b, err)))
        return status;
    return b->vocab.normalizer == TG_NORMALIZER_NFC ? tg_nfc_create(&e->nfc, err) : TG_OK;
}

tg_status tg_bpe_encoder_encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max,
                                size_t *n, tg_err *err)
{
    tg_bpe_encoder *e = encoder;
    tg_text none = {(const unsigned char *)"", 0};
    tg_status status = TG_OK;

    (void)tok;
    *n = tg_id_queue_take(&e->pieces.queue, ids, max);
    while (!status && *n < max && (text->n > 0 || e->more)) {
        if (e->nfc)
            status = e->more ? encode_waiting(e, &none, err) : encode_normalised(e, text, false, err);
        else if (e->waiting.n > 0)
            status = encode_waiting(e, text, err);
        else
            status = encode_direct(e, text, err);
        *n += tg_id_queue_take(&e->pieces.queue, ids + *n, max - *n);
    }
    return status;
}

tg_status tg_bpe_encoder_finish(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n,
                                tg_err *err)
{
    tg_bpe_encoder *e = encoder;
    tg_text none = {(const unsigned char *)"", 0};
    size_t used;
    tg_status status = TG_OK;

    (void)tok;
    *n = 0;
    if (!e->ending) {
        if (e->nfc && (status = encode_normalised(e, &none, true, err)))
            return status;
        if ((status = encode_text(e, e->waiting.n > 0 ? e->waiting.data : none.next, e->waiting.n, true,
                                  &used, err)))
            return status;
        e->waiting.n = 0;
        e->ending = true;
    }
    *n = tg_id_queue_take(&e->pieces.queue, ids, max);
    if (*n < max)
        e->ending = false;
    return TG_OK;
}

void tg_bpe_encoder_stop(void *encoder)
{
    tg_bpe_encoder *e = encoder;

    free(e->starts);
    free(e->waiting.data);
    tg_bpe_pieces_free(&e->pieces);
    tg_nfc_free(e->nfc);
}

void tg_bpe_encoder_offset(void *encoder, uint64_t offset)
{
    tg_bpe_encoder *e = encoder;

    e->offset = offset;
}

/* Normalisation never changes ASCII letters and white space, whatever surrounds them, unless marks
 * follow. */
size_t tg_bpe_cut(const void *tok, const unsigned char *text, size_t n, size_t reach)
{
    const tg_bpe *b = tok;

    for (size_t cut = n; (cut = tg_split_cut(b->vocab.split, text, cut, reach - (n - cut))) > 0;) {
        if (b->vocab.normalizer == TG_NORMALIZER_NONE || (text[cut - 1] < 0x80 && text[cut] < 0x80))
            return cut;
    }
    return 0;
}
