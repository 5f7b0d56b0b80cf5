/*
 * train_command: the commands that resume a run, quoted for the shell.
 */
#ifndef TG_CMD_TRAIN_COMMAND_H
#define TG_CMD_TRAIN_COMMAND_H

#include <stddef.h>

#include "cmd/tg-train/setup.h"

/* The command as it was given, for a run that was stopped. */
void train_command_again(char command[TRAIN_COMMAND_SIZE], int argc, char **argv);

/* One with another number of steps, for a complete run, which keeps its other settings. */
void train_command_steps(char command[TRAIN_COMMAND_SIZE], const train_options *o, size_t steps);

#endif
