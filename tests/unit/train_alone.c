/*
 * train_alone TOKENS STEPS: train a new model with the library alone, and write it to
 * standard output.  tests/tg-train.bats compares it with what tg-train makes.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/tg.h"

static tg_status load(tg_tokens *tokens, const char *path, tg_err *err)
{
    tg_source source;
    tg_status status = tg_source_open(&source, open(path, O_RDONLY), err);

    return status ? status : tg_tokens_load_source(tokens, &source, SIZE_MAX, err);
}

static tg_status begin(tg_run *run, const tg_tokens *tokens, size_t steps, tg_err *err)
{
    const tg_config config = tg_config_preset(TG_PRESET_DEFAULT);
    tg_settings asked = {0};
    bool given[TG_SETTINGS] = {false};
    tg_model model;
    tg_status status;

    if ((status = tg_model_create(&model, &config, tokens->tokenizer, 0, err)) ||
        (status = tg_run_begin(run, &model, err)))
        return status;
    asked.steps = steps;
    given[TG_SET_STEPS] = true;
    return tg_run_resume(run, tokens->count, &asked, given, &steps, err);
}

static tg_status train(tg_run *run, const tg_batches *batches, tg_err *err)
{
    tg_trainer t;
    tg_step_report report;
    tg_status status = tg_trainer_open(&t, run, batches, &tg_team_alone, err);

    if (status)
        return status;
    while (!status && run->step < run->settings.steps)
        status = tg_trainer_step(&t, &report, err);
    tg_trainer_close(&t);
    return status;
}

int main(int argc, char **argv)
{
    tg_tokens tokens = {0};
    tg_run run = {0};
    tg_batches batches;
    tg_text_changes change;
    tg_err err = {0};

    if (argc != 3)
        return 2;
    if (load(&tokens, argv[1], &err) || begin(&run, &tokens, strtoul(argv[2], NULL, 10), &err) ||
        tg_run_use_text(&run, &batches, &tokens, NULL, &change, &err) || train(&run, &batches, &err) ||
        tg_run_write(&run, STDOUT_FILENO, &err))
        fprintf(stderr, "train_alone: %s\n", err.message);
    tg_run_free(&run);
    tg_tokens_free(&tokens);
    return (int)err.code;
}
