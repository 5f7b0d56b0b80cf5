/* cli: the number of threads. */
#include "lib/base/threads.h"

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "lib/base/size.h"

#define THREADS_EACH 8 /* threads per processor; more of them never help */

tg_status cli_set_threads(size_t n, tg_err *err)
{
    const size_t processors = tg_threads_processors();

    if (n > tg_size_min(THREADS_EACH * processors, TG_THREADS_MAX))
        return tg_fail(err, TG_EUSAGE,
                       "--threads must be at most %zu (%d for each of %zu processor%s), got %zu",
                       THREADS_EACH * processors, THREADS_EACH, processors, cli_plural(processors), n);
    if (n > 0)
        tg_threads_set(n);
    return TG_OK;
}
