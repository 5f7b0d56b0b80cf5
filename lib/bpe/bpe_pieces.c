#include "lib/bpe/bpe_pieces.h"

#include "lib/base/size.h"
#include "lib/split/split.h"

/* Pieces of a batch: as many lines of the cache are under way at a time. */
#ifndef TG_PIECE_BATCH
#define TG_PIECE_BATCH 64
#endif

tg_status tg_bpe_pieces_create(tg_bpe_pieces *p, const tg_bpe *bpe, tg_err *err)
{
    *p = (tg_bpe_pieces){.bpe = bpe, .merger = {.pairs = &bpe->pairs}};
    return tg_piece_cache_create(&p->cache, err);
}

void tg_bpe_pieces_free(tg_bpe_pieces *p)
{
    tg_id_queue_free(&p->queue);
    tg_merger_free(&p->merger);
    tg_long_piece_free(&p->long_piece);
    tg_piece_cache_free(&p->cache);
}

/* ---- the queue */

/* Make room for the ids of n bytes. */
static tg_status reserve(tg_bpe_pieces *p, size_t n, tg_err *err)
{
    return tg_id_queue_reserve(&p->queue, n + TG_PIECE_IDS, err);
}

/* ---- the cache, of pieces and of their parts */

struct place {
    tg_piece_key key;
    bool kept;     /* false: too long for the cache */
    size_t before; /* ids in the queue before this piece's */
};

/* Whether the cache has the piece or part: its ids are then in the queue, which has room.  If not, *place is
 * where it belongs.  Where a vocabulary has whole pieces, a part may have other ids than the same bytes as a
 * piece. */
static bool found_cached(struct place *place, tg_bpe_pieces *p, const unsigned char *piece, size_t n,
                         bool part)
{
    const tg_piece_entry *e;

    *place = (struct place){.kept = n <= TG_PIECE_MAX, .before = p->queue.n};
    if (!place->kept)
        return false;
    place->key = tg_piece_key_of(piece, n);
    if (part && p->bpe->vocab.whole_pieces)
        place->key = tg_piece_key_part(place->key);
    if (!(e = tg_piece_cache_find(&p->cache, place->key)))
        return false;
    p->queue.n += tg_piece_ids(e, p->queue.ids + p->queue.n);
    return true;
}

/* Its ids have been appended to the queue. */
static void add_to_cache(const struct place *place, tg_bpe_pieces *p)
{
    const size_t n = p->queue.n - place->before;

    if (place->kept && n <= TG_PIECE_IDS)
        tg_piece_cache_add(&p->cache, place->key, p->queue.ids + place->before, n);
}

/* ---- parts of a piece, between borders */

/* Encode a part no longer than a block; the queue has room. */
static tg_status merge_part(tg_bpe_pieces *p, const unsigned char *part, size_t n, uint64_t offset,
                            tg_err *err)
{
    int32_t *ids = p->queue.ids + p->queue.n;
    size_t n_ids = 1;
    tg_status status = tg_bpe_bytes(p->bpe, ids, part, n, offset, err);

    if (!status && n > 1)
        status = tg_merge(&p->merger, ids, part, n, &n_ids, err);
    p->queue.n += n_ids;
    return status;
}

/* The same for a part that may be in the cache. */
static tg_status encode_part(tg_bpe_pieces *p, const unsigned char *part, size_t n, uint64_t offset,
                             tg_err *err)
{
    struct place place;
    tg_status status;

    if (found_cached(&place, p, part, n, true))
        return TG_OK;
    if (!(status = merge_part(p, part, n, offset, err)))
        add_to_cache(&place, p);
    return status;
}

/* Encode the parts of a single byte with which text [n] begins; returns how many.  The text begins at a
 * border.  Its last byte is left, because more of the piece may follow. */
static inline size_t encode_single_bytes(tg_bpe_pieces *p, const unsigned char *text, size_t n)
{
    const tg_bpe *b = p->bpe;
    int32_t *ids = p->queue.ids + p->queue.n;
    size_t at = 0;

    while (at + 1 < n && tg_borders_between(&b->borders, text[at], text[at + 1])) {
        ids[at] = (int32_t)b->byte_ids[text[at]];
        at++;
    }
    p->queue.n += at;
    return at;
}

/*
 * Encode a piece, or the rest of one that has been begun.  If it is not complete, text [n] is longer than
 * a block, and only what is certain is encoded.  *used: bytes whose ids are final.
 */
static tg_status encode_parts(tg_bpe_pieces *p, const unsigned char *text, size_t n, bool complete,
                              uint64_t offset, size_t *used, tg_err *err)
{
    size_t at = 0, end = tg_size_max(p->seen, 1);
    bool ended = true;
    tg_status status = reserve(p, n, err);

    while (!status && ended && at < n) {
        size_t done;

        /* unreached: a long piece that has been begun: more than one byte of it is left */
        if (end == at + 1 && p->bpe->all_bytes && p->long_piece.block == 0) {
            at += encode_single_bytes(p, text + at, n - at);
            end = at + 1;
        }
        end = tg_borders_next(&p->bpe->borders, text, end, n);
        ended = complete || end < n;
        done = ended ? end - at : 0;
        if (p->long_piece.block > 0 || end - at > TG_LONG_PIECE_BLOCK)
            status = tg_long_piece_encode(&p->long_piece, p->bpe, &p->merger, text + at, end - at, ended,
                                          offset + at, &done, &p->queue, err);
        else if (ended && end - at > 1 && end - at < n)
            status = encode_part(p, text + at, end - at, offset + at, err);
        else if (ended) /* a byte, or the whole piece, which the cache lacks */
            status = merge_part(p, text + at, end - at, offset + at, err);
        at += done;
        end = ended ? end + 1 : end;
    }
    p->seen = n - at;
    p->begun = !complete;
    *used = at;
    return status;
}

