/* --summary: a line for each head: what it does. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/input.h"
#include "cmd/tg-attn-dump/table.h"
#include "lib/base/size.h"
#include "lib/heads/head_stats.h"

struct summary {
    const attn_input *input;
    table_format format;
    bool batch;    /* several sequences: show which */
    int positions; /* columns of a position, in text */
    tg_head_stats *heads;
    double *row;
    tg_head_stats_scratch scratch;
};

static void place_summary(tg_arena *arena, void *context)
{
    struct summary *s = context;
    const tg_attn_layers *n = &s->input->layers;

    s->heads = tg_arena_take(arena, n->B * n->H, sizeof *s->heads);
    s->row = tg_arena_take(arena, n->T, sizeof *s->row);
    tg_head_stats_place(arena, &s->scratch, n->T, n->D);
}

/* ---- as text */

static void print_titles(const struct summary *s)
{
    char title[COLUMNS_LABEL_TITLE];

    columns_label_title(title, &s->input->labels, true);
    printf("# layer head%s entropy   dist  diag  prev first induct %*s %*s  prob%s\n",
           s->batch ? "    b" : "", s->positions, "i", s->positions, "j", title);
}

static void print_numbers(const tg_head_stats *head)
{
    const tg_head_means m = tg_head_stats_means(head);

    if (head->rows > 0)
        printf(" %7.4f %6.2f %5.3f %5.3f %5.3f", m.entropy, m.distance, m.diagonal, m.previous, m.first);
    else
        printf(" %7s %6s %5s %5s %5s", "-", "-", "-", "-", "-");
    if (m.repeats)
        printf(" %6.3f", m.induction);
    else
        printf(" %6s", "-");
}

static void print_tokens(const token_labels *labels, size_t i, size_t j)
{
    const char *label_i = labels->text + i * labels->size, *label_j = labels->text + j * labels->size;

    printf(" %s%*s%s", label_i, (int)columns_label_padding(labels, label_i), "", label_j);
}

static void print_pair(const struct summary *s, const tg_head_pair *pair)
{
    if (pair->exists)
        printf(" %*zu %*zu %5.3f", s->positions, pair->i, s->positions, pair->j, pair->prob);
    else
        printf(" %*s %*s %5s", s->positions, "-", s->positions, "-", "-");
    if (pair->exists && input_has_tokens(s->input))
        print_tokens(&s->input->labels, pair->i, pair->j);
}

static void print_text(const struct summary *s, const tg_head_stats *head, size_t layer, size_t h, size_t b)
{
    printf("%7zu %4zu", layer, h);
    if (s->batch)
        printf(" %4zu", b);
    print_numbers(head);
    print_pair(s, &head->pair);
    putchar('\n');
}

/* For comparison: a head that attends equally to all keys. */
static void print_uniform(const struct summary *s, const tg_attn_filter *filter)
{
    tg_head_stats uniform;

    tg_head_stats_uniform(&uniform, s->row, s->input->layers.T, s->input->layers.ids, filter);
    printf("# uniform:  %s", s->batch ? "     " : "");
    print_numbers(&uniform);
    putchar('\n');
}

static void print_explanation(const struct summary *s, const tg_attn_filter *filter)
{
    printf("# %s\n", s->input->title);
    printf("# means over the queries i > 0 of p, the probabilities of a head:\n"
           "# entropy  -(sum of p ln p), nats    dist  sum of p (i - j), tokens\n"
           "# diag, prev, first  p at j = i, j = i - 1, j = 0\n");
    if (input_has_tokens(s->input))
        printf("# induct   p at all j < i after a copy of token i; only of queries with such a j\n");
    printf("# i, j     the pair j < i whose p ln(p (i + 1)) is greatest, and its p\n");
    print_titles(s);
    print_uniform(s, filter);
}

/* ---- as TSV and JSON */

static table columns_for(table_format format)
{
    return (table){
        .format = format,
        .n = 16,
        .column = {{"layer", "", TABLE_SIZE, 0, 0},
                   {"head", "", TABLE_SIZE, 0, 0},
                   {"b", "", TABLE_SIZE, 0, 0},
                   {"entropy", "", TABLE_DOUBLE, 0, 0},
                   {"distance", "", TABLE_DOUBLE, 0, 0},
                   {"diagonal", "", TABLE_DOUBLE, 0, 0},
                   {"previous", "", TABLE_DOUBLE, 0, 0},
                   {"first", "", TABLE_DOUBLE, 0, 0},
                   {"induction", "", TABLE_DOUBLE, 0, 0},
                   {"i", "", TABLE_SIZE, 0, 0},
                   {"j", "", TABLE_SIZE, 0, 0},
                   {"prob", "", TABLE_DOUBLE, 0, 0},
                   {"token_i", "", TABLE_STRING, 0, 0},
                   {"token_j", "", TABLE_STRING, 0, 0},
                   {"id_i", "", TABLE_SIZE, 0, 0},
                   {"id_j", "", TABLE_SIZE, 0, 0}},
    };
}

