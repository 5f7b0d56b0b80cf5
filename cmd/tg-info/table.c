/* The losses of several runs as tables. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"
#include "lib/base/decimal.h"
#include "lib/base/size.h"
#include "lib/view/label.h"

#define NUMBER 9 /* columns of a loss, with a space before it */
#define ROWS 10  /* steps in a table, about */
#define SHOWN_SIZE 4200

const char *info_loss(double x)
{
    static char text[4][40];
    static unsigned turn;
    char *out = text[turn++ % 4];

    snprintf(out, sizeof text[0], fabs(x) < 1e4 ? "%.4f" : "%.3g", x);
    return out;
}

/* ---- lines without blanks at their ends */

struct line {
    size_t blanks; /* that the next text needs before it */
};

static void put_right(struct line *l, size_t columns, const char *text)
{
    const size_t n = strlen(text);

    if (n == 0) {
        l->blanks += columns;
        return;
    }
    printf("%*s%s", (int)(l->blanks + (columns > n ? columns - n : 0)), "", text);
    l->blanks = 0;
}

static void put_loss(struct line *l, double x)
{
    put_right(l, NUMBER, isnan(x) ? "" : info_loss(x));
}

static void put_difference(struct line *l, double x)
{
    char text[48];

    snprintf(text, sizeof text, "%s%s", x > 0 ? "+" : "", info_loss(x));
    put_right(l, NUMBER, isnan(x) ? "" : text);
}

/* ---- how the runs ended */

static double last(const info_curve *c)
{
    return c->n > 0 ? c->loss[c->n - 1] : nan("");
}

/* Its end, which tells files apart better than its beginning, in exactly so many columns. */
static void print_name(const char *path, size_t columns)
{
    char shown[SHOWN_SIZE];
    const char *at = shown;
    size_t width, part;

    tg_label_show(shown, sizeof shown, path, strlen(path));
    width = tg_label_width(shown);
    if (width > columns) {
        while (width > columns - 2) {
            at += tg_label_next(at, &part);
            width -= part;
        }
        fputs("..", stdout);
        width += 2;
    }
    printf("%s%*s", at, (int)(columns - width), "");
}

/* The columns that show something, and have room. */
struct ends {
    size_t name;
    bool val, least;
};

static struct ends measure(const info_runs *runs)
{
    struct ends e = {.val = runs->any_val};
    size_t used = 3 + NUMBER * (e.val ? 5 : 3);
    char shown[SHOWN_SIZE];

    e.least = used + NUMBER + 12 <= info_width();
    used += e.least ? NUMBER : 0;
    for (size_t i = 0; i < runs->n; i++) {
        const char *path = cli_input_name(runs->run[i].info->path);

        tg_label_show(shown, sizeof shown, path, strlen(path));
        e.name = tg_size_max(e.name, tg_label_width(shown));
    }
    e.name = tg_size_min(e.name, info_width() > used + 8 ? info_width() - used : 8);
    return e;
}

static void print_end(const info_runs *runs, size_t i, const struct ends *e)
{
    const info_run *run = &runs->run[i], *first = &runs->run[0];
    const double end = last(&run->loss), val = last(&run->val_loss);
    struct line l = {0};
    char steps[32] = "";

    if (run->loss.n > 0)
        snprintf(steps, sizeof steps, "%.0f", run->loss.step[run->loss.n - 1]);
    printf("%c  ", 'A' + (int)i);
    print_name(cli_input_name(run->info->path), e->name);
    put_right(&l, NUMBER, steps);
    put_loss(&l, end);
    put_difference(&l, i > 0 ? end - last(&first->loss) : nan(""));
    if (e->least)
        put_loss(&l, run->loss.n > 0 ? run->loss.loss[run->loss.least] : nan(""));
    if (e->val) {
        put_loss(&l, val);
        put_difference(&l, i > 0 ? val - last(&first->val_loss) : nan(""));
    }
    putchar('\n');
}

