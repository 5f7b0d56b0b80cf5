/* --version: the one object that depends on the commit. */
#include <stdlib.h>

#include "cmd/cli/private.h"

#ifdef TG_COMMIT
#define COMMIT " (" TG_COMMIT ")"
#else
#define COMMIT ""
#endif

void cli_show_version(const cli_tool *tool)
{
    printf("%s " TG_VERSION COMMIT "\n", tool->name);
    exit(cli_close_stdout());
}
