/*
 * train_alone TOKENS STEPS: train a new model with the library alone, and write it to
 * standard output.  tests/tg-train.bats compares it with what tg-train makes.
 */
#include <stdio.h>
#include <unistd.h>

#include "lib/tg.h"

static tg_status train(tg_training *t, const char *steps, tg_err *err)
{
    tg_step_report report;
    tg_status status;

    if ((status = tg_training_set(t, "steps", steps, err)) || (status = tg_training_begin(t, err)))
        return status;
    while (!status && tg_training_done(t) < tg_training_steps(t))
        status = tg_training_step(t, &report, err);
    return status ? status : tg_training_write(t, STDOUT_FILENO, err);
}

int main(int argc, char **argv)
{
    tg_training *t;
    tg_err err = {0};

    if (argc != 3)
        return 2;
    if (tg_training_new(&t, argv[1], NULL, &err) || train(t, argv[2], &err))
        fprintf(stderr, "train_alone: %s\n", err.message);
    tg_training_destroy(t);
    return (int)err.code;
}
