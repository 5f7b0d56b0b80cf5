#include "lib/train/recipe.h"

#include <math.h>

#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "lib/gpt/presets.h"
#include "lib/kernels/matmul.h"

/* What tg_params_init() sets to a constant still has it. */
static bool is_constant(const tg_param *p, const float *w)
{
    for (size_t i = 0; i < p->count; i++)
        if (w[i] != (float)p->mean)
            return false;
    return true;
}

tg_origin tg_recipe_origin(const tg_model *model)
{
    const tg_params *table = &model->table;

    if (model->adapter)
        return TG_ORIGIN_TRAINED;
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];

        if (p->std == 0 && !is_constant(p, model->params + p->offset))
            return TG_ORIGIN_TRAINED;
    }
    return TG_ORIGIN_NEW;
}

size_t tg_recipe_decay(size_t steps)
{
    return tg_size_max(1, (size_t)(TG_RECIPE_DECAY * (double)steps));
}

size_t tg_recipe_average(size_t decay)
{
    return tg_size_min(decay, tg_size_max(1, decay / 3));
}

#define HEAD_DIM 32 /* of the models of runs of some minutes */

static bool has_vocabulary(const tg_tokenizer *tokenizer)
{
    return tg_tokenizer_vocab_size(tokenizer) > 256;
}

tg_config tg_recipe_config(const tg_tokenizer *tokenizer)
{
    tg_config config = tg_config_preset(TG_PRESET_DEFAULT);

    config.vocab_size = tg_model_vocab_size(tokenizer);
    if (has_vocabulary(tokenizer)) {
        config.n_layer = 2;
        config.n_ctx = 32;
    }
    return config;
}

/* Whether a block of the text has TG_RECIPE_WINDOWS of T tokens, and what is held out one.  Documents do not:
 * their context does not grow. */
static bool has_windows(const tg_tokens *tokens, tg_held_out held_out, size_t T)
{
    const size_t block = tokens->count / held_out.blocks;
    const size_t held = held_out.text ? held_out.text->count : (size_t)((double)block * held_out.fraction);

    return !tokens->mask && block / TG_RECIPE_WINDOWS >= T &&
           (held > T || (!held_out.text && held_out.fraction <= 0));
}

/* From `most` on halved, as long as it is not below `least`. */
static size_t context_for(const tg_tokens *tokens, tg_held_out held_out, size_t least, size_t most)
{
    size_t T = most;

    while (T / 2 >= least && !has_windows(tokens, held_out, T))
        T /= 2;
    return T;
}

/* The shape of a new model. */
struct shape {
    double operations; /* from which on it pays */
    size_t layers, heads, inner, context, longest;
    bool repeats; /* only for a text that it has time to read more than TG_RECIPE_REPEATS times */
};

/* How often a text is read, about: a pass has 6 operations for each token and parameter, those of the
 * embeddings counted as well, and these take about two fifths of the time. */
static double reads_of(double parameters, size_t tokens, double operations)
{
    const double share = 0.4;

    return tokens == 0 ? 0 : share * operations / (6 * parameters) / (double)tokens;
}

/* Its parameters, about. */
static double size_of(const struct shape *shape, size_t vocab_size)
{
    const double C = (double)(shape->heads * HEAD_DIM), inner = (double)shape->inner;

    return (double)vocab_size * C + (double)shape->layers * (4 * C * C + 3 * C * inner);
}

static bool pays(const struct shape *shape, const tg_tokens *tokens, double operations)
{
    const double parameters = size_of(shape, tg_model_vocab_size(tokens->tokenizer));

    return operations >= shape->operations &&
           (!shape->repeats || reads_of(parameters, tokens->count, operations) > TG_RECIPE_REPEATS);
}

tg_config tg_recipe_timed_config(const tg_tokens *tokens, tg_held_out held_out, double operations)
{
    static const struct shape of_bytes = {0, 2, 4, 384, 128, 128, false},
                              of_tokens[] = {{0, 2, 4, 384, 64, 256, false},
                                             {TG_RECIPE_MIDDLE, 2, 6, 512, 64, 512, false},
                                             {TG_RECIPE_LONG, 3, 6, 512, 128, 1024, false},
                                             {TG_RECIPE_LARGE, 5, 10, 864, 128, 512, true},
                                             {TG_RECIPE_LARGER, 6, 12, 1024, 128, 512, true}};
    const struct shape *shape = &of_bytes;
    tg_config config;
    size_t preset = TG_PRESET_DEFAULT;

    if (has_vocabulary(tokens->tokenizer))
        for (size_t i = 0; i < sizeof of_tokens / sizeof of_tokens[0]; i++)
            if (pays(&of_tokens[i], tokens, operations))
                shape = &of_tokens[i];
    (void)tg_choice_find(&preset, tg_config_presets(), TG_RECIPE_TIMED_PRESET);
    config = tg_config_preset(preset);
    config.vocab_size = tg_model_vocab_size(tokens->tokenizer);
    config.n_layer = shape->layers;
    config.n_head = config.n_kv_head = shape->heads;
    config.head_dim = HEAD_DIM;
    config.n_embd = shape->heads * HEAD_DIM;
    config.n_inner = shape->inner;
    config.n_ctx = context_for(tokens, held_out, shape->context, shape->longest);
    tg_config_derive(&config);
    return config;
}

