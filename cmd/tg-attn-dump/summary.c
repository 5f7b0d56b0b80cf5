/* A line for each head: what it is like. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "cmd/tg-attn-dump/record.h"
#include "lib/attn/heads.h"
#include "lib/base/size.h"

struct summary {
    const attn_subject *subject;
    bool text; /* else records */
    attn_record record;
    bool batch;    /* there is more than one sequence: say which */
    int positions; /* columns that a position takes */
    tg_heads_sum *heads;
    double *row;
    tg_heads_work work;
};

static void place(tg_arena *arena, struct summary *s)
{
    const tg_attn_layers *n = &s->subject->layers;

    s->heads = tg_arena_take(arena, n->B * n->H, sizeof *s->heads);
    s->row = tg_arena_take(arena, n->T, sizeof *s->row);
    tg_heads_place(arena, &s->work, n->T, n->C / n->H);
}

/* ---- as text */

static void print_titles(const struct summary *s)
{
    printf("# layer head%s entropy   dist  diag  prev first induct %*s %*s  prob%s\n",
           s->batch ? "    b" : "", s->positions, "i", s->positions, "j",
           s->subject->label ? " tokens i,j" : "");
}

static void print_numbers(const tg_heads_sum *head)
{
    const tg_heads_row m = tg_heads_means(head);

    if (head->rows > 0)
        printf(" %7.4f %6.2f %5.3f %5.3f %5.3f", m.entropy, m.distance, m.diagonal, m.previous, m.first);
    else
        printf(" %7s %6s %5s %5s %5s", "-", "-", "-", "-", "-");
    if (m.repeats)
        printf(" %6.3f", m.induction);
    else
        printf(" %6s", "-");
}

static void print_pair(const struct summary *s, const tg_heads_pair *pair)
{
    const attn_subject *of = s->subject;

    if (pair->found)
        printf(" %*zu %*zu %5.3f", s->positions, pair->i, s->positions, pair->j, pair->prob);
    else
        printf(" %*s %*s %5s", s->positions, "-", s->positions, "-", "-");
    if (pair->found && of->label)
        printf(" %-*s %s", (int)of->label_width, of->label[pair->i], of->label[pair->j]);
}

static void print_text(const struct summary *s, const tg_heads_sum *head, size_t layer, size_t h, size_t b)
{
    printf("%7zu %4zu", layer, h);
    if (s->batch)
        printf(" %4zu", b);
    print_numbers(head);
    print_pair(s, &head->pair);
    putchar('\n');
}

/* What a head that looks everywhere alike would have: what the others are to be measured by. */
static void print_uniform(const struct summary *s, const tg_attn_pick *pick)
{
    tg_heads_sum uniform;

    tg_heads_uniform(&uniform, s->row, s->subject->layers.T, s->subject->layers.ids, pick);
    printf("# uniform:  %s", s->batch ? "     " : "");
    print_numbers(&uniform);
    putchar('\n');
}

static void print_explanation(const struct summary *s, const tg_attn_pick *pick)
{
    printf("# %s\n", s->subject->title);
    printf("# means over the queries i > 0 of p, the probabilities of a head:\n"
           "# entropy  -(sum of p ln p), nats    dist  sum of p (i - j), tokens\n"
           "# diag, prev, first  p at j = i, j = i - 1, j = 0\n");
    if (s->subject->label)
        printf("# induct   p at all j < i behind a token like i; of the queries with such a j\n");
    printf("# i, j     the pair j < i whose p ln(p (i + 1)) is greatest, and its p\n");
    print_titles(s);
    print_uniform(s, pick);
}

/* ---- for a program */

static void put_label(attn_record *r, const char *name, const char *quoted)
{
    attn_put_text(r, name, quoted != NULL, quoted ? quoted + 1 : NULL, quoted ? strlen(quoted) - 2 : 0);
}

static void print_record(struct summary *s, const tg_heads_sum *head, size_t layer, size_t h, size_t b)
{
    attn_record *r = &s->record;
    const tg_heads_row m = tg_heads_means(head);
    const tg_heads_pair *pair = &head->pair;
    const bool rows = head->rows > 0, labels = pair->found && s->subject->label;

    attn_put_size(r, "layer", true, layer);
    attn_put_size(r, "head", true, h);
    attn_put_size(r, "b", true, b);
    attn_put_real(r, "entropy", rows, m.entropy);
    attn_put_real(r, "distance", rows, m.distance);
    attn_put_real(r, "diagonal", rows, m.diagonal);
    attn_put_real(r, "previous", rows, m.previous);
    attn_put_real(r, "first", rows, m.first);
    attn_put_real(r, "induction", m.repeats, m.induction);
    attn_put_size(r, "i", pair->found, pair->i);
    attn_put_size(r, "j", pair->found, pair->j);
    attn_put_real(r, "prob", pair->found, (double)(float)pair->prob); /* as its own line has it */
    put_label(r, "token_i", labels ? s->subject->label[pair->i] : NULL);
    put_label(r, "token_j", labels ? s->subject->label[pair->j] : NULL);
    attn_end_record(r);
}

/* ---- */

static void print_header(struct summary *s, const tg_attn_pick *pick)
{
    if (s->text) {
        print_explanation(s, pick);
    } else if (!s->record.json) {
        s->record.titles = true;
        print_record(s, &(tg_heads_sum){0}, 0, 0, 0);
        s->record.titles = false;
    }
}

static void print_head(struct summary *s, const tg_heads_sum *head, size_t layer, size_t h, size_t b)
{
    if (s->text)
        print_text(s, head, layer, h, b);
    else
        print_record(s, head, layer, h, b);
}

static void print_layer(struct summary *s, size_t layer, const tg_attn_pick *pick)
{
    const tg_attn_layers *n = &s->subject->layers;

    for (size_t b = 0; b < n->B; b++) {
        for (size_t h = 0; h < n->H; h++) {
            if (tg_attn_picks(pick->head, h))
                print_head(s, &s->heads[b * n->H + h], layer, h, b);
        }
    }
}

static tg_status each_layer(struct summary *s, tg_attn_layers *layers, const tg_attn_pick *pick, tg_err *err)
{
    tg_attn_layer layer;
    tg_status status;

    while (tg_attn_layers_find(layers, pick->layer, &layer)) {
        if ((status = tg_heads_of_layer(s->heads, &layer, layers->ids, pick, &s->work, err)))
            return status;
        print_layer(s, layer.number, pick);
        (void)fflush(stdout);
        if (cli_stdout_failed())
            return TG_OK; /* which closing it is going to report */
    }
    return TG_OK;
}

tg_status attn_show_summary(attn_subject *subject, const attn_options *o, tg_err *err)
{
    const tg_attn_layers *n = &subject->layers;
    struct summary s = {
        .subject = subject,
        .text = o->format == TG_ATTN_TEXT,
        .record.json = o->format == TG_ATTN_JSONL,
        .batch = n->B > 1,
        .positions = (int)tg_size_max(3, (size_t)snprintf(NULL, 0, "%zu", n->T - 1)),
    };
    tg_arena arena = {0};
    tg_status status = tg_attn_pick_check(&o->pick, n->L, n->H, n->T, err);

    if (status)
        return status;
    place(&arena, &s);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    place(&arena, &s);
    print_header(&s, &o->pick);
    status = each_layer(&s, &subject->layers, &o->pick, err);
    tg_arena_free(&arena);
    return status;
}
