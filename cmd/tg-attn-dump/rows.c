/* A line for each element of scores: the numbers, and where they lie. */
#include <math.h>
#include <omp.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "formats/sink.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"

/* ---- the header */

/* Shapes and strides of q and its like: of the whole, and as heads. */
static void print_vectors(const tg_attn_view *a)
{
    const bool copied = a->layout == TG_ATTN_BHTD;
    tg_attn_shape whole, q;

    tg_attn_stage_shape(&whole, TG_ATTN_X, a);
    attn_vectors_shape(&q, a);
    printf("# q, k, v, att ");
    if (a->H == 1) {
        attn_print_shape(&whole);
        printf(", strides ");
    } else {
        attn_print_shape(copied ? &q : &whole);
        printf(copied ? ", a copy of " : " seen as ");
        attn_print_shape(copied ? &whole : &q);
        printf("\n#   strides ");
    }
    attn_print_list(q.stride, q.n);
    putchar('\n');
}

static void print_squares(const tg_attn_shape *scores)
{
    printf("# scores, probs ");
    attn_print_shape(scores);
    printf(", strides ");
    attn_print_list(scores->stride, scores->n);
}

static void print_bases(const tg_attn_view *a)
{
    printf("# q_base = ");
    attn_print_base(a, 'i', NULL);
    printf("\n# k_base = ");
    attn_print_base(a, 'j', NULL);
    putchar('\n');
}

/* Shapes and strides, and where an element lies, with the numbers put in. */
static void print_places(const tg_attn_view *a)
{
    tg_attn_shape scores;

    attn_squares_shape(&scores, a);
    print_vectors(a);
    if (a->H == 1) {
        print_squares(&scores);
        printf("; one head\n");
        print_bases(a);
        printf("# offset of scores[b,i,j] = ");
    } else {
        print_bases(a);
        print_squares(&scores);
        printf("\n# offset of scores[b,h,i,j] = ");
    }
    attn_print_indices(&scores, a->H == 1 ? " = " : "\n#   = ", NULL);
    putchar('\n');
}

static void print_formulas(const tg_attn_view *a, tg_attn_mask mask)
{
    const size_t D = a->C / a->H;

    printf("# score = scale * sum of q.data[q_base + d] * k.data[k_base + d], d = 0..%zu\n", D - 1);
    printf("# scale = 1/sqrt(D) = 1/sqrt(%zu) = %.8f\n", D, 1.0 / sqrt((double)D));
    printf("# mask = 1 where j > i: the score is %.9g instead, the probability 0\n",
           (double)tg_attn_mask_value(mask));
    printf("# prob = exp(score), divided by its sum over j\n");
    if (D <= ATTN_ATT_WIDEST)
        printf("# att = sum over j of prob * v.data[k_base + d]; it lies at q_base + d\n");
    printf("# l layer, h head, b sequence, i query, j key: all count from 0\n");
}

tg_attn_view attn_shape(const attn_subject *s)
{
    const tg_attn_layers *n = &s->layers;

    return (tg_attn_view){.B = n->B, .T = n->T, .C = n->C, .H = n->H, .layout = n->layout};
}

void attn_print_title(const attn_subject *s)
{
    printf("# %s\n", s->title);
    if (s->remark)
        printf("# %s\n", s->remark);
}

/* The first line or lines say what is shown; then what all have in common. */
static void print_header(const attn_subject *s, const attn_options *o)
{
    const tg_attn_view view = attn_shape(s);

    attn_print_title(s);
    print_places(&view);
    print_formulas(&view, (tg_attn_mask)o->mask);
}

/* ---- rows, by all threads */

/* What a thread has made and not yet printed, and why it stopped. */
struct lane {
    tg_attn_text text;
    tg_status status;
    tg_err err;
};

struct dump {
    tg_attn_columns columns;
    bool att;     /* shown behind each row */
    size_t first; /* query of a head, above which the titles stand */
    struct lane *lane;
    size_t lanes;
    tg_err *err;
};

