/* A line for each element of the scores: its numbers and their offsets. */
#include <math.h>
#include <unistd.h>

#include "cmd/lines/columns.h"
#include "cmd/tg-attn-dump/input.h"
#include "cmd/tg-attn-dump/places.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"

#define ATT_PER_LINE 4    /* numbers of a weighted sum per line */
#define ATT_TEXT_SIZE 512 /* bytes of all its lines */

/* ---- the header */

static void print_vector(const char *name, const tg_attn_shape *s)
{
    printf("# %s ", name);
    print_shape(s);
    printf(", strides ");
    print_list(s->stride, s->n);
    putchar('\n');
}

/* Heads that share keys, or are not C/H wide. */
static void print_own_heads(const tg_qkv_view *a, const places *p)
{
    if (a->KV == a->H) {
        print_vector("q, k, v, att", &p->vector);
        return;
    }
    print_vector("q, att", &p->vector);
    print_vector("k, v", &p->keys);
    printf("#   head h of q reads head h/(H/KV) = h/%zu of k and v\n", p->group);
}

static void print_vectors(const tg_qkv_view *a, const places *p)
{
    const bool copied = a->layout == TG_ATTN_BHTD;

    if (!places_divide(a)) {
        print_own_heads(a, p);
        return;
    }
    printf("# q, k, v, att ");
    if (a->H == 1) {
        print_shape(&p->whole);
        printf(", strides ");
    } else {
        print_shape(copied ? &p->vector : &p->whole);
        printf(copied ? ", a copy of " : " seen as ");
        print_shape(copied ? &p->whole : &p->vector);
        printf("\n#   strides ");
    }
    print_list(p->vector.stride, p->vector.n);
    putchar('\n');
}

static void print_squares(const places *p)
{
    printf("# scores, probs ");
    print_shape(&p->square);
    printf(", strides ");
    print_list(p->square.stride, p->square.n);
}

static void print_bases(const places *p)
{
    printf("# q_base = ");
    print_base(p, 'i', NULL);
    printf("\n# k_base = ");
    print_base(p, 'j', NULL);
    putchar('\n');
}

/* Shapes and strides, and the formula of each offset. */
static void print_places(const tg_qkv_view *a)
{
    const places p = places_of(a);
    const bool one = places_one_head(a);

    print_vectors(a, &p);
    if (one) {
        print_squares(&p);
        printf("; one head\n");
        print_bases(&p);
        printf("# offset of scores[b,i,j] = ");
    } else {
        print_bases(&p);
        print_squares(&p);
        printf("\n# offset of scores[b,h,i,j] = ");
    }
    print_formulas(&p.square, one ? " = " : "\n#   = ", NULL);
    putchar('\n');
}

static void print_scale(size_t D, const tg_attention_rule *rule)
{
    const char *name = rule->cap > 0 ? "s" : "score";

    if (rule->cap > 0)
        printf("# score = cap * tanh(s / cap), cap = %.9g\n", rule->cap);
    printf("# %s = scale * sum of q.data[q_base + d] * k.data[k_base + d], d = 0..%zu\n", name, D - 1);
    if (rule->scale > 0)
        printf("# scale = %.8f, a setting of the model\n", rule->scale);
    else
        printf("# scale = 1/sqrt(D) = 1/sqrt(%zu) = %.8f\n", D, 1.0 / sqrt((double)D));
}

/* Name the layers that have a window, if others have none. */
static void print_window(const tg_attn_layers *n)
{
    size_t window = 0, with = 0, all = 0;
    const char *before = " in layer ";

    for (size_t l = 0; l < n->L; l++) {
        const size_t of_layer = tg_attn_layers_rule(n, l).window;

        all += tg_attn_keeps(n->filter.layer, l);
        if (of_layer > 0 && tg_attn_keeps(n->filter.layer, l)) {
            window = of_layer;
            with++;
        }
    }
    if (with == 0)
        return;
    printf(", or i - j >= %zu", window);
    for (size_t l = 0; with < all && l < n->L; l++)
        if (tg_attn_keeps(n->filter.layer, l) && tg_attn_layers_rule(n, l).window > 0) {
            printf("%s%zu", before, l);
            before = ",";
        }
}

static void print_meanings(const tg_attn_layers *n, tg_attn_mask mask)
{
    const tg_attention_rule rule = tg_attn_layers_rule(n, 0); /* the window alone differs between layers */
    const size_t D = n->D;

    print_scale(D, &rule);
    printf("# mask = 1 where j > i");
    print_window(n);
    printf(": the score is %.9g instead, the probability 0\n", (double)tg_attn_mask_value(mask));
    printf("# prob = exp(score), divided by its sum over j\n");
    if (D <= ATT_WIDTH_MAX)
        printf("# att = sum over j of prob * v.data[k_base + d]; it lies at q_base + d\n");
    printf("# l layer, h head, b sequence, i query, j key: all count from 0\n");
}

