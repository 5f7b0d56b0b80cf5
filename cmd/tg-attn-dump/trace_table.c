/* How a trace is printed: numbers, indices, and sums of products as tables. */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cmd/tg-attn-dump/trace.h"
#include "lib/base/size.h"

#define WIDTH 80 /* of a terminal; wider tables are set more closely */

TG_PRINTF(1, 2)
static trace_text text_of(const char *format, ...)
{
    trace_text text;
    va_list ap;

    va_start(ap, format);
    vsnprintf(text.s, sizeof text.s, format, ap);
    va_end(ap);
    return text;
}

trace_text trace_number(double x)
{
    const double size = fabs(x);

    if (size >= 1e9)
        return text_of("%.9g", x);
    if (size > 0 && size < 1e-4) /* most of the eight decimals would be zeros */
        return text_of("%.4e", x);
    return text_of("%.8f", size == 0 ? 0.0 : x);
}

trace_text trace_indices(const trace_page *p)
{
    return p->one ? text_of("[%zu,%zu,%zu]", p->b, p->i, p->j)
                  : text_of("[%zu,%zu,%zu,%zu]", p->b, p->h, p->i, p->j);
}

trace_text trace_place(const trace_page *p, const char *name)
{
    return text_of("%s%s = %s.data[%zu]", name, trace_indices(p).s, name, p->d->offset);
}

trace_text trace_att_place(const trace_page *p)
{
    const size_t c = p->d->what.channel, at = p->d->q_base + c;

    return p->one ? text_of("att[%zu,%zu,%zu] = att.data[%zu]", p->b, p->i, c, at)
                  : text_of("att[%zu,%zu,%zu,%zu] = att.data[%zu]", p->b, p->i, p->h, c, at);
}

trace_text trace_token(const trace_page *p, size_t t)
{
    const attn_input *in = p->in;

    if (!in->labels.text)
        return (trace_text){""};
    if (in->labels.id_width == 0)
        return text_of(" %s", labels_quoted(&in->labels, t));
    return text_of(" %s (id %ld)", labels_quoted(&in->labels, t), (long)in->prompt.ids[t]);
}

void trace_heading(trace_page *p, const char *title, const char *where)
{
    (void)cli_stdout_failed(); /* of what has been printed so far */
    printf("\n# %zu. %s\n#    %s\n", ++p->section, title, where);
}

/* ---- tables */

/* "q.data[8]"; or "[8]" in a column whose title has the name. */
static trace_text place_text(const trace_factor *f, size_t m, bool named)
{
    return text_of("%s%s[%zu]", named ? f->name : "", named ? ".data" : "", f->offset + m * f->step);
}

static double value(const trace_factor *f, size_t m)
{
    return f->value[m * f->stride];
}

static void grow(size_t *width, const char *text)
{
    *width = tg_size_max(*width, strlen(text));
}

/* The widths of a table's columns, and its style: the fullest that fits into WIDTH. */
struct layout {
    size_t index, place[2], value[2], product, sum;
    bool named;
    const char *gap, *equals;
};

static struct layout measure(size_t first, size_t n, const trace_factor *x, const trace_factor *y,
                             struct layout w)
{
    double sum = 0;
    char last[24];

    w.product = strlen("product");
    snprintf(last, sizeof last, "%zu", n - 1);
    grow(&w.index, last);
    for (size_t m = first; m < n && !cli_stdout_failed(); m++) {
        const double product = value(x, m) * value(y, m);

        sum += product;
        grow(&w.place[0], place_text(x, m, w.named).s);
        grow(&w.place[1], place_text(y, m, w.named).s);
        grow(&w.value[0], trace_number(value(x, m)).s);
        grow(&w.value[1], trace_number(value(y, m)).s);
        grow(&w.product, trace_number(product).s);
        grow(&w.sum, trace_number(sum).s);
    }
    return w;
}

static size_t width(const struct layout *w)
{
    return 2 + w->index + w->place[0] + w->place[1] + w->value[0] + w->value[1] + w->product + w->sum +
           4 * strlen(w->gap) + 2 * strlen(w->equals);
}

static struct layout choose(size_t first, size_t n, const trace_factor *x, const trace_factor *y)
{
    static const struct layout styles[] = {
        {.named = true, .gap = "  ", .equals = " = "},
        {.named = true, .gap = " ", .equals = "="},
        {.gap = "  ", .equals = " = "},
    };
    struct layout w = measure(first, n, x, y, styles[0]);