/* The weighted sum lies in att where q's row lies in q. */
static void put_att(tg_attn_text *to, const tg_attn_row *row)
{
    const size_t D = row->view->C / row->view->H, base = tg_attn_base(row->view, row->b, row->i, row->h);
    char *at = to->text + to->n;

    for (size_t d = 0; d < D; d += ATTN_ATT_IN_LINE) {
        const size_t end = tg_size_min(d + ATTN_ATT_IN_LINE, D);

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
    if (d->columns.format == TG_ATTN_TEXT && row->i == d->first) {
        lane->text.text[lane->text.n++] = '\n';
        tg_attn_put_titles(&lane->text, &d->columns);
    }
    tg_attn_put_row(&lane->text, &d->columns, row);
    if (d->att)
        put_att(&lane->text, row);
}

static bool print_rows(void *context, size_t thread)
{
    struct dump *d = context;
    struct lane *lane = &d->lane[thread];

    fwrite(lane->text.text, 1, lane->text.n, stdout);
    lane->text.n = 0;
    if (lane->status)
        *d->err = lane->err;
    return !cli_stdout_failed() && !lane->status;
}

/* A lane holds a chunk of rows, with titles and what stands behind a row. */
static void place_lanes(tg_arena *arena, struct dump *d, size_t T, size_t keys)
{
    const size_t rows = tg_attn_chunk(T);
    size_t room, lines;

    d->lanes = (size_t)omp_get_max_threads();
    d->lane = tg_arena_take(arena, d->lanes, sizeof *d->lane);
    if (!tg_size_mul(&lines, rows, keys + 2) ||
        !tg_size_add(&room, tg_attn_columns_room(&d->columns, lines), rows * ATTN_ATT_ROOM))
        room = SIZE_MAX; /* which the arena will not find */
    for (size_t n = 0; n < d->lanes; n++) {
        char *text = tg_arena_take(arena, room, 1);

        if (d->lane)
            d->lane[n] = (struct lane){.text = {text, 0}};
    }
}

static tg_status print_all(struct dump *d, attn_subject *s, const tg_attn_pick *pick, tg_err *err)
{
    const tg_attn_team team = {.row = put_row, .turn = print_rows, .context = d, .att = d->att};
    const size_t T = s->layers.T, keys = pick->key == TG_ATTN_ALL ? T : 1;
    tg_arena arena = {0};
    tg_status status;

    place_lanes(&arena, d, T, keys);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    place_lanes(&arena, d, T, keys);
    status = tg_attn_layers_walk_team(&s->layers, pick, &team, err);
    for (size_t n = 0; n < d->lanes && !status; n++)
        status = d->lane[n].status ? d->err->code : TG_OK;
    tg_arena_free(&arena);
    return status;
}

void attn_print_titles(const tg_attn_columns *columns)
{
    char room[1024];
    tg_attn_text titles = {room, 0};

    tg_attn_put_titles(&titles, columns);
    fwrite(room, 1, titles.n, stdout);
}

tg_status attn_show_rows(attn_subject *s, const attn_options *o, tg_err *err)
{
    const tg_attn_view view = attn_shape(s);
    const tg_attn_labels labels = attn_labels(s);
    const bool text = o->format == TG_ATTN_TEXT;
    struct dump d = {
        .att = text && o->stage != TG_ATTN_SCORES && view.C / view.H <= ATTN_ATT_WIDEST,
        .first = o->pick.query == TG_ATTN_ALL ? 0 : o->pick.query,
        .err = err,
    };
    tg_status status = tg_attn_pick_check(&o->pick, s->layers.L, view.H, view.T, err);

    if (status)
        return status;
    tg_pipe_grow(STDOUT_FILENO);
    tg_attn_columns_set(&d.columns, (tg_attn_stage)o->stage, &view, s->layers.L, (tg_attn_format)o->format,
                        (tg_attn_mask)o->mask, &labels);
    if (text)
        print_header(s, o);
    else
        attn_print_titles(&d.columns);
    return print_all(&d, s, &o->pick, err);
}
