/* cli: the beginning of a computation, in a file of its own: tools for text are linked without kernels of
 * numbers. */
#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "lib/kernels/kernels.h"

tg_status cli_begin_compute(size_t threads, tg_err *err)
{
    return cli_begin_with(threads, tg_kernels_choose, err);
}
