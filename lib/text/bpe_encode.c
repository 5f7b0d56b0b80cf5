#include "lib/text/bpe_encode.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

/* Bytes of a window at first: little enough for the first-level cache, with the ids. */
#ifndef TG_BPE_WINDOW
#define TG_BPE_WINDOW ((size_t)8192)
#endif

/* Bytes of the caller's text that follow an incomplete piece of its earlier text, at first. */
#define FOLLOWING TG_BPE_WINDOW

/* Undecided bytes of which a call may have just one more: so many every rule leaves undecided. */
#define UNDECIDED ((size_t)64)

/* ---- one piece */

/* Encode a piece that is in no cache and is not long. */
static tg_status merge_piece(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *piece, size_t n,
                             tg_err *err)
{
    int32_t *ids = e->queue.ids + e->queue.n;
    size_t n_ids;
    tg_status status;

    if ((status = tg_bpe_bytes(b, ids, piece, n, e->offset, err)) ||
        (status = tg_merge(&e->merger, ids, piece, n, &n_ids, err)))
        return status;
    e->queue.n += n_ids;
    return TG_OK;
}

/* A piece that is a token becomes it, if the vocabulary says so; *found: whether it did. */
static void find_whole(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *piece, size_t n, bool *found)
{
    uint32_t id = TG_TOKEN_NONE;

    if (b->vocab.whole_pieces && n <= b->longest)
        id = tg_token_table_find(&b->table, piece, n);
    *found = id != TG_TOKEN_NONE;
    if (*found)
        e->queue.ids[e->queue.n++] = (int32_t)id;
}

static tg_status encode_short(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *piece, size_t n,
                              tg_err *err)
{
    const tg_piece_key key = tg_piece_key_of(piece, n);
    const size_t set = tg_piece_set(key), before = e->queue.n;
    const tg_piece_entry *entry = tg_piece_cache_find(&e->cache, key, set);
    tg_status status = TG_OK;
    bool found;

    if (entry) {
        const size_t n_ids = entry->ids[0] >> 24;

        for (size_t i = 0; i < n_ids; i++)
            e->queue.ids[e->queue.n++] = (int32_t)(entry->ids[i] & 0xFFFFFF);
        return TG_OK;
    }
    find_whole(e, b, piece, n, &found);
    if (!found)
        status = merge_piece(e, b, piece, n, err);
    if (!status && e->queue.n - before <= TG_PIECE_IDS)
        tg_piece_cache_add(&e->cache, key, set, e->queue.ids + before, e->queue.n - before);
    return status;
}

/* Encode a piece, or the rest of one that is being encoded. */
static tg_status encode_piece(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *piece, size_t n,
                              tg_err *err)
{
    const bool inside = e->long_piece.block > 0;
    bool found = false;
    size_t used;
    tg_status status;

    if (!inside && n <= TG_PIECE_MAX)
        return encode_short(e, b, piece, n, err);
    if (!inside)
        find_whole(e, b, piece, n, &found);
    if (found)
        return TG_OK;
    if (!inside && n <= TG_LONG_PIECE_BLOCK)
        return merge_piece(e, b, piece, n, err);
    status =
        tg_long_piece_encode(&e->long_piece, b, &e->merger, piece, n, true, e->offset, &used, &e->queue, err);
    return status ? status : tg_id_queue_reserve(&e->queue, e->window + TG_LONG_PIECE_BLOCK, err);
}

/* ---- text */

/* Make windows twice as large: a rule looks far ahead. */
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

/* Encode the pieces that end where the first n marks say, in text that begins at `at`; *at: where the
 * last piece begins. */
static tg_status encode_marked(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *text, size_t *at,
                               size_t from, size_t n, tg_err *err)
{
    for (size_t w = 0; w < TG_SPLIT_WORDS(n); w++) {
        for (uint64_t bits = e->starts[w]; bits != 0; bits &= bits - 1) {
            const size_t next = from + 64 * w + (size_t)__builtin_ctzll(bits);
            tg_status status;

            if (next == *at)
                continue;
            if ((status = encode_piece(e, b, text + *at, next - *at, err)))
                return status;
            e->offset += next - *at;
            *at = next;
        }
    }
    return TG_OK;
}

