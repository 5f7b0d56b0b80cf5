/* cli: options for the members of an object. */
#include <string.h>

#include "cmd/cli/cli.h"

/* "min-lr" of "train/min_lr". */
static void option_name(char name[CLI_NAME_SIZE], const char *array)
{
    const char *slash = strrchr(array, '/');

    snprintf(name, CLI_NAME_SIZE, "%s", slash ? slash + 1 : array);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
}

cli_option cli_field_option(const tg_field *f, void *object, char name[CLI_NAME_SIZE], bool *given,
                            const char *metavar, const char *help)
{
    static const cli_type types[] = {
        [TG_FIELD_SIZE] = CLI_SIZE,   [TG_FIELD_U64] = CLI_U64,     [TG_FIELD_REAL] = CLI_NUMBER,
        [TG_FIELD_BOOL] = CLI_YES_NO, [TG_FIELD_CHOICE] = CLI_ENUM,
    };

    option_name(name, f->name);
    if (f->type == TG_FIELD_CHOICE)
        metavar = f->choices;
    if (f->type == TG_FIELD_BOOL)
        metavar = "yes|no";
    return (cli_option){
        .name = name,
        .type = types[f->type],
        .value = tg_field_member(f, object),
        .metavar = metavar,
        .help = help,
        .given = given,
        .min = f->min,
        .max = f->max,
    };
}
