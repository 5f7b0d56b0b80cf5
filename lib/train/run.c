#include "lib/train/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/gpt/freeze.h"
#include "lib/models/adapter_file.h"
#include "lib/models/halves.h"
#include "lib/models/model_archive.h"
#include "lib/train/frozen_file.h"
#include "lib/train/recipe.h"

/* The run's state, after its settings in the archive: of every run; of one with a separate text for
 * validation; of one that keeps its best model; of one whose plan is open. */
enum { STATE = 3, VAL = 2, BEST = 2, PLAN = 2 };
static const tg_field rows[STATE + VAL + BEST + PLAN] = {
    TG_SIZE_FIELD("train/step", tg_run, step, 0, (double)(TG_RUN_LIMIT - 1)),
    TG_SIZE_FIELD("train/text_tokens", tg_run, text_tokens, 0, 0),
    TG_SIZE_FIELD("train/text_crc", tg_run, text_crc, 0, 0),
    TG_SIZE_FIELD("train/val_text_tokens", tg_run, val_tokens, 0, 0),
    TG_SIZE_FIELD("train/val_text_crc", tg_run, val_crc, 0, 0),
    TG_SIZE_FIELD("train/best_step", tg_run, best_step, 0, (double)(TG_RUN_LIMIT - 1)),
    TG_REAL_FIELD("train/best_loss", tg_run, best_loss, 0, 1e30),
    TG_REAL_FIELD("train/minutes", tg_run, minutes, 0, TG_MINUTES_MAX),
    TG_REAL_FIELD("train/seconds", tg_run, seconds, 0, 1e12),
};
static const tg_fields all_fields = {rows, STATE + VAL + BEST + PLAN}, state_fields = {rows, STATE},
                       val_fields = {rows + STATE, VAL}, best_fields = {rows + STATE + VAL, BEST},
                       plan_fields = {rows + STATE + VAL + BEST, PLAN};

void tg_run_free(tg_run *run)
{
    tg_moments_free(&run->moments);
    tg_average_free(&run->average);
    tg_model_free(&run->model);
    *run = (tg_run){0};
}

/* The table of what is trained, also while an adapter's model is not lent yet. */
static const tg_params *trained(const tg_run *run)
{
    return run->adapter ? &run->adapter->table : tg_model_trained(&run->model);
}

/* Whether parameters and moments are bf16. */
static bool keeps_halves(const tg_settings *s)
{
    return s->master == TG_PRECISION_BF16;
}

static tg_status build_moments(tg_run *run, tg_err *err)
{
    return tg_moments_build(&run->moments, trained(run), &run->settings, err);
}

tg_status tg_run_begin(tg_run *run, const tg_model *model, tg_err *err)
{
    run->model = *model;
    run->settings = tg_settings_default();
    return build_moments(run, err);
}

tg_status tg_run_freeze(tg_run *run, const unsigned char *frozen, tg_err *err)
{
    tg_status status;

    for (size_t i = 0; run->step > 0 && i < run->model.table.n; i++)
        if (frozen[i] != tg_model_is_frozen(&run->model, i))
            return tg_fail(err, TG_EUSAGE, "it cannot change once a run has begun (%s is %s)",
                           run->model.table.entry[i].name, frozen[i] ? "trained" : "frozen");
    if (run->step > 0)
        return TG_OK;
    status = tg_model_freeze(&run->model, frozen, err);
    return status ? status : build_moments(run, err);
}

/* ---- reading */

static tg_status take(void *context, tg_archive_reader *r, const tg_array *a, bool *taken, tg_err *err)
{
    tg_run *run = context;
    tg_status status = tg_fields_take(tg_settings_fields, &run->settings, NULL, r, a, taken, err);

    if (!status && !*taken)
        status = tg_fields_take(all_fields, run, NULL, r, a, taken, err);
    if (!status && !*taken)
        status = tg_history_take(&run->history, r, a, taken, err);
    if (!status && !*taken)
        status = tg_moments_take(&run->moments, trained(run), &run->settings, r, a, taken, err);
    if (!status && !*taken)
        status = tg_average_take(&run->average, trained(run), r, a, taken, err);
    return status;
}

static tg_status take_with_model(void *context, tg_archive_reader *r, const tg_array *a, bool *taken,
                                 const tg_model *model, tg_err *err)
{
    (void)model; /* it is the run's */
    if (strcmp(a->name, TG_FROZEN) != 0)
        return take(context, r, a, taken, err);
    *taken = true;
    return tg_frozen_take(&((tg_run *)context)->model, r, a, err);
}

