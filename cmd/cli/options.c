/* cli: the option table -- parsing, ranges, --help and --version. */
#include "cmd/cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/choice.h"

#define HELP_WIDTH 79
#define HELP_INDENT 27 /* column of the options' descriptions */

/* ---- values */

/* Is `text` made of characters in `set` alone, and not empty? */
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

static bool in_range(const cli_option *o, double value)
{
    return value >= o->min && value <= o->max;
}

static int out_of_range(const cli_option *o, const char *text)
{
    return cli_usage("--%s must be between %.15g and %.15g, got %s", o->name, o->min, o->max, text);
}

/* A whole number of digits alone, at most `most`. */
static int parse_whole(const cli_option *o, const char *text, uint64_t most, uint64_t *value)
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
    if (errno == ERANGE || n > most) {
        if (has_range(o))
            return out_of_range(o, text);
        return cli_usage("--%s must be at most %llu, got %s", o->name, (unsigned long long)most, text);
    }
    *value = n;
    return CLI_OK;
}

static int set_size(const cli_option *o, const char *text)
{
    uint64_t n;

    if (parse_whole(o, text, SIZE_MAX, &n))
        return CLI_USAGE;
    if (!in_range(o, (double)n))
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
    /* strtod alone would take blanks, hexadecimal, inf and nan. */
    if (!made_of(text, "0123456789+-.eE") || *end != '\0')
        return cli_usage("--%s must be a number, got '%s'", o->name, text);
    if (errno == ERANGE)
        return cli_usage("--%s is beyond what a double can hold: %s", o->name, text);
    if (!in_range(o, x))
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
            failed = cli_usage("--%s needs the name of a file, got ''", o->name);
        *(const char **)o->value = text;
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

/* "min-lr" of "train/min_lr". */
static void option_name(char name[CLI_NAME_SIZE], const char *array)
{
    const char *slash = strrchr(array, '/');

    snprintf(name, CLI_NAME_SIZE, "%s", slash ? slash + 1 : array);
    for (char *c = name; *c != '\0'; c++)
        if (*c == '_')
            *c = '-';
}

cli_option cli_field_option(const tg_field *f, void *object, const char *metavar, char name[CLI_NAME_SIZE])
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
        .min = f->min,
        .max = f->max,
    };
}

/* ---- --help */

/* Words from column *at on, broken at HELP_WIDTH, later lines at `indent`. */
static void print_words(const char *text, size_t *at, size_t indent)
{
    while (*text != '\0') {
        size_t n = strcspn(text, " \n");

        if (*at > indent && *at + 1 + n > HELP_WIDTH) {
            printf("\n%*s", (int)indent, "");
            *at = indent;
        } else if (*at > indent) {
            putchar(' ');
            ++*at;
        }
        printf("%.*s", (int)n, text);
        *at += n;
        text += n + strspn(text + n, " \n");
    }
}

/* "(default: 12)".  A default that the option itself would refuse means: none. */
static void format_default(char *out, size_t size, const cli_option *o)
{
    char choice[TG_CHOICE_ROOM];

    *out = '\0';
    switch (o->type) {
    case CLI_FLAG:
        break;
    case CLI_TEXT:
        if (*(const char **)o->value)
            snprintf(out, size, "(default: %s)", *(const char **)o->value);
        break;
    case CLI_SIZE:
        if (in_range(o, (double)*(size_t *)o->value))
            snprintf(out, size, "(default: %zu)", *(size_t *)o->value);
        break;
    case CLI_U64:
        snprintf(out, size, "(default: %llu)", (unsigned long long)*(uint64_t *)o->value);
        break;
    case CLI_NUMBER:
        if (in_range(o, *(double *)o->value))
            snprintf(out, size, "(default: %g)", *(double *)o->value);
        break;
    case CLI_CHOICE:
        if (*tg_choice_name(choice, o->metavar, *(size_t *)o->value) != '\0')
            snprintf(out, size, "(default: %s)", choice);
        break;
    case CLI_ENUM:
        if (*tg_choice_name(choice, o->metavar, *(unsigned *)o->value) != '\0')
            snprintf(out, size, "(default: %s)", choice);
        break;
    case CLI_YES_NO:
        break;
    }
}