static double learning_rate(const tg_model *model, tg_origin origin)
{
    const double lr = has_vocabulary(model->tokenizer) ? 3e-3 : 4e-3;
    const double narrower = TG_RECIPE_WIDTH / (double)model->config.n_embd;

    return lr * fmin(1, narrower) / (origin == TG_ORIGIN_TRAINED ? 20 : 1);
}

static size_t usual_steps(size_t context)
{
    return context < 64 ? 4000 : 2000;
}

/* The tokens of a step are s->accumulate * s->batch * T. */
static size_t length_of_run(const tg_settings *s, size_t T, size_t tokens)
{
    const size_t usual = usual_steps(T), least = 500;
    const size_t most = TG_RECIPE_EPOCHS * tokens / (s->accumulate * s->batch * T);

    return tokens == 0 ? usual : tg_size_min(usual, tg_size_max(least, most));
}

static size_t timed_batch(size_t context, bool wide, bool fresh)
{
    if (fresh)
        return tg_size_max(16, 3072 / context);
    if (wide)
        return tg_size_max(8, 1024 / context);
    return context < 64 ? 24 : 12;
}

/* Whether new weights with a vocabulary have longer sequences where the rate falls.  Positions with vectors
 * of their own would be trained only then. */
static bool context_grows(const tg_model *model, size_t T)
{
    const tg_params *table = &model->table;

    return T >= TG_RECIPE_GROWTH * TG_RECIPE_FIRST_CONTEXT && T % TG_RECIPE_FIRST_CONTEXT == 0 &&
           tg_params_index(table, TG_WPE, 0) == table->n;
}

static void choose_contexts(tg_settings *s, const bool given[TG_SETTINGS], const tg_model *model, bool wide,
                            bool fresh)
{
    const size_t first = TG_RECIPE_FIRST_CONTEXT, T = s->context > 0 ? s->context : model->config.n_ctx;

    if (!given[TG_SET_FIRST_CONTEXT] && context_grows(model, T))
        s->first_context = first;
    if (!given[TG_SET_BATCH])
        s->batch = s->first_context > 0 ? tg_size_max(1, timed_batch(first, wide, fresh) * first / T)
                                        : timed_batch(T, wide, fresh);
}

/* What only new weights have in a run of some minutes; s->lr is that of any other run. */
static void choose_timed(tg_settings *s, const bool given[TG_SETTINGS], size_t tokens, tg_recipe_time time,
                         const tg_model *model)
{
    const double reads = reads_of((double)model->table.count, tokens, time.operations); /* 0: not known */
    const bool vocabulary = has_vocabulary(model->tokenizer), wide = model->config.n_embd > TG_RECIPE_WIDTH;
    const bool fresh = vocabulary && wide && reads > 0 && reads <= TG_RECIPE_FRESH;

    if (!given[TG_SET_OPTIMIZER] && s->master == TG_PRECISION_FLOAT32)
        s->optimizer = TG_OPTIMIZER_MUON;
    if (vocabulary)
        choose_contexts(s, given, model, wide, fresh);
    if (fresh && !given[TG_SET_BATCH] && !given[TG_SET_LR])
        s->lr *= 2;
    if (vocabulary && reads > TG_RECIPE_FRESH && s->optimizer == TG_OPTIMIZER_MUON && !given[TG_SET_LR])
        s->lr = fmax(s->lr, TG_RECIPE_MUON_LR * fmin(1, TG_RECIPE_MUON_WIDTH / (double)model->config.n_embd));
    if (reads > TG_RECIPE_FRESH && !given[TG_SET_WEIGHT_DECAY])
        s->weight_decay = reads > TG_RECIPE_REPEATS ? 1 : 0.5;
    if (reads > (wide ? 1 : 2) * TG_RECIPE_REPEATS && !given[TG_SET_DROPOUT])
        s->dropout = 0.1;
    if (vocabulary && reads > TG_RECIPE_FRESH && s->dropout <= 0 && s->master == TG_PRECISION_FLOAT32 &&
        !given[TG_SET_AVERAGE])
        s->average = 1; /* its length follows the decay's */
}

