#include "lib/learn/learn.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/bpe/mix.h"
#include "lib/learn/piece_counts.h"

/* How much text a thread takes at a time, and how much of it goes to the splitter at once. */
#ifndef TG_LEARN_TEXT
#define TG_LEARN_TEXT ((size_t)1 << 20)
#endif
#ifndef TG_LEARN_WINDOW
#define TG_LEARN_WINDOW ((size_t)1 << 14)
#endif

#define CUT_REACH ((size_t)1 << 12) /* bytes searched for a place to cut */
#define CUT_MARGIN ((size_t)64)     /* from a cut to the text's end so far, which decides the bytes before */

/* A part of the buffer that a thread splits into pieces. */
typedef struct segment {
    tg_splitter splitter;
    size_t piece;   /* start of the piece whose end is not yet known */
    size_t decided; /* the splitter's position */
    size_t end;     /* pieces that begin here or later belong to other segments */
} segment;

/* The state of a thread. */
typedef struct worker {
    tg_piece_counts counts;
    uint64_t *starts; /* one bit per byte of the buffer */
    segment segment;
    tg_status status;
    tg_err err;
} worker;

struct tg_learn {
    tg_split split;
    uint64_t bytes;      /* of all text so far */
    unsigned char *text; /* [capacity + TG_PIECE_SLACK]: n bytes, from the start of a piece on */
    size_t n, capacity;
    bool last;    /* the text ends where the buffer does */
    segment open; /* where the last part of the text stopped */
    size_t threads;
    worker workers[]; /* [threads] */
};

/* ---- making */

/* Unpredictable numbers. */
static void make_seed(uint64_t seed[2], const void *somewhere)
{
    struct timespec now = {0};

    clock_gettime(CLOCK_REALTIME, &now);
    seed[0] = (uint64_t)now.tv_nsec << 32 ^ (uint64_t)now.tv_sec ^ 0x9E3779B97F4A7C15u;
    seed[1] = (uint64_t)(uintptr_t)somewhere ^ 0xD1B54A32D192ED03u;
    for (size_t round = 0; round < 4; round++) {
        seed[round % 2] += tg_mix(seed[0] ^ 0xA0761D6478BD642Fu, seed[1] ^ 0xE7037ED1A0B428DBu);
    }
}

/* Grow the buffer and each thread's bits to hold `capacity` bytes of text. */
static tg_status set_capacity(tg_learn *l, size_t capacity, tg_err *err)
{
    const size_t words = (capacity / 64 + 1) * sizeof(uint64_t);
    unsigned char *text = realloc(l->text, tg_size_add_sat(capacity, TG_PIECE_SLACK));

    if (!text)
        return tg_fail_memory(err, capacity, "an incomplete piece");
    memset(text + capacity, 0, TG_PIECE_SLACK);
    l->text = text;
    for (size_t t = 0; t < l->threads; t++) {
        free(l->workers[t].starts);
        if (!(l->workers[t].starts = malloc(words)))
            return tg_fail_memory(err, words, "the starts of pieces");
    }
    l->capacity = capacity;
    return TG_OK;
}

static void start_text(tg_learn *l)
{
    l->n = 0;
    l->last = false;
    l->open = (segment){0};
    tg_splitter_start(&l->open.splitter, l->split);
}

tg_status tg_learn_create(tg_learn **out, tg_split split, tg_err *err)
{
    const size_t threads = tg_threads();
    const size_t bytes = sizeof(tg_learn) + threads * sizeof(worker);
    tg_learn *l = calloc(1, bytes);
    uint64_t seed[2];
    tg_status status;

    *out = NULL;
    if (!l)
        return tg_fail_memory(err, bytes, "a learner");
    l->split = split;
    l->threads = threads;
    make_seed(seed, l);
    for (size_t t = 0; t < threads; t++)
        tg_piece_counts_init(&l->workers[t].counts, seed);
    start_text(l);
    status = set_capacity(l, threads * TG_LEARN_TEXT, err);
    if (status)
        tg_learn_free(l);
    else
        *out = l;
    return status;
}

void tg_learn_free(tg_learn *l)
{
    if (!l)
        return;
    for (size_t t = 0; t < l->threads; t++) {
        tg_piece_counts_free(&l->workers[t].counts);
        free(l->workers[t].starts);
    }
    free(l->text);
    free(l);
}

/* ---- one segment */

/* Count the segment's pieces that end within the next n bytes, according to the bits. */
static tg_status count_marked(worker *w, const unsigned char *text, size_t n)
{
    segment *s = &w->segment;
    tg_status status = TG_OK;

    for (size_t word = 0; word < TG_SPLIT_WORDS(n); word++) {
        for (uint64_t bits = w->starts[word]; bits; bits &= bits - 1) {
            const size_t start = s->decided + 64 * word + (size_t)__builtin_ctzll(bits);

            if (start == s->piece) /* the start of the text */
                continue;
            status =
                tg_piece_counts_add(&w->counts, (tg_piece){text + s->piece, start - s->piece, 1}, &w->err);
            s->piece = start;
            if (status || start >= s->end)
                return status;
        }
    }
    return status;
}

