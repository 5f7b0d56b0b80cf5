#include "lib/spm/spm_encode.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"

/* Bytes of the caller's text that are encoded in place at a time. */
#ifndef TG_SPM_WINDOW
#define TG_SPM_WINDOW ((size_t)1 << 15)
#endif

/* At least so many bytes of the caller's text, if it has them, are appended to the waiting text at a time.
 * Spaces for U+2581 are appended one by one: then a waiting text of this size is encoded as far as possible.
 */
#ifndef TG_SPM_FOLLOWING
#define TG_SPM_FOLLOWING ((size_t)4096)
#endif

/* ---- strings */

/* Either cache may write more ids than the string has: see reserve_ids(). */
static inline void put_cached(tg_spm_ids *ids, const tg_piece_entry *entry)
{
    ids->queue.n += tg_piece_ids(entry, ids->queue.ids + ids->queue.n);
    ids->unknown = false;
}

/* Encode a string that the cache may keep, and does not have in the first place of its set. */
static tg_status encode_short(tg_spm_encoder *e, const unsigned char *text, size_t n, tg_piece_key key,
                              tg_err *err)
{
    const size_t set = tg_piece_set(key), before = e->ids.queue.n;
    int32_t *const ids = e->ids.queue.ids + before;
    const tg_piece_entry *entry;
    tg_status status;
    size_t count;

    if ((entry = tg_piece_cache_find(&e->cache, key))) {
        put_cached(&e->ids, entry);
        return TG_OK;
    }
    if ((count = tg_wide_cache_find(&e->wide, key, set, ids)) > 0) {
        e->ids.queue.n += count;
        e->ids.unknown = false;
        return TG_OK;
    }
    e->ids.any_unknown = false;
    if ((status = tg_spm_whole_encode(&e->ids, &e->merger, text, n, err)))
        return status;
    count = e->ids.queue.n - before;
    if (e->ids.any_unknown) /* of a run of unknown characters, only the first string has an id */
        return TG_OK;
    if (count <= TG_PIECE_IDS)
        tg_piece_cache_add(&e->cache, key, ids, count);
    else if (count <= TG_WIDE_IDS)
        tg_wide_cache_add(&e->wide, key, set, ids, count);
    return TG_OK;
}

/* Encode string text [n], or the rest of a long one; the queue has room. */
static tg_status encode_string(tg_spm_encoder *e, const unsigned char *text, size_t n, tg_err *err)
{
    size_t used;

    if (n <= TG_SPM_BLOCK && e->long_string.block == 0)
        return tg_spm_whole_encode(&e->ids, &e->merger, text, n, err);
    return tg_spm_long_encode(&e->long_string, &e->ids, &e->merger, text, n, true, &used, err);
}

/* ---- batches of short strings */

/* Strings of a batch: as many lines of the cache are under way at a time. */
#ifndef TG_SPM_BATCH
#define TG_SPM_BATCH 32
#endif

struct batch {
    size_t n;
    struct short_string {
        tg_piece_key key;
        const unsigned char *text;
        uint32_t set;
        uint32_t n;
    } string[TG_SPM_BATCH];
};

/* Encode the strings of a batch, and empty it; the queue has room. */
static tg_status encode_batch(tg_spm_encoder *e, struct batch *b, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < b->n; i++) {
        const struct short_string *s = &b->string[i];
        const tg_piece_entry *entry = &e->cache.sets[s->set][0];

        if (tg_piece_same(entry->key, s->key))
            put_cached(&e->ids, entry);
        else
            status = encode_short(e, s->text, s->n, s->key, err);
    }
    b->n = 0;
    return status;
}

/* Add string text [n], n <= TG_PIECE_MAX, of which `readable` bytes can be read, and prefetch its set. */
static inline void add_short(tg_spm_encoder *e, struct batch *b, const unsigned char *text, size_t n,
                             size_t readable)
{
    struct short_string *s = &b->string[b->n++];

    s->key = readable >= 16 ? tg_piece_key_near(text, n) : tg_piece_key_of(text, n);
    s->text = text;
    s->n = (uint32_t)n;
    s->set = (uint32_t)tg_piece_set(s->key);
    __builtin_prefetch(&e->cache.sets[s->set], 0, 0);
}

/* ---- borders */

/* What place i of text [n] is. */
enum place { INSIDE, BORDER, UNDECIDED };

