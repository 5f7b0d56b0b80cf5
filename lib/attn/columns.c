#include "lib/attn/columns.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/size.h"

enum { LAYER, HEAD, B, I, J, T, D, C, Q_BASE, K_BASE, OFFSET, MASK, SCORE, PROB, VALUE, KINDS };
#define REALS SCORE /* the first of them */

/* The text's titles are the names, but for three that would not leave GPT-2's lines 80 columns. */
static const char titles[KINDS][8] = {"l",      "h",      "b",      "i",    "j",     "t",    "d",    "c",
                                      "q_base", "k_base", "offset", "mask", "score", "prob", "value"};
static const char names[KINDS][8] = {"layer",  "head",   "b",      "i",      "j",     "t",    "d",    "c",
                                     "q_base", "k_base", "offset", "masked", "score", "prob", "value"};

/* What each stage's lines show, after the layer. */
static const unsigned char channels[] = {B, T, C, OFFSET, VALUE, KINDS};
static const unsigned char of_heads[] = {HEAD, B, T, D, OFFSET, VALUE, KINDS};
static const unsigned char scores[] = {HEAD, B, I, J, Q_BASE, K_BASE, OFFSET, SCORE, MASK, KINDS};
static const unsigned char probs[] = {HEAD, B, I, J, OFFSET, PROB, KINDS};
static const unsigned char both[] = {HEAD, B, I, J, Q_BASE, K_BASE, OFFSET, SCORE, MASK, PROB, KINDS};
static const unsigned char *const kinds[TG_ATTN_EVERY + 1] = {
    channels, channels, of_heads, of_heads, of_heads, scores, probs, of_heads, channels, both};

/* ---- pieces of text */

/* Text is copied in steps of so many bytes, which is faster than counting them out: there
 * is room for one step too many behind every line. */
#define STEP 16
#define SLACK 64

static void put_text(tg_attn_text *to, const char *text, size_t n)
{
    memcpy(to->text + to->n, text, n);
    to->n += n;
}

static void put_word(tg_attn_text *to, const char *word)
{
    put_text(to, word, strlen(word));
}

static void put_spaces(tg_attn_text *to, size_t n)
{
    memset(to->text + to->n, ' ', n);
    to->n += n;
}

/* Right-aligned in `width` columns. */
static void put_right(tg_attn_text *to, const char *text, size_t n, size_t width)
{
    put_spaces(to, width > n ? width - n : 0);
    put_text(to, text, n);
}

static void put_size(tg_attn_text *to, size_t value, size_t width)
{
    if (width > 0) {
        const size_t n = tg_decimal_digits(value);

        put_spaces(to, width > n ? width - n : 0);
    }
    to->n = (size_t)(tg_decimal_size(to->text + to->n, value) - to->text);
}

static void put_real(tg_attn_text *to, double value, tg_attn_format format, size_t width)
{
    char text[TG_DECIMAL_ROOM];

    if (format == TG_ATTN_TEXT)
        put_right(to, text, (size_t)(tg_decimal_fixed(text, value) - text), width);
    else
        to->n = (size_t)(tg_decimal_float(to->text + to->n, (float)value) - to->text);
}

/* What stands before column number c: a gap, or in JSON its name. */
static void put_before(tg_attn_text *to, const tg_attn_columns *c, size_t column)
{
    if (c->format == TG_ATTN_JSONL) {
        put_word(to, column == 0 ? "{\"" : ",\"");
        put_word(to, names[c->kind[column]]);
        put_word(to, "\":");
    } else if (column > 0) {
        put_text(to, c->format == TG_ATTN_TSV ? "\t" : " ", 1);
    }
}

/* ---- columns */

/* The most that a number of each kind takes: the greatest place, or -999999999.12345678. */
static void set_most(size_t most[KINDS], const tg_attn_columns *c, tg_attn_stage stage, const tg_attn_view *a,
                     size_t L)
{
    const size_t base = tg_attn_base(a, a->B - 1, a->T - 1, a->H - 1);
    size_t greatest[MASK] = {L - 1, a->H - 1, a->B - 1, a->T - 1, a->T - 1, a->T - 1, 0, 0, base, base, 0};
    tg_attn_shape s;

    tg_attn_stage_shape(&s, stage == TG_ATTN_EVERY ? TG_ATTN_SCORES : stage, a);
    greatest[D] = greatest[C] = s.size[s.n - 1] - 1;
    greatest[OFFSET] = tg_attn_shape_count(&s) - 1;
    for (size_t kind = 0; kind < MASK; kind++)
        most[kind] = tg_decimal_digits(greatest[kind]);
    most[MASK] = c->format == TG_ATTN_JSONL ? strlen("false") : 1;
    for (size_t kind = REALS; kind < KINDS; kind++)
        most[kind] = strlen("-999999999.12345678");
}

