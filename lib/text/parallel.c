#include "lib/text/parallel.h"

#include <stdlib.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/text/encoder.h"

#define IDS ((size_t)TG_PARALLEL_BLOCK / 2) /* per thread, until they can be delivered */
#define REACH ((size_t)1 << 14)             /* bytes searched for a place to cut */
#define THREADS_MAX 8 /* one thread can hardly deliver what more of them encode; each takes 5 MiB */

struct worker {
    tg_encoder *encoder;
    int32_t *ids; /* [IDS] */
};

/* A part of a text that a worker encodes. */
struct part {
    const struct worker *w;
    tg_text text;
    bool last; /* the worker's text ends with the part */
    bool full; /* the last call filled `ids`: more may be due */
    bool done; /* all of the part is encoded */
    size_t n;  /* ids not yet delivered */
    tg_status status;
    tg_err err;
};

struct tg_parallel {
    const tg_tokenizer *tok;
    bool special;
    tg_parallel_take *take;
    void *context;
    struct worker main;     /* continues the text of earlier calls */
    struct worker *workers; /* [n_workers] for the parts of a call, each at the start of a text */
    struct part *parts;     /* [n_workers] that the threads are at */
    size_t n_workers;       /* 0 until needed */
    uint64_t offset;        /* of the next call's text */
};

static void free_worker(struct worker *w)
{
    tg_encoder_free(w->encoder);
    free(w->ids);
}

static tg_status create_worker(struct worker *w, const tg_parallel *p, tg_err *err)
{
    tg_status status = tg_encoder_create(&w->encoder, p->tok, err);

    if (!status && p->special)
        status = tg_encoder_match_special(w->encoder, err);
    if (!status && !(w->ids = malloc(IDS * sizeof *w->ids)))
        status = tg_fail_memory(err, IDS * sizeof *w->ids, "ids");
    return status;
}

tg_status tg_parallel_create(tg_parallel **out, const tg_tokenizer *tok, bool special, tg_parallel_take *take,
                             void *context, tg_err *err)
{
    tg_parallel *p = calloc(1, sizeof *p);
    tg_status status;

    *out = NULL;
    if (!p)
        return tg_fail_memory(err, sizeof *p, "an encoder");
    p->tok = tg_tokenizer_ref(tok);
    p->special = special;
    p->take = take;
    p->context = context;
    status = create_worker(&p->main, p, err);
    if (status)
        tg_parallel_free(p);
    else
        *out = p;
    return status;
}

static tg_status create_workers(tg_parallel *p, tg_err *err)
{
    const size_t n = tg_size_min(tg_threads(), THREADS_MAX);
    tg_status status = TG_OK;

    if (p->n_workers > 0)
        return TG_OK;
    if (!(p->workers = calloc(n, sizeof *p->workers)))
        return tg_fail_memory(err, n * sizeof *p->workers, "encoders");
    if (!(p->parts = calloc(n, sizeof *p->parts)))
        return tg_fail_memory(err, n * sizeof *p->parts, "parts of a text");
    for (p->n_workers = 0; !status && p->n_workers < n;)
        status = create_worker(&p->workers[p->n_workers++], p, err);
    return status;
}

/* ---- parts */

/* Encode until the worker's ids are full or the part is done. */
static void encode_part(struct part *t)
{
    while (!t->status && !t->done && t->n < IDS) {
        const size_t max = IDS - t->n;
        const bool encode = t->text.n > 0 || (t->full && !t->last);
        size_t got = 0;

        if (encode)
            t->status = tg_encoder_encode(t->w->encoder, &t->text, t->w->ids + t->n, max, &got, &t->err);
        else if (t->last)
            t->status = tg_encoder_finish(t->w->encoder, t->w->ids + t->n, max, &got, &t->err);
        t->n += got;
        t->full = got == max;
        t->done = !t->full && t->text.n == 0 && (!encode || !t->last);
    }
}

/* Deliver the ids of a part, and encode the rest of it. */
static tg_status deliver_part(const tg_parallel *p, struct part *t, tg_err *err)
{
    for (;;) {
        const tg_status status = t->n > 0 ? p->take(p->context, t->w->ids, t->n, err) : TG_OK;

        t->n = 0;
        if (status)
            return status;
        if (t->status && err)
            *err = t->err;
        if (t->status || t->done)
            return t->status;
        encode_part(t);
    }
}