    for (size_t s = 1; width(&w) > WIDTH && s < sizeof styles / sizeof styles[0]; s++)
        w = measure(first, n, x, y, styles[s]);
    return w;
}

/* The title of a factor's columns, padded to their width. */
static void print_title(const struct layout *w, size_t which, const trace_factor *f)
{
    const size_t cell = w->place[which] + strlen(w->equals) + w->value[which];
    const trace_text title = text_of("%s%s", f->name, w->named ? "" : ".data");

    printf("%s%-*s", w->gap, (int)cell, title.s);
}

static void print_cell(const struct layout *w, size_t which, const trace_factor *f, size_t m)
{
    printf("%s%-*s%s%*s", w->gap, (int)w->place[which], place_text(f, m, w->named).s, w->equals,
           (int)w->value[which], trace_number(value(f, m)).s);
}

void trace_print_sum(char letter, size_t first, size_t n, const trace_factor *x, const trace_factor *y,
                     size_t mark)
{
    const struct layout w = choose(first, n, x, y);
    double sum = 0;

    printf("# %*c", (int)w.index, letter);
    print_title(&w, 0, x);
    print_title(&w, 1, y);
    printf("%s%*s%s%*s\n", w.gap, (int)w.product, "product", w.gap, (int)w.sum, "sum");
    for (size_t m = first; m < n && !cli_stdout_failed(); m++) {
        const double product = value(x, m) * value(y, m);

        sum += product;
        printf("%c %*zu", m == mark ? '>' : ' ', (int)w.index, m);
        print_cell(&w, 0, x, m);
        print_cell(&w, 1, y, m);
        printf("%s%*s%s%*s\n", w.gap, (int)w.product, trace_number(product).s, w.gap, (int)w.sum,
               trace_number(sum).s);
    }
}

void trace_print_adds(char letter, size_t n, const trace_factor *x, const trace_factor *dy)
{
    const struct layout w =
        measure(0, n, x, dy, (struct layout){.named = true, .gap = "  ", .equals = " = "});

    printf("# %*c", (int)w.index, letter);
    print_title(&w, 0, x);
    printf("  adds\n");
    for (size_t m = 0; m < n && !cli_stdout_failed(); m++) {
        printf("  %*zu", (int)w.index, m);
        print_cell(&w, 0, x, m);
        printf("  %-*s += %*s\n", (int)w.place[1], place_text(dy, m, true).s, (int)w.value[1],
               trace_number(value(dy, m)).s);
    }
}

/* ---- columns */

/* The title over a column: over places from the left, over numbers alone from the right. */
static void print_column_title(const trace_column *c, size_t wide, bool last)
{
    if (c->has_place)
        printf("  %-*s", last ? 0 : (int)wide, c->title);
    else
        printf("  %*s", (int)wide, c->title);
}

/* "[8] = 1.00000000", the place as wide as `place`; or the number alone. */
static trace_text cell_text(const trace_column *c, size_t m, int place)
{
    if (!c->has_place)
        return trace_number(c->value[m]);
    return text_of("%-*s = %11s", place, text_of("[%zu]", c->offset + m).s, trace_number(c->value[m]).s);
}

void trace_print_columns(char letter, size_t n, const trace_column *column, size_t count)
{
    size_t index = 1, place[TRACE_COLUMNS], wide[TRACE_COLUMNS];

    assert(count <= TRACE_COLUMNS);
    grow(&index, text_of("%zu", n - 1).s);
    printf("# %*c", (int)index, letter);
    for (size_t c = 0; c < count; c++) {
        place[c] = strlen(text_of("[%zu]", column[c].offset + n - 1).s);
        wide[c] = strlen(column[c].title);
        for (size_t m = 0; m < n; m++)
            grow(&wide[c], cell_text(&column[c], m, (int)place[c]).s);
        print_column_title(&column[c], wide[c], c + 1 == count);
    }
    putchar('\n');
    for (size_t m = 0; m < n && !cli_stdout_failed(); m++) {
        printf("  %*zu", (int)index, m);
        for (size_t c = 0; c < count; c++)
            printf("  %*s", (int)wide[c], cell_text(&column[c], m, (int)place[c]).s);
        putchar('\n');
    }
}
