/*
 * sample: choosing a token from logits, and generating a text token by token.
 */
#ifndef TG_GPT_SAMPLE_H
#define TG_GPT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/infer.h"

/*
 * The choice, in this order: logits / temperature; the top_k greatest; softmax;
 * of these the most probable whose probabilities add up to top_p or just above;
 * one of them at random.  Among equal logits the lower id counts as the greater.
 */
typedef struct tg_sampling {
    bool greedy;        /* always the greatest logit; the rest is not looked at */
    double temperature; /* >= 0; 0 is greedy */
    size_t top_k;       /* 0: all */
    double top_p;       /* in (0,1]; 1: all */
    uint64_t seed;
} tg_sampling;

/*
 * tg_sample: choose *id in [0,n) from logits [n].
 *
 *   order  [n]  scratch
 *   step        the position of the token to choose, and
 *   sequence    which of several texts: the random number is number `sequence` of
 *               (seed, TG_RNG_SAMPLE, step)
 *
 * n in [1, 2^31).  O(n + k log n), k the candidates that top_k and top_p look at.
 * TG_EDATA: a logit is NaN or infinite; *id is then unspecified.
 */
TG_MUST_CHECK tg_status tg_sample(int32_t *id, const float *logits, int32_t *order, size_t n, uint64_t step,
                                  size_t sequence, const tg_sampling *how, tg_err *err);

/*
 * Texts under way, S of them, that began alike and grow together, so that all share each
 * pass over the weights.  When the model's context is full, they go on with the newer
 * half of it, max(1, n_ctx/2) tokens, as if these were the whole texts.
 */
typedef struct tg_generator {
    tg_infer infer;  /* with a cache; infer.past tokens of each window are in it */
    size_t S;
    int32_t *window; /* [S,n_ctx] the tokens that the model sees */
    float *logits;   /* [S,V] for the tokens after them */
    int32_t *order;  /* [V] */
    size_t choices;  /* ids that the tokenizer can decode: others are never chosen */
    uint64_t step;   /* position of the next token in the whole text */
} tg_generator;

/* Place the buffers in an arena (see arena.h), for S >= 1 texts of up to `tokens` tokens,
 * the beginning included.  packed: see infer.h; or NULL. */
void tg_generator_place(tg_arena *arena, tg_generator *g, const tg_model *model, const tg_packed_model *packed,
                        size_t S, size_t tokens);

/* Begin with the text ids [n], n >= 1, each below vocab_size; returns how many of
 * its newest tokens the model sees: n, or half a context when n > n_ctx. */
size_t tg_generator_begin(tg_generator *g, const int32_t *ids, size_t n);

/* Choose the next token of each text, into ids [S], and run them through the model when
 * `more` is to follow.  TG_EDATA as tg_sample, with the position,
 * and the text when there are several. */
TG_MUST_CHECK tg_status tg_generator_next(tg_generator *g, int32_t *ids, bool more, const tg_sampling *how,
                                          tg_err *err);

#endif