/* ---- one piece */

/* If the vocabulary has whole pieces and the piece is a token, encode it as that; returns whether it did. */
static bool found_whole(tg_bpe_pieces *p, const unsigned char *piece, size_t n)
{
    uint32_t id = TG_TOKEN_NONE;

    if (!p->begun && p->bpe->vocab.whole_pieces && n <= p->bpe->longest)
        id = tg_token_table_find(&p->bpe->table, piece, n);
    if (id != TG_TOKEN_NONE)
        p->queue.ids[p->queue.n++] = (int32_t)id;
    return id != TG_TOKEN_NONE;
}

tg_status tg_bpe_pieces_encode(tg_bpe_pieces *p, const unsigned char *piece, size_t n, uint64_t offset,
                               tg_err *err)
{
    struct place place = {.kept = false};
    tg_status status = reserve(p, n, err);
    size_t used;

    if (status)
        return status;
    if (!p->begun && found_cached(&place, p, piece, n, false))
        return TG_OK;
    if (!found_whole(p, piece, n))
        status = encode_parts(p, piece, n, true, offset, &used, err);
    if (!status)
        add_to_cache(&place, p);
    return status;
}

tg_status tg_bpe_pieces_encode_begun(tg_bpe_pieces *p, const unsigned char *text, size_t n, size_t *used,
                                     uint64_t offset, tg_err *err)
{
    const bool may_be_whole = !p->begun && p->bpe->vocab.whole_pieces && n <= p->bpe->longest;

    *used = 0;
    if (n <= TG_LONG_PIECE_BLOCK || may_be_whole)
        return TG_OK;
    return encode_parts(p, text, n, false, offset, used, err);
}

/* ---- many pieces */

/* n pieces, none of them long, by their n + 1 borders. */
struct batch {
    const unsigned char *text;
    size_t n_text;
    size_t n;
    uint32_t place[TG_PIECE_BATCH + 1]; /* from text on */
    tg_piece_key key[TG_PIECE_BATCH];
    uint32_t set[TG_PIECE_BATCH];
};

/* Compute the keys, and prefetch their sets. */
static void look_ahead(struct batch *t, const tg_piece_cache *cache)
{
    for (size_t i = 0; i < t->n; i++) {
        const size_t start = t->place[i], n = t->place[i + 1] - start;

        if (t->n_text - start >= 16)
            t->key[i] = tg_piece_key_near(t->text + start, n);
        else
            t->key[i] = tg_piece_key_of(t->text + start, n);
        t->set[i] = (uint32_t)tg_piece_set(t->key[i]);
        __builtin_prefetch(&cache->sets[t->set[i]], 0, 0);
    }
}

static tg_status encode_batch(tg_bpe_pieces *p, struct batch *t, uint64_t offset, tg_err *err)
{
    tg_status status = reserve(p, t->place[t->n] - t->place[0], err);

    if (status)
        return status;
    look_ahead(t, &p->cache);
    for (size_t i = 0; i < t->n; i++) {
        const tg_piece_entry *e = &p->cache.sets[t->set[i]][0];

        if (tg_piece_same(e->key, t->key[i]))
            p->queue.n += tg_piece_ids(e, p->queue.ids + p->queue.n);
        else if ((status = tg_bpe_pieces_encode(p, t->text + t->place[i], t->place[i + 1] - t->place[i],
                                                offset + t->place[i], err)))
            return status;
    }
    t->place[0] = t->place[t->n];
    t->n = 0;
    return TG_OK;
}

/* Encode what encode_batch() does not: a long piece after the batch, or the rest of one. */
static tg_status encode_after(tg_bpe_pieces *p, struct batch *t, size_t n, uint64_t offset, tg_err *err)
{
    const size_t start = t->place[t->n];
    tg_status status = encode_batch(p, t, offset, err);

    t->place[0] = (uint32_t)(start + n);
    return status ? status : tg_bpe_pieces_encode(p, t->text + start, n, offset + start, err);
}

tg_status tg_bpe_pieces_encode_marked(tg_bpe_pieces *p, const unsigned char *text, size_t n,
                                      const uint64_t *starts, size_t from, size_t n_marks, size_t *at,
                                      uint64_t offset, tg_err *err)
{
    struct batch t = {.text = text + *at, .n_text = n - *at};
    tg_status status = TG_OK;

    offset += *at;
    t.place[0] = 0;
    for (size_t w = 0; !status && w < TG_SPLIT_WORDS(n_marks); w++) {
        const size_t first = from + 64 * w - *at;

        for (uint64_t bits = starts[w]; !status && bits != 0; bits &= bits - 1) {
            const size_t next = first + (size_t)__builtin_ctzll(bits), length = next - t.place[t.n];

            if (length == 0)
                continue; /* the first piece's start */
            if (length > TG_LONG_PIECE_BLOCK || p->begun)
                status = encode_after(p, &t, length, offset, err);
            else
                t.place[++t.n] = (uint32_t)next;
            if (!status && t.n == TG_PIECE_BATCH)
                status = encode_batch(p, &t, offset, err);
        }
    }
    if (!status)
        status = encode_batch(p, &t, offset, err);
    *at += t.place[0];
    return status;
}