/* The part of the incomplete piece at text that is final: of a long piece. */
static tg_status encode_incomplete(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *text, size_t *at,
                                   tg_err *err)
{
    /* a longer one is no token */
    const bool may_be_whole = e->long_piece.block == 0 && b->vocab.whole_pieces && e->decided <= b->longest;
    size_t used = 0;
    tg_status status = TG_OK;

    if (e->decided > TG_LONG_PIECE_BLOCK && !may_be_whole)
        status = tg_long_piece_encode(&e->long_piece, b, &e->merger, text + *at, e->decided, false, e->offset,
                                      &used, &e->queue, err);
    e->offset += used;
    e->decided -= used;
    *at += used;
    return status;
}

/*
 * Encode what can be of text [n], which begins as `decided` says; *used: what is done with.
 * last: the text ends there; then all of it is.
 */
static tg_status encode_text(tg_bpe_encoder *e, const tg_bpe *b, const unsigned char *text, size_t n,
                             bool last, size_t *used, tg_err *err)
{
    size_t at = 0, seen = tg_size_min(e->decided, n), take, decided;
    tg_status status;

    for (;;) {
        *used = at;
        e->more = e->queue.n >= TG_LONG_PIECE_IDS && !last;
        take = tg_size_min(n - seen, e->window);
        if (e->more || (take == 0 && !last) || (take < 2 * e->undecided && !last))
            return TG_OK;
        if ((status = tg_id_queue_reserve(&e->queue, seen - at + take + TG_LONG_PIECE_BLOCK, err)))
            return status;
        decided = tg_splitter_mark(&e->splitter, e->starts, text + seen, take, last && take == n - seen);
        if ((status = encode_marked(e, b, text, &at, seen, decided, err)))
            return status;
        e->undecided = decided == 0 && take > UNDECIDED ? take : 0;
        seen += decided;
        e->decided = seen - at;
        if (last && seen == n)
            break;
        if ((status = encode_incomplete(e, b, text, &at, err)))
            return status;
        if (decided == 0 && take < e->window) {
            *used = at;
            return TG_OK;
        }
        if (decided == 0 && (status = widen(e, err)))
            return status;
    }
    if (n > at && (status = encode_piece(e, b, text + at, n - at, err)))
        return status;
    e->offset += n - at;
    e->decided = 0;
    *used = n;
    return TG_OK;
}

/* ---- text that waits */

static tg_status wait_for_more(tg_waiting_text *w, const unsigned char *text, size_t n, tg_err *err)
{
    if (n > w->capacity - w->n) {
        const size_t capacity = tg_size_max(tg_size_add_sat(w->n, n), 2 * w->capacity);
        unsigned char *data = realloc(w->data, capacity);

        if (!data)
            return tg_fail_memory(err, capacity, "an incomplete piece");
        w->data = data;
        w->capacity = capacity;
    }
    memcpy(w->data + w->n, text, n);
    w->n += n;
    return TG_OK;
}

/* Encode what waits, with some of the text after it.  As soon as what is left lies in the caller's text
 * alone, nothing waits any more. */
static tg_status encode_waiting(tg_bpe_encoder *e, const tg_bpe *b, tg_text *text, tg_err *err)
{
    tg_waiting_text *w = &e->waiting;
    const size_t before = w->n, take = tg_size_min(text->n, tg_size_max(FOLLOWING, before));
    size_t used;
    tg_status status;

    if (take > 0 && (status = wait_for_more(w, text->next, take, err)))
        return status;
    if ((status = encode_text(e, b, w->data, w->n, false, &used, err)))
        return status;
    if (used >= before) {
        text->next += used - before;
        text->n -= used - before;
        w->n = 0;
        return TG_OK;
    }
    text->next += take;
    text->n -= take;
    if (used > 0)
        memmove(w->data, w->data + used, w->n - used);
    w->n -= used;
    return TG_OK;
}