static table_cell size_if(bool known, size_t value)
{
    return (table_cell){.kind = known ? CELL_VALUE : CELL_MISSING, .size = value};
}

static table_cell real_if(bool known, double value)
{
    return (table_cell){.kind = known ? CELL_VALUE : CELL_MISSING, .real = value};
}

/* A token's text, which `text` holds; missing if `known` is false or the input has no tokens. */
static table_cell token_if(bool known, char text[TOKEN_TEXT_SIZE], const attn_input *in, size_t t)
{
    if (!known || !input_has_tokens(in))
        return (table_cell){.kind = CELL_MISSING};
    return (table_cell){.text = text, .n = input_token(text, in, t)};
}

static table_cell id_if(bool known, const attn_input *in, size_t t)
{
    known = known && input_has_tokens(in);
    return size_if(known, known ? (size_t)in->prompt.ids[t] : 0);
}

static void print_record(const struct summary *s, const tg_head_stats *head, size_t layer, size_t h, size_t b)
{
    const table t = columns_for(s->format);
    const tg_head_means m = tg_head_stats_means(head);
    const tg_head_pair *pair = &head->pair;
    const bool rows = head->rows > 0;
    char token_i[TOKEN_TEXT_SIZE], token_j[TOKEN_TEXT_SIZE];
    const table_cell cells[] = {
        size_if(true, layer),
        size_if(true, h),
        size_if(true, b),
        real_if(rows, m.entropy),
        real_if(rows, m.distance),
        real_if(rows, m.diagonal),
        real_if(rows, m.previous),
        real_if(rows, m.first),
        real_if(m.repeats, m.induction),
        size_if(pair->exists, pair->i),
        size_if(pair->exists, pair->j),
        real_if(pair->exists, (double)(float)pair->prob), /* the digits that its row has */
        token_if(pair->exists, token_i, s->input, pair->i),
        token_if(pair->exists, token_j, s->input, pair->j),
        id_if(pair->exists, s->input, pair->i),
        id_if(pair->exists, s->input, pair->j),
    };

    table_print_line(&t, cells);
}

/* ---- all heads */

static void print_header(const struct summary *s, const tg_attn_filter *filter)
{
    const table t = columns_for(s->format);

    if (s->format == TABLE_TEXT)
        print_explanation(s, filter);
    else
        table_print_titles(&t);
}

static void print_layer(const struct summary *s, size_t layer, const tg_attn_filter *filter)
{
    const tg_attn_layers *n = &s->input->layers;

    for (size_t b = 0; b < n->B; b++) {
        for (size_t h = 0; h < n->H; h++) {
            const tg_head_stats *head = &s->heads[b * n->H + h];

            if (!tg_attn_keeps(filter->head, h))
                continue;
            if (s->format == TABLE_TEXT)
                print_text(s, head, layer, h, b);
            else
                print_record(s, head, layer, h, b);
        }
    }
}

static tg_status print_layers(struct summary *s, tg_attn_layers *layers, tg_err *err)
{
    const tg_attn_filter *filter = &layers->filter;
    tg_attn_layer layer;
    tg_status status;

    while (tg_attn_layers_next(layers, &layer)) {
        if ((status = tg_head_stats_of_layer(s->heads, &layer, layers->ids, filter, &s->scratch, err)))
            return status;
        print_layer(s, layer.number, filter);
        (void)fflush(stdout);
        if (cli_stdout_failed())
            return TG_OK; /* cli_close_stdout() reports it */
    }
    return TG_OK;
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    struct summary s = {
        .input = in,
        .format = (table_format)o->format,
        .batch = in->layers.B > 1,
        .positions = (int)tg_size_max(3, tg_decimal_digits(in->layers.T - 1)),
    };
    tg_arena arena;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_summary, &s, err)))
        return status;
    if (!o->no_header)
        print_header(&s, &in->layers.filter);
    status = print_layers(&s, &in->layers, err);
    tg_arena_free(&arena);
    return status;
}

static tg_status run(const attn_options *o, tg_err *err)
{
    return input_run(show, o, err);
}

/* ---- the job */

static bool wanted;

static const cli_option own[] = {
    CLI_FLAG_OPTION(0, "summary", &wanted, "print a line of statistics per head"),
};
static const char *const accepts[] = {"model", "prompt", "example", "qkv",       "layer",   "head",
                                      "query", "heads",  "format",  "no-header", "threads", NULL};

const job summary_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "shows statistics per head, not numbers with offsets",
    .accepts = accepts,
    .run = run,
};