void info_show_ends(const info_runs *runs)
{
    const struct ends e = measure(runs);

    printf("   %-*s%*s%*s%*s", (int)e.name, "run", NUMBER, "step", NUMBER, "loss", NUMBER, "minus A");
    if (e.least)
        printf("%*s", NUMBER, "least");
    if (e.val)
        printf("%*s%*s", NUMBER, "val loss", NUMBER, "minus A");
    putchar('\n');
    for (size_t i = 0; i < runs->n; i++)
        print_end(runs, i, &e);
}

/* ---- the losses of equal numbers of steps */

#define COLUMNS_MAX (2 * INFO_RUNS_MAX + 2)

struct table {
    char title[COLUMNS_MAX][16];
    bool differs[COLUMNS_MAX];       /* its numbers are differences */
    double value[ROWS][COLUMNS_MAX]; /* NaN: blank */
    size_t columns, rows;
    double begin, steps; /* row r has the steps in (begin + r * steps, begin + (r + 1) * steps] */
};

/* At most ROWS rows of 1, 2, 5, 10, 20, ... steps each. */
static void choose_rows(struct table *t, const info_runs *runs)
{
    const double first = runs->first, end = runs->last;

    t->steps = 1;
    for (int i = 0; ceil(end / t->steps) - floor((first - 1) / t->steps) > ROWS; i++)
        t->steps *= i % 3 == 1 ? 2.5 : 2;
    t->begin = floor((first - 1) / t->steps) * t->steps;
    t->rows = (size_t)(ceil(end / t->steps) - t->begin / t->steps);
}

/* Losses become their mean; of validation, the last one of a row is taken. */
static void add_curve(struct table *t, const info_curve *c, size_t run, bool val)
{
    size_t at = 0;

    if (c->n == 0)
        return;
    snprintf(t->title[t->columns], sizeof t->title[0], "%c%s", 'A' + (int)run, val ? " val" : "");
    for (size_t r = 0; r < t->rows; r++) {
        const double to = t->begin + (double)(r + 1) * t->steps;
        double x = nan("");

        for (size_t n = 1; at < c->n && c->step[at] <= to; n++, at++)
            x = n == 1 || val ? c->loss[at] : x + (c->loss[at] - x) / (double)n;
        t->value[r][t->columns] = x;
    }
    t->columns++;
}

static void add_difference(struct table *t, size_t a, size_t b, const char *title)
{
    snprintf(t->title[t->columns], sizeof t->title[0], "%s", title);
    t->differs[t->columns] = true;
    for (size_t r = 0; r < t->rows; r++)
        t->value[r][t->columns] = t->value[r][b] - t->value[r][a];
    t->columns++;
}

/* Of two runs, also what the second has more than the first. */
static void fill_table(struct table *t, const info_runs *runs)
{
    const info_run *a = &runs->run[0], *b = &runs->run[1];
    const bool two = runs->n == 2 && a->loss.n > 0 && b->loss.n > 0;
    const size_t of_b = a->val_loss.n > 0 ? 2 : 1;

    choose_rows(t, runs);
    for (size_t i = 0; i < runs->n; i++) {
        add_curve(t, &runs->run[i].loss, i, false);
        add_curve(t, &runs->run[i].val_loss, i, true);
    }
    if (two)
        add_difference(t, 0, of_b, "B - A");
    if (two && a->val_loss.n > 0 && b->val_loss.n > 0)
        add_difference(t, 1, of_b + 1, "val");
}

static void print_steps(const struct table *t, size_t row, int width)
{
    const double from = t->begin + (double)row * t->steps;
    char text[64];

    if (t->steps > 1)
        snprintf(text, sizeof text, "%.0f-%.0f", from + 1, from + t->steps);
    else
        snprintf(text, sizeof text, "%.0f", from + 1);
    printf("%-*s", width, text);
}