/* As wide as the title and what is usual, or a masked score. */
static void set_widths(tg_attn_columns *c, const size_t most[KINDS])
{
    for (size_t n = 0; n < c->n; n++) {
        const size_t kind = c->kind[n];

        c->width[n] =
            tg_size_max(strlen(titles[kind]) + (n == 0), kind < REALS ? most[kind] : strlen("-10.00000000"));
        if (kind == PROB)
            c->width[n] = strlen("0.00000000");
        if (kind == SCORE)
            c->width[n] = tg_size_max(c->width[n], strlen(c->masked));
    }
}

static void set_masked(tg_attn_columns *c, tg_attn_mask mask)
{
    const float value = tg_attn_mask_value(mask);

    if (c->format == TG_ATTN_JSONL && !isfinite(value))
        snprintf(c->masked, sizeof c->masked, "null"); /* JSON has no infinity */
    else
        snprintf(c->masked, sizeof c->masked, "%.9g", (double)value);
}

void tg_attn_columns_set(tg_attn_columns *c, tg_attn_stage stage, const tg_attn_view *view, size_t L,
                         tg_attn_format format, tg_attn_mask mask, const tg_attn_labels *labels)
{
    size_t most[KINDS];

    *c = (tg_attn_columns){.format = format, .n = 1};
    c->kind[0] = LAYER;
    for (const unsigned char *kind = kinds[stage]; *kind != KINDS; kind++)
        c->kind[c->n++] = *kind;
    c->square = stage == TG_ATTN_EVERY || tg_attn_stage_square(stage);
    set_masked(c, mask);
    set_most(most, c, stage, view, L);
    if (format == TG_ATTN_TEXT) {
        set_widths(c, most);
        c->labels = *labels;
    }
    c->line_most = 2 * (c->labels.width + 1) + strlen(" tokens i,j{}\n");
    for (size_t n = 0; n < c->n; n++)
        c->line_most += tg_size_max(c->width[n], most[c->kind[n]]) + sizeof names[0] + strlen(",\"\":");
}

size_t tg_attn_columns_room(const tg_attn_columns *c, size_t lines)
{
    size_t n;

    return tg_size_mul(&n, lines, c->line_most) && tg_size_add(&n, n, SLACK) ? n : SIZE_MAX;
}

void tg_attn_put_titles(tg_attn_text *to, const tg_attn_columns *c)
{
    if (c->format == TG_ATTN_JSONL)
        return;
    for (size_t n = 0; n < c->n; n++) {
        const char *title = c->format == TG_ATTN_TSV ? names[c->kind[n]] : titles[c->kind[n]];

        put_before(to, c, n);
        if (n == 0 && c->format == TG_ATTN_TEXT) { /* a comment, like the header */
            put_text(to, "#", 1);
            put_right(to, title, strlen(title), c->width[n] - 1);
        } else {
            put_right(to, title, strlen(title), c->width[n]);
        }
    }
    if (c->labels.text)
        put_word(to, c->square ? " tokens i,j" : " token");
    put_text(to, "\n", 1);
}

/* ---- lines: what changes from one to the next, and what does not */

/* The numbers of a line, by kind. */
struct element {
    size_t whole[REALS];
    double real[KINDS];
};

/* A column whose numbers change, and all the text before it. */
struct piece {
    size_t kind, width;
    const char *before;
    size_t n;
};

struct plan {
    tg_attn_format format;
    struct piece piece[TG_ATTN_COLUMNS + 1]; /* the last is only text: kind = KINDS */
    char text[TG_ATTN_COLUMNS * (TG_DECIMAL_ROOM + 12) + STEP];
};