/* Which user-defined piece text [n] begins with; *token: NULL if none. */
static inline tg_special_match match_user_defined(const tg_spm *s, const unsigned char *text, size_t n,
                                                  bool last, const tg_special_token **token)
{
    const tg_specials *u = &s->user_defined;

    *token = NULL;
    if (u->first[text[0]] == u->first[text[0] + 1])
        return TG_SPECIAL_NONE;
    return tg_specials_match(u, text, n, last, token);
}

/* What the place before text [n], n >= 1, is, after the character `left`; *length: of the character after it.
 */
static enum place examine(const tg_spm *s, uint32_t left, const unsigned char *text, size_t n, bool last,
                          uint32_t *right, size_t *length)
{
    const tg_special_token *token;

    if (text[0] >= 0x80 && !last && tg_utf8_is_cut(text, n))
        return UNDECIDED;
    *length = tg_spm_decode(right, text, n);
    if (left >= TG_SPM_CODES || *right >= TG_SPM_CODES || !tg_spm_joined(&s->symbols, left, *right))
        return BORDER;
    switch (match_user_defined(s, text, n, last, &token)) {
    case TG_SPECIAL_NONE:
        return INSIDE;
    case TG_SPECIAL_FOUND:
        return BORDER;
    default:
        return UNDECIDED;
    }
}

/* Examine place p of text up to `end`, where scanning stopped, and the places after it; stay at the first
 * that is not inside a string, or where scanning goes on. */
static const unsigned char *examine_places(const tg_spm *s, const unsigned char *text, const unsigned char *p,
                                           const unsigned char *end, bool last, enum place *place)
{
    uint32_t left = tg_spm_decode_last(text, (size_t)(p - text)), right;
    size_t length;

    while ((*place = examine(s, left, p, (size_t)(end - p), last, &right, &length)) == INSIDE) {
        p += length;
        if (p == end || !tg_spm_stops(&s->symbols, p[-1], *p))
            break;
        left = right;
    }
    return p;
}

/* Whether scanning stopped between two ASCII characters that no piece joins. */
static inline bool is_plain_border(const tg_spm *s, unsigned char left, unsigned char right)
{
    return (left | right) < 0x80 && s->user_defined.first[right] == s->user_defined.first[right + 1];
}

/*
 * Where the first string of text [n], n >= 1, ends; its first `seen` bytes have no border.  If that is not
 * *decided, the bytes that are known to have none.
 */
static inline size_t find_end(const tg_spm *s, const unsigned char *text, size_t n, size_t seen, bool last,
                              bool *decided)
{
    const unsigned char *const end = text + n;
    const unsigned char *p = text + seen;
    enum place place = INSIDE;
    uint32_t code;

    *decided = false;
    if (seen == 0) {
        if (*p >= 0x80 && !last && tg_utf8_is_cut(p, n))
            return 0;
        p += *p < 0x80 ? 1 : tg_spm_decode(&code, p, n);
    }
    while (place == INSIDE) {
        while (p < end && !tg_spm_stops(&s->symbols, p[-1], *p))
            p++;
        if (p == end)
            break;
        if (is_plain_border(s, p[-1], *p))
            place = BORDER;
        else
            p = examine_places(s, text, p, end, last, &place);
    }
    *decided = place == BORDER || (p == end && last);
    return (size_t)(p - text);
}

/* Encode a user-defined piece, or a string that is long or the rest of a long one, after the batch. */
static tg_status encode_after(tg_spm_encoder *e, struct batch *b, const tg_special_token *token,
                              const unsigned char *text, size_t n, tg_err *err)
{
    const tg_status status = encode_batch(e, b, err);

    if (status || !token)
        return status ? status : encode_string(e, text, n, err);
    tg_spm_ids_put(&e->ids, token->id);
    e->prefix_due = tg_spm_divides(e->spm) && e->spm->vocab.prefix != TG_SPM_PREFIX_FIRST;
    return TG_OK;
}

/* Make room for the ids of n bytes, and what a cache may write after them. */
static tg_status reserve_ids(tg_spm_encoder *e, size_t n, tg_err *err)
{
    return tg_id_queue_reserve(&e->ids.queue, TG_SPM_IDS_OF(n) + TG_WIDE_IDS, err);
}

