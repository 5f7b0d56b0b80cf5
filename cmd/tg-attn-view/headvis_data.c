/* headvis: what is written of a head. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-view/headvis.h"
#include "lib/base/size.h"
#include "lib/dump/dump_rows.h"
#include "lib/heads/dump_stats.h"

tg_status headvis_check_alike(const view *first, const view *other, tg_err *err)
{
    if (first->dump->H != other->dump->H)
        return tg_fail(err, TG_EDATA, "heads: %zu, but %zu in the first dump", other->dump->H,
                       first->dump->H);
    if (first->n != other->n)
        return tg_fail(err, TG_EDATA, "maps: %zu, but %zu in the first dump", other->n, first->n);
    for (size_t m = 0; m < first->n; m++)
        if (first->map[m].layer->number != other->map[m].layer->number)
            return tg_fail(err, TG_EDATA, "it has layer %zu, but the first dump %zu",
                           other->map[m].layer->number, first->map[m].layer->number);
    return TG_OK;
}

/* ---- measures */

/* Add a text to the sums [maps]. */
static tg_status measure_text(tg_head_stats *sum, const view *v, tg_err *err)
{
    const tg_attn_filter every = TG_ATTN_KEEP_ALL;
    tg_dump_stats s;
    tg_status status = tg_dump_stats_open(&s, v->dump, err);

    if (status)
        return status;
    for (size_t m = 0; m < v->n && !status; m++) {
        if (m == 0 || v->map[m].layer != v->map[m - 1].layer)
            status = tg_dump_stats_of_layer(&s, v->map[m].layer, &every, err);
        if (!status)
            tg_head_stats_merge(&sum[m], &s.heads[v->b * v->dump->H + v->map[m].head]);
    }
    tg_dump_stats_close(&s);
    return status ? tg_err_in(err, v->name) : TG_OK;
}

static tg_status measure(headvis *d, const view *v, size_t n, tg_err *err)
{
    tg_head_stats *sum = calloc(v->n, sizeof *sum);
    tg_status status = TG_OK;

    d->measures = calloc(v->n, sizeof *d->measures);
    if (!sum || !d->measures)
        status = tg_fail_memory(err, v->n * sizeof *sum, "the measures");
    for (size_t i = 0; i < n && !status; i++)
        status = measure_text(sum, &v[i], err);
    for (size_t m = 0; m < v->n && !status; m++)
        d->measures[m] = (view_measures){sum[m].rows > 0, tg_head_stats_means(&sum[m])};
    free(sum);
    return status;
}

/* ---- memory */

/* A token's text, else its id, else its position. */
static void name_tokens(headvis_sequence *s)
{
    const tg_dump *dump = s->v->dump;

    for (size_t t = 0; t < dump->T; t++)
        if (s->v->label)
            memcpy(s->token[t], s->v->label[t], VIEW_LABEL);
        else
            snprintf(s->token[t], VIEW_LABEL, "%lld", dump->ids ? (long long)dump->ids[t] : (long long)t);
}

static tg_status make_sequence(headvis_sequence *s, const view *v, tg_err *err)
{
    const size_t T = v->dump->T, most = T * tg_size_min(HEADVIS_KEYS, T);

    *s = (headvis_sequence){.v = v, .token = calloc(T, sizeof *s->token)};
    s->pair = calloc(most, sizeof *s->pair);
    if (!s->token || !s->pair)
        return tg_fail_memory(err, T * (VIEW_LABEL + HEADVIS_KEYS * sizeof *s->pair), "a text's attention");
    name_tokens(s);
    return TG_OK;
}

tg_status headvis_make(headvis *d, view *v, size_t n, tg_err *err)
{
    size_t T = 0, scratch = 0;
    tg_status status;

    *d = (headvis){.intervals = tg_size_min(n, HEADVIS_INTERVALS), .seq = calloc(n, sizeof *d->seq)};
    if (!d->seq)
        return tg_fail_memory(err, n * sizeof *d->seq, "the texts");
    for (d->n = 0; d->n < n; d->n++) {
        T = tg_size_max(T, v[d->n].dump->T);
        scratch = tg_size_max(scratch, tg_dump_row_scratch(v[d->n].dump));
        if ((status = make_sequence(&d->seq[d->n], &v[d->n], err))) {
            d->n++;
            return status;
        }
    }
    d->row = calloc(T, sizeof *d->row);
    d->scratch = calloc(scratch, sizeof *d->scratch);
    if (!d->row || !d->scratch)
        return tg_fail_memory(err, T * sizeof *d->row + scratch * sizeof *d->scratch, "a row");
    return measure(d, v, n, err);
}

