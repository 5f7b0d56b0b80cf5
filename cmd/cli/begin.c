/* cli: what a tool that computes, or splits a text, begins with: threads and kernels. */
#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/kernels/text_kernels.h"

#define THREADS_EACH 8 /* threads per processor; more of them never help */

static tg_status set_threads(size_t n, tg_err *err)
{
    const size_t processors = tg_threads_processors();
    const size_t most = tg_size_min(THREADS_EACH * processors, TG_THREADS_MAX);

    if (n == 0 && tg_threads_asked() > most)
        return tg_fail(err, TG_EUSAGE, "OMP_NUM_THREADS must be a number from 1 to %zu, got '%s'", most,
                       getenv("OMP_NUM_THREADS"));
    if (n > most)
        return tg_fail(err, TG_EUSAGE,
                       "--threads must be at most %zu (%d for each of %zu processor%s), got %zu", most,
                       THREADS_EACH, processors, cli_plural(processors), n);
    if (n > 0)
        tg_threads_set(n);
    return TG_OK;
}

static tg_status begin(size_t threads, tg_status (*choose)(const char *isa, tg_err *err), tg_err *err)
{
    const char *isa = getenv("TG_ISA");
    tg_status status;

    if ((status = set_threads(threads, err)))
        return status;
    status = choose(isa && *isa ? isa : NULL, err); /* empty: as if it were not set */
    if (status == TG_EUSAGE)
        return tg_err_in(err, "$TG_ISA");
    if (status != TG_EDATA)
        return status;
    cli_say("%s", err->message);
    return TG_OK;
}

tg_status cli_begin_compute(size_t threads, tg_err *err)
{
    return begin(threads, tg_kernels_choose, err);
}

tg_status cli_begin_text(size_t threads, tg_err *err)
{
    return begin(threads, tg_text_kernels_choose, err);
}
