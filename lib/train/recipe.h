/*
 * recipe: the settings of a new run that nobody gave, and the shape of a new model.
 *
 * They follow the vocabulary, the model's width, the length of the run, where the weights come from and what
 * the processor computes quickly.  What is chosen is saved with the run like any other setting, so that it
 * continues in the same way elsewhere.  docs/recipe.md has the measurements.
 */
#ifndef TG_TRAIN_RECIPE_H
#define TG_TRAIN_RECIPE_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/gpt/model.h"
#include "lib/train/batches.h"
#include "lib/train/documents.h"
#include "lib/train/settings.h"

/* The width for which the learning rates were measured; a wider model has proportionally less. */
#define TG_RECIPE_WIDTH 128

/* Of a run that is to take some minutes: the share of the steps, at the end, in which the learning rate
 * falls; and the preset whose body a new model has. */
#define TG_RECIPE_DECAY 0.4
#define TG_RECIPE_TIMED_PRESET "baby-qwen3"

/* Floating-point operations of products that a run of some minutes has time for, from which on a wider model
 * pays, and a deeper one; and two that are both, for a text that they read more than TG_RECIPE_REPEATS times.
 */
#define TG_RECIPE_MIDDLE 2e13
#define TG_RECIPE_LONG 5e13
#define TG_RECIPE_LARGE 2.5e14
#define TG_RECIPE_LARGER 4e14

/* The least learning rate with Muon, for TG_RECIPE_MUON_WIDTH channels or fewer, of a run of some minutes
 * that reads its text more than TG_RECIPE_FRESH times. */
#define TG_RECIPE_MUON_LR 2e-3
#define TG_RECIPE_MUON_WIDTH 384

/* With a vocabulary a run of some minutes begins with sequences of so many tokens, where the context is at
 * least so many times as long; and a new model's context is no longer than a part of the text, of which there
 * are so many. */
#define TG_RECIPE_FIRST_CONTEXT 64
#define TG_RECIPE_GROWTH 4
#define TG_RECIPE_WINDOWS 64

/* A text that is read at most so often is new to a model most of the time: larger steps are better. */
#define TG_RECIPE_FRESH 3

/* A text that is read more often than this should not be fitted too closely: more weight decay helps, and
 * dropout, if the model is large. */
#define TG_RECIPE_REPEATS 6

/* A text that is read more often than this is learned by heart: the loss of any other text rises again.  The
 * second one: with dropout, or a weight decay of 1 or more. */
#define TG_RECIPE_EPOCHS 8
#define TG_RECIPE_EPOCHS_REGULARIZED 24

/* A run that tunes trained weights, or trains an adapter of them: how often the text is read, and how often
 * at most where there would not be so many steps; the most tokens of a sequence; the sequences of a pass that
 * are so long, fewer where there would not be so many steps. */
#define TG_RECIPE_TUNING_EPOCHS 3
#define TG_RECIPE_TUNING_MOST_EPOCHS 5
#define TG_RECIPE_TUNING_STEPS 50
#define TG_RECIPE_TUNING_CONTEXT 512
#define TG_RECIPE_TUNING_BATCH 4
#define TG_RECIPE_TUNING_SHORT 32 /* tokens, the least context that is chosen */

/* An adapter's learning rate, for TG_RECIPE_ADAPTER_WIDTH channels. */
#define TG_RECIPE_ADAPTER_LR 2e-3
#define TG_RECIPE_ADAPTER_WIDTH 640

/* The time of a run that is to take some minutes (lib/train/plan.h). */
typedef struct tg_recipe_time {
    double minutes;    /* 0: the run has a number of steps instead */
    double operations; /* floating-point operations of products that fit into them; 0: not known */
} tg_recipe_time;

/* Where a model's weights come from. */
typedef enum tg_origin {
    TG_ORIGIN_NEW,    /* random, as tg_model_create() makes them */
    TG_ORIGIN_TRAINED /* another project, or another run: they are tuned */
} tg_origin;

/* Of the steps of a run that is to take some minutes, those in which the learning rate falls: TG_RECIPE_DECAY
 * of them, at least one. */
size_t tg_recipe_decay(size_t steps);

/* The length of the mean for a decay of so many steps: a third of them, at least one; 0 without a decay. */
size_t tg_recipe_average(size_t decay);

/* What the weights say of their origin: a new model's gains are 1 and its biases 0.  Without gains and
 * biases: new.  Where an adapter is trained: trained; else the parameters must be flat. */
tg_origin tg_recipe_origin(const tg_model *model);

/*
 * The config of a new model for a tokenizer's texts.  Up to 256 ids, which are bytes or characters, it is
 * the default preset's: 4 layers, a context of 64.  With a vocabulary of more it has 2 layers and a context
 * of 32 tokens, which are more text than 64 bytes: at equal time it takes more steps, and predicts better.
 */
