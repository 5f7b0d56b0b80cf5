/* cli: the number of threads, and how they wait. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"

#define THREADS_EACH 8 /* threads per processor; more of them never help */

void cli_init_threads(char **argv)
{
    char self[4096];
    const char *name;
    ssize_t n;

    if (getenv("OMP_WAIT_POLICY") || getenv("GOMP_SPINCOUNT") || getenv("KMP_BLOCKTIME"))
        return;
    n = readlink("/proc/self/exe", self, sizeof self - 1);
    if (n <= 0)
        return;
    self[n] = '\0';
    /* if a loader started the tool, this is the loader's path, and argv is not the loader's */
    name = strrchr(self, '/');
    if (!name || strcmp(name + 1, cli_tool_name()) != 0)
        return;
    if (setenv("GOMP_SPINCOUNT", "3000", 1) == 0 && setenv("KMP_BLOCKTIME", "0", 1) == 0)
        execv(self, argv); /* if execv() fails, this process computes without the setting */
}

tg_status cli_set_threads(size_t n, tg_err *err)
{
    const size_t processors = (size_t)omp_get_num_procs();

    if (n > THREADS_EACH * processors)
        return tg_fail(err, TG_EUSAGE,
                       "--threads must be at most %zu (%d for each of %zu processor%s), got %zu",
                       THREADS_EACH * processors, THREADS_EACH, processors, cli_plural(processors), n);
    if (n > 0)
        omp_set_num_threads((int)n);
    return TG_OK;
}
