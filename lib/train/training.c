/* A run as programs see it (lib/tg/train.h): a text, a run on it, and what its steps need, in one object. */
#include "lib/tg/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/path.h"
#include "formats/source.h"
#include "lib/base/object.h"
#include "lib/gpt/freeze.h"
#include "lib/models/model_file.h"
#include "lib/train/recipe.h"
#include "lib/train/text_length.h"
#include "lib/train/trainer.h"

struct tg_training {
    tg_run run;
    tg_tokens tokens;
    tg_settings asked;
    bool given[TG_SETTINGS];
    bool begun;
    size_t steps; /* of the whole run, once it has begun */
    tg_batches batches;
    tg_trainer trainer;
};

/* ---- the text and the model */

static tg_status open_file(int *fd, const char *path, tg_err *err)
{
    *fd = tg_path_open(path);
    return *fd < 0 ? tg_fail_sys(err, "%s", path) : TG_OK;
}

static tg_status load_tokens(tg_training *t, const char *path, tg_err *err)
{
    tg_source source;
    int fd;
    tg_status status = open_file(&fd, path, err);

    if (status)
        return status;
    if (!(status = tg_source_open_unmapped(&source, fd, err)))
        status = tg_tokens_load_source(&t->tokens, &source, SIZE_MAX, err);
    close(fd);
    return status ? tg_err_in(err, path) : TG_OK;
}

static tg_status new_model(tg_training *t, tg_err *err)
{
    const tg_config config = tg_recipe_config(t->tokens.tokenizer);
    tg_model model;
    const tg_status status = tg_model_create(&model, &config, t->tokens.tokenizer, t->asked.seed, err);

    return status ? status : tg_run_begin(&t->run, &model, err);
}

static tg_status load_foreign(tg_training *t, const char *path, tg_err *err)
{
    tg_model_file f;
    tg_model model;
    tg_status status = tg_model_file_open(&f, path, NULL, err);

    if (status)
        return status;
    status = tg_model_file_to_model(&model, &f, true, err);
    return status ? tg_err_in(err, path) : tg_run_begin(&t->run, &model, err);
}

static tg_status load_model(tg_training *t, const char *path, tg_err *err)
{
    bool foreign;
    int fd;
    tg_status status = tg_model_file_is_foreign(path, &foreign, err);

    if (status || foreign)
        return status ? status : load_foreign(t, path, err);
    if ((status = open_file(&fd, path, err)))
        return status;
    status = tg_run_read(&t->run, fd, err);
    close(fd);
    return status ? tg_err_in(err, path) : TG_OK;
}

/* A new model waits for its seed. */
static tg_status load(tg_training *t, const char *tokens, const char *model, tg_err *err)
{
    tg_status status = load_tokens(t, tokens, err);

    if (status || !model || (status = load_model(t, model, err)))
        return status;
    return tg_tokenizer_same(t->run.model.tokenizer, t->tokens.tokenizer, err);
}

tg_status tg_training_new(tg_training **t, const char *tokens, const char *model, tg_err *err)
{
    tg_status status;

    if (!(*t = tg_object_new(sizeof **t, "a training", err)))
        return TG_ENOMEM;
    (*t)->asked = tg_settings_default();
    if ((status = load(*t, tokens, model, err))) {
        tg_training_destroy(*t);
        *t = NULL;
    }
    return status;
}

void tg_training_destroy(tg_training *t)
{
    if (!t)
        return;
    if (t->begun)
        tg_trainer_close(&t->trainer);
    tg_batches_free(&t->batches);
    tg_run_free(&t->run);
    tg_tokens_free(&t->tokens);
    free(t);
}

/* ---- settings */

tg_status tg_training_set(tg_training *t, const char *name, const char *value, tg_err *err)
{
    static const char prefix[] = "train/";

    if (t->begun)
        return tg_fail(err, TG_EUSAGE, "%s: the run has begun with its settings", name);
    for (size_t i = 0; i < TG_SETTINGS; i++) {
        const tg_field *f = &tg_settings_fields.row[i];

        if (strcmp(f->name + sizeof prefix - 1, name) != 0)
            continue;
        if (!tg_field_parse(f, &t->asked, value))
            return tg_fail(err, TG_EUSAGE, "%s cannot be \"%s\"", name, value);
        t->given[i] = true;
        return TG_OK;
    }
    return tg_fail(err, TG_EUSAGE, "no setting is called \"%s\"", name);
}

tg_status tg_training_freeze(tg_training *t, const char *list, tg_err *err)
{
    unsigned char *frozen;
    tg_status status;

    if (t->begun)
        return tg_fail(err, TG_EUSAGE, "%s: the run has begun", list);
    if (!t->run.model.tokenizer && (status = new_model(t, err)))
        return status;
    if (!(frozen = malloc(t->run.model.table.n)))
        return tg_fail_memory(err, t->run.model.table.n, "the frozen parameters");
    if (!(status = tg_freeze_find(frozen, &t->run.model.table, list, err)))
        status = tg_run_freeze(&t->run, frozen, err);
    free(frozen);
    return status;
}

tg_status tg_training_begin(tg_training *t, tg_err *err)
{
    tg_text_changes changes;
    size_t tokens;
    tg_status status;

    if (t->begun)
        return TG_OK;
    if ((!t->run.model.tokenizer && (status = new_model(t, err))) ||
        (status = tg_run_text_length(&t->run, &tokens, &t->asked, t->given, &t->tokens, NULL, err)) ||
        (status = tg_run_resume(&t->run, tokens, &t->asked, t->given, &t->steps, err)) ||
        (status = tg_run_use_text(&t->run, &t->batches, &t->tokens, NULL, &changes, err)) ||
        (status = tg_run_prepare(&t->run, err)) ||
        (status = tg_trainer_open(&t->trainer, &t->run, &t->batches, &tg_team_alone, err)))
        return status;
    t->begun = true;
    return TG_OK;
}

/* ---- the run */

size_t tg_training_done(const tg_training *t)
{
    return t->run.step;
}

size_t tg_training_steps(const tg_training *t)
{
    return t->steps;
}

tg_status tg_training_step(tg_training *t, tg_step_report *report, tg_err *err)
{
    const tg_status status = tg_training_begin(t, err);

    if (status)
        return status;
    if (t->run.step >= t->steps)
        return tg_fail(err, TG_EUSAGE, "the run is complete: all of its %zu steps are done", t->steps);
    return tg_trainer_step(&t->trainer, report, err);
}

tg_status tg_training_validate(tg_training *t, double *loss, tg_err *err)
{
    const tg_status status = tg_training_begin(t, err);

    if (!status)
        *loss = t->batches.val_windows > 0 ? tg_trainer_evaluate(&t->trainer, t->batches.val_windows)
                                           : (double)NAN;
    return status;
}

const tg_model *tg_training_model(const tg_training *t)
{
    return t->run.model.tokenizer ? &t->run.model : NULL;
}

tg_status tg_training_write(const tg_training *t, int fd, tg_err *err)
{
    return t->run.model.tokenizer ? tg_run_write(&t->run, fd, err)
                                  : tg_fail(err, TG_EUSAGE, "a new run, which has not begun");
}