static void print_header(const attn_input *in, const attn_options *o)
{
    const tg_qkv_view view = tg_attn_layers_shape(&in->layers);

    input_print_title(in);
    print_places(&view);
    print_meanings(&in->layers, o->mask);
}

/* ---- rows, by all threads */

/* The text that a thread has made but not yet printed, and the error that stopped it. */
struct lane {
    table_text text;
    tg_status status;
    tg_err err;
};

struct dump {
    tg_attn_layers *layers;
    columns columns;
    bool att;          /* print the weighted sum after each row */
    bool titles;       /* print those of each head, in text, */
    size_t first;      /* before this query */
    struct lane *lane; /* [threads] */
    tg_status status;  /* of the walk, and its error */
    tg_err *err;
};

/* The weighted sum has the same offset in att as the query has in q. */
static void put_att(table_text *to, const tg_attn_row *row)
{
    const size_t D = row->view->D, base = tg_attn_base(row->view, row->b, row->i, row->h);
    char *at = to->text + to->n;

    for (size_t d = 0; d < D; d += ATT_PER_LINE) {
        const size_t end = tg_size_min(d + ATT_PER_LINE, D);

        at += sprintf(at, "# att.data[%zu..%zu] =", base + d, base + end - 1);
        for (size_t n = d; n < end; n++) {
            *at++ = ' ';
            at = tg_decimal_fixed(at, row->att[n]);
        }
        *at++ = '\n';
    }
    to->n = (size_t)(at - to->text);
}

static void put_row(void *context, const tg_attn_row *row, size_t thread)
{
    struct dump *d = context;
    struct lane *lane = &d->lane[thread];

    if (lane->status)
        return;
    if (!tg_attn_row_is_finite(row)) {
        lane->status = tg_attn_not_finite(row->layer, row->h, row->i, &lane->err);
        return;
    }
    if (d->titles && row->i == d->first) {
        lane->text.text[lane->text.n++] = '\n';
        table_put_titles(&lane->text, &d->columns.table);
    }
    columns_put_row(&lane->text, &d->columns, row);
    if (d->att)
        put_att(&lane->text, row);
}

static bool print_rows(void *context, size_t thread)
{
    struct dump *d = context;
    struct lane *lane = &d->lane[thread];

    fwrite(lane->text.text, 1, lane->text.n, stdout);
    lane->text.n = 0;
    if ((d->status = lane->status))
        *d->err = lane->err;
    return !cli_stdout_failed() && !d->status;
}

/* A lane holds a chunk of rows, with titles and the weighted sums. */
static void place_lanes(tg_arena *arena, void *context)
{
    struct dump *d = context;
    const size_t T = d->layers->T, keys = d->layers->filter.key == TG_ATTN_ALL ? T : 1;
    const size_t rows = tg_attn_chunk(T), lines = tg_size_mul_sat(rows, keys + 2);
    const size_t capacity = tg_size_add_sat(table_capacity(&d->columns.table, lines), rows * ATT_TEXT_SIZE);

    d->lane = tg_arena_take(arena, tg_threads(), sizeof *d->lane);
    for (size_t n = 0; n < tg_threads(); n++) {
        char *text = tg_arena_take(arena, capacity, 1);

        if (d->lane)
            d->lane[n] = (struct lane){.text = {text, 0}};
    }
}

static tg_status print_all(struct dump *d, tg_err *err)
{
    const tg_attn_visitor visitor = {.row = put_row, .turn = print_rows, .context = d, .att = d->att};
    tg_arena arena;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_lanes, d, err)))
        return status;
    status = tg_attn_layers_walk_parallel(d->layers, &visitor, err);
    tg_arena_free(&arena);
    return status ? status : d->status;
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    const columns_of of = input_columns(in, o);
    const bool text = of.format == TABLE_TEXT;
    struct dump d = {
        .layers = &in->layers,
        .att = text && of.stage != TG_ATTN_SCORES && of.view.D <= ATT_WIDTH_MAX,
        .titles = text && !o->no_header,
        .first = o->filter.query == TG_ATTN_ALL ? 0 : o->filter.query,
        .err = err,
    };

    tg_pipe_grow(STDOUT_FILENO);
    columns_set(&d.columns, &of);
    if (text && !o->no_header)
        print_header(in, o);
    else if (!o->no_header)
        table_print_titles(&d.columns.table);
    return print_all(&d, err);
}

const job rows_job = {.show = show};
