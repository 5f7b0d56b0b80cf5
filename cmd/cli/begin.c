/* cli: what a tool that computes, or splits a text, begins with: threads and kernels. */
#include <stdlib.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "lib/kernels/text_kernels.h"

tg_status cli_begin_with(size_t threads, tg_status (*choose)(const char *isa, tg_err *err), tg_err *err)
{
    const char *isa = getenv("TG_ISA");
    tg_status status;

    if ((status = cli_set_threads(threads, err)))
        return status;
    status = choose(isa && *isa ? isa : NULL, err); /* empty: as if it were not set */
    if (status == TG_EUSAGE)
        return tg_err_in(err, "$TG_ISA");
    if (status != TG_EDATA)
        return status;
    cli_say("%s", err->message);
    return TG_OK;
}

tg_status cli_begin_text(size_t threads, tg_err *err)
{
    return cli_begin_with(threads, tg_text_kernels_choose, err);
}
