/* How a trace prints: numbers, indices, and sums of products as tables. */
#include <math.h>
#include <string.h>

#include "cmd/tg-attn-dump/trace.h"
#include "lib/base/size.h"

#define WIDTH 80 /* of a terminal: a table that is wider loses its ornaments */

#define RING 16
#define TEXT_SIZE 128

/* Room for a text until RING more have been asked for. */
static char *next_text(void)
{
    static char ring[RING][TEXT_SIZE];
    static size_t at;

    at = (at + 1) % RING;
    return ring[at];
}

const char *attn_number(double x)
{
    const double size = fabs(x);
    char *text = next_text();

    if (size >= 1e9)
        snprintf(text, TEXT_SIZE, "%.9g", x);
    else if (size > 0 && size < 1e-4) /* most of eight decimals would be zeros */
        snprintf(text, TEXT_SIZE, "%.4e", x);
    else
        snprintf(text, TEXT_SIZE, "%.8f", size == 0 ? 0.0 : x);
    return text;
}

const char *attn_square(const attn_page *p, const char *name, size_t i, size_t j)
{
    char *text = next_text();

    if (p->H == 1)
        snprintf(text, TEXT_SIZE, "%s[%zu,%zu,%zu]", name, p->at.b, i, j);
    else
        snprintf(text, TEXT_SIZE, "%s[%zu,%zu,%zu,%zu]", name, p->at.b, p->at.h, i, j);
    return text;
}

const char *attn_vector(const attn_page *p, const char *name, size_t t, size_t d)
{
    char *text = next_text();

    if (p->H == 1)
        snprintf(text, TEXT_SIZE, "%s[%zu,%zu,%zu]", name, p->at.b, t, d);
    else
        snprintf(text, TEXT_SIZE, "%s[%zu,%zu,%zu,%zu]", name, p->at.b, t, p->at.h, d);
    return text;
}

const char *attn_token(const attn_page *p, size_t t)
{
    char *text = next_text();

    *text = '\0';
    if (p->subject->label)
        snprintf(text, TEXT_SIZE, " %s", p->subject->label[t]);
    return text;
}

void attn_heading(attn_page *p, const char *title, const char *where)
{
    printf("\n# %zu. %s\n#    %s\n", ++p->section, title, where);
}

/* ---- tables */

/* "q.data[8]", or "[8]" in a column whose title says the rest. */
static const char *place(const attn_factor *f, size_t m, bool named)
{
    char *text = next_text();

    snprintf(text, TEXT_SIZE, "%s%s[%zu]", named ? f->name : "", named ? ".data" : "",
             f->offset + m * f->step);
    return text;
}

static double value(const attn_factor *f, size_t m)
{
    return f->value[m * f->stride];
}

static void widen(size_t *width, const char *text)
{
    *width = tg_size_max(*width, strlen(text));
}

/* The columns of a table, and how much it can say within WIDTH. */
struct layout {
    size_t index, place[2], value[2], product, sum;
    bool named;
    const char *gap, *equals;
};

static struct layout measure(size_t n, const attn_factor *x, const attn_factor *y, struct layout w)
{
    double sum = 0;
    char last[24];

    w.product = strlen("product");
    snprintf(last, sizeof last, "%zu", n - 1);
    widen(&w.index, last);
    for (size_t m = 0; m < n; m++) {
        const double product = value(x, m) * value(y, m);

        sum += product;
        widen(&w.place[0], place(x, m, w.named));
        widen(&w.place[1], place(y, m, w.named));
        widen(&w.value[0], attn_number(value(x, m)));
        widen(&w.value[1], attn_number(value(y, m)));
        widen(&w.product, attn_number(product));
        widen(&w.sum, attn_number(sum));
    }
    return w;
}

static size_t width(const struct layout *w)
{
    return 2 + w->index + w->place[0] + w->place[1] + w->value[0] + w->value[1] + w->product + w->sum +
           4 * strlen(w->gap) + 2 * strlen(w->equals);
}

static struct layout choose(size_t n, const attn_factor *x, const attn_factor *y)
{
    static const struct layout styles[] = {
        {.named = true, .gap = "  ", .equals = " = "},
        {.named = true, .gap = " ", .equals = "="},
        {.gap = "  ", .equals = " = "},
    };
    struct layout w = measure(n, x, y, styles[0]);

    for (size_t s = 1; width(&w) > WIDTH && s < sizeof styles / sizeof styles[0]; s++)
        w = measure(n, x, y, styles[s]);
    return w;
}

/* A cell's title, as wide as the cell. */
static void print_title(const struct layout *w, size_t which, const attn_factor *f)
{
    const size_t cell = w->place[which] + strlen(w->equals) + w->value[which];

    char *text = next_text();

    snprintf(text, TEXT_SIZE, "%s%s", f->name, w->named ? "" : ".data");
    printf("%s%-*s", w->gap, (int)cell, text);
}

static void print_cell(const struct layout *w, size_t which, const attn_factor *f, size_t m)
{
    printf("%s%-*s%s%*s", w->gap, (int)w->place[which], place(f, m, w->named), w->equals,
           (int)w->value[which], attn_number(value(f, m)));
}

void attn_print_sum(char letter, size_t n, const attn_factor *x, const attn_factor *y, size_t mark)
{
    const struct layout w = choose(n, x, y);
    double sum = 0;

    printf("# %*c", (int)w.index, letter);
    print_title(&w, 0, x);
    print_title(&w, 1, y);
    printf("%s%*s%s%*s\n", w.gap, (int)w.product, "product", w.gap, (int)w.sum, "sum");
    for (size_t m = 0; m < n; m++) {
        const double product = value(x, m) * value(y, m);

        sum += product;
        printf("%c %*zu", m == mark ? '>' : ' ', (int)w.index, m);
        print_cell(&w, 0, x, m);
        print_cell(&w, 1, y, m);
        printf("%s%*s%s%*s\n", w.gap, (int)w.product, attn_number(product), w.gap, (int)w.sum,
               attn_number(sum));
    }
}

void attn_print_adds(char letter, size_t n, const attn_factor *x, const attn_factor *dy)
{
    const struct layout w = measure(n, x, dy, (struct layout){.named = true, .gap = "  ", .equals = " = "});

    printf("# %*c", (int)w.index, letter);
    print_title(&w, 0, x);
    printf("  adds\n");
    for (size_t m = 0; m < n; m++) {
        printf("  %*zu", (int)w.index, m);
        print_cell(&w, 0, x, m);
        printf("  %-*s += %*s\n", (int)w.place[1], place(dy, m, true), (int)w.value[1],
               attn_number(value(dy, m)));
    }
}
