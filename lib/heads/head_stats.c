#include "lib/heads/head_stats.h"

#include <math.h>

#include "lib/base/size.h"
#include "lib/base/atomic_min.h"
#include "lib/base/threads.h"

/* ---- one row */

double tg_head_stats_entropy(const double *p, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j <= i; j++)
        if (p[j] > 0) /* 0 ln 0 is 0, the limit */
            sum -= p[j] * log(p[j]);
    return sum;
}

double tg_head_stats_distance(const double *p, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j <= i; j++)
        sum += p[j] * (double)(i - j);
    return sum;
}

bool tg_head_stats_induction(double *sum, const double *p, size_t first, size_t i, const int32_t *ids)
{
    bool any = false;

    *sum = 0;
    for (size_t j = tg_size_max(1, first); j < i; j++) {
        if (ids[j - 1] == ids[i]) {
            *sum += p[j];
            any = true;
        }
    }
    return any;
}

bool tg_head_stats_duplicate(double *sum, const double *p, size_t first, size_t i, const int32_t *ids)
{
    bool any = false;

    *sum = 0;
    for (size_t j = first; j < i; j++) {
        if (ids[j] == ids[i]) {
            *sum += p[j];
            any = true;
        }
    }
    return any;
}

tg_head_pair tg_head_stats_best_pair(const double *p, size_t first, size_t i)
{
    const double n = (double)(i + 1 - first);
    tg_head_pair best = {0};

    for (size_t j = first; j < i; j++) {
        const double weight = p[j] > 0 ? p[j] * log(p[j] * n) : 0;

        if (!best.exists || weight > best.weight)
            best = (tg_head_pair){true, i, j, p[j], weight};
    }
    return best;
}

/* ---- many rows */

static void take_pair(tg_head_stats *head, const tg_head_pair *pair)
{
    if (pair->exists && (!head->pair.exists || pair->weight > head->pair.weight))
        head->pair = *pair;
}

void tg_head_stats_add(tg_head_stats *head, const double *p, size_t first, size_t i, const int32_t *ids)
{
    tg_head_means *sum = &head->sum;
    tg_head_pair pair;
    double induction, duplicate;

    if (i == 0)
        return;
    head->rows++;
    sum->entropy += tg_head_stats_entropy(p, i);
    sum->distance += tg_head_stats_distance(p, i);
    sum->diagonal += p[i];
    sum->previous += p[i - 1];
    sum->first += p[0];
    if (ids && tg_head_stats_induction(&induction, p, first, i, ids)) {
        head->repeats++;
        sum->induction += induction;
    }
    if (ids && tg_head_stats_duplicate(&duplicate, p, first, i, ids)) {
        head->copies++;
        sum->duplicate += duplicate;
    }
    pair = tg_head_stats_best_pair(p, first, i);
    take_pair(head, &pair);
}

void tg_head_stats_merge(tg_head_stats *head, const tg_head_stats *other)
{
    tg_head_means *sum = &head->sum;
    const tg_head_means *more = &other->sum;

    head->rows += other->rows;
    head->repeats += other->repeats;
    head->copies += other->copies;
    sum->entropy += more->entropy;
    sum->distance += more->distance;
    sum->diagonal += more->diagonal;
    sum->previous += more->previous;
    sum->first += more->first;
    sum->induction += more->induction;
    sum->duplicate += more->duplicate;
    take_pair(head, &other->pair);
}

tg_head_means tg_head_stats_means(const tg_head_stats *head)
{
    const double rows = head->rows > 0 ? (double)head->rows : 1;
    const double repeats = head->repeats > 0 ? (double)head->repeats : 1;
    const double copies = head->copies > 0 ? (double)head->copies : 1;

    return (tg_head_means){
        .entropy = head->sum.entropy / rows,
        .distance = head->sum.distance / rows,
        .diagonal = head->sum.diagonal / rows,
        .previous = head->sum.previous / rows,
        .first = head->sum.first / rows,
        .repeats = head->repeats > 0,
        .induction = head->sum.induction / repeats,
        .copies = head->copies > 0,
        .duplicate = head->sum.duplicate / copies,
    };
}

void tg_head_stats_uniform(tg_head_stats *head, double *row, size_t T, const int32_t *ids,
                           const tg_attn_filter *filter, const tg_attention_rule *rule)
{
    *head = (tg_head_stats){0};
    for (size_t i = 0; i < T; i++) {
        const size_t first = tg_attention_first(rule, i);

        if (!tg_attn_keeps(filter->query, i))
            continue;
        for (size_t j = 0; j <= i; j++)
            row[j] = j < first ? 0 : 1.0 / (double)(i + 1 - first);
        tg_head_stats_add(head, row, first, i, ids);
    }
}

/* ---- a layer */

void tg_head_stats_place(tg_arena *arena, tg_head_stats_scratch *scratch, size_t T, size_t D)
{
    *scratch = (tg_head_stats_scratch){.threads = tg_threads()};
    scratch->each = tg_arena_take(arena, scratch->threads, sizeof *scratch->each);
    for (size_t n = 0; n < scratch->threads; n++) {
        tg_attn_scratch placed = {0};

        tg_attn_scratch_place(arena, &placed, 1, T, D);
        if (scratch->each)
            scratch->each[n] = placed;
    }
}

struct heads_walk {
    tg_head_stats *heads; /* [B,H] */
    const tg_attn_layer *layer;
    const int32_t *ids;
    const tg_attn_filter *filter;
    const tg_head_stats_scratch *scratch;
    size_t h_begin;
    atomic_size_t bad; /* the first row that is not finite, of those seen: h*T + i */
};

static bool add_row(void *context, const tg_attn_row *row)
{
    struct heads_walk *w = context;
    const tg_qkv_view *view = row->view;
    const bool finite = tg_attn_row_is_finite(row);

    if (finite)
        tg_head_stats_add(&w->heads[row->b * view->H + row->h], row->probs, row->first, row->i, w->ids);
    else
        tg_atomic_min(&w->bad, row->h * view->T + row->i);
    return finite;
}

static void walk_heads(void *context, size_t begin, size_t end)
{
    struct heads_walk *w = context;
    tg_attn_scratch *scratch = &w->scratch->each[tg_threads_self()];
    tg_attn_filter one = *w->filter;

    for (one.head = w->h_begin + begin; one.head < w->h_begin + end; one.head++)
        (void)tg_attn_walk(&w->layer->view, w->layer->number, &one, scratch, add_row, w);
}

tg_status tg_head_stats_of_layer(tg_head_stats *heads, const tg_attn_layer *layer, const int32_t *ids,
                                 const tg_attn_filter *filter, const tg_head_stats_scratch *scratch,
                                 tg_err *err)
{
    const tg_qkv_view *view = &layer->view;
    const size_t T = view->T, h_begin = filter->head == TG_ATTN_ALL ? 0 : filter->head;
    const size_t h_end = filter->head == TG_ATTN_ALL ? view->H : filter->head + 1;
    struct heads_walk w = {heads, layer, ids, filter, scratch, h_begin, h_end * T};
    size_t bad;

    for (size_t n = 0; n < view->B * view->H; n++)
        heads[n] = (tg_head_stats){0};
    tg_threads_run_on(scratch->threads, h_end - h_begin, 1, walk_heads, &w);
    bad = w.bad;
    return bad < h_end * T ? tg_attn_not_finite(layer->number, bad / T, bad % T, err) : TG_OK;
}
