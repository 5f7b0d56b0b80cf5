/* cli: the options that a tool has: its own, and those that all tools have. */
#include <string.h>

#include "cmd/cli/private.h"
#include "lib/base/choice.h"

const cli_option *cli_own_option(const cli_tool *tool, const char *name)
{
    for (const cli_option *o = tool->options; o->name; o++)
        if (strcmp(o->name, name) == 0)
            return o;
    return NULL;
}

/* The tool's own option with this letter, or NULL. */
static const cli_option *own_letter(const cli_tool *tool, char letter)
{
    for (const cli_option *o = tool->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

/* Words of --format that are options themselves, where a tool has that one and not these. */
static const cli_option json_word = {.name = "json", .help = "the same as --format jsonl"},
                        tsv_word = {.name = "tsv", .help = "the same as --format tsv"};

/* Whether `word` stands for a value of --format, and is not an option of the tool's own. */
static bool is_format(const cli_tool *tool, const char *word, const char *value)
{
    const cli_option *format = cli_own_option(tool, "format");
    size_t number;

    return format && tg_choice_find(&number, format->metavar, value) && !cli_own_option(tool, word);
}

const cli_option *cli_get_option(const cli_tool *tool, size_t number)
{
    static const cli_option help = {.letter = 'h', .name = "help", .help = "show this help and exit"},
                            no_h = {.name = "help", .help = "show this help and exit"},
                            version = {.letter = 'V', .name = "version", .help = "show the version and exit"};
    const cli_option *const common[] = {
        is_format(tool, "json", "jsonl") ? &json_word : NULL,
        is_format(tool, "tsv", "tsv") ? &tsv_word : NULL,
        &cli_quiet_option,
        &cli_sandbox_option,
        own_letter(tool, 'h') ? &no_h : &help,
        &version,
    };
    size_t own = 0;

    while (tool->options[own].name)
        own++;
    if (number < own)
        return &tool->options[number];
    number -= own;
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (common[i] && number-- == 0)
            return common[i];
    return NULL;
}

const char *cli_format_meant(const cli_option *o)
{
    return o == &json_word ? "jsonl" : o == &tsv_word ? "tsv" : NULL;
}

/* ---- options for the members of an object */

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
