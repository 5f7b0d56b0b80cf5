#include "lib/text/encoder.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/text/kind.h"
#include "lib/text/special.h"

/* How many bytes of the caller's text are searched for tokens at a time. */
#define WINDOW ((size_t)1 << 15)

/* The state of the search for added and special tokens, which are treated alike. */
struct search {
    bool wanted;                        /* whether any are looked for */
    bool special;                       /* special ones too */
    tg_specials specials;               /* those that are */
    unsigned char held[TG_SPECIAL_MAX]; /* text that may be a token's beginning */
    size_t n_held;
    bool in_text;     /* the kind has text since the last token */
    bool finishing;   /* that text ends here, so its last ids are due */
    bool special_due; /* after those, `id` is due */
    int32_t id;
};

struct tg_encoder {
    const tg_tokenizer *tok;
    const tg_tokenizer_kind *kind;
    struct search search;
    uint64_t offset;       /* of the text about which the search has not decided */
    tg_text_follows after; /* what is before the next text of the kind, if there is a search */
    max_align_t own[];     /* the encoder's state, kind->encoder_size bytes */
};

/* Look for added tokens and, if `special`, special ones.  After a failure the encoder is unchanged. */
static tg_status look_for(tg_encoder *e, bool special, tg_err *err)
{
    tg_specials specials;
    const tg_status status = tg_specials_create(&specials, e->tok, special, err);

    if (status) {
        tg_specials_free(&specials);
        return status;
    }
    tg_specials_free(&e->search.specials);
    e->search.specials = specials;
    e->search.wanted = true;
    e->search.special = special;
    return TG_OK;
}

tg_status tg_encoder_create(tg_encoder **out, const tg_tokenizer *tok, tg_err *err)
{
    const tg_tokenizer_kind *kind = tok->kind;
    const size_t bytes = sizeof(tg_encoder) + kind->encoder_size;
    tg_encoder *e = calloc(1, bytes);
    const uint32_t *ids;
    tg_status status = TG_OK;

    *out = NULL;
    if (!e)
        return tg_fail_memory(err, bytes, "an encoder");
    e->tok = tg_tokenizer_ref(tok);
    e->kind = kind;
    if (kind->start)
        status = kind->start(e->own, tok->state, err);
    if (!status && tg_tokenizer_added(tok, &ids) > 0)
        status = look_for(e, false, err);
    if (status)
        tg_encoder_free(e);
    else
        *out = e;
    return status;
}

tg_status tg_encoder_match_special(tg_encoder *e, tg_err *err)
{
    return e->search.special ? TG_OK : look_for(e, true, err);
}

void tg_encoder_set_offset(tg_encoder *e, uint64_t offset)
{
    e->offset = offset;
    if (e->kind->offset)
        e->kind->offset(e->own, offset);
}

void tg_encoder_continue(tg_encoder *e)
{
    e->after = TG_FOLLOWS_CUT;
    if (e->kind->follows)
        e->kind->follows(e->own, e->after);
}

/* ---- with added or special tokens */

/* Pass text without such tokens to the kind. */
static tg_status encode_ordinary(tg_encoder *e, tg_text *text, int32_t *ids, size_t max, size_t *n,
                                 tg_err *err)
{
    const size_t before = text->n;
    size_t got = 0;
    tg_status status;

    if (!e->search.in_text)
        tg_encoder_set_offset(e, e->offset);
    if (!e->search.in_text && e->kind->follows)
        e->kind->follows(e->own, e->after);
    e->search.in_text = true;
    status = e->kind->encode(e->own, e->tok->state, text, ids + *n, max - *n, &got, err);
    *n += got;
    e->offset += before - text->n;
    return status;
}

/* The kind's last ids of a text. */
static tg_status finish(tg_encoder *e, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    *n = 0;
    return e->kind->finish ? e->kind->finish(e->own, e->tok->state, ids, max, n, err) : TG_OK;
}

/* Write the ids that are due: the last ones of the ordinary text, then the token after it, if any. */
static tg_status encode_due(tg_encoder *e, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    struct search *s = &e->search;
    size_t got = 0;
    tg_status status;

    if (s->finishing) {
        status = finish(e, ids + *n, max - *n, &got, err);
        *n += got;
        if (status || *n == max)
            return status;
        s->finishing = s->in_text = false;
    }
    if (s->special_due)
        ids[(*n)++] = s->id;
    s->special_due = false;
    return TG_OK;
}

/* Find the next token that begins in the text's first `window` bytes, and encode what is before it.
 * last: no text follows. */