/* Count the pieces that begin in the worker's segment of the buffer and whose ends the buffer decides: all,
 * if it is the last. */
static tg_status count_segment(worker *w, const tg_learn *l)
{
    const unsigned char *text = l->text;
    const size_t n = l->n;
    segment *s = &w->segment;
    size_t window = TG_LEARN_WINDOW;
    tg_status status = TG_OK;

    while (!status && s->piece < s->end && s->decided < n) {
        const size_t take = tg_size_min(window, n - s->decided);
        const bool ends = s->decided + take == n;
        const size_t decided =
            tg_splitter_mark(&s->splitter, w->starts, text + s->decided, take, ends && l->last);

        status = count_marked(w, text, decided);
        s->decided += decided;
        if (ends)
            break;
        window = decided > 0 ? TG_LEARN_WINDOW : 2 * window;
    }
    if (!status && l->last && s->end == n && s->piece < n) {
        status = tg_piece_counts_add(&w->counts, (tg_piece){text + s->piece, n - s->piece, 1}, &w->err);
        s->piece = n;
    }
    return status ? status : tg_piece_counts_flush(&w->counts, &w->err);
}

/* ---- all segments */

/* Divide the buffer into segments, at most one per thread.  Returns their number. */
static size_t divide(tg_learn *l)
{
    const size_t step = l->n / l->threads;
    size_t n = 0;

    l->workers[0].segment = l->open;
    for (size_t t = 1; t < l->threads && l->n - t * step >= CUT_MARGIN; t++) {
        segment *s = &l->workers[n].segment;
        const size_t from = s->decided, to = t * step;
        const size_t cut = from < to ? tg_split_cut(l->split, l->text + from, to - from, CUT_REACH) : 0;

        if (cut == 0)
            continue;
        s->end = from + cut;
        s = &l->workers[++n].segment;
        *s = (segment){.piece = from + cut, .decided = from + cut};
        tg_splitter_start(&s->splitter, l->split);
    }
    l->workers[n].segment.end = l->n;
    return n + 1;
}

/* Keep the text of the piece whose end is not yet known, with room for more. */
static tg_status keep_open(tg_learn *l, tg_err *err)
{
    const size_t done = l->open.piece;

    l->n -= done;
    l->open.piece = 0;
    l->open.decided -= done;
    memmove(l->text, l->text + done, l->n);
    if (l->n <= l->capacity / 2)
        return TG_OK;
    return set_capacity(l, tg_size_mul_sat(l->capacity, 2), err);
}

static void count_segments(void *context, size_t begin, size_t end)
{
    tg_learn *l = context;

    for (size_t i = begin; i < end; i++)
        l->workers[i].status = count_segment(&l->workers[i], l);
}

static tg_status count_buffer(tg_learn *l, tg_err *err)
{
    const size_t n = divide(l);

    tg_threads_run(n, 1, count_segments, l);
    for (size_t i = 0; i < n; i++) {
        const worker *w = &l->workers[i];

        if (w->status) {
            if (err)
                *err = w->err;
            return w->status;
        }
        assert(i == n - 1 || w->segment.piece == w->segment.end);
    }
    if (l->last) {
        start_text(l);
        return TG_OK;
    }
    l->open = l->workers[n - 1].segment;
    return keep_open(l, err);
}

tg_status tg_learn_count(tg_learn *l, const void *text, size_t n, bool last, tg_err *err)
{
    const unsigned char *next = text;
    tg_status status = TG_OK;

    l->bytes += n;
    while (!status && n > 0) {
        const size_t take = tg_size_min(n, l->capacity - l->n);

        memcpy(l->text + l->n, next, take);
        l->n += take;
        next += take;
        n -= take;
        if (l->n == l->capacity && (n > 0 || !last))
            status = count_buffer(l, err);
    }
    l->last = last;
    return !status && last ? count_buffer(l, err) : status;
}

/* ---- the counts */

tg_status tg_learn_gather(tg_learn *l, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t t = 1; !status && t < l->threads; t++) {
        status = tg_piece_counts_merge(&l->workers[0].counts, &l->workers[t].counts, err);
        tg_piece_counts_free(&l->workers[t].counts);
    }
    return status;
}

tg_learn_totals tg_learn_total(const tg_learn *l)
{
    tg_learn_totals totals = {.bytes = l->bytes, .memory = l->capacity};

    for (size_t t = 0; t < l->threads; t++) {
        const tg_piece_counts *c = &l->workers[t].counts;

        totals.pieces += c->pieces;
        totals.distinct += c->used;
        totals.distinct_bytes += c->distinct_bytes;
        totals.memory += tg_piece_counts_memory(c) + TG_SPLIT_WORDS(l->capacity) * sizeof(uint64_t);
    }
    return totals;
}

tg_split tg_learn_split(const tg_learn *l)
{
    return l->split;
}

const tg_piece_counts *tg_learn_counts(const tg_learn *l)
{
    return &l->workers[0].counts;
}