/* Decide about the prefix that may be due before text, which begins with no user-defined piece.  Returns
 * whether it must be put there now. */
static bool needs_prefix(tg_spm_encoder *e, const unsigned char *text)
{
    const bool space = text[0] == ' ' && e->spm->vocab.prefix != TG_SPM_PREFIX_DIVIDED;

    if (!e->prefix_due || !tg_spm_divides(e->spm))
        return false;
    e->prefix_due = false;
    e->prefix_now = !space;
    return e->prefix_now;
}

/*
 * Encode the strings of text [n] whose ends are decided, and the user-defined pieces; *at becomes where the
 * first other string begins, e->seen how much of it is known to have no border.  Stops where a prefix must
 * come.
 */
static tg_status encode_decided(tg_spm_encoder *e, const unsigned char *text, size_t n, bool last, size_t *at,
                                tg_err *err)
{
    struct batch b;
    tg_status status = TG_OK;

    b.n = 0;
    for (*at = 0; !status && *at < n;) {
        const unsigned char *p = text + *at;
        const size_t left = n - *at;
        const tg_special_token *token = NULL;
        tg_special_match match = TG_SPECIAL_NONE;
        bool decided = false;
        size_t end;

        if (!e->after_prefix)
            match = match_user_defined(e->spm, p, left, last, &token);
        if (match == TG_SPECIAL_UNKNOWN || (match == TG_SPECIAL_NONE && needs_prefix(e, p)))
            break;
        end = match == TG_SPECIAL_FOUND ? token->n : find_end(e->spm, p, left, e->seen, last, &decided);
        if (match == TG_SPECIAL_NONE && !decided) {
            e->seen = end;
            break;
        }
        if (match == TG_SPECIAL_NONE && end <= TG_PIECE_MAX && e->long_string.block == 0) {
            add_short(e, &b, p, end, left);
            if (b.n == TG_SPM_BATCH)
                status = encode_batch(e, &b, err);
        } else {
            status = encode_after(e, &b, token, p, end, err);
            if (!status) /* the ids of a long string may have been due before */
                status = reserve_ids(e, left - end, err);
        }
        e->seen = 0;
        e->after_prefix = false;
        *at += end;
    }
    return status ? status : encode_batch(e, &b, err);
}

/*
 * Encode as much as possible of text [n], which begins with a string or a user-defined piece; *used: bytes
 * that are finished.  last: the text ends at text + n; then all of it is encoded.
 */
static tg_status encode_text(tg_spm_encoder *e, const unsigned char *text, size_t n, bool last, size_t *used,
                             tg_err *err)
{
    size_t at, done = 0;
    tg_status status = reserve_ids(e, n, err);

    if (status || (status = encode_decided(e, text, n, last, &at, err)))
        return status;
    if (at < n && e->seen > TG_SPM_BLOCK)
        status =
            tg_spm_long_encode(&e->long_string, &e->ids, &e->merger, text + at, e->seen, false, &done, err);
    e->seen -= done;
    e->after_prefix = e->after_prefix && done == 0;
    *used = at + done;
    return status;
}

/* ---- text that waits */

/* Append text in which spaces stand for U+2581, after the prefix that is due. */
static tg_status wait_for_more(tg_spm_encoder *e, const void *text, size_t n, tg_err *err)
{
    const bool space = n > 0 && *(const char *)text == ' ';
    const bool due = n > 0 && e->prefix_due && !tg_spm_divides(e->spm);
    const bool prefix = due && (e->spm->vocab.prefix <= TG_SPM_PREFIX_DIVIDED || !space);
    const tg_status status = tg_grow(&e->waiting, &e->capacity, tg_size_add_sat(e->n_waiting, n + 1), 1,
                                     "text that is not decided", err);

    if (status)
        return status;
    if (prefix)
        e->waiting[e->n_waiting++] = ' ';
    if (n > 0)
        memcpy(e->waiting + e->n_waiting, text, n);
    e->n_waiting += n;
    e->prefix_due = e->prefix_due && !due;
    return TG_OK;
}

/* Put the prefix that must come now before the waiting text. */
static tg_status insert_prefix(tg_spm_encoder *e, tg_err *err)
{
    tg_status status;

    if (!e->prefix_now)
        return TG_OK;
    if ((status = tg_grow(&e->waiting, &e->capacity, e->n_waiting + 1, 1, "text that is not decided", err)))
        return status;
    if (e->n_waiting > 0)
        memmove(e->waiting + 1, e->waiting, e->n_waiting);
    e->waiting[0] = ' ';
    e->n_waiting++;
    e->prefix_now = false;
    e->after_prefix = true;
    return TG_OK;
}