void headvis_free(headvis *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->seq[i].token);
        free(d->seq[i].pair);
    }
    free(d->seq);
    free(d->measures);
    free(d->row);
    free(d->scratch);
}

/* ---- attention */

/* key [HEADVIS_KEYS], in ascending order: the greatest of row [n], the first ones of equals.  Returns how
 * many. */
static size_t choose_keys(size_t *key, const float *row, size_t n)
{
    size_t k = 0;

    for (size_t j = 0; j < n; j++) {
        size_t least = 0;

        if (!(row[j] >= HEADVIS_LEAST))
            continue;
        for (size_t i = 1; i < k; i++)
            least = row[key[i]] <= row[key[least]] ? i : least;
        if (k == HEADVIS_KEYS && row[j] <= row[key[least]])
            continue;
        if (k == HEADVIS_KEYS)
            memmove(key + least, key + least + 1, (--k - least) * sizeof *key);
        key[k++] = j;
    }
    return k;
}

static void take_row(headvis_sequence *s, const float *row, size_t i)
{
    size_t key[HEADVIS_KEYS];
    const size_t n = choose_keys(key, row, i + 1);

    for (size_t k = 0; k < n; k++)
        s->pair[s->n++] = (headvis_pair){i, key[k], row[key[k]]};
    for (size_t j = 1; j <= i; j++)
        s->most = row[j] > s->most ? row[j] : s->most;
}

/* A text's interval is its place in the order of the greatest attention; equals are in the order given. */
static void set_intervals(headvis *d)
{
    for (size_t i = 0; i < d->n; i++) {
        size_t before = 0;

        for (size_t k = 0; k < d->n; k++)
            before += k < i ? d->seq[k].most <= d->seq[i].most : d->seq[k].most < d->seq[i].most;
        d->seq[i].interval = 1 + before * d->intervals / d->n;
    }
}

void headvis_take(headvis *d, size_t map)
{
    for (size_t i = 0; i < d->n; i++) {
        headvis_sequence *s = &d->seq[i];
        const view *v = s->v;

        s->n = 0;
        s->most = 0;
        for (size_t q = 0; q < v->dump->T; q++) {
            tg_dump_row(d->row, v->dump, v->map[map].layer, TG_ATTN_PROBS, v->b, v->map[map].head, q,
                        d->scratch);
            take_row(s, d->row, q);
        }
    }
    set_intervals(d);
}

/* ---- tokens */

static int by_token(const void *a, const void *b)
{
    return strcmp(((const headvis_weight *)a)->token, ((const headvis_weight *)b)->token);
}

static int by_weight(const headvis_weight *a, const headvis_weight *b, size_t side)
{
    if (a->weight[side] > b->weight[side])
        return -1;
    return a->weight[side] < b->weight[side] ? 1 : by_token(a, b);
}

static int by_query(const void *a, const void *b)
{
    return by_weight(a, b, 0);
}

static int by_key(const void *a, const void *b)
{
    return by_weight(a, b, 1);
}

void headvis_sort(headvis_weight *list, size_t n, bool keys)
{
    qsort(list, n, sizeof *list, keys ? by_key : by_query);
}

/* Add up neighbours of the same token; returns how many are left. */
static size_t merge(headvis_weight *list, size_t n)
{
    size_t kept = 0;

    for (size_t i = 1; i < n; i++)
        if (by_token(&list[kept], &list[i]) == 0) {
            list[kept].weight[0] += list[i].weight[0];
            list[kept].weight[1] += list[i].weight[1];
        } else {
            list[++kept] = list[i];
        }
    return kept + 1;
}

tg_status headvis_weigh(headvis_weight **list, size_t *n, const headvis *d, tg_err *err)
{
    size_t all = 0, first = 0;

    for (size_t i = 0; i < d->n; i++)
        all += d->seq[i].v->dump->T;
    if (!(*list = calloc(tg_size_max(all, 1), sizeof **list)))
        return tg_fail_memory(err, all * sizeof **list, "the tokens");
    for (size_t i = 0; i < d->n; i++) {
        const headvis_sequence *s = &d->seq[i];

        for (size_t t = 0; t < s->v->dump->T; t++)
            (*list)[first + t].token = s->token[t];
        for (size_t k = 0; k < s->n; k++) {
            (*list)[first + s->pair[k].i].weight[0] += (double)s->pair[k].prob;
            (*list)[first + s->pair[k].j].weight[1] += (double)s->pair[k].prob;
        }
        first += s->v->dump->T;
    }
    qsort(*list, all, sizeof **list, by_token);
    *n = merge(*list, all);
    return TG_OK;
}
