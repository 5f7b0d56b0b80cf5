/* What tg-train says of a run before its first step. */
#include <stdlib.h>

#include "cmd/tg-train/setup.h"
#include "lib/base/threads.h"
#include "lib/train/plan.h"
#include "lib/train/recipe.h"

/* Why the precision is what it is. */
static const char *reason(const train_setup *s)
{
    if (s->run.settings.precision == TG_PRECISION_BF16)
        return " (this processor is faster with it)";
    return tg_matmul_prefers_bf16() ? " (the model is too wide for bf16)" : " (bf16 is not faster here)";
}

/* The value of a setting, in as many digits as give it back when they are read: a rate may be a quotient, and
 * the settings of a run of some minutes are to give the same bytes. */
static void exact_text(char *text, size_t size, const tg_field *f, const tg_settings *s)
{
    if (f->type != TG_FIELD_REAL) {
        tg_field_text(text, size, f, s);
        return;
    }
    for (int digits = 6; digits <= 17; digits++) {
        const double value = *(const double *)tg_field_member(f, s);

        snprintf(text, size, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            return;
    }
}

#define COUNT(a) (sizeof(a) / sizeof(a)[0])

/* The settings of a run that begins which follow from the model, the steps and the processor. */
static void say_recipe(const train_setup *s)
{
    static const tg_setting_id usual[] = {TG_SET_STEPS, TG_SET_LR, TG_SET_WARMUP, TG_SET_PRECISION};
    static const tg_setting_id of_tuning[] = {TG_SET_STEPS, TG_SET_BATCH,  TG_SET_CONTEXT,
                                              TG_SET_LR,    TG_SET_WARMUP, TG_SET_PRECISION};
    static const tg_setting_id of_minutes[] = {TG_SET_OPTIMIZER,     TG_SET_BATCH,        TG_SET_CONTEXT,
                                               TG_SET_FIRST_CONTEXT, TG_SET_LR,           TG_SET_WARMUP,
                                               TG_SET_DROPOUT,       TG_SET_WEIGHT_DECAY, TG_SET_PRECISION};
    const train_options *o = s->options;
    const bool timed = o->minutes > 0, tuned = s->origin == TG_ORIGIN_TRAINED;
    const tg_setting_id *chosen = timed ? of_minutes : tuned ? of_tuning : usual;
    const size_t n = timed ? COUNT(of_minutes) : tuned ? COUNT(of_tuning) : COUNT(usual);
    char line[320] = "", value[32];
    size_t used = 0;

    for (size_t i = 0; i < n; i++) {
        const tg_setting_id id = chosen[i];

        if (o->given[id] || (id == TG_SET_CONTEXT && !tuned) ||
            (id == TG_SET_FIRST_CONTEXT && s->run.settings.first_context == 0))
            continue;
        if (timed)
            exact_text(value, sizeof value, &tg_settings_fields.row[id], &s->run.settings);
        else
            tg_field_text(value, sizeof value, &tg_settings_fields.row[id], &s->run.settings);
        used += (size_t)snprintf(line + used, sizeof line - used, "%s--%s %s%s", used ? ", " : "",
                                 o->name[id], value, id == TG_SET_PRECISION ? reason(s) : "");
    }
    if (used > 0)
        cli_note("%schosen: %s", tuned ? "fine-tuning; " : "", line);
}

/* How the model that a run of some minutes has made is made without it. */
static void say_shape(const train_setup *s)
{
    const tg_config *c = &s->run.model.config;
    const bool bytes = tg_tokenizer_ids_are_bytes(s->run.model.tokenizer);
    char seed[32] = "";

    if (s->run.settings.seed > 0)
        snprintf(seed, sizeof seed, " -s %llu", (unsigned long long)s->run.settings.seed);
    cli_note("the model is that of  tg-init -P " TG_RECIPE_TIMED_PRESET
             " --n-layer %zu --n-head %zu --n-kv-head %zu --head-dim %zu --n-embd %zu --n-inner %zu --n-ctx "
             "%zu%s%s",
             c->n_layer, c->n_head, c->n_kv_head, c->head_dim, c->n_embd, c->n_inner, c->n_ctx, seed,
             bytes ? "" : " -t TOKENIZER");
}

/* Of a text with a loss mask, if there is one. */
static void say_documents(const tg_documents *d)
{
    if (d->n == 0)
        return;
    cli_note("%s document%s, in which %s token%s predicted", cli_count(d->documents),
             cli_plural(d->documents), cli_count(d->predicted), d->predicted == 1 ? " is" : "s are");
    if (d->cut > 0)
        cli_say("%s document%s longer than the context of %zu: each is cut into windows, and a window does "
                "not see those before it",
                cli_count(d->cut), d->cut == 1 ? " is" : "s are", d->T);
}

/* What is trained and validated on. */
static void say_texts(const train_setup *s, size_t bytes)
{
    const tg_batches *b = &s->batches;
    const tg_model *m = &s->run.model;
    const char *const parameters = cli_count(tg_model_trained(m)->count);
    const char *const trained = m->trained.n > 0 ? " trained" : "";
    char where[64] = "";

    if (b->blocks > 1)
        snprintf(where, sizeof where, " in %s blocks", cli_count(b->blocks));
    if (s->options->val)
        cli_note("%s%s parameters, %s tokens to train, %s of %s to validate, needs %s", parameters, trained,
                 cli_count(b->train_tokens), cli_count(b->val_tokens), cli_input_name(s->options->val),
                 cli_bytes(bytes));
    else
        cli_note("%s%s parameters, %s tokens (%s to train, %s to validate%s), needs %s", parameters, trained,
                 cli_count(s->tokens.count), cli_count(b->train_tokens), cli_count(b->val_tokens), where,
                 cli_bytes(bytes));
}

/* What of which model is trained, where it is an adapter. */
static void say_adapter(const train_setup *s)
{
    const tg_adapter *a = s->run.adapter;
    char targets[TG_ADAPTER_TARGETS_SIZE];

    cli_note("%s stays as it is: an adapter of rank %zu, alpha %g%s, to %s in %zu layer%s",
             cli_model_path(s->options->model), a->shape.rank, a->shape.alpha,
             a->shape.rank_stabilized ? " (rsLoRA)" : "",
             tg_adapter_target_names(targets, &s->run.model.table, a->shape.targets), a->table.blocks,
             cli_plural(a->table.blocks));
}

/* Which parameters stay as they are, if some do. */
static void say_frozen(const train_setup *s)
{
    const tg_model *m = &s->run.model;
    const char *names = s->options->freeze;
    const size_t frozen = m->table.count - m->trained.count;

    if (m->trained.n > 0)
        cli_note("of %s parameters, %s stay as they are%s%s", cli_count(m->table.count), cli_count(frozen),
                 names ? ": " : "", names ? names : "");
}

/* The run is not new. */
static void say_resumed(const train_setup *s)
{
    const tg_run *run = &s->run;

    if (tg_plan_is_open(run))
        cli_note("%s: resuming at step %s of about %s, after %s of %g minutes", cli_input_name(s->source),
                 cli_count(run->step), cli_count(run->settings.steps), cli_duration(run->seconds),
                 run->minutes);
    else
        cli_note("%s: resuming at step %s of %s", cli_input_name(s->source), cli_count(run->step),
                 cli_count(run->settings.steps));
}

static void say_origin(const train_setup *s)
{
    const tg_run *run = &s->run;
    const tg_config *c = &run->model.config;

    if (run->step > 0)
        say_resumed(s);
    else if (s->is_new)
        cli_note("%s: a new model, %zu layer%s, %zu head%s, width %zu, context %zu", s->target, c->n_layer,
                 cli_plural(c->n_layer), c->n_head, cli_plural(c->n_head), c->n_embd, c->n_ctx);
    else if (!run->adapter)
        cli_note("%s: %s", cli_input_name(s->source),
                 s->foreign                   ? "a run begins with it"
                 : s->origin == TG_ORIGIN_NEW ? "an untrained model"
                                              : "a model without a run of tg-train");
    else if (s->options->adapter)
        cli_note("it begins with %s", s->options->adapter);
}

void train_setup_announce(const train_setup *s, size_t more, size_t bytes)
{
    const tg_run *run = &s->run;
    const tg_config *c = &run->model.config;
    const tg_batches *b = &s->batches;

    if (run->adapter)
        say_adapter(s);
    say_origin(s);
    if (s->is_new && s->options->minutes > 0)
        say_shape(s);
    if (s->is_new && !tg_tokenizer_ids_are_bytes(run->model.tokenizer))
        cli_note("tokenizer \"%s\" of %s ids, in a vocabulary of %s",
                 tg_tokenizer_kind_name(run->model.tokenizer),
                 cli_count(tg_tokenizer_vocab_size(run->model.tokenizer)), cli_count(c->vocab_size));
    say_frozen(s);
    if (run->step == 0)
        say_recipe(s);
    say_texts(s, bytes);
    train_memory_advise(s, more, bytes);
    say_documents(&b->documents);
    if (s->team->size > 1)
        cli_note("%zu processes share the %zu passes of a step, this one with %zu thread%s", s->team->size,
                 run->settings.accumulate, tg_threads(), cli_plural(tg_threads()));
    if (b->val_tokens == 0 && run->settings.val_fraction > 0)
        cli_say("no validation: the text is too short to hold out %g of it%s (a window needs %zu tokens)",
                run->settings.val_fraction, run->settings.val_blocks > 1 ? " in so many blocks" : "",
                b->T + 1);
}
