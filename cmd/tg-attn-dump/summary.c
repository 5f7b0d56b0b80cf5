/* --summary: a line for each head: what it does. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/input.h"
#include "cmd/lines/table.h"
#include "lib/base/size.h"
#include "lib/dump/dump_rows.h"
#include "lib/heads/dump_stats.h"

/* What a line has, in this order. */
enum {
    LAYER,
    HEAD,
    B,
    ENTROPY,
    DIST,
    DIAG,
    PREV,
    FIRST,
    INDUCT,
    I,
    J,
    PROB,
    TOKEN_I,
    TOKEN_J,
    ID_I,
    ID_J,
    DUPLICATE
};
#define COLUMNS (DUPLICATE + 1)

struct summary {
    const attn_input *input;
    tg_dump_stats *of_dump; /* NULL: the input's layers are computed */
    table table;
    char title[2][COLUMNS_TITLE_SIZE]; /* of the tokens */
    tg_head_stats *heads;
    double *row;
    tg_head_stats_scratch scratch;
};

static void place_summary(tg_arena *arena, void *context)
{
    struct summary *s = context;
    const tg_attn_layers *n = &s->input->layers;

    s->row = tg_arena_take(arena, n->T, sizeof *s->row);
    if (s->of_dump)
        return;
    s->heads = tg_arena_take(arena, n->B * n->H, sizeof *s->heads);
    tg_head_stats_place(arena, &s->scratch, n->T, n->D);
}

/* ---- lines */

#define BIT(column) (1u << (column))
#define TOKENS (BIT(TOKEN_I) | BIT(TOKEN_J))

/* In text the ids are parts of the tokens' labels, and a line has no room for duplicate. */
static void set_table(struct summary *s, table_format format)
{
    static const table_column of_heads[COLUMNS] = {
        [LAYER] = {"layer", "layer", TABLE_SIZE, 7, 0, 0},
        [HEAD] = {"head", "head", TABLE_SIZE, 4, 0, 0},
        [B] = {"b", "b", TABLE_SIZE, 4, 0, 0},
        [ENTROPY] = {"entropy", "entropy", TABLE_DOUBLE, 7, 0, 4},
        [DIST] = {"distance", "dist", TABLE_DOUBLE, 6, 0, 2},
        [DIAG] = {"diagonal", "diag", TABLE_DOUBLE, 5, 0, 3},
        [PREV] = {"previous", "prev", TABLE_DOUBLE, 5, 0, 3},
        [FIRST] = {"first", "first", TABLE_DOUBLE, 5, 0, 3},
        [INDUCT] = {"induction", "induct", TABLE_DOUBLE, 6, 0, 3},
        [I] = {"i", "i", TABLE_SIZE, 3, 0, 0},
        [J] = {"j", "j", TABLE_SIZE, 3, 0, 0},
        [PROB] = {"prob", "prob", TABLE_DOUBLE, 5, 0, 3},
        [TOKEN_I] = {"token_i", NULL, TABLE_STRING, 0, 0, 0},
        [TOKEN_J] = {"token_j", NULL, TABLE_STRING, 0, 0, 0},
        [ID_I] = {"id_i", NULL, TABLE_SIZE, 0, 0, 0},
        [ID_J] = {"id_j", NULL, TABLE_SIZE, 0, 0, 0},
        [DUPLICATE] = {"duplicate", NULL, TABLE_DOUBLE, 0, 0, 0},
    };
    const tg_attn_layers *n = &s->input->layers;
    table *t = &s->table;

    *t = (table){.format = format, .n = COLUMNS};
    memcpy(t->column, of_heads, sizeof of_heads);
    if (format != TABLE_TEXT)
        return;
    t->column[I].width = t->column[J].width = tg_size_max(3, tg_decimal_digits(n->T - 1));
    t->hidden = BIT(ID_I) | BIT(ID_J) | BIT(DUPLICATE) | (n->B > 1 ? 0 : BIT(B));
    if (s->input->labels.text)
        columns_title_labels(&t->column[TOKEN_I], s->title, &s->input->labels, true);
    else
        t->hidden |= TOKENS;
}

