#include "lib/attn/heads.h"

#include <math.h>
#include <omp.h>

#include "lib/base/size.h"

/* ---- a row */

double tg_heads_entropy(const double *p, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j <= i; j++)
        if (p[j] > 0) /* x ln x goes to 0 with x */
            sum -= p[j] * log(p[j]);
    return sum;
}

double tg_heads_distance(const double *p, size_t i)
{
    double sum = 0;

    for (size_t j = 0; j <= i; j++)
        sum += p[j] * (double)(i - j);
    return sum;
}

bool tg_heads_induction(double *share, const double *p, size_t i, const int32_t *ids)
{
    bool any = false;

    *share = 0;
    for (size_t j = 1; j < i; j++) {
        if (ids[j - 1] == ids[i]) {
            *share += p[j];
            any = true;
        }
    }
    return any;
}

tg_heads_pair tg_heads_best_pair(const double *p, size_t i)
{
    tg_heads_pair best = {0};

    for (size_t j = 0; j < i; j++) {
        const double weight = p[j] > 0 ? p[j] * log(p[j] * (double)(i + 1)) : 0;

        if (!best.found || weight > best.weight)
            best = (tg_heads_pair){true, i, j, p[j], weight};
    }
    return best;
}

/* ---- rows */

void tg_heads_add(tg_heads_sum *head, const double *p, size_t i, const int32_t *ids)
{
    tg_heads_row *sum = &head->sum;
    tg_heads_pair pair;
    double share;

    if (i == 0)
        return;
    head->rows++;
    sum->entropy += tg_heads_entropy(p, i);
    sum->distance += tg_heads_distance(p, i);
    sum->diagonal += p[i];
    sum->previous += p[i - 1];
    sum->first += p[0];
    if (ids && tg_heads_induction(&share, p, i, ids)) {
        head->repeats++;
        sum->induction += share;
    }
    pair = tg_heads_best_pair(p, i);
    if (!head->pair.found || pair.weight > head->pair.weight)
        head->pair = pair;
}

tg_heads_row tg_heads_means(const tg_heads_sum *head)
{
    const double rows = head->rows > 0 ? (double)head->rows : 1;
    const double repeats = head->repeats > 0 ? (double)head->repeats : 1;

    return (tg_heads_row){
        .entropy = head->sum.entropy / rows,
        .distance = head->sum.distance / rows,
        .diagonal = head->sum.diagonal / rows,
        .previous = head->sum.previous / rows,
        .first = head->sum.first / rows,
        .repeats = head->repeats > 0,
        .induction = head->sum.induction / repeats,
    };
}

void tg_heads_uniform(tg_heads_sum *head, double *row, size_t T, const int32_t *ids, const tg_attn_pick *pick)
{
    *head = (tg_heads_sum){0};
    for (size_t i = 0; i < T; i++) {
        if (!tg_attn_picks(pick->query, i))
            continue;
        for (size_t j = 0; j <= i; j++)
            row[j] = 1.0 / (double)(i + 1);
        tg_heads_add(head, row, i, ids);
    }
}

/* ---- a layer */

void tg_heads_place(tg_arena *arena, tg_heads_work *work, size_t T, size_t D)
{
    *work = (tg_heads_work){.threads = (size_t)omp_get_max_threads()};
    work->each = tg_arena_take(arena, work->threads, sizeof *work->each);
    for (size_t n = 0; n < work->threads; n++) {
        tg_attn_work placed = {0};

        tg_attn_place(arena, &placed, 1, T, D);
        if (work->each)
            work->each[n] = placed;
    }
}

struct taking {
    tg_heads_sum *heads; /* [B,H] */
    const int32_t *ids;
    bool finite;
    size_t i; /* of the row that is not */
};

static bool take_row(void *context, const tg_attn_row *row)
{
    struct taking *t = context;

    t->i = row->i;
    t->finite = tg_attn_row_is_finite(row);
    if (t->finite)
        tg_heads_add(&t->heads[row->b * row->view->H + row->h], row->probs, row->i, t->ids);
    return t->finite;
}

tg_status tg_heads_of_layer(tg_heads_sum *heads, const tg_attn_layer *layer, const int32_t *ids,
                            const tg_attn_pick *pick, const tg_heads_work *work, tg_err *err)
{
    const tg_attn_view *view = &layer->view;
    const size_t T = view->T, h_begin = pick->head == TG_ATTN_ALL ? 0 : pick->head;
    const size_t h_end = pick->head == TG_ATTN_ALL ? view->H : pick->head + 1;
    size_t bad = h_end * T; /* the first row that is not finite: h*T + i */

    for (size_t n = 0; n < view->B * view->H; n++)
        heads[n] = (tg_heads_sum){0};
    #pragma omp parallel for schedule(dynamic) num_threads((int)work->threads) reduction(min : bad)
    for (size_t h = h_begin; h < h_end; h++) {
        struct taking taking = {.heads = heads, .ids = ids, .finite = true};
        tg_attn_pick one = *pick;

        one.head = h;
        (void)tg_attn_walk(view, layer->number, &one, &work->each[omp_get_thread_num()], take_row, &taking);
        if (!taking.finite)
            bad = tg_size_min(bad, h * T + taking.i);
    }
    return bad < h_end * T ? tg_attn_not_finite(layer->number, bad / T, bad % T, err) : TG_OK;
}