tg_config tg_recipe_config(const tg_tokenizer *tokenizer);

/*
 * The same for a text and a run that is to take some minutes (lib/train/plan.h), in which so many
 * floating-point operations of products fit.  The body is that preset's, Qwen3's, with as many key heads as
 * query heads, 32 channels each: 2 layers, 128 wide, and a context of 128 bytes or 256 tokens of a
 * vocabulary.  With a vocabulary it is 192 wide from TG_RECIPE_MIDDLE on, with a context of 512, and from
 * TG_RECIPE_LONG on has 3 layers and a context of 1024; from TG_RECIPE_LARGE on, if it then has time to read
 * the text more than TG_RECIPE_REPEATS times, it has 5 layers, 320 wide, and a context of 512; from
 * TG_RECIPE_LARGER on likewise 6 layers, 384 wide.  The context is halved, down to 64, or 128 of 3 layers and
 * more, while the text, or a block of it, has no TG_RECIPE_WINDOWS of that, or what is held out none; so it
 * is of a text with a loss mask.
 */
tg_config tg_recipe_timed_config(const tg_tokens *tokens, tg_held_out held_out, double operations);

/* The tokens of a sequence of a new run: those that are asked, if that is given; 0: the model's, of trained
 * weights at most TG_RECIPE_TUNING_CONTEXT. */
size_t tg_recipe_context(const tg_model *model, tg_origin origin, size_t asked, bool given);

/*
 * Shorten *T, the context of a run that tunes a model on a text with a loss mask: halved, but to no less than
 * TG_RECIPE_TUNING_SHORT, while three readings in windows of *T would be fewer than 50, and no document, nor
 * one of `val` (NULL: none), is longer than half of it.  So a few examples are as many steps.  Fails like
 * tg_documents_init().
 */
TG_MUST_CHECK tg_status tg_recipe_shorten(size_t *T, const tg_tokens *tokens, const tg_tokens *val,
                                          bool packed, tg_err *err);

/*
 * Choose the settings that are not given (by tg_setting_id), for a model, a text of so many tokens (0: not
 * known), and a run's time.  A vocabulary is one of more than 256 ids:
 *
 *   steps      2,000, and 4,000 if the context is below 64; fewer, but at least 500, where that would be more
 *              tokens than eight times the text, which a model then learns by heart
 *   lr         0.004, with a vocabulary 0.003, times 128 / n_embd if that is below 1
 *   min_lr     a tenth of lr
 *   warmup     a tenth of the steps, at most 100
 *   precision  bf16 where the kernels in use are faster with it, and the width allows it
 *
 * Trained weights, also with an adapter:
 *
 *   context    512, or the model's if that is shorter; see tg_recipe_shorten()
 *   batch      4 sequences of 512 tokens or more, 12 shorter ones, halved while there would be fewer than 50
 *              steps
 *   steps      as many as read the text three times, or, up to 50 steps, five times; at most as many as
 *              new weights
 *   lr         a twentieth of that of new weights
 *
 * but an adapter:
 *
 *   batch      4 sequences of any length, likewise halved
 *   steps      without that limit
 *   lr         0.002 times 640 / n_embd if that is below 1
 *   weight_decay  0
 *
 * With minutes also:
 *
 *   decay      2/5 of the steps, which are an estimate then
 *
 * and of new weights, where reads is how often there is time to read the text:
 *
 *   optimizer  Muon
 *   first_context  with a vocabulary, and without vectors of positions: 64, if the context is at least
 *              TG_RECIPE_GROWTH times as long, and a multiple
 *   batch      with a vocabulary: 24, or 12 if the context, or the first one, is 64 or more; of a model wider
 *              than 128, 1,024 tokens, at least 8 sequences; whatever accumulate is
 *   weight_decay  0.5 if reads > TG_RECIPE_FRESH, 1 if reads > TG_RECIPE_REPEATS
 *   dropout    0.1 if reads > TG_RECIPE_REPEATS, or, of a model that is at most 128 wide, twice that
 *   lr         with a vocabulary, at least TG_RECIPE_MUON_LR, or proportionally less above
 *              TG_RECIPE_MUON_WIDTH, if reads > TG_RECIPE_FRESH
 *   average    with a vocabulary, and without dropout, tg_recipe_average() if reads > TG_RECIPE_FRESH
 *
 * A model wider than 128, with a vocabulary, that reads the text at most TG_RECIPE_FRESH times, has
 *
 *   batch      3,072 tokens, at least 16 sequences
 *   lr         twice the rate, with such a batch
 */
void tg_recipe_choose(tg_settings *s, const bool given[TG_SETTINGS], size_t tokens, tg_recipe_time time,
                      const tg_model *model, tg_origin origin);

#endif