/* Print the columns of a head that are not hidden. */
static void print_head(const struct summary *s, unsigned hidden, const tg_head_stats *head, size_t layer,
                       size_t h, size_t b)
{
    const attn_input *in = s->input;
    const tg_head_means m = tg_head_stats_means(head);
    const tg_head_pair *pair = &head->pair;
    const bool text = s->table.format == TABLE_TEXT, tokens = pair->exists && in->labels.text;
    const unsigned of_rows = head->rows > 0 ? CELL_VALUE : CELL_MISSING;
    const unsigned of_pair = pair->exists ? CELL_VALUE : CELL_MISSING;
    const unsigned id = tokens ? CELL_VALUE : CELL_MISSING, word = tokens ? CELL_WORD : CELL_MISSING;
    const token_labels *labels = text ? &in->labels : &in->values;
    char padded[COLUMNS_PADDED_SIZE];
    const table_cell cells[COLUMNS] = {
        [LAYER] = {.size = layer},
        [HEAD] = {.size = h},
        [B] = {.size = b},
        [ENTROPY] = {.kind = of_rows, .real = m.entropy},
        [DIST] = {.kind = of_rows, .real = m.distance},
        [DIAG] = {.kind = of_rows, .real = m.diagonal},
        [PREV] = {.kind = of_rows, .real = m.previous},
        [FIRST] = {.kind = of_rows, .real = m.first},
        [INDUCT] = {.kind = m.repeats ? CELL_VALUE : CELL_MISSING, .real = m.induction},
        [I] = {.kind = of_pair, .size = pair->i},
        [J] = {.kind = of_pair, .size = pair->j},
        /* in TSV and JSON the digits that its row has */
        [PROB] = {.kind = of_pair, .real = text ? pair->prob : (double)(float)pair->prob},
        [TOKEN_I] = {.kind = word, .text = columns_pad_label(padded, labels, pair->i)},
        [TOKEN_J] = {.kind = word, .text = label_of(labels, pair->j)},
        [ID_I] = {.kind = id, .size = tokens ? (size_t)in->prompt.ids[pair->i] : 0},
        [ID_J] = {.kind = id, .size = tokens ? (size_t)in->prompt.ids[pair->j] : 0},
        [DUPLICATE] = {.kind = m.copies ? CELL_VALUE : CELL_MISSING, .real = m.duplicate},
    };
    table t = s->table;

    t.hidden |= hidden | (text && !tokens ? TOKENS : 0);
    table_print_line(&t, cells);
}

/* ---- the header of a text */

static tg_attention_rule rule_of(const struct summary *s, size_t l)
{
    return s->of_dump ? tg_dump_rule(s->of_dump->dump, l) : tg_attn_layers_rule(&s->input->layers, l);
}

/* A head that attends equally to all keys that it sees. */
static void print_uniform_of(const struct summary *s, const char *name, const tg_attn_filter *filter,
                             const tg_attention_rule *rule)
{
    tg_head_stats uniform;

    tg_head_stats_uniform(&uniform, s->row, s->input->layers.T, s->input->layers.ids, filter, rule);
    printf("# %-10s%s", name, s->input->layers.B > 1 ? "     " : "");
    print_head(s, ~(BIT(INDUCT + 1) - BIT(ENTROPY)), &uniform, 0, 0, 0);
}

/* For comparison; for layers with a window, and for those without. */
static void print_uniform(const struct summary *s, const tg_attn_filter *filter)
{
    const tg_attn_layers *n = &s->input->layers;
    tg_attention_rule full = {0, 0, 0}, windowed = {0, 0, 0};
    bool any_full = false;

    for (size_t l = 0; l < n->L; l++) {
        const tg_attention_rule rule = rule_of(s, l);

        if (rule.window > 0 && tg_attn_keeps(filter->layer, l))
            windowed = rule;
        any_full = any_full || (rule.window == 0 && tg_attn_keeps(filter->layer, l));
    }
    if (any_full)
        print_uniform_of(s, "uniform:", filter, &full);
    if (windowed.window > 0)
        print_uniform_of(s, "in window:", filter, &windowed);
}

static bool has_window(const struct summary *s)
{
    const tg_attn_layers *n = &s->input->layers;

    for (size_t l = 0; l < n->L; l++)
        if (tg_attn_keeps(n->filter.layer, l) && rule_of(s, l).window > 0)
            return true;
    return false;
}

static void print_explanation(const struct summary *s)
{
    printf("# %s\n", s->input->title);
    printf("# means over the queries i > 0 of p, the probabilities of a head:\n"
           "# entropy  -(sum of p ln p), nats    dist  sum of p (i - j), tokens\n"
           "# diag, prev, first  p at j = i, j = i - 1, j = 0\n");
    if (s->input->layers.ids)
        printf("# induct   p at j < i that follow a copy of token i; of queries with such a j\n");
    printf(has_window(s) ? "# i, j     the pair j < i that stands out most from equal attention, and its p:\n"
                           "#          p ln(p n) is greatest, for n keys that i sees\n"
                         : "# i, j     the pair j < i that stands out most from equal attention, and its p:\n"
                           "#          p ln(p (i + 1)) is greatest\n");
}

/* ---- all heads */

