/*
 * The reader of logs of training.
 *
 * What is accepted is read a second time, number by number, with strtod(): the same numbers, in the range of
 * steps and losses.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/info/log.h"
#include "lib/info/parts.h"
#include "tests/fuzz/input.h"

/* The number at *at, which a tab ends; NaN if there is none. */
static double next_number(const char **at)
{
    char *end;
    const double x = **at == '\t' ? nan("") : strtod(*at, &end);

    if (!isnan(x))
        *at = end;
    must(**at == '\t');
    ++*at;
    return x;
}

static void check_line(const tg_info_history *h, size_t i, const char *line)
{
    const double step = next_number(&line), loss = next_number(&line), val_loss = next_number(&line);

    must(i < h->n && h->step[i] == step && step >= 1 && step <= TG_LOG_STEP_MAX && step == floor(step));
    must(h->loss[i] == loss && loss >= 0);
    must(isnan(val_loss) ? isnan(h->val_loss[i]) : h->val_loss[i] == val_loss && val_loss >= 0);
}

/* Each line after the first is a step. */
static void check(const tg_info_history *h, const uint8_t *data, size_t size)
{
    char *const text = malloc(size + 1);
    size_t n = 0;

    must(text != NULL);
    memcpy(text, data, size);
    text[size] = '\0';
    for (const char *at = text;
         (at = memchr(at, '\n', (size_t)(text + size - at))) != NULL && ++at < text + size;)
        check_line(h, n++, at);
    must(n == h->n);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *const exact = malloc(size > 0 ? size : 1);
    tg_info info = {0};
    tg_err err = {0};
    tg_status status;

    if (!exact)
        return 0;
    if (size > 0)
        memcpy(exact, data, size);
    status = tg_info_read_log(&info, exact, size, &err);
    must(status == TG_OK || (status == TG_EDATA && strncmp(err.message, "line ", 5) == 0));
    if (!status)
        check(&info.history, data, size);
    free(exact);
    tg_info_close(&info);
    return 0;
}
