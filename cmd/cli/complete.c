/* cli: completions for shells, from the option table. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/private.h"
#include "lib/base/choice.h"

/* ---- what an option's value may be */

/* The parts of a metavar, as of "bytes|char|FILE": words, a file, or anything else. */
enum part { WORD, NAME, FILE_NAME };

static enum part kind_of(const char *part)
{
    if (strcmp(part, "FILE") == 0)
        return FILE_NAME;
    return part[strcspn(part, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")] == '\0' ? WORD : NAME;
}

static bool takes(const cli_option *o, enum part kind)
{
    char part[TG_CHOICE_SIZE];

    for (size_t i = 0; o->metavar && *tg_choice_name(part, o->metavar, i) != '\0'; i++)
        if (kind_of(part) == kind)
            return true;
    return false;
}

/* Print the words, with blanks between them. */
static void print_words(const cli_option *o)
{
    char part[TG_CHOICE_SIZE];
    const char *before = "";

    for (size_t i = 0; *tg_choice_name(part, o->metavar, i) != '\0'; i++) {
        if (kind_of(part) != WORD)
            continue;
        printf("%s%s", before, part);
        before = " ";
    }
}

/* ---- bash */

/* What may follow an option that takes a value. */
static void bash_value(const cli_option *o)
{
    printf("    ");
    if (o->letter)
        printf("-%c | ", o->letter);
    printf("--%s)", o->name);
    if (takes(o, WORD)) {
        printf(" words='");
        print_words(o);
        printf("'");
    }
    printf("%s ;;\n", takes(o, FILE_NAME) ? " files=1" : "");
}

static void bash_options(const cli_tool *tool)
{
    const cli_option *o;

    for (size_t i = 0; (o = cli_get_option(tool, i)); i++) {
        if (o->letter)
            printf("-%c ", o->letter);
        printf("--%s%s", o->name, cli_get_option(tool, i + 1) ? " " : "");
    }
}

/* Bash splits --name=value into three words.  Where only files are wanted, it completes them itself. */
static void print_bash(const cli_tool *tool)
{
    const cli_option *o;

    printf("# bash completion of %s, made by %s --help=bash\n", tool->name, tool->name);
    printf("_%s()\n{\n", tool->name);
    printf("    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words='' files='' i\n"
           "    COMPREPLY=()\n"
           "    if [[ $cur == = ]]; then\n"
           "        cur=''\n"
           "    elif [[ $prev == = ]]; then\n"
           "        prev=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    for ((i = 1; i < COMP_CWORD; i++)); do\n"
           "        [[ ${COMP_WORDS[i]} != -- ]] || prev=--\n"
           "    done\n"
           "    case $prev in\n");
    for (size_t i = 0; (o = cli_get_option(tool, i)); i++)
        if (o->type != CLI_FLAG)
            bash_value(o);
    printf("    *)\n"
           "        files='%s'\n"
           "        if [[ $cur == -* && $prev != -- ]]; then\n"
           "            files='' words='",
           tool->files ? "1" : "");
    bash_options(tool);
    printf("'\n"
           "        fi ;;\n"
           "    esac\n"
           "    [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$cur\")\n"
           "    if [[ $files && $words ]]; then\n"
           "        compopt -o filenames\n"
           "        mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -- \"$cur\")\n"
           "    elif [[ $files ]]; then\n"
           "        compopt -o bashdefault -o default\n"
           "    fi\n"
           "}\n"
           "complete -F _%s %s\n",
           tool->name, tool->name);
}

/* ---- zsh and fish */

/* Print text within '...', with a backslash before each of `special`, and `quote` for a quote. */
static void print_quoted(const char *text, const char *special, const char *quote)
{
    for (; *text != '\0'; text++) {
        if (*text == '\'') {
            fputs(quote, stdout);
            continue;
        }
        if (strchr(special, *text))
            putchar('\\');
        putchar(*text);
    }
}

/* ":message:action" of an option that takes a value; a blank is no action. */
static void zsh_value(const cli_option *o)
{
    const bool word = takes(o, WORD), file = takes(o, FILE_NAME);

    printf(":%s:", file ? "file" : word ? o->name : o->metavar);
    if (!word) {
        printf("%s", file ? "_files" : " ");
        return;
    }
    printf("%s", file ? "{compadd " : "(");
    print_words(o);
    printf("%s", file ? "; _files}" : ")");
}

static void print_zsh(const cli_tool *tool)
{
    const cli_option *o;

    printf("#compdef %s\n# made by %s --help=zsh\n\n_arguments -s -S", tool->name, tool->name);
    for (size_t i = 0; (o = cli_get_option(tool, i)); i++) {
        const bool value = o->type != CLI_FLAG;

        printf(" \\\n    ");
        if (o->type == CLI_TEXTS || o->type == CLI_ADAPTERS)
            printf("'*--%s=[", o->name);
        else if (o->letter)
            printf("'(-%c --%s)'{-%c%s,--%s%s}'[", o->letter, o->name, o->letter, value ? "+" : "", o->name,
                   value ? "=" : "");
        else
            printf("'--%s%s[", o->name, value ? "=" : "");
        print_quoted(o->help, "[]\\", "'\\''");
        printf("]");
        if (value)
            zsh_value(o);
        printf("'");
    }
    printf("%s\n", tool->files ? " \\\n    '*:file:_files'" : "");
}

static void print_fish(const cli_tool *tool)
{
    const cli_option *o;

    printf("# fish completion of %s, made by %s --help=fish\n", tool->name, tool->name);
    if (!tool->files)
        printf("complete -c %s -f\n", tool->name);
    for (size_t i = 0; (o = cli_get_option(tool, i)); i++) {
        printf("complete -c %s", tool->name);
        if (o->letter)
            printf(" -s %c", o->letter);
        printf(" -l %s", o->name);
        if (o->type != CLI_FLAG)
            printf(takes(o, FILE_NAME) ? " -r -F" : " -x");
        if (takes(o, WORD)) {
            printf(" -a '");
            print_words(o);
            printf("'");
        }
        printf(" -d '");
        print_quoted(o->help, "\\", "\\'");
        printf("'\n");
    }
}

/* ---- all of them */

int cli_show_completions(const cli_tool *tool, const char *shell)
{
    static void (*const print[])(const cli_tool *) = {print_bash, print_zsh, print_fish};
    static const char shells[] = "bash|zsh|fish";
    size_t number;

    if (!tg_choice_find(&number, shells, shell))
        return cli_usage("--help takes no value, except a shell, to print its completions: %s", shells);
    print[number](tool);
    (void)cli_stdout_failed(); /* keeps why */
    exit(cli_close_stdout());
}