static tg_status search_text(tg_encoder *e, tg_text *text, size_t window, bool last, int32_t *ids, size_t max,
                             size_t *n, tg_err *err)
{
    struct search *s = &e->search;
    tg_special_match match = TG_SPECIAL_NONE;
    const tg_special_token *token;
    size_t at = 0;

    while ((at += tg_specials_next(&s->specials, text->next + at, window - at)) < window) {
        match = tg_specials_match(&s->specials, text->next + at, text->n - at, last, &token);
        if (match != TG_SPECIAL_NONE)
            break;
        at++;
    }
    if (at > 0) {
        tg_text ordinary = {text->next, at};
        const tg_status status = encode_ordinary(e, &ordinary, ids, max, n, err);

        tg_text_take(text, at - ordinary.n);
        if (status || ordinary.n > 0)
            return status;
    }
    if (match == TG_SPECIAL_FOUND) {
        tg_text_take(text, token->n);
        e->offset += token->n;
        s->finishing = s->in_text;
        s->special_due = true;
        s->id = token->id;
        e->after = TG_FOLLOWS_SPECIAL;
    } else if (match == TG_SPECIAL_UNKNOWN) {
        s->n_held = text->n;
        memcpy(s->held, tg_text_take(text, text->n), s->n_held);
    }
    return TG_OK;
}

/* The same for the held text, with the text after it. */
static tg_status search_held(tg_encoder *e, tg_text *text, bool last, int32_t *ids, size_t max, size_t *n,
                             tg_err *err)
{
    struct search *s = &e->search;
    const size_t held = s->n_held, more = tg_size_min(text->n, TG_SPECIAL_MAX);
    unsigned char both[2 * TG_SPECIAL_MAX];
    tg_text joined = {both, held + more};
    size_t used;
    tg_status status;

    memcpy(both, s->held, held);
    if (more > 0)
        memcpy(both + held, text->next, more);
    s->n_held = 0;
    status = search_text(e, &joined, held, last, ids, max, n, err);
    used = held + more - joined.n;
    if (used >= held) {
        tg_text_take(text, used - held);
        return status;
    }
    s->n_held = held - used;
    memcpy(s->held, joined.next, s->n_held);
    return status;
}

static tg_status encode_searching(tg_encoder *e, tg_text *text, bool last, int32_t *ids, size_t max,
                                  size_t *n, tg_err *err)
{
    struct search *s = &e->search;
    tg_status status = TG_OK;

    while (!status && *n < max) {
        if (s->finishing || s->special_due)
            status = encode_due(e, ids, max, n, err);
        else if (s->n_held > 0 && (text->n > 0 || last))
            status = search_held(e, text, last, ids, max, n, err);
        else if (text->n > 0)
            status = search_text(e, text, tg_size_min(text->n, WINDOW), false, ids, max, n, err);
        else
            break;
    }
    return status;
}

static tg_status finish_searching(tg_encoder *e, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    tg_text none = {e->search.held, 0};
    tg_status status = encode_searching(e, &none, true, ids, max, n, err);

    if (status || *n == max)
        return status;
    e->search.finishing = e->search.in_text;
    status = encode_due(e, ids, max, n, err);
    if (*n < max)
        e->after = TG_FOLLOWS_NOTHING;
    return status;
}

/* ---- for callers */

tg_status tg_encoder_encode(tg_encoder *e, tg_text *text, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    assert(max >= 1);
    *n = 0;
    if (e->search.wanted)
        return encode_searching(e, text, false, ids, max, n, err);
    return e->kind->encode(e->own, e->tok->state, text, ids, max, n, err);
}

tg_status tg_encoder_finish(tg_encoder *e, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    assert(max >= 1);
    *n = 0;
    if (e->search.wanted)
        return finish_searching(e, ids, max, n, err);
    return finish(e, ids, max, n, err);
}

tg_status tg_encoder_whole(tg_encoder *e, const void *text, size_t n, tg_encoder_take *take, void *context,
                           tg_err *err)
{
    tg_text left = {text, n};
    int32_t ids[1024];
    const size_t max = sizeof ids / sizeof ids[0];
    bool more = true;
    tg_status status = TG_OK;

    tg_encoder_set_offset(e, 0);
    while (!status && more) {
        const bool ended = left.n == 0;
        size_t got;

        status = ended ? tg_encoder_finish(e, ids, max, &got, err)
                       : tg_encoder_encode(e, &left, ids, max, &got, err);
        more = !ended || got == max;
        if (!status && got > 0)
            status = take(context, ids, got, err);
    }
    return status;
}

/* Whether text may be cut at p as far as these tokens go: not within one, nor after one if what follows it
 * differs from what follows a cut. */
static bool may_cut(const tg_encoder *e, const unsigned char *text, size_t p)
{
    const struct search *s = &e->search;

    return !s->wanted || (tg_borders_between(&s->specials.borders, text[p - 1], text[p]) &&
                          !(e->kind->follows && tg_specials_may_end(&s->specials, text[p - 1])));
}

size_t tg_encoder_cut(const tg_encoder *e, const unsigned char *text, size_t n, size_t reach)
{
    const size_t from = n - tg_size_min(n, reach);
    size_t cut = n;

    if (!e->kind->cut)
        return 0;
    /* unreached: a cut at `from`: every kind's are after it */
    while (cut > from && (cut = e->kind->cut(e->tok->state, text, cut, cut - from)) > 0)
        if (may_cut(e, text, cut))
            return cut;
    return 0;
}

void tg_encoder_free(tg_encoder *e)
{
    if (!e)
        return;
    if (e->kind->stop)
        e->kind->stop(e->own);
    tg_specials_free(&e->search.specials);
    tg_tokenizer_free(e->tok);
    free(e);
}
