/* cli: the number of threads. */
#include "lib/base/threads.h"

#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "lib/base/size.h"

#define THREADS_EACH 8 /* threads per processor; more of them never help */

/* Fail unless the variable is a number, or several of which the first counts, up to `most`. */
static tg_status check_environment(size_t most, tg_err *err)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end;
    unsigned long long n;

    if (!text || *text == '\0')
        return TG_OK;
    n = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || (*end != '\0' && *end != ',') || n < 1 || n > most)
        return tg_fail(err, TG_EUSAGE, "OMP_NUM_THREADS must be a number from 1 to %zu, got '%s'", most,
                       text);
    return TG_OK;
}

tg_status cli_set_threads(size_t n, tg_err *err)
{
    const size_t processors = tg_threads_processors();
    const size_t most = tg_size_min(THREADS_EACH * processors, TG_THREADS_MAX);

    if (n == 0)
        return check_environment(most, err);
    if (n > most)
        return tg_fail(err, TG_EUSAGE,
                       "--threads must be at most %zu (%d for each of %zu processor%s), got %zu", most,
                       THREADS_EACH, processors, cli_plural(processors), n);
    tg_threads_set(n);
    return TG_OK;
}
