/* What tg-train --log writes: tab-separated values, the first line with titles. */
#include <math.h>
#include <string.h>

#include "lib/base/decimal.h"
#include "lib/base/grow.h"
#include "lib/info/log.h"
#include "lib/info/parts.h"

#define LINE_SIZE 1024 /* bytes of a line */

bool tg_info_is_log(const unsigned char *text, size_t n)
{
    return n >= strlen(TG_LOG_TITLES) && memcmp(text, TG_LOG_TITLES, strlen(TG_LOG_TITLES)) == 0;
}

static tg_status add_step(tg_info_history *h, const double x[3], tg_err *err)
{
    double **const numbers[] = {&h->step, &h->loss, &h->val_loss};
    size_t capacity = 0; /* the three grow alike */
    tg_status status;

    for (size_t i = 0; i < 3; i++) {
        capacity = h->capacity;
        if ((status = tg_grow(numbers[i], &capacity, h->n + 1, sizeof *x, "the training history", err)))
            return status;
        (*numbers[i])[h->n] = x[i];
    }
    h->capacity = capacity;
    h->n++;
    return TG_OK;
}

/* The first three numbers of a line, which are finite; an empty one is NaN. */
static bool parse(double x[3], char *line)
{
    for (size_t i = 0; i < 3; i++) {
        char *end = strchr(line, '\t');
        const char *stop;

        if (!end)
            return false;
        *end = '\0';
        x[i] = *line == '\0' ? nan("") : tg_decimal_read(line, &stop);
        if (*line != '\0' && (*stop != '\0' || !isfinite(x[i])))
            return false;
        line = end + 1;
    }
    return true;
}

static tg_status take_line(tg_info_history *h, const unsigned char *text, size_t n, size_t number,
                           tg_err *err)
{
    char line[LINE_SIZE];
    double x[3];

    if (n < sizeof line) {
        memcpy(line, text, n);
        line[n] = '\0';
        /* tg-train could have written them: a step that it counts, and losses; the second may be missing */
        if (parse(x, line) && x[0] >= 1 && x[0] <= TG_LOG_STEP_MAX && x[0] == floor(x[0]) && x[1] >= 0 &&
            (isnan(x[2]) || x[2] >= 0))
            return add_step(h, x, err);
    }
    return tg_fail(err, TG_EDATA, "line %zu of the log is damaged: expected step, loss and validation loss",
                   number);
}

tg_status tg_info_read_log(tg_info *info, const unsigned char *text, size_t n, tg_err *err)
{
    const unsigned char *const end = text + n;
    tg_status status = TG_OK;

    strcpy(info->kind, "log");
    info->format = "of tg-train";
    for (size_t number = 1; !status && text < end; number++) {
        const unsigned char *stop = memchr(text, '\n', (size_t)(end - text));
        const size_t length = (size_t)((stop ? stop : end) - text);

        if (number > 1)
            status = take_line(&info->history, text, length, number, err);
        text += length + 1;
    }
    return status;
}

size_t tg_info_history_latest(tg_info_history *h)
{
    const size_t all = h->n;
    size_t n = 0;

    for (size_t i = 0; i < all; i++) {
        while (n > 0 && h->step[n - 1] >= h->step[i])
            n--;
        h->step[n] = h->step[i];
        h->loss[n] = h->loss[i];
        if (h->val_loss)
            h->val_loss[n] = h->val_loss[i];
        n++;
    }
    h->n = n;
    return all - n;
}
