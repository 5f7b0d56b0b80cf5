#include "lib/bpe/bpe_pieces.h"

#include "lib/base/size.h"
#include "lib/split/split.h"

#define BATCH 64 /* pieces of a batch: as many lines of the cache are under way at a time */

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

/* ---- one piece */

/* If the vocabulary has whole pieces and the piece is a token, encode it as that; returns whether it did. */
static bool found_whole(tg_bpe_pieces *p, const unsigned char *piece, size_t n)
{
    uint32_t id = TG_TOKEN_NONE;

    if (p->bpe->vocab.whole_pieces && n <= p->bpe->longest)
        id = tg_token_table_find(&p->bpe->table, piece, n);
    if (id != TG_TOKEN_NONE)
        p->queue.ids[p->queue.n++] = (int32_t)id;
    return id != TG_TOKEN_NONE;
}

/* Encode a piece no longer than a block; the queue has room. */
static tg_status merge_piece(tg_bpe_pieces *p, const unsigned char *piece, size_t n, uint64_t offset,
                             tg_err *err)
{
    int32_t *ids = p->queue.ids + p->queue.n;
    size_t n_ids;
    tg_status status;

    if (found_whole(p, piece, n))
        return TG_OK;
    if ((status = tg_bpe_bytes(p->bpe, ids, piece, n, offset, err)) ||
        (status = tg_merge(&p->merger, ids, piece, n, &n_ids, err)))
        return status;
    p->queue.n += n_ids;
    return TG_OK;
}

static tg_status encode_long(tg_bpe_pieces *p, const unsigned char *piece, size_t n, uint64_t offset,
                             tg_err *err)
{
    size_t used;
    tg_status status = tg_id_queue_reserve(&p->queue, 1, err);

    if (status || (!tg_bpe_pieces_inside(p) && found_whole(p, piece, n)))
        return status;
    return tg_long_piece_encode(&p->long_piece, p->bpe, &p->merger, piece, n, true, offset, &used, &p->queue,
                                err);
}

/* Encode a piece that is not in the first place of its set in the cache, which may lack it. */
static tg_status encode_missed(tg_bpe_pieces *p, const unsigned char *piece, size_t n, uint64_t offset,
                               tg_err *err)
{
    const size_t before = p->queue.n;
    tg_piece_key key;
    size_t set;
    tg_status status;

    if (n > TG_PIECE_MAX)
        return merge_piece(p, piece, n, offset, err);
    key = tg_piece_key_of(piece, n);
    set = tg_piece_set(key);
    if (tg_piece_cache_promote(&p->cache, key, set)) {
        p->queue.n += tg_piece_ids(&p->cache.sets[set][0], p->queue.ids + p->queue.n);
        return TG_OK;
    }
    status = merge_piece(p, piece, n, offset, err);
    if (!status && p->queue.n - before <= TG_PIECE_IDS)
        tg_piece_cache_add(&p->cache, key, set, p->queue.ids + before, p->queue.n - before);
    return status;
}

tg_status tg_bpe_pieces_encode(tg_bpe_pieces *p, const unsigned char *piece, size_t n, uint64_t offset,
                               tg_err *err)
{
    tg_status status;

    if (tg_bpe_pieces_inside(p) || n > TG_LONG_PIECE_BLOCK)
        return encode_long(p, piece, n, offset, err);
    if ((status = tg_id_queue_reserve(&p->queue, n + TG_PIECE_IDS, err)))
        return status;
    return encode_missed(p, piece, n, offset, err);
}

tg_status tg_bpe_pieces_encode_begun(tg_bpe_pieces *p, const unsigned char *text, size_t n, size_t *used,
                                     uint64_t offset, tg_err *err)
{
    const bool may_be_whole = !tg_bpe_pieces_inside(p) && p->bpe->vocab.whole_pieces && n <= p->bpe->longest;

    *used = 0;
    if (n <= TG_LONG_PIECE_BLOCK || may_be_whole)
        return TG_OK;
    return tg_long_piece_encode(&p->long_piece, p->bpe, &p->merger, text, n, false, offset, used, &p->queue,
                                err);
}

/* ---- many pieces */

/* n pieces, none of them long, by their n + 1 borders. */
struct batch {
    const unsigned char *text;
    size_t n_text;
    size_t n;
    uint32_t place[BATCH + 1]; /* from text on */
    tg_piece_key key[BATCH];
    uint32_t set[BATCH];
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
    const size_t all = t->place[t->n] - t->place[0];
    tg_status status = tg_id_queue_reserve(&p->queue, all + TG_PIECE_IDS, err);

    if (status)
        return status;
    look_ahead(t, &p->cache);
    for (size_t i = 0; i < t->n; i++) {
        const tg_piece_entry *e = &p->cache.sets[t->set[i]][0];

        if (tg_piece_same(e->key, t->key[i]))
            p->queue.n += tg_piece_ids(e, p->queue.ids + p->queue.n);
        else if ((status = encode_missed(p, t->text + t->place[i], t->place[i + 1] - t->place[i],
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
    return status ? status : encode_long(p, t->text + start, n, offset + start, err);
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
            if (length > TG_LONG_PIECE_BLOCK || tg_bpe_pieces_inside(p))
                status = encode_after(p, &t, length, offset, err);
            else
                t.place[++t.n] = (uint32_t)next;
            if (!status && t.n == BATCH)
                status = encode_batch(p, &t, offset, err);
        }
    }
    if (!status)
        status = encode_batch(p, &t, offset, err);
    *at += t.place[0];
    return status;
}