/* Print the columns [from, to). */
static void print_columns(const struct table *t, size_t from, size_t to, int width)
{
    printf("\n%-*s", width, t->steps > 1 ? "steps" : "step");
    for (size_t c = from; c < to; c++)
        printf("%*s", NUMBER, t->title[c]);
    putchar('\n');
    for (size_t r = 0; r < t->rows; r++) {
        struct line l = {0};

        print_steps(t, r, width);
        for (size_t c = from; c < to; c++)
            if (t->differs[c])
                put_difference(&l, t->value[r][c]);
            else
                put_loss(&l, t->value[r][c]);
        putchar('\n');
    }
}

tg_status info_show_losses(const info_runs *runs, tg_err *err)
{
    struct table *t = calloc(1, sizeof *t);
    int width;
    size_t fit;

    if (!t)
        return tg_fail_memory(err, sizeof *t, "a table");
    fill_table(t, runs);
    width = 2 * snprintf(NULL, 0, "%.0f", t->begin + (double)t->rows * t->steps) + 1;
    width = width < 6 ? 6 : width;
    fit = tg_size_max(1, (info_width() - tg_size_min((size_t)width, info_width())) / NUMBER);
    for (size_t from = 0; from < t->columns; from += fit)
        print_columns(t, from, tg_size_min(from + fit, t->columns), width);
    if (t->steps > 1)
        printf("The mean of each row's steps; of validation, the last one.\n");
    free(t);
    return TG_OK;
}

/* ---- all losses, as tab-separated values */

/* A title: the file, and its letter if another one has the same name. */
static void print_title(const info_runs *runs, size_t i, const char *what)
{
    const char *path = cli_input_name(runs->run[i].info->path);
    char shown[SHOWN_SIZE];
    bool same = false;

    for (size_t k = 0; k < runs->n; k++)
        same = same || (k != i && strcmp(runs->run[k].info->path, runs->run[i].info->path) == 0);
    cli_escape(shown, sizeof shown, (const unsigned char *)path, strlen(path));
    printf("\t%s ", what);
    cli_put_field(shown);
    if (same)
        printf(" (%c)", 'A' + (int)i);
}

static void print_titles(const info_runs *runs)
{
    fputs("step", stdout);
    for (size_t i = 0; i < runs->n; i++) {
        print_title(runs, i, "loss");
        if (runs->run[i].val_loss.n > 0)
            print_title(runs, i, "val_loss");
    }
    putchar('\n');
}

/* The curve's loss at this step, if it has one; *at advances. */
static void print_at(const info_curve *c, size_t *at, double step)
{
    char text[TG_DECIMAL_SIZE];

    putchar('\t');
    if (*at < c->n && c->step[*at] == step) {
        *tg_decimal_general(text, 9, c->loss[*at]) = '\0';
        fputs(text, stdout);
        ++*at;
    }
}

/* The least step that is still to come; infinite: none. */
static double next_step(const info_runs *runs, const size_t *at, const size_t *at_val)
{
    double step = HUGE_VAL;

    for (size_t i = 0; i < runs->n; i++) {
        const info_curve *c = &runs->run[i].loss, *v = &runs->run[i].val_loss;

        step = at[i] < c->n ? fmin(step, c->step[at[i]]) : step;
        step = at_val[i] < v->n ? fmin(step, v->step[at_val[i]]) : step;
    }
    return step;
}

void info_show_losses_tsv(const info_runs *runs)
{
    size_t at[INFO_RUNS_MAX] = {0}, at_val[INFO_RUNS_MAX] = {0};
    double step;

    print_titles(runs);
    while ((step = next_step(runs, at, at_val)) < HUGE_VAL && !cli_stdout_failed()) {
        printf("%.0f", step);
        for (size_t i = 0; i < runs->n; i++) {
            print_at(&runs->run[i].loss, &at[i], step);
            if (runs->run[i].val_loss.n > 0)
                print_at(&runs->run[i].val_loss, &at_val[i], step);
        }
        putchar('\n');
    }
}