static void print_header(const struct summary *s, const tg_attn_filter *filter)
{
    const bool text = s->table.format == TABLE_TEXT;

    if (text)
        print_explanation(s);
    table_print_titles(&s->table);
    if (text)
        print_uniform(s, filter);
}

static void print_layer(const struct summary *s, size_t layer, const tg_attn_filter *filter)
{
    const tg_attn_layers *n = &s->input->layers;

    for (size_t b = 0; b < n->B; b++)
        for (size_t h = 0; h < n->H; h++)
            if (tg_attn_keeps(filter->head, h))
                print_head(s, 0, &s->heads[b * n->H + h], layer, h, b);
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
    return tg_attn_layers_check(layers, err);
}

/* ---- the heads of a dump */

static tg_status print_dump(struct summary *s, const tg_attn_filter *filter, tg_err *err)
{
    const tg_dump *dump = s->of_dump->dump;
    bool any = false;

    for (size_t l = 0; l < dump->n; l++) {
        const tg_dump_layer *layer = &dump->layer[l];

        if (!tg_dump_stats_can(layer))
            continue;
        if (tg_dump_stats_of_layer(s->of_dump, layer, filter, err))
            return err->code;
        print_layer(s, layer->number, filter);
        any = true;
    }
    return any ? TG_OK
               : tg_fail(err, TG_EDATA,
                         "the dump has no probabilities, nor scores or q and k to make them from");
}

/* ---- a model, or a dump */

static tg_status show_heads(attn_input *in, tg_dump_stats *of_dump, const attn_options *o, tg_err *err)
{
    struct summary s = {.input = in, .of_dump = of_dump, .heads = of_dump ? of_dump->heads : NULL};
    tg_arena arena;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_summary, &s, err)))
        return status;
    set_table(&s, o->format);
    if (!o->no_header)
        print_header(&s, &in->layers.filter);
    status = of_dump ? print_dump(&s, &in->layers.filter, err) : print_layers(&s, &in->layers, err);
    tg_arena_free(&arena);
    return status;
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    return show_heads(in, NULL, o, err);
}

static tg_status show_dump(const tg_dump *dump, const attn_options *o, tg_err *err)
{
    attn_input in = {.layers = {.L = dump->n_layer,
                                .B = dump->B,
                                .T = dump->T,
                                .C = dump->C,
                                .H = dump->H,
                                .KV = dump->KV,
                                .D = dump->D,
                                .filter = TG_ATTN_KEEP_ALL}};
    tg_dump_stats stats;
    tg_status status;

    if ((status = tg_attn_layers_select(&in.layers, &o->filter, err)))
        return status;
    if (dump->n == 0)
        return tg_fail(err, TG_EDATA, "the dump has no such layer");
    if ((status = tg_dump_stats_open(&stats, dump, err)))
        return status;
    in.layers.ids = stats.ids;
    snprintf(in.title, sizeof in.title, "a dump of %zu token%s through %zu layer%s of %zu head%s", dump->T,
             cli_plural(dump->T), dump->n_layer, cli_plural(dump->n_layer), dump->H, cli_plural(dump->H));
    status = show_heads(&in, &stats, o, err);
    tg_dump_stats_close(&stats);
    return status;
}

/* ---- the job */

static bool wanted;
static const char *path; /* of a dump, or NULL */

static tg_status run(const attn_options *o, tg_err *err)
{
    const tg_dump_want want = {.layer = o->filter.layer, .stages = tg_dump_rows_stages(TG_ATTN_PROBS)};
    tg_dump dump;
    tg_status status;
    int fd;

    if (!path)
        return input_run(&summary_job, o, err);
    if ((status = cli_open_input(&fd, path, err)))
        return status;
    if (!(status = tg_dump_read(&dump, fd, want, err))) {
        status = show_dump(&dump, o, err);
        tg_dump_free(&dump);
    }
    cli_close_input(fd);
    return status ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

static int check(const attn_options *o)
{
    if (path && !wanted)
        return cli_usage("--dump goes with --summary");
    if (path && (o->model || cli_text_given(&o->text) || o->text.bos || o->text.no_bos || o->qkv ||
                 o->example != NOT_GIVEN || o->heads != NOT_GIVEN))
        return cli_usage("--dump has its model's numbers, text and heads: give no other input");
    return CLI_OK;
}

static const cli_option own[] = {
    CLI_FLAG_OPTION(0, "summary", &wanted, "print a line of statistics per head"),
    CLI_INPUT_OPTION(0, "dump", &path, "FILE",
                     "with --summary: of the dump in FILE, in place of a model's pass"),
};

const job summary_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "shows statistics per head, not numbers with offsets",
    .accepts = "model|prompt|example|qkv|layer|head|query|heads|format|no-header|threads",
    .check = check,
    .show = show,
    .run = run,
};