static void print_help_of_option(const cli_option *o)
{
    char text[128];
    size_t at;
    int n;

    if (o->letter)
        n = printf("  -%c, --%s", o->letter, o->name);
    else
        n = printf("      --%s", o->name);
    if (o->metavar)
        n += printf(" %s", o->metavar);
    at = n > 0 ? (size_t)n : 0;
    if (at + 2 > HELP_INDENT) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", (int)(HELP_INDENT - at), "");
    at = HELP_INDENT;
    print_words(o->help, &at, HELP_INDENT);
    format_default(text, sizeof text, o);
    print_words(text, &at, HELP_INDENT);
    putchar('\n');
}

static const cli_option *find_letter(const cli_tool *tool, char letter)
{
    for (const cli_option *o = tool->options; o->name; o++)
        if (o->letter == letter)
            return o;
    return NULL;
}

static bool ends_line(const char *text)
{
    return *text != '\0' && text[strlen(text) - 1] == '\n';
}

static void print_help(const cli_tool *tool)
{
    const char h = find_letter(tool, 'h') ? '\0' : 'h';
    const cli_option help = {.letter = h, .name = "help", .help = "show this help and exit"};
    const cli_option version = {.name = "version", .help = "show the version and exit"};

    size_t at = 0;

    printf("Usage: %s %s\n", tool->name, tool->usage);
    print_words(tool->summary, &at, 0);
    printf("\n\nOptions:\n");
    for (const cli_option *o = tool->options; o->name; o++)
        print_help_of_option(o);
    print_help_of_option(&help);
    print_help_of_option(&version);
    if (tool->examples)
        printf("\nExamples:\n%s%s", tool->examples, ends_line(tool->examples) ? "" : "\n");
    printf("\nExit status: 0 ok, 1 the data is bad, 2 wrong usage, 3 I/O or memory failed.\n");
}

static void show_help(const cli_tool *tool)
{
    print_help(tool);
    exit(cli_close_stdout());
}

static void show_version(const cli_tool *tool)
{
    printf("%s %s\n", tool->name, TG_VERSION);
    exit(cli_close_stdout());
}

/* ---- parsing */

/* Where the parser stands. */
struct parser {
    const cli_tool *tool;
    int argc;
    char **argv;
    int next; /* index of the first argument not looked at */
};

enum match { NO_MATCH, PREFIX_MATCH, EXACT_MATCH };

static enum match match_name(const char *name, const char *typed, size_t n)
{
    if (strncmp(name, typed, n) != 0)
        return NO_MATCH;
    return name[n] == '\0' ? EXACT_MATCH : PREFIX_MATCH;
}

/* The option that typed [n], whole or abbreviated, names.  Reports when there is
 * none or more than one. */
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
        cli_usage("--%.*s may be %s", (int)n, typed, all);
    return matches > 1 ? NULL : found;
}

/* The next argument, as the value of `o`. */
static const char *take_argument(struct parser *p, const cli_option *o)
{
    if (p->next < p->argc)
        return p->argv[p->next++];
    cli_usage("--%s needs a value, %s", o->name, o->metavar);
    return NULL;
}

/* "--name", "--name=value" or "--name value"; text is behind the dashes. */
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
        show_help(p->tool);
    if (!o->value && strcmp(o->name, "version") == 0)
        show_version(p->tool);
    if (!value && o->type != CLI_FLAG && !(value = take_argument(p, o)))
        return CLI_USAGE;
    return set_value(o, value);
}

/* Letters behind one dash: flags, and at the end one that may have a value. */
static int parse_letters(struct parser *p, const char *text)
{
    for (; *text != '\0'; text++) {
        const cli_option *o = find_letter(p->tool, *text);
        const char *value;

        if (!o && *text == 'h')
            show_help(p->tool);
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
        cli_usage("standard input, -, can be read once, but is given %d times", dashes);
        return -1;
    }
    return operands;
}
