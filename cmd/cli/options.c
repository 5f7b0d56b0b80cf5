/* cli: parse arguments by the option table. */

#include <string.h>

#include "cmd/cli/private.h"

/* The option with this letter, or NULL. */
static const cli_option *find_letter(const cli_tool *tool, char letter)
{
    const cli_option *o;

    for (size_t i = 0; (o = cli_get_option(tool, i)); i++)
        if (o->letter == letter)
            return o;
    return NULL;
}

struct parser {
    const cli_tool *tool;
    int argc;
    char **argv;
    int next; /* index of the next argument */
};

/* Find the option with the name typed [n], whole or abbreviated.  If none or several match, report it
 * and return NULL. */
static const cli_option *find_name(const cli_tool *tool, const char *typed, size_t n)
{
    const cli_option *found = NULL, *o;
    size_t matches = 0;
    char all[512] = "";

    for (size_t i = 0; (o = cli_get_option(tool, i)); i++) {
        const size_t used = strlen(all);

        if (strncmp(o->name, typed, n) != 0)
            continue;
        if (o->name[n] == '\0')
            return o;
        snprintf(all + used, sizeof all - used, "%s--%s", matches++ > 0 ? " or " : "", o->name);
        found = o;
    }
    if (matches == 0)
        cli_report_unknown(tool, typed, n);
    else if (matches > 1)
        cli_usage("--%.*s is ambiguous: %s", (int)n, typed, all);
    return matches > 1 ? NULL : found;
}

/* Take the next argument as the value of `o`. */
static const char *take_argument(struct parser *p, const cli_option *o)
{
    if (p->next < p->argc)
        return p->argv[p->next++];
    cli_usage("--%s needs a value: %s", o->name, o->metavar);
    return NULL;
}

/* --help and --version, which have no value to set, end the tool. */
static void show_if_asked(const cli_tool *tool, const cli_option *o)
{
    if (!o->value && strcmp(o->name, "help") == 0)
        cli_show_help(tool);
    if (!o->value && strcmp(o->name, "version") == 0)
        cli_show_version(tool);
}

/* Parse "--name", "--name=value" or "--name value"; `text` starts after the dashes. */
static int parse_long(struct parser *p, const char *text)
{
    const size_t n = strcspn(text, "=");
    const cli_option *o = find_name(p->tool, text, n);
    const char *value = text[n] == '=' ? text + n + 1 : NULL;

    if (!o)
        return CLI_USAGE;
    if (!o->value && strcmp(o->name, "help") == 0 && value)
        return cli_show_completions(p->tool, value);
    if (value && o->type == CLI_FLAG)
        return cli_usage("--%s takes no value", o->name);
    show_if_asked(p->tool, o);
    if (cli_format_meant(o))
        return cli_set_value(cli_own_option(p->tool, "format"), cli_format_meant(o));
    if (!value && o->type != CLI_FLAG && !(value = take_argument(p, o)))
        return CLI_USAGE;
    return cli_set_value(o, value);
}

/* The option whose whole name has been typed, or NULL. */
static const cli_option *whole_name(const cli_tool *tool, const char *typed)
{
    const size_t n = strcspn(typed, "=");
    const cli_option *o;

    for (size_t i = 0; n > 1 && (o = cli_get_option(tool, i)); i++)
        if (strncmp(o->name, typed, n) == 0 && o->name[n] == '\0')
            return o;
    return NULL;
}

/* Parse the letters after a single dash: flags; the last one may take a value.  "-output" is no "-o utput".
 */
static int parse_letters(struct parser *p, const char *text)
{
    const cli_option *meant = whole_name(p->tool, text);

    if (meant)
        return cli_usage("unknown option -%s: did you mean --%s?", meant->name, meant->name);
    for (; *text != '\0'; text++) {
        const cli_option *o = find_letter(p->tool, *text);
        const char *value;

        if (!o)
            return cli_usage("unknown option -%c", *text);
        show_if_asked(p->tool, o);
        if (o->type != CLI_FLAG) {
            value = text[1] != '\0' ? text + 1 : take_argument(p, o);
            return value ? cli_set_value(o, value) : CLI_USAGE;
        }
        cli_set_value(o, NULL);
    }
    return CLI_OK;
}

int cli_parse(int argc, char **argv, const cli_tool *tool)
{
    struct parser p = {.tool = tool, .argc = argc, .argv = argv, .next = 1};
    bool ended = false;
    int operands = 0, dashes = 0;

    while (p.next < argc) {
        char *arg = argv[p.next++];

        if (ended || arg[0] != '-' || arg[1] == '\0') {
            argv[++operands] = arg;
        } else if (strcmp(arg, "--") == 0) {
            ended = true;
        } else if (arg[1] == '-' ? parse_long(&p, arg + 2) : parse_letters(&p, arg + 1)) {
            return -1;
        }
    }
    for (int i = 1; i <= operands; i++)
        dashes += cli_is_dash(argv[i]);
    if (dashes > 1) {
        cli_usage("standard input (-) is given %d times, but can be read only once", dashes);
        return -1;
    }
    cli_note_files(tool, argv, operands);
    return operands;
}
