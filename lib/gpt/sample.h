/*
 * sample: choose a token by logits, and generate text token by token.
 */
#ifndef TG_GPT_SAMPLE_H
#define TG_GPT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/arena.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/packed.h"

TG_API_BEGIN

/*
 * How a token is chosen, in this order: logits / temperature; the top_k greatest; softmax;
 * the fewest most probable ones whose total probability reaches top_p; one of these at
 * random.  Of equal logits, that of the lower id counts as the greater.
 */
typedef struct tg_sampling {
    bool greedy;        /* always the greatest logit; the other members are ignored */
    double temperature; /* >= 0; 0 is greedy */
    size_t top_k;       /* 0: all */
    double top_p;       /* in (0,1]; 1: all */
    uint64_t seed;
} tg_sampling;

/*
 * tg_sample: choose *id in [0,n) by logits [n].
 *
 *   order  [n]  scratch
 *   step        the position of the token to choose
 *   sequence    the text's number, from 0: selects random number `sequence` of
 *               (seed, TG_RNG_SAMPLE, step)
 *
 * n in [1, 2^31).  O(n + k log n) for k candidates under top_k and top_p.
 * TG_EDATA: a logit is NaN or infinite; *id is then unspecified.
 */
TG_MUST_CHECK tg_status tg_sample(int32_t *id, const float *logits, int32_t *order, size_t n, uint64_t step,
                                  size_t sequence, const tg_sampling *sampling, tg_err *err);

/* The k greatest of logits [n], 1 <= k <= n, into ids [k], the greatest first.  O(n log k), and O(n) for a
 * few of logits in no particular order. */
void tg_top_ids(int32_t *ids, size_t k, const float *logits, size_t n);

/*
 * S texts with the same beginning that grow together, so that one read of the weights serves
 * all of them.  When the model's context is full, each continues with the newer half of it,
 * max(1, n_ctx/2) tokens, as if these were the whole text.
 */
typedef struct tg_generator {
    tg_infer infer; /* with a cache, of infer.cache.past tokens of each window */
    size_t S;
    int32_t *window; /* [S,n_ctx] the tokens that the model sees */
    float *logits;   /* [S,V] for the tokens after them */
    int32_t *order;  /* [V] scratch */
    int32_t *ids;    /* [S] the last token chosen for each text */
    size_t choices;  /* ids below this can be chosen: the tokenizer decodes them */
    uint64_t step;   /* position of the next token in the whole text */
    tg_packed_model packed;
    tg_arena arena;
} tg_generator;

/* Whether a generator of S texts copies each of the model's matrices once, packed (lib/gpt/packed.h); those
 * of a lent model it always does. */
bool tg_generator_packs(tg_weight_type type, size_t S);

/*
 * Allocate all memory for S >= 1 texts of up to `tokens` tokens each, the beginning included;
 * matrices are rounded to `type`.  The model must outlive the generator, which must not be
 * moved.  TG_EDATA: `type` has no finite value for a weight; TG_ENOMEM.  After a failure *g
 * needs no close.
 */
TG_MUST_CHECK tg_status tg_generator_open(tg_generator *g, const tg_model *model, tg_weight_type type,
                                          size_t S, size_t tokens, tg_err *err);
void tg_generator_close(tg_generator *g); /* a zeroed one is fine */

/* Begin with the text ids [n], n >= 1, each below vocab_size.  Returns how many of its
 * newest tokens the model sees: n, or half a context when n > n_ctx. */
size_t tg_generator_begin(tg_generator *g, const int32_t *ids, size_t n);

/* Continue a single text with ids [n], n >= 1, which were not chosen: all of them must still fit the
 * generator's tokens, as they fit its cache.  What was chosen last, and not extended, is no part of the text.
 */
void tg_generator_append(tg_generator *g, const int32_t *ids, size_t n);

/* Choose the next token of each text, into g->ids; g->logits are still those that it was chosen by.  TG_EDATA
 * like tg_sample(), with the position, and the text's number when there are several. */
TG_MUST_CHECK tg_status tg_generator_choose(tg_generator *g, const tg_sampling *sampling, tg_err *err);

/* Run the chosen tokens through the model, if more will be chosen. */
void tg_generator_extend(tg_generator *g);

/* Both: the second if `more` tokens will follow. */
TG_MUST_CHECK tg_status tg_generator_next(tg_generator *g, bool more, const tg_sampling *sampling,
                                          tg_err *err);

TG_API_END

#endif