/* Encode the waiting text with some of the text after it.  Once the rest is entirely in the caller's text,
 * nothing is left waiting. */
static tg_status encode_waiting(tg_spm_encoder *e, tg_text *text, tg_err *err)
{
    size_t before = e->n_waiting, used;
    const size_t take = tg_size_min(text->n, tg_size_max(TG_SPM_FOLLOWING, before));
    tg_status status = wait_for_more(e, text->next, take, err);

    before = e->n_waiting - take; /* with the prefix */
    if (status || (status = encode_text(e, e->waiting, e->n_waiting, false, &used, err)))
        return status;
    if (used >= before) {
        text->next += used - before;
        text->n -= used - before;
        e->n_waiting = 0;
        return insert_prefix(e, err);
    }
    text->next += take;
    text->n -= take;
    if (used > 0)
        memmove(e->waiting, e->waiting + used, e->n_waiting - used);
    e->n_waiting -= used;
    return insert_prefix(e, err);
}

/* Encode text in place; all: keep the rest, because no more text follows in place. */
static tg_status encode_direct(tg_spm_encoder *e, tg_text *text, bool all, tg_err *err)
{
    size_t used;
    tg_status status = encode_text(e, text->next, text->n, false, &used, err);

    if (status)
        return status;
    text->next += used;
    text->n -= used;
    if (e->prefix_now)
        return insert_prefix(e, err);
    if (used > 0 && !all)
        return TG_OK;
    status = wait_for_more(e, text->next, text->n, err);
    text->next += text->n;
    text->n = 0;
    return status;
}

/* ---- spaces */

static const unsigned char space[] = TG_SPM_SPACE;
#define SPACE_FIRST 0xE2 /* its first byte */

/* The bytes of text before the first U+2581, or before its beginning at the end; at most a window. */
static size_t count_plain(const tg_text *text)
{
    const size_t window = tg_size_min(text->n, TG_SPM_WINDOW);
    const unsigned char *p = text->next;

    while ((p = memchr(p, SPACE_FIRST, window - (size_t)(p - text->next)))) {
        const size_t at = (size_t)(p - text->next);

        if (memcmp(p, space, tg_size_min(text->n - at, TG_SPM_SPACE_BYTES)) == 0)
            return at;
        p++;
    }
    return window;
}

/* Replace a U+2581, which has begun or begins here. */
static tg_status take_space(tg_spm_encoder *e, tg_text *text, tg_err *err)
{
    tg_text none = {space, 0};
    tg_status status;

    while (text->n > 0 && e->held < TG_SPM_SPACE_BYTES && *text->next == space[e->held]) {
        e->held++;
        text->next++;
        text->n--;
    }
    if (text->n == 0 && e->held < TG_SPM_SPACE_BYTES)
        return TG_OK;
    if (e->held == TG_SPM_SPACE_BYTES)
        status = wait_for_more(e, " ", 1, err);
    else
        status = wait_for_more(e, space, e->held, err);
    e->held = 0;
    if (status || e->n_waiting < TG_SPM_FOLLOWING)
        return status;
    return encode_waiting(e, &none, err);
}

/* Encode some of the text, n >= 1. */
static tg_status encode_some(tg_spm_encoder *e, tg_text *text, tg_err *err)
{
    tg_text plain = {text->next, count_plain(text)};
    const bool all = plain.n == text->n || plain.n < TG_SPM_WINDOW;
    tg_status status;

    if (!e->begun)
        e->prefix_due = tg_spm_adds_space(e->spm, e->after);
    e->begun = true;
    if (e->held > 0 || plain.n == 0)
        return take_space(e, text, err);
    if (e->n_waiting > 0 || (e->prefix_due && !tg_spm_divides(e->spm)))
        status = encode_waiting(e, &plain, err);
    else
        status = encode_direct(e, &plain, all, err);
    text->n -= (size_t)(plain.next - text->next);
    text->next = plain.next;
    return status;
}

/* ---- the kind's functions */

