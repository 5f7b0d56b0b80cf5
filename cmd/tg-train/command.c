#include "cmd/tg-train/command.h"

#include <stdio.h>

#include "cmd/cli/cli.h"

static void add(char *command, const char *word)
{
    cli_command_add(command, TRAIN_COMMAND_SIZE, word);
}

/* Append the files to a command, after "--" if one of them looks like an option. */
static void add_files(char *command, const train_options *o)
{
    bool dashed = false;

    for (size_t i = 0; i < o->n_files; i++)
        dashed |= o->files[i][0] == '-' && !cli_is_dash(o->files[i]);
    if (dashed)
        add(command, "--");
    for (size_t i = 0; i < o->n_files; i++)
        add(command, o->files[i]);
}

void train_command_again(char command[TRAIN_COMMAND_SIZE], int argc, char **argv)
{
    *command = '\0';
    add(command, "tg-train");
    for (int i = 1; i < argc; i++)
        add(command, argv[i]);
}

void train_command_steps(char command[TRAIN_COMMAND_SIZE], const train_options *o, size_t steps)
{
    char number[24];

    *command = '\0';
    add(command, "tg-train");
    if (o->model) {
        add(command, "-m");
        add(command, o->model);
    }
    if (o->output) {
        add(command, "-o");
        add(command, o->output);
    }
    snprintf(number, sizeof number, "%zu", steps);
    add(command, "--steps");
    add(command, number);
    add_files(command, o);
}
