/* cli: --help and --version, from the option table. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/private.h"
#include "lib/base/choice.h"

#define HELP_WIDTH 79
#define HELP_INDENT 27 /* column of the options' descriptions */

/* Print words starting at column *at, wrapped at HELP_WIDTH; later lines start at column `indent`. */
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

/* The value of an option that has not been given; "" for none, or if it is out of range. */
static const char *default_of(char text[TG_CHOICE_SIZE], const cli_option *o)
{
    *text = '\0';
    switch (o->type) {
    case CLI_FLAG:
    case CLI_YES_NO:
    case CLI_TEXTS:
    case CLI_ADAPTERS:
        break;
    case CLI_TEXT:
    case CLI_INPUT:
    case CLI_MODEL:
    case CLI_OUTPUT:
    case CLI_APPEND:
        return *(const char **)o->value ? *(const char **)o->value : text;
    case CLI_SIZE:
        if (cli_in_range(o, (double)*(size_t *)o->value))
            snprintf(text, TG_CHOICE_SIZE, "%zu", *(size_t *)o->value);
        break;
    case CLI_U64:
        snprintf(text, TG_CHOICE_SIZE, "%llu", (unsigned long long)*(uint64_t *)o->value);
        break;
    case CLI_NUMBER:
        if (cli_in_range(o, *(double *)o->value))
            snprintf(text, TG_CHOICE_SIZE, "%g", *(double *)o->value);
        break;
    case CLI_CHOICE:
        return tg_choice_name(text, o->metavar, *(size_t *)o->value);
    case CLI_ENUM:
        return tg_choice_name(text, o->metavar, *(unsigned *)o->value);
    }
    return text;
}

/* Print what an option takes, after column *at; a list that no line holds is wrapped after a bar. */
static void print_metavar(const char *text, size_t *at)
{
    const size_t indent = *at + 1;

    putchar(' ');
    ++*at;
    while (*text != '\0') {
        const size_t n = strcspn(text, "|"), with_bar = n + (text[n] == '|');

        if (*at > indent && *at + with_bar > HELP_WIDTH) {
            printf("\n%*s", (int)indent, "");
            *at = indent;
        }
        printf("%.*s", (int)with_bar, text);
        *at += with_bar;
        text += with_bar;
    }
}

static void print_help_of_option(const cli_option *o)
{
    char text[TG_CHOICE_SIZE], shown[128] = "";
    const char *const value = default_of(text, o);
    size_t at;
    int n;

    if (o->letter)
        n = printf("  -%c, --%s", o->letter, o->name);
    else
        n = printf("      --%s", o->name);
    at = n > 0 ? (size_t)n : 0;
    if (o->metavar)
        print_metavar(o->metavar, &at);
    if (at + 2 > HELP_INDENT) {
        putchar('\n');
        at = 0;
    }
    printf("%*s", (int)(HELP_INDENT - at), "");
    at = HELP_INDENT;
    print_words(o->help, &at, HELP_INDENT);
    if (*value != '\0')
        snprintf(shown, sizeof shown, "(default: %s)", value);
    print_words(shown, &at, HELP_INDENT);
    putchar('\n');
}

static void print_help(const cli_tool *tool)
{
    const cli_option *o;
    size_t at = 0;

    printf("Usage: %s %s\n", tool->name, tool->usage);
    print_words(tool->summary, &at, 0);
    printf("\n\nOptions:\n");
    for (size_t i = 0; (o = cli_get_option(tool, i)); i++)
        print_help_of_option(o);
    if (tool->examples)
        printf("\nExamples:\n%s\n", tool->examples);
    printf("\nExit status: 0 success, 1 bad data, 2 wrong usage, 3 I/O or memory error.\n");
}

void cli_show_help(const cli_tool *tool)
{
    print_help(tool);
    (void)cli_stdout_failed(); /* keeps why, if the text is longer than stdio's buffer */
    exit(cli_close_stdout());
}