size_t tg_recipe_context(const tg_model *model, tg_origin origin, size_t asked, bool given)
{
    const size_t n_ctx = model->config.n_ctx;

    if (!given && origin == TG_ORIGIN_TRAINED)
        return tg_size_min(n_ctx, TG_RECIPE_TUNING_CONTEXT);
    return asked > 0 ? asked : n_ctx;
}

/* The windows of a text with a mask, and how many documents are cut. */
static tg_status count_windows(size_t *windows, size_t *cut, const tg_tokens *tokens, size_t T, bool packed,
                               tg_err *err)
{
    tg_documents d;
    const tg_status status = tg_documents_init(&d, tokens, T, packed, 0, err);

    if (status)
        return status;
    *windows = d.n;
    *cut = d.cut;
    tg_documents_free(&d);
    return TG_OK;
}

tg_status tg_recipe_shorten(size_t *T, const tg_tokens *tokens, const tg_tokens *val, bool packed,
                            tg_err *err)
{
    size_t windows, cut, more = 0, unused;
    tg_status status = count_windows(&windows, &cut, tokens, *T, packed, err);

    while (!status && *T / 2 >= TG_RECIPE_TUNING_SHORT &&
           TG_RECIPE_TUNING_EPOCHS * windows < TG_RECIPE_TUNING_STEPS) {
        if ((status = count_windows(&windows, &cut, tokens, *T / 2, packed, err)) ||
            (val && val->mask && (status = count_windows(&unused, &more, val, *T / 2, packed, err))))
            return status;
        if (cut + more > 0)
            break;
        *T /= 2;
    }
    return status;
}

static size_t steps_of(const tg_settings *s, size_t epochs, size_t tokens)
{
    return tg_ceil_div(epochs * tokens, s->accumulate * s->batch * s->context);
}

/* Of trained weights, or an adapter of some. */
static void choose_tuning(tg_settings *s, const bool given[TG_SETTINGS], size_t tokens, const tg_model *model)
{
    size_t steps, most;

    s->context = tg_recipe_context(model, TG_ORIGIN_TRAINED, s->context, given[TG_SET_CONTEXT]);
    if (!given[TG_SET_BATCH]) {
        if (model->adapter || s->context >= TG_RECIPE_TUNING_CONTEXT)
            s->batch = TG_RECIPE_TUNING_BATCH;
        while (s->batch > 1 && tokens > 0 &&
               steps_of(s, TG_RECIPE_TUNING_EPOCHS, tokens) < TG_RECIPE_TUNING_STEPS)
            s->batch /= 2;
    }
    steps = steps_of(s, TG_RECIPE_TUNING_EPOCHS, tokens);
    if (steps < TG_RECIPE_TUNING_STEPS)
        steps = tg_size_min(TG_RECIPE_TUNING_STEPS, steps_of(s, TG_RECIPE_TUNING_MOST_EPOCHS, tokens));
    most = usual_steps(s->context);
    if (!given[TG_SET_STEPS])
        s->steps = tokens == 0 ? most : model->adapter ? steps : tg_size_min(steps, most);
}

static void choose_adapter(tg_settings *s, const bool given[TG_SETTINGS], const tg_model *model)
{
    const double narrower = TG_RECIPE_ADAPTER_WIDTH / (double)model->config.n_embd;

    if (!given[TG_SET_LR])
        s->lr = TG_RECIPE_ADAPTER_LR * fmin(1, narrower);
    if (!given[TG_SET_WEIGHT_DECAY])
        s->weight_decay = 0;
}

void tg_recipe_choose(tg_settings *s, const bool given[TG_SETTINGS], size_t tokens, tg_recipe_time time,
                      const tg_model *model, tg_origin origin)
{
    const tg_config *c = &model->config;
    const bool bf16 = tg_matmul_prefers_bf16() && c->n_embd <= tg_matmul_depth();
    const bool timed = time.minutes > 0 && origin == TG_ORIGIN_NEW;

    if (!given[TG_SET_LR])
        s->lr = learning_rate(model, origin);
    if (timed)
        choose_timed(s, given, tokens, time, model);
    if (model->adapter)
        choose_adapter(s, given, model);
    if (origin == TG_ORIGIN_TRAINED)
        choose_tuning(s, given, tokens, model);
    else if (!given[TG_SET_STEPS])
        s->steps = length_of_run(s, s->context > 0 ? s->context : c->n_ctx, tokens);
    if (!given[TG_SET_MIN_LR])
        s->min_lr = s->lr / 10;
    if (!given[TG_SET_WARMUP])
        s->warmup = tg_size_min(100, s->steps / 10);
    if (time.minutes > 0)
        s->decay = tg_recipe_decay(s->steps);
    if (timed && s->average > 0)
        s->average = tg_recipe_average(s->decay);
    if (!given[TG_SET_PRECISION])
        s->precision = bf16 ? TG_PRECISION_BF16 : TG_PRECISION_FLOAT32;
}
