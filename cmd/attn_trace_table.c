/* How a trace prints: numbers, indices, and sums of products as tables. */
#include <math.h>
#include <string.h>

#include "cmd/attn_trace.h"
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

static const char *place(const attn_factor *f, size_t m)
{
    char *text = next_text();

    snprintf(text, TEXT_SIZE, "%s.data[%zu]", f->name, f->offset + m * f->step);
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

struct widths {
    size_t index, place[2], value[2], product, sum;
    const char *gap, *equals;
};

static struct widths measure(size_t n, const attn_factor *x, const attn_factor *y)
{
    struct widths w = {.product = strlen("product"), .sum = strlen("sum"), .gap = "  "};
    double sum = 0;
    char last[24];

    snprintf(last, sizeof last, "%zu", n - 1);
    widen(&w.index, last);
    for (size_t m = 0; m < n; m++) {
        const double product = value(x, m) * value(y, m);

        sum += product;
        widen(&w.place[0], place(x, m));
        widen(&w.place[1], place(y, m));
        widen(&w.value[0], attn_number(value(x, m)));
        widen(&w.value[1], attn_number(value(y, m)));
        widen(&w.product, attn_number(product));
        widen(&w.sum, attn_number(sum));
    }
    w.equals = " = ";
    if (2 + w.index + w.place[0] + w.place[1] + w.value[0] + w.value[1] + w.product + w.sum + 4 * 2 + 2 * 3 >
        WIDTH) {
        w.gap = " ";
        w.equals = "=";
    }
    return w;
}

void attn_print_sum(char letter, size_t n, const attn_factor *x, const attn_factor *y, size_t mark)
{
    const struct widths w = measure(n, x, y);
    const int x_width = (int)(w.place[0] + strlen(w.equals) + w.value[0]);
    const int y_width = (int)(w.place[1] + strlen(w.equals) + w.value[1]);
    double sum = 0;

    printf("# %*c%s%-*s%s%-*s%s%*s%s%*s\n", (int)w.index, letter, w.gap, x_width, x->name, w.gap, y_width,
           y->name, w.gap, (int)w.product, "product", w.gap, (int)w.sum, "sum");
    for (size_t m = 0; m < n; m++) {
        const double product = value(x, m) * value(y, m);

        sum += product;
        printf("%c %*zu%s%-*s%s%*s%s", m == mark ? '>' : ' ', (int)w.index, m, w.gap, (int)w.place[0], place(x, m), w.equals,
               (int)w.value[0], attn_number(value(x, m)), w.gap);
        printf("%-*s%s%*s%s%*s%s%*s\n", (int)w.place[1], place(y, m), w.equals, (int)w.value[1],
               attn_number(value(y, m)), w.gap, (int)w.product, attn_number(product), w.gap, (int)w.sum,
               attn_number(sum));
    }
}

void attn_print_adds(char letter, size_t n, const attn_factor *x, const attn_factor *dy)
{
    const struct widths w = measure(n, x, dy);

    printf("# %*c  %-*s  adds\n", (int)w.index, letter, (int)(w.place[0] + 3 + w.value[0]), x->name);
    for (size_t m = 0; m < n; m++)
        printf("  %*zu  %-*s = %*s  %-*s += %*s\n", (int)w.index, m, (int)w.place[0], place(x, m),
               (int)w.value[0], attn_number(value(x, m)), (int)w.place[1], place(dy, m), (int)w.value[1],
               attn_number(value(dy, m)));
}