tg_status tg_spm_encoder_start(void *encoder, const void *tok, tg_err *err)
{
    tg_spm_encoder *e = encoder;
    tg_status status;

    e->spm = tok;
    e->merger = (tg_spm_merger){
        .symbols = &e->spm->symbols, .pairs = &e->spm->pairs, .order = e->spm->order, .limit = TG_RANK_NONE};
    if ((status = tg_spm_ids_create(&e->ids, e->spm, err)))
        return status;
    if ((status = tg_piece_cache_create(&e->cache, err)))
        return status;
    return tg_wide_cache_create(&e->wide, err);
}

tg_status tg_spm_encoder_encode(void *encoder, const void *tok, tg_text *text, int32_t *ids, size_t max,
                                size_t *n, tg_err *err)
{
    tg_spm_encoder *e = encoder;
    tg_status status = TG_OK;

    (void)tok;
    *n = tg_id_queue_take(&e->ids.queue, ids, max);
    while (!status && *n < max && text->n > 0) {
        status = encode_some(e, text, err);
        *n += tg_id_queue_take(&e->ids.queue, ids + *n, max - *n);
    }
    return status;
}

/* Encode the end of the text. */
static tg_status end_text(tg_spm_encoder *e, tg_err *err)
{
    size_t used;
    tg_status status = wait_for_more(e, space, e->held, err);

    while (!status && e->n_waiting > 0) {
        if ((status = encode_text(e, e->waiting, e->n_waiting, true, &used, err)))
            break;
        e->n_waiting -= used;
        memmove(e->waiting, e->waiting + used, e->n_waiting);
        status = insert_prefix(e, err);
    }
    if (status)
        return status;
    e->n_waiting = e->held = e->seen = 0;
    e->after = TG_FOLLOWS_NOTHING;
    e->begun = e->prefix_due = e->ids.unknown = false;
    return TG_OK;
}

tg_status tg_spm_encoder_finish(void *encoder, const void *tok, int32_t *ids, size_t max, size_t *n,
                                tg_err *err)
{
    tg_spm_encoder *e = encoder;
    tg_status status;

    (void)tok;
    *n = 0;
    if (!e->ending && (status = end_text(e, err)))
        return status;
    *n = tg_id_queue_take(&e->ids.queue, ids, max);
    e->ending = *n == max;
    return TG_OK;
}

void tg_spm_encoder_stop(void *encoder)
{
    tg_spm_encoder *e = encoder;

    tg_spm_ids_free(&e->ids);
    tg_spm_merger_free(&e->merger);
    tg_spm_long_free(&e->long_string);
    tg_piece_cache_free(&e->cache);
    tg_wide_cache_free(&e->wide);
    free(e->waiting);
}

void tg_spm_encoder_follows(void *encoder, tg_text_follows what)
{
    tg_spm_encoder *e = encoder;

    e->after = what;
}

/* ---- cutting */

/* Whether a character that is no part of a run of unknown ones. */
static bool is_known(const tg_spm *s, uint32_t code)
{
    return s->bytes || tg_spm_symbol(&s->symbols, code) < s->vocab.n;
}

/* Whether text [n] may be cut at p, after `before` bytes that may be examined. */
static bool may_cut(const tg_spm *s, const unsigned char *text, size_t n, size_t p, size_t before)
{
    uint32_t left, right;
    unsigned char last, first;

    if (tg_utf8_decode_last(&left, text + p - before, before) == 0 ||
        tg_utf8_decode(&right, text + p, n - p) == 0)
        return false;
    last = left == TG_SPM_SPACE_CODE ? ' ' : text[p - 1];
    first = right == TG_SPM_SPACE_CODE ? ' ' : text[p];
    (void)tg_spm_decode(&right, text + p, n - p);
    left = tg_spm_decode_last(text + p - before, before);
    if (tg_spm_divides(s) && tg_specials_may_end(&s->user_defined, last)) /* a prefix may come */
        return false;
    return !tg_spm_joined(&s->symbols, left, right) &&
           tg_borders_between(&s->user_defined.borders, last, first) &&
           (is_known(s, left) || is_known(s, right));
}

size_t tg_spm_cut(const void *tok, const unsigned char *text, size_t n, size_t reach)
{
    const size_t from = n - tg_size_min(n, reach);

    for (size_t p = n; p-- > from + 1;)
        if (may_cut(tok, text, n, p, p - from))
            return p;
    return 0;
}