static tg_status encode_here(tg_parallel *p, const unsigned char *text, size_t n, bool last, tg_err *err)
{
    struct part t = {.w = &p->main, .text = {text, n}, .last = last};

    encode_part(&t);
    return deliver_part(p, &t, err);
}

/* ---- parts on several threads */

/* Where part k of text [n] begins: at the last possible cut in block k - 1.  0: there is none, so block
 * k belongs to the previous part.  Part 0 begins at 0. */
static size_t start_of(const tg_parallel *p, const unsigned char *text, size_t k)
{
    const size_t before = (k - 1) * TG_PARALLEL_BLOCK;
    const size_t cut = tg_encoder_cut(p->main.encoder, text + before, TG_PARALLEL_BLOCK, REACH);

    return cut > 0 ? before + cut : 0;
}

/* Where the part that begins in or before block k ends. */
static size_t end_of(const tg_parallel *p, const unsigned char *text, size_t n, size_t k)
{
    size_t end = 0;

    while (end == 0 && ++k < n / TG_PARALLEL_BLOCK)
        end = start_of(p, text, k);
    return end > 0 ? end : n;
}

/* The text of a call. */
struct call {
    tg_parallel *p;
    const unsigned char *text;
    size_t n;
    struct worker *last; /* who encodes the end */
    tg_status status;
    tg_err *err;
};

/* Encode the part that begins in block k.  None if it belongs to the part before. */
static void encode_block(void *context, size_t k)
{
    struct call *c = context;
    tg_parallel *p = c->p;
    struct worker *w = k == 0 ? &p->main : &p->workers[tg_threads_self()];
    struct part *t = &p->parts[tg_threads_self()];
    const size_t start = k == 0 ? 0 : start_of(p, c->text, k);
    const size_t end = k > 0 && start == 0 ? 0 : end_of(p, c->text, c->n, k);

    *t = (struct part){.w = w, .text = {c->text + start, end - start}, .last = end < c->n, .done = end == 0};
    if (k > 0 && end > 0) {
        tg_encoder_set_offset(w->encoder, p->offset + start);
        tg_encoder_continue(w->encoder);
    }
    encode_part(t);
    if (end == c->n)
        c->last = w;
}

static bool deliver_block(void *context, size_t k)
{
    struct call *c = context;

    (void)k;
    c->status = deliver_part(c->p, &c->p->parts[tg_threads_self()], c->err);
    return c->status == TG_OK;
}

/*
 * Blocks are dealt out in order.  The part in the first one continues the text of earlier calls.  The
 * last one is continued by later calls, so its worker becomes the main one.
 */
static tg_status encode_parts(tg_parallel *p, const unsigned char *text, size_t n, tg_err *err)
{
    struct call c = {.p = p, .text = text, .n = n, .err = err};
    struct worker main = p->main;

    if (tg_threads_run_in_turn(p->n_workers, n / TG_PARALLEL_BLOCK, encode_block, deliver_block, &c) &&
        c.last != &p->main) {
        p->main = *c.last;
        *c.last = main;
    }
    return c.status;
}

tg_status tg_parallel_encode(tg_parallel *p, const void *text, size_t n, tg_err *err)
{
    const bool parts = n >= 2 * TG_PARALLEL_BLOCK && tg_threads() > 1;
    tg_status status = parts ? create_workers(p, err) : TG_OK;

    if (!status)
        status = parts ? encode_parts(p, text, n, err) : encode_here(p, text, n, false, err);
    p->offset += n;
    return status;
}

tg_status tg_parallel_finish(tg_parallel *p, tg_err *err)
{
    return encode_here(p, (const unsigned char *)"", 0, true, err);
}

void tg_parallel_free(tg_parallel *p)
{
    if (!p)
        return;
    free_worker(&p->main);
    for (size_t i = 0; i < p->n_workers; i++)
        free_worker(&p->workers[i]);
    free(p->workers);
    free(p->parts);
    tg_tokenizer_free(p->tok);
    free(p);
}
