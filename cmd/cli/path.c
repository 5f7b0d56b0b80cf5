/* cli: properties of a path alone. */
#include <string.h>

#include "cmd/cli/cli.h"
#include "formats/path.h"

bool cli_is_dash(const char *path)
{
    return strcmp(path, "-") == 0;
}

const char *cli_ending(const char *path)
{
    const char *name = tg_path_name(path);
    const char *dot = strrchr(name, '.');

    return dot && dot > name && dot[1] != '\0' ? dot + 1 : NULL;
}