static void put_constant(tg_attn_text *to, const tg_attn_columns *c, size_t column, const struct element *e,
                         bool masked)
{
    const size_t kind = c->kind[column], width = c->width[column];

    if (kind == MASK && c->format == TG_ATTN_JSONL)
        put_word(to, masked ? "true" : "false");
    else if (kind == SCORE)
        put_right(to, c->masked, strlen(c->masked), width);
    else if (kind == PROB)
        put_right(to, "0", 1, width);
    else
        put_size(to, kind == MASK ? masked : e->whole[kind], width);
}

#define BIT(kind) (1u << (kind))

/* `varying`: the kinds that change, as bits; the others stay as they are in *e.  A masked
 * line's score and probability do not change. */
static void make_plan(struct plan *plan, const tg_attn_columns *c, const struct element *e, unsigned varying,
                      bool masked)
{
    struct piece *p = plan->piece;
    tg_attn_text text = {plan->text, 0};
    size_t begin = 0;

    plan->format = c->format;
    for (size_t n = 0; n < c->n; n++) {
        put_before(&text, c, n);
        if (!(varying & BIT(c->kind[n]))) {
            put_constant(&text, c, n, e, masked);
            continue;
        }
        *p++ = (struct piece){c->kind[n], c->width[n], plan->text + begin, text.n - begin};
        begin = text.n;
    }
    put_word(&text, c->format == TG_ATTN_JSONL ? "}" : "");
    *p = (struct piece){KINDS, 0, plan->text + begin, text.n - begin};
}

static inline void put_line(tg_attn_text *to, const struct plan *plan, const struct element *e)
{
    for (const struct piece *p = plan->piece;; p++) {
        for (size_t n = 0; n < p->n; n += STEP)
            memcpy(to->text + to->n + n, p->before + n, STEP);
        to->n += p->n;
        if (p->kind == KINDS)
            return;
        if (p->kind < REALS)
            put_size(to, e->whole[p->kind], p->width);
        else
            put_real(to, e->real[p->kind], plan->format, p->width);
    }
}

/* One token; or two, the first padded. */
static void put_labels(tg_attn_text *to, const tg_attn_labels *l, size_t i, const size_t *j)
{
    const char *label = l->text + i * l->size;

    put_text(to, " ", 1);
    put_word(to, label);
    if (j) {
        put_spaces(to, l->width + 1 - strlen(label));
        put_word(to, l->text + *j * l->size);
    }
}

void tg_attn_put_row(tg_attn_text *to, const tg_attn_columns *c, const tg_attn_row *row)
{
    const tg_attn_view *a = row->view;
    struct element e = {.whole = {[LAYER] = row->layer, [HEAD] = row->h, [B] = row->b, [I] = row->i}};
    const unsigned places = BIT(J) | BIT(K_BASE) | BIT(OFFSET);
    struct plan seen = {0}, masked = {0};

    e.whole[Q_BASE] = tg_attn_base(a, row->b, row->i, row->h);
    make_plan(&seen, c, &e, places | BIT(SCORE) | BIT(PROB), false);
    make_plan(&masked, c, &e, places, true);
    for (size_t j = row->j_begin; j < row->j_end; j++) {
        e.whole[J] = j;
        e.whole[K_BASE] = tg_attn_base(a, row->b, j, row->h);
        e.whole[OFFSET] = tg_attn_offset(a, row->b, row->h, row->i, j);
        e.real[SCORE] = row->scores[j];
        e.real[PROB] = row->probs[j];
        put_line(to, j <= row->i ? &seen : &masked, &e);
        if (c->labels.text)
            put_labels(to, &c->labels, row->i, &j);
        put_text(to, "\n", 1);
    }
}

void tg_attn_put_run(tg_attn_text *to, const tg_attn_columns *c, const tg_attn_run *run)
{
    struct element e = {.whole = {[LAYER] = run->layer, [HEAD] = run->h, [B] = run->b, [T] = run->t}};
    struct plan plan = {0};

    make_plan(&plan, c, &e, BIT(D) | BIT(C) | BIT(OFFSET) | BIT(VALUE), false);
    for (size_t n = 0; n < run->n; n++) {
        e.whole[D] = e.whole[C] = n;
        e.whole[OFFSET] = run->offset + n;
        e.real[VALUE] = run->values[n];
        put_line(to, &plan, &e);
        if (c->labels.text)
            put_labels(to, &c->labels, run->t, NULL);
        put_text(to, "\n", 1);
    }
}