static tg_status encode_direct(tg_bpe_encoder *e, const tg_bpe *b, tg_text *text, tg_err *err)
{
    size_t used;
    tg_status status = encode_text(e, b, text->next, text->n, false, &used, err);

    if (status)
        return status;
    text->next += used;
    text->n -= used;
    if (e->more)
        return TG_OK;
    status = wait_for_more(&e->waiting, text->next, text->n, err);
    text->next += text->n;
    text->n = 0;
    return status;
}

/* Normalise some of the text, and encode it. */
static tg_status encode_normalised(tg_bpe_encoder *e, const tg_bpe *b, tg_text *text, bool last, tg_err *err)
{
    const size_t take = tg_size_min(text->n, TG_BPE_WINDOW);
    tg_text none = {NULL, 0};
    const unsigned char *normal;
    size_t n;
    tg_status status = tg_nfc_next(e->nfc, &normal, &n, text->next, take, last, err);

    text->next += take;
    text->n -= take;
    if (status || n == 0 || (status = wait_for_more(&e->waiting, normal, n, err)))
        return status;
    return encode_waiting(e, b, &none, err);
}

/* ---- the kind's functions */

tg_status tg_bpe_encoder_start(void *encoder, const void *tok, tg_err *err)
{
    tg_bpe_encoder *e = encoder;
    const tg_bpe *b = tok;
    tg_status status;

    tg_splitter_start(&e->splitter, b->vocab.split);
    e->merger.pairs = &b->pairs;
    if ((status = widen(e, err)) || (status = tg_piece_cache_create(&e->cache, err)))
        return status;
    return b->vocab.normalizer == TG_NORMALIZER_NFC ? tg_nfc_create(&e->nfc, err) : TG_OK;
}

tg_status tg_bpe_encoder_encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max,
                                size_t *n, tg_err *err)
{
    tg_bpe_encoder *e = encoder;
    tg_text none = {NULL, 0};
    tg_status status = TG_OK;

    *n = tg_id_queue_take(&e->queue, ids, max);
    while (!status && *n < max && (text->n > 0 || e->more)) {
        if (e->nfc && !e->more)
            status = encode_normalised(e, tok, text, false, err);
        else if (e->waiting.n > 0)
            status = encode_waiting(e, tok, e->nfc ? &none : text, err); /* text is not normalised yet */
        else
            status = encode_direct(e, tok, text, err);
        *n += tg_id_queue_take(&e->queue, ids + *n, max - *n);
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

    *n = 0;
    if (!e->ending) {
        if (e->nfc && (status = encode_normalised(e, tok, &none, true, err)))
            return status;
        if ((status = encode_text(e, tok, e->waiting.n > 0 ? e->waiting.data : none.next, e->waiting.n, true,
                                  &used, err)))
            return status;
        e->waiting.n = 0;
        e->ending = true;
    }
    *n = tg_id_queue_take(&e->queue, ids, max);
    if (*n < max)
        e->ending = false;
    return TG_OK;
}

void tg_bpe_encoder_stop(void *encoder)
{
    tg_bpe_encoder *e = encoder;

    free(e->starts);
    free(e->waiting.data);
    tg_id_queue_free(&e->queue);
    tg_merger_free(&e->merger);
    tg_long_piece_free(&e->long_piece);
    tg_piece_cache_free(&e->cache);
    tg_nfc_free(e->nfc);
}

void tg_bpe_encoder_offset(void *encoder, uint64_t offset)
{
    tg_bpe_encoder *e = encoder;

    e->offset = offset;
}

/* ASCII letters and white space are never changed by normalisation, nor by what is beside them, unless
 * marks follow. */
size_t tg_bpe_cut(const void *tok, const unsigned char *text, size_t n, size_t reach)
{
    const tg_bpe *b = tok;

    for (size_t cut = n; (cut = tg_split_cut(b->vocab.split, text, cut, reach - (n - cut))) > 0;) {
        if (b->vocab.normalizer == TG_NORMALIZER_NONE || (text[cut - 1] < 0x80 && text[cut] < 0x80))
            return cut;
    }
    return 0;
}
