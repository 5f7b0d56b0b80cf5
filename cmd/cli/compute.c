/* cli: threads and kernels, for tools that compute. */
#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "lib/kernels/kernels.h"

tg_status cli_begin_compute(size_t threads, tg_err *err)
{
    const char *isa = getenv("TG_ISA");
    tg_status status;

    if ((status = cli_set_threads(threads, err)))
        return status;
    status = tg_kernels_choose(isa && *isa ? isa : NULL, err); /* empty: as if it were not set */
    if (status == TG_EUSAGE)
        return tg_err_in(err, "$TG_ISA");
    if (status != TG_EDATA)
        return status;
    cli_say("%s", err->message);
    return TG_OK;
}
