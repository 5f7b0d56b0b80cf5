/* cli: parse arguments by the option table. */

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"
#include "lib/base/choice.h"

/* ---- values */

/* Whether text is not empty and all its characters are in `set`. */
static bool made_of(const char *text, const char *set)
{
    return *text != '\0' && text[strspn(text, set)] == '\0';
}

#define DIGITS_MAX 15

bool cli_take_size(const char **at, size_t *value)
{
    const char *begin = *at;

    for (*value = 0; **at >= '0' && **at <= '9' && *at - begin < DIGITS_MAX; ++*at)
        *value = *value * 10 + (size_t)(**at - '0');
    return *at > begin;
}

/* CLI_SIZE and CLI_NUMBER have a range, CLI_U64 has none. */
static bool has_range(const cli_option *o)
{
    return o->type != CLI_U64;
}

bool cli_in_range(const cli_option *o, double value)
{
    return value >= o->min && value <= o->max;
}

static int out_of_range(const cli_option *o, const char *text)
{
    return cli_usage("--%s must be between %.15g and %.15g, got %s", o->name, o->min, o->max, text);
}

/* Parse a whole number, digits only, at most `max`. */
static int parse_whole(const cli_option *o, const char *text, uint64_t max, uint64_t *value)
{
    unsigned long long n;

    if (text[0] == '-' && made_of(text + 1, "0123456789")) {
        if (has_range(o))
            return out_of_range(o, text);
        return cli_usage("--%s must not be negative, got %s", o->name, text);
    }
    if (!made_of(text, "0123456789"))
        return cli_usage("--%s must be a whole number, got '%s'", o->name, text);
    errno = 0;
    n = strtoull(text, NULL, 10);
    if (errno == ERANGE || n > max) {
        if (has_range(o))
            return out_of_range(o, text);
        return cli_usage("--%s must be at most %llu, got %s", o->name, (unsigned long long)max, text);
    }
    *value = n;
    return CLI_OK;
}

static int set_size(const cli_option *o, const char *text)
{
    uint64_t n;

    if (parse_whole(o, text, SIZE_MAX, &n))
        return CLI_USAGE;
    if (!cli_in_range(o, (double)n))
        return out_of_range(o, text);
    *(size_t *)o->value = (size_t)n;
    return CLI_OK;
}

static int set_number(const cli_option *o, const char *text)
{
    char *end;
    double x;

    errno = 0;
    x = strtod(text, &end);
    /* strtod() would also accept blanks, hexadecimal, inf and nan */
    if (!made_of(text, "0123456789+-.eE") || *end != '\0')
        return cli_usage("--%s must be a number, got '%s'", o->name, text);
    if (errno == ERANGE)
        return cli_usage("--%s must fit a double, got %s", o->name, text);
    if (!cli_in_range(o, x))
        return out_of_range(o, text);
    *(double *)o->value = x;
    return CLI_OK;
}

static int set_choice(const cli_option *o, const char *text, size_t *number)
{
    if (tg_choice_find(number, o->metavar, text))
        return CLI_OK;
    return cli_usage("--%s must be one of %s, got '%s'", o->name, o->metavar, text);
}

static int add_text(const cli_option *o, const char *text)
{
    cli_texts *texts = o->value;

    if (texts->n == CLI_TEXTS_MAX)
        return cli_usage("--%s may be given at most %d times", o->name, CLI_TEXTS_MAX);
    texts->text[texts->n++] = text;
    return CLI_OK;
}

static int set_value(const cli_option *o, const char *text)
{
    int failed = CLI_OK;
    size_t number = 0;

    switch (o->type) {
    case CLI_FLAG:
        *(bool *)o->value = true;
        break;
    case CLI_TEXT:
        if (*text == '\0' && strcmp(o->metavar, "FILE") == 0)
            failed = cli_usage("--%s must be a file name, got ''", o->name);
        *(const char **)o->value = text;
        break;
    case CLI_TEXTS:
        failed = add_text(o, text);
        break;
    case CLI_SIZE:
        failed = set_size(o, text);
        break;
    case CLI_U64:
        failed = parse_whole(o, text, UINT64_MAX, o->value);
        break;
    case CLI_NUMBER:
        failed = set_number(o, text);
        break;
    case CLI_CHOICE:
        failed = set_choice(o, text, o->value);
        break;
    case CLI_ENUM:
        if (!(failed = set_choice(o, text, &number)))
            *(unsigned *)o->value = (unsigned)number;
        break;
    case CLI_YES_NO:
        if (!(failed = set_choice(o, text, &number)))
            *(bool *)o->value = number == 0;
        break;
    }
    if (!failed && o->given)
        *o->given = true;
    return failed;
}

/* ---- parsing */

const cli_option *cli_find_letter(const cli_tool *tool, char letter)
{
    for (const cli_option *o = tool->options; o->name; o++)
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

enum match { NO_MATCH, PREFIX_MATCH, EXACT_MATCH };

static enum match match_name(const char *name, const char *typed, size_t n)
{
    if (strncmp(name, typed, n) != 0)
        return NO_MATCH;
    return name[n] == '\0' ? EXACT_MATCH : PREFIX_MATCH;
}

/* Find the option with the name typed [n], whole or abbreviated.  If none or several match, report it
 * and return NULL. */
static const cli_option *find_name(const cli_tool *tool, const char *typed, size_t n)
{
    static const cli_option built_in[] = {{.name = "help"}, {.name = "version"}};
    const cli_option *found = NULL;
    size_t own = 0, matches = 0;
    char all[512] = "";

    while (tool->options[own].name)
        own++;
    for (size_t i = 0; i < own + 2; i++) {
        const cli_option *o = i < own ? &tool->options[i] : &built_in[i - own];
        enum match match = match_name(o->name, typed, n);

        if (match == EXACT_MATCH)
            return o;
        if (match == PREFIX_MATCH) {
            const size_t used = strlen(all);

            snprintf(all + used, sizeof all - used, "%s--%s", matches++ > 0 ? " or " : "", o->name);
            found = o;
        }
    }
    if (matches == 0)
        cli_usage("unknown option --%.*s", (int)n, typed);
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

/* Parse "--name", "--name=value" or "--name value"; `text` starts after the dashes. */
static int parse_long(struct parser *p, const char *text)
{
    const size_t n = strcspn(text, "=");
    const cli_option *o = find_name(p->tool, text, n);
    const char *value = text[n] == '=' ? text + n + 1 : NULL;

    if (!o)
        return CLI_USAGE;
    if (value && o->type == CLI_FLAG)
        return cli_usage("--%s takes no value", o->name);
    if (!o->value && strcmp(o->name, "help") == 0)
        cli_show_help(p->tool);
    if (!o->value && strcmp(o->name, "version") == 0)
        cli_show_version(p->tool);
    if (!value && o->type != CLI_FLAG && !(value = take_argument(p, o)))
        return CLI_USAGE;
    return set_value(o, value);
}

/* Parse the letters after a single dash: flags; the last one may take a value. */
static int parse_letters(struct parser *p, const char *text)
{
    for (; *text != '\0'; text++) {
        const cli_option *o = cli_find_letter(p->tool, *text);
        const char *value;

        if (!o && *text == 'h')
            cli_show_help(p->tool);
        if (!o)
            return cli_usage("unknown option -%c", *text);
        if (o->type != CLI_FLAG) {
            value = text[1] != '\0' ? text + 1 : take_argument(p, o);
            return value ? set_value(o, value) : CLI_USAGE;
        }
        set_value(o, NULL);
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
    return operands;
}
