/* How training went, as a line of bars. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"
#include "lib/base/size.h"

#define BARS 48 /* columns of a line of bars */
#define LEVELS 8

/* Whether the terminal shows UTF-8, by its locale. */
static bool has_utf8(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *value = getenv(names[i]);

        if (value && *value != '\0')
            return strstr(value, "UTF-8") || strstr(value, "utf8");
    }
    return false;
}

static void print_bar(size_t level)
{
    static const char *const blocks[LEVELS] = {"\u2581", "\u2582", "\u2583", "\u2584",
                                               "\u2585", "\u2586", "\u2587", "\u2588"};
    static const char plain[LEVELS + 1] = "_.-=+*#@";

    if (has_utf8())
        fputs(blocks[level], stdout);
    else
        putchar(plain[level]);
}

/* The means of the numbers, NaN left out, in at most BARS equal parts.  Returns how many parts. */
static size_t means(double mean[BARS], const double *x, size_t n)
{
    const size_t parts = tg_size_min(n, BARS);

    for (size_t p = 0; p < parts; p++) {
        const size_t from = p * n / parts, to = (p + 1) * n / parts;
        size_t count = 0;

        mean[p] = 0;
        for (size_t i = from; i < to; i++) {
            if (!isfinite(x[i]))
                continue;
            mean[p] += x[i];
            count++;
        }
        mean[p] = count > 0 ? mean[p] / (double)count : nan("");
    }
    return parts;
}

/* A bar for each part, from the least mean to the greatest; nothing for one without numbers. */
static void print_bars(const double *x, size_t n)
{
    double mean[BARS], least = HUGE_VAL, most = -HUGE_VAL;
    const size_t parts = means(mean, x, n);

    for (size_t p = 0; p < parts; p++) {
        least = mean[p] < least ? mean[p] : least;
        most = mean[p] > most ? mean[p] : most;
    }
    for (size_t p = 0; p < parts; p++) {
        const double share = most > least ? (mean[p] - least) / (most - least) : 0;

        if (isfinite(mean[p]))
            print_bar(tg_size_min((size_t)(share * LEVELS), LEVELS - 1));
    }
}

static void print_losses(const char *label, const tg_info_history *h, const double *loss)
{
    size_t first = h->n, last = h->n, least = h->n;

    for (size_t i = 0; i < h->n; i++) {
        if (!isfinite(loss[i]))
            continue;
        first = first == h->n ? i : first;
        last = i;
        least = least == h->n || loss[i] < loss[least] ? i : least;
    }
    if (last == h->n)
        return;
    printf("%-12s", label);
    print_bars(loss, h->n);
    printf("\n%12s%.4f to %.4f, least %.4f at step %.0f\n", "", loss[first], loss[last], loss[least],
           h->step[least]);
}

/* A log has many lines; a model keeps one step in a power of two. */
static void print_steps(const tg_info_history *h, bool log)
{
    const double every = h->n > 1 ? h->step[1] - h->step[0] : 1;

    printf("%-12s%.0f to %.0f", "steps", h->step[0], h->step[h->n - 1]);
    if (log)
        printf(", in %s lines\n", cli_count(h->n));
    else if (every > 1)
        printf(", one in %.0f\n", every);
    else
        putchar('\n');
}

void info_show_history(const tg_info_history *h)
{
    if (h->n == 0)
        return;
    print_steps(h, h->val_loss);
    print_losses("loss", h, h->loss);
    if (h->val_loss)
        print_losses("validation", h, h->val_loss);
}
