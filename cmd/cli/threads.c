/* cli: the number of threads. */
#include "lib/base/threads.h"

#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "lib/base/size.h"

#define THREADS_EACH 8 /* threads per processor; more of them never help */

static tg_status check_environment(size_t most, tg_err *err)
{
    if (tg_threads_asked() <= most)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "OMP_NUM_THREADS must be a number from 1 to %zu, got '%s'", most,
                   getenv("OMP_NUM_THREADS"));
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