tg_status tg_run_read_step(size_t *step, int fd, tg_err *err)
{
    tg_run run = {0};
    tg_archive_reader *r;
    tg_archive_event event = TG_ARCHIVE_ARRAY;
    tg_array a;
    bool taken = false;
    tg_status status = tg_archive_open(&r, fd, err);

    *step = 0;
    if (status)
        return status;
    while (!status && !taken && !(status = tg_archive_next(r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY)
        status = tg_fields_take((tg_fields){rows, 1}, &run, NULL, r, &a, &taken, err);
    if (!status)
        *step = run.step;
    tg_archive_close(r);
    return status;
}

static tg_status check_settings(const tg_run *run, const tg_settings *s, tg_err *err)
{
    const size_t n_ctx = run->model.config.n_ctx;
    tg_status status = tg_settings_check(s, err);

    if (!status && s->context > n_ctx)
        status = tg_fail(err, TG_EDATA, "context %zu exceeds the model's %zu", s->context, n_ctx);
    return status;
}

static tg_status check_state(const tg_run *run, tg_err *err)
{
    tg_status status;

    if ((status = tg_fields_check(all_fields, run, err)) ||
        (status = tg_history_check(&run->history, run->step, err)))
        return status;
    if (run->best_step > run->step)
        return tg_fail(err, TG_EDATA, "%s is %zu, after step %zu", best_fields.row[0].name, run->best_step,
                       run->step);
    if (keeps_halves(&run->settings) && (run->adapter || run->settings.optimizer == TG_OPTIMIZER_MUON))
        return tg_fail(err, TG_EDATA, "train/master is bf16, which is for whole models and optimizer adamw");
    if (keeps_halves(&run->settings) && run->settings.average > 0)
        return tg_fail(err, TG_EDATA, "train/master is bf16, and train/average %zu: expected 0",
                       run->settings.average);
    if ((status = tg_moments_check(&run->moments, trained(run), &run->settings, run->step, err)) ||
        (status = check_settings(run, &run->settings, err)))
        return status;
    return tg_average_check(&run->average, trained(run), &run->settings, run->step, err);
}

tg_status tg_run_read(tg_run *run, int fd, tg_err *err)
{
    tg_status status;

    *run = (tg_run){.settings = tg_settings_default()};
    if ((status = tg_model_read(&run->model, fd, true, take_with_model, run, err)) ||
        (status = check_state(run, err)))
        goto failed;
    if (!run->moments.memory.base && (status = build_moments(run, err)))
        goto failed;
    return TG_OK;

failed:
    tg_run_free(run);
    return status;
}

/* ---- an adapter */

static tg_status make_adapter(tg_run *run, tg_model_file *f, tg_err *err)
{
    *run = (tg_run){.settings = tg_settings_default()};
    return tg_model_file_adapt(f, &run->adapter, err);
}

/* The adapter has been made, or that has failed.  Lend the model to the run. */
static tg_status finish_adapter(tg_run *run, tg_model_file *f, tg_status status, tg_err *err)
{
    if (!status && !(status = tg_adapter_base_of(&run->base, f, err)) &&
        !(status = tg_model_file_lend(&run->model, f, err))) {
        run->model.adapter = run->adapter;
        tg_model_split_head(&run->model);
        if (!run->moments.memory.base)
            status = build_moments(run, err);
    }
    tg_model_file_close(f);
    if (status)
        tg_run_free(run);
    return status;
}

tg_status tg_run_begin_adapter(tg_run *run, tg_model_file *f, const tg_adapter_shape *shape, uint64_t seed,
                               tg_err *err)
{
    tg_status status = make_adapter(run, f, err);

    if (!status && !(status = tg_adapter_create(run->adapter, &f->table, shape, err)))
        tg_adapter_init(run->adapter, seed);
    return finish_adapter(run, f, status, err);
}

tg_status tg_run_begin_from_adapter(tg_run *run, tg_model_file *f, const char *path, tg_err *err)
{
    tg_status status = make_adapter(run, f, err);

    if (!status)
        status = tg_adapter_open(run->adapter, path, f, err);
    return finish_adapter(run, f, status, err);
}

tg_status tg_run_read_adapter(tg_run *run, tg_model_file *f, int fd, tg_err *err)
{
    tg_status status = make_adapter(run, f, err);

    if (!status)
        status = tg_adapter_read(run->adapter, fd, f, take, run, err);
    if ((status = finish_adapter(run, f, status, err)) || !(status = check_state(run, err)))
        return status;
    tg_run_free(run);
    return status;
}

/* ---- a run that begins or continues */

/* The arrays that an archive may have at most besides tensors. */
static size_t count_others(const tg_config *c)
{
    const size_t header = 4, tokenizer = 9, history = 2, frozen = 1; /* kind, version, template, probe */
    size_t n =
        header + TG_CONFIG_MORE + tokenizer + history + frozen + TG_SETTINGS + STATE + VAL + BEST + PLAN;

    for (size_t i = 0; i < TG_CONFIG_MEMBERS; i++)
        n += tg_config_has(c, i);
    return n;
}

/* Refuse before the first step, and before a mean is first asked for, what could not be saved after it. */
static tg_status check_arrays(const tg_run *run, const tg_settings *s, tg_err *err)
{
    const tg_params *t = trained(run);
    const size_t tensors = run->adapter ? t->n : run->model.table.n, each = s->average > 0 ? 3 : 2;
    const bool asked = run->step == 0 || (s->average > 0 && run->settings.average == 0);

    if (!asked || tensors + each * t->n + count_others(&run->model.config) <= TG_NAMES_MAX)
        return TG_OK;
    return tg_fail(
        err, TG_EUSAGE,
        "%zu layers of %zu tensors cannot be trained: with two moments of each%s, they are too many "
        "for an archive of %d arrays",
        t->blocks, run->model.table.per_layer, s->average > 0 ? ", and a mean unless --average is 0" : "",
        TG_NAMES_MAX);
}

/* What a run that has begun cannot change: entry `now` of a list, which was `before`. */
static tg_status check_kept(const tg_run *run, const char *what, const char *list, size_t before, size_t now,
                            tg_err *err)
{
    char names[2][TG_CHOICE_SIZE];

    if (run->step == 0 || before == now)
        return TG_OK;
    return tg_fail(err, TG_EUSAGE, "the run has %s %s: after %zu steps it cannot go on with %s", what,
                   tg_choice_name(names[0], list, before), run->step, tg_choice_name(names[1], list, now));
}

/* What the optimizer is for. */
static tg_status check_optimizer(const tg_run *run, const tg_settings *s, const bool given[TG_SETTINGS],
                                 tg_err *err)
{
    const bool muon = s->optimizer == TG_OPTIMIZER_MUON;

    if (muon && run->adapter)
        return tg_fail(err, TG_EUSAGE,
                       "optimizer muon is for whole matrices: an adapter's are updated by adamw");
    if (given[TG_SET_MOMENTUM] && !muon)
        return tg_fail(err, TG_EUSAGE, "momentum is for optimizer muon; the run has adamw");
    if (keeps_halves(s) && run->adapter)
        return tg_fail(err, TG_EUSAGE, "master bf16 is for whole models: an adapter is small, and float32");
    if (keeps_halves(s) && muon)
        return tg_fail(err, TG_EUSAGE, "master bf16 is for optimizer adamw; the run has muon");
    if (keeps_halves(s) && s->average > 0)
        return tg_fail(err, TG_EUSAGE, "a mean of the last steps is of float32 parameters: master is bf16");
    return TG_OK;
}

/* The mean is of all its steps, so that it is either under way from the same step on, or not begun. */
static tg_status check_average(const tg_run *run, const tg_settings *s, tg_err *err)
{
    const tg_settings *old = &run->settings;
    const bool begun = tg_average_is_unfinished(s, run->step);

    if (!begun || (tg_average_is_unfinished(old, run->step) &&
                   tg_average_steps(old, run->step) == tg_average_steps(s, run->step)))
        return TG_OK;
    return tg_fail(err, TG_EUSAGE,
                   "after %zu steps it is too late to begin a mean of the last %zu of %zu steps: expected an "
                   "average of at most %zu, or 0",
                   run->step, s->average, s->steps, s->steps - run->step);
}

/* Of a complete run nothing is asked. */
static tg_status check_state_kept(const tg_run *run, const tg_settings *s, const bool given[TG_SETTINGS],
                                  tg_err *err)
{
    const tg_settings *old = &run->settings;
    tg_status status;

    if (run->step >= s->steps)
        return TG_OK;
    if ((status = check_kept(run, "optimizer", TG_OPTIMIZERS, old->optimizer, s->optimizer, err)) ||
        (status = check_kept(run, "master", TG_PRECISIONS, old->master, s->master, err)))
        return status;
    return check_optimizer(run, s, given, err);
}

static tg_status settle(const tg_run *run, tg_settings *s, const bool given[TG_SETTINGS], tg_err *err)
{
    tg_status status = check_arrays(run, s, err);

    if (status)
        return status;
    if (s->context == 0)
        s->context = run->model.config.n_ctx;
    if ((status = check_state_kept(run, s, given, err)))
        return status;
    if (s->precision == TG_PRECISION_BF16 && run->model.config.n_embd > tg_matmul_depth())
        return tg_fail(err, TG_EUSAGE, "precision bf16 is for up to %zu channels, this model has %zu",
                       tg_matmul_depth(), run->model.config.n_embd);
    status = check_settings(run, s, err);
    return status ? status : check_average(run, s, err);
}

static bool is_complete(const tg_run *run)
{
    return run->step > 0 && run->step >= run->settings.steps;
}

tg_status tg_run_resume(tg_run *run, size_t tokens, const tg_settings *asked, const bool given[TG_SETTINGS],
                        size_t *steps, tg_err *err)
{
    tg_settings merged = run->settings;
    tg_status status;

    tg_settings_merge(&merged, asked, given);
    if (is_complete(run) && merged.steps > run->step && !given[TG_SET_AVERAGE])
        merged.average = tg_size_min(merged.average, merged.steps - run->step); /* a mean of the new steps */
    if (run->step == 0)
        tg_recipe_choose(&merged, given, tokens, (tg_recipe_time){run->minutes, run->operations}, &run->model,
                         tg_recipe_origin(&run->model));
    if ((status = settle(run, &merged, given, err)))
        return status;
    *steps = merged.steps;
    if (run->step < merged.steps)
        run->settings = merged;
    return TG_OK;
}

static tg_status prepare_average(tg_run *run, tg_err *err)
{
    if (run->settings.average == 0)
        tg_average_free(&run->average);
    return run->settings.average == 0 || run->average.mean
               ? TG_OK
               : tg_average_build(&run->average, trained(run), err);
}

tg_status tg_run_prepare(tg_run *run, tg_err *err)
{
    const bool halves = keeps_halves(&run->settings);
    tg_status status;

    if (run->adapter && run->settings.precision == TG_PRECISION_BF16 &&
        (status = tg_model_round_changes(&run->model, run->settings.seed, err)))
        return status;
    if (halves && !run->model.halves && (status = tg_model_to_halves(&run->model, err)))
        return status;
    if (halves != (run->moments.m.halves != NULL) && (status = build_moments(run, err)))
        return status;
    return prepare_average(run, err);
}

/* Record a text, or that there is none (NULL).  Returns how it differs from the one that the run had so far.
 */
static tg_text_change record_text(const tg_tokens *text, size_t step, size_t *tokens, size_t *crc)
{
    const size_t tokens_before = *tokens, crc_before = *crc;

    *tokens = text ? text->count : 0;
    *crc = text ? tg_tokens_crc(text) : 0;
    if (step > 0 && *tokens != tokens_before)
        return TG_TEXT_OTHER_LENGTH;
    return step > 0 && *crc != crc_before ? TG_TEXT_OTHER : TG_TEXT_SAME;
}

tg_status tg_run_use_text(tg_run *run, tg_batches *b, const tg_tokens *tokens, const tg_tokens *val,
                          tg_text_changes *changes, tg_err *err)
{
    const tg_settings *s = &run->settings;
    tg_model *m = &run->model;
    const tg_held_out held_out = {s->val_fraction, s->val_blocks, val};
    tg_status status;

    if (s->first_context > 0 && tokens->mask)
        return tg_fail(err, TG_EDATA, "a first context of %zu tokens, but the text has a loss mask",
                       s->first_context);
    if ((status = tg_tokenizer_same(m->tokenizer, tokens->tokenizer, err)) ||
        (val && (status = tg_tokenizer_same(m->tokenizer, val->tokenizer, err))) ||
        (status = tg_batches_init(b, tokens, s->seed, s->context, s->packing, held_out, err)))
        return status;
    changes->text = record_text(tokens, run->step, &run->text_tokens, &run->text_crc);
    changes->val = record_text(val, run->step, &run->val_tokens, &run->val_crc);
    if (tokens->chat > 0)
        *(run->adapter ? &run->adapter->chat : &m->chat) = tokens->chat;
    m->probe_count = tg_batches_probe(b, m->probe, tg_size_min(TG_PROBE_MAX, m->config.n_ctx));
    return TG_OK;
}

bool tg_run_note_val(tg_run *run, double loss)
{
    if (run->best_step > 0 && !(loss < run->best_loss))
        return false;
    run->best_step = run->step;
    run->best_loss = loss;
    return true;
}

/* ---- a team */

/* A model of that config whose parameters are to come, some of them frozen. */
static tg_status empty_model(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                             const unsigned char frozen[TG_NAMES_MAX], tg_err *err)
{
    tg_status status = tg_model_begin(m, config, tokenizer, err);
    float *place;

    if (status)
        return status;
    if (memchr(frozen, 1, m->table.n))
        status = tg_model_freeze(m, frozen, err);
    for (size_t i = 0; !status && i < m->table.n; i++)
        status = tg_model_place(m, &m->table.entry[i], &place, err);
    if (status)
        tg_model_free(m);
    return status;
}

/* The others' adapter, whose values are to come. */
static tg_status spread_adapter(tg_run *run, const tg_team *team, tg_model_file *f, tg_err *err)
{
    const tg_run state = *run;
    tg_adapter_shape shape = run->adapter ? run->adapter->shape : (tg_adapter_shape){0};
    tg_adapter_base base = run->base;
    size_t count = run->model.table.count;
    const size_t first = offsetof(tg_run, settings), end = offsetof(tg_run, moments);
    tg_status status;

    tg_team_spread(team, &shape, sizeof shape);
    tg_team_spread(team, &base, sizeof base);
    tg_team_spread(team, &count, sizeof count);
    if (team->rank == 0)
        return TG_OK;
    if ((status = tg_run_begin_adapter(run, f, &shape, 0, err)))
        return status;
    if (tg_adapter_base_check(&base, &run->base, NULL) || run->model.table.count != count)
        return tg_fail(err, TG_EUSAGE, "the adapter's model is not the one that process 0 has read");
    memcpy((unsigned char *)run + first, (const unsigned char *)&state + first, end - first);
    return TG_OK;
}

tg_status tg_run_spread(tg_run *run, const tg_team *team, const tg_tokenizer *tokenizer, tg_model_file *f,
                        tg_err *err)
{
    const size_t first = offsetof(tg_run, settings), end = offsetof(tg_run, moments);
    unsigned char frozen[TG_NAMES_MAX] = {0};
    tg_config config = run->model.config;
    tg_status status;

    if (team->rank == 0 && run->model.trained.n > 0)
        tg_frozen_flags(&run->model, frozen);
    tg_team_spread(team, &config, sizeof config);
    tg_team_spread(team, frozen, sizeof frozen);
    tg_team_spread(team, (unsigned char *)run + first, end - first);
    if (f)
        return spread_adapter(run, team, f, err);
    if (team->rank == 0)
        return TG_OK;
    if ((status = empty_model(&run->model, &config, tokenizer, frozen, err)))
        return status;
    return build_moments(run, err);
}

/* ---- writing */

static bool has_mean(const tg_run *run)
{
    return tg_average_is_unfinished(&run->settings, run->step);
}

static tg_status put_state(const tg_run *run, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if ((status = tg_fields_put(tg_settings_saved(&run->settings), &run->settings, w, err)) ||
        (status = tg_fields_put(state_fields, run, w, err)) ||
        (run->val_tokens > 0 && (status = tg_fields_put(val_fields, run, w, err))) ||
        (run->best_step > 0 && (status = tg_fields_put(best_fields, run, w, err))) ||
        (run->minutes > 0 && (status = tg_fields_put(plan_fields, run, w, err))) ||
        (run->model.trained.n > 0 && (status = tg_frozen_put(&run->model, w, err))))
        return status;
    return tg_history_put(&run->history, w, err);
}

static tg_status put_header(const tg_run *run, tg_archive_writer *w, tg_err *err)
{
    return run->adapter ? tg_adapter_put_header(run->adapter, &run->model.table, &run->base, w, err)
                        : tg_model_put_header(&run->model, w, err);
}

static tg_status put_tensors(const tg_run *run, tg_archive_writer *w, tg_err *err)
{
    return run->adapter ? tg_adapter_put_tensors(run->adapter, w, err)
                        : tg_model_put_tensors(&run->model, w, NULL, err);
}

static tg_status put_all(const tg_run *run, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if ((status = put_header(run, w, err)) || (status = put_state(run, w, err)) ||
        (status = put_tensors(run, w, err)))
        return status;
    if ((status = tg_moments_put(&run->moments, trained(run), &run->settings, w, err)) || !has_mean(run))
        return status;
    return tg_average_put(&run->average, trained(run), w, err);
}

tg_status tg_run_write(const tg_run *run, int fd, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status;

    /* an update may overflow even though the loss before it was finite; a reader would refuse the file */
    if ((status = tg_moments_check_finite(&run->moments, tg_model_trained_values(&run->model), trained(run),
                                          &run->settings, err)) ||
        (has_mean(run) && (status = tg_average_check_finite(&run->average, trained(run), err))) ||
        (status = tg_archive_create(&w, fd, err)))
        return status;
    return tg_archive_end(w, put_all(run, w, err), err);
}
