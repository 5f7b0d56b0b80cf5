/*
 * infer: logits of a text, and text from a model.
 *
 *     tg_infer_new(&f, model, n, 1, n_ctx, &err)
 *     tg_infer_run(f, ids, n, logits)               of the last token: logits [V]
 *     tg_infer_logits(f, 0, n, all)                 of all of them: [n,V]
 *     tg_infer_run(f, &next, 1, logits)             ... and of one that follows
 *     tg_infer_destroy(f)
 *
 *     tg_generator_new(&g, model, TG_WEIGHT_BF16, 1, 200, &err)
 *     tg_generator_begin(g, ids, n)
 *     while (tg_generator_next(g, true, &sampling, &err) == TG_OK)
 *         use tg_generator_ids(g)[0]
 *     tg_generator_destroy(g)
 */
#ifndef TG_TG_INFER_H
#define TG_TG_INFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/machine.h"
#include "lib/tg/model.h"
#include "lib/tg/status.h"

TG_API_BEGIN

/* ---- passes */

typedef struct tg_infer tg_infer;

/*
 * For passes of up to `rows` new tokens, with a key/value cache for `sequences` texts of up to `keys` <=
 * n_ctx tokens each, whose tokens may come in several passes; 0, 0: no cache, each pass is a text of its own.
 * The model must outlive *f.  TG_ENOMEM: *f is NULL.
 */
TG_MUST_CHECK tg_status tg_infer_new(tg_infer **f, const tg_model *model, size_t rows, size_t sequences,
                                     size_t keys, tg_err *err);
void tg_infer_destroy(tg_infer *f); /* NULL is fine */

/* Select the sequences that the next passes run: first .. first + count - 1, count >= 1.
 * Initially sequence 0 alone.  Each has as many tokens in the cache: after running some of
 * them alone, run the rest for the same number of tokens before running all together. */
void tg_infer_select(tg_infer *f, size_t first, size_t count);

/*
 * Run n new tokens of each of the `count` sequences that are selected, ids [count,n], after those in the
 * cache; logits [count,V] of each sequence's last one.  count or n is 1, count n <= rows, and the cache and
 * n_ctx have room (asserted).  Ids must be below vocab_size, which is not checked.
 */
void tg_infer_run(tg_infer *f, const int32_t *ids, size_t n, float *logits);

/* Logits [rows,V] of some rows of the last pass; overwrites the outputs of norms. */
void tg_infer_logits(tg_infer *f, size_t first_row, size_t rows, float *logits);

/* Empty the cache of all sequences. */
void tg_infer_reset(tg_infer *f);

/* ---- choosing a token */

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
 *   sequence    the text's number, from 0: texts, steps and seeds have random numbers of their own
 *
 * n in [1, 2^31).  O(n + k log n) for k candidates under top_k and top_p.
 * TG_EDATA: a logit is NaN or infinite; *id is then unspecified.
 */
TG_MUST_CHECK tg_status tg_sample(int32_t *id, const float *logits, int32_t *order, size_t n, uint64_t step,
                                  size_t sequence, const tg_sampling *sampling, tg_err *err);

/* The k greatest of logits [n], 1 <= k <= n, into ids [k], the greatest first.  O(n log k), and O(n) for a
 * few of logits in no particular order. */
void tg_top_ids(int32_t *ids, size_t k, const float *logits, size_t n);

/* ---- generating texts */

/*
 * S texts with the same beginning that grow together, so that one read of the weights serves
 * all of them.  When the model's context is full, each continues with the newer half of it,
 * max(1, n_ctx/2) tokens, as if these were the whole text.
 */
typedef struct tg_generator tg_generator;

/*
 * Allocate all memory for S >= 1 texts of up to `tokens` tokens each, the beginning included; matrices are
 * rounded to `type`.  The model must outlive the generator.  TG_EDATA: `type` has no finite value for a
 * weight; TG_ENOMEM.  *g is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_generator_new(tg_generator **g, const tg_model *model, tg_weight_type type,
                                         size_t S, size_t tokens, tg_err *err);
void tg_generator_destroy(tg_generator *g); /* NULL is fine */

/* The last token that was chosen for each text, [S]; and the logits [S,V] that it was chosen by, or that the
 * next one will be. */
const int32_t *tg_generator_ids(const tg_generator *g);
const float *tg_generator_logits(const tg_generator *g);

/* Begin with the text ids [n], n >= 1, each below vocab_size.  Returns how many of its
 * newest tokens the model sees: n, or half a context when n > n_ctx. */
size_t tg_generator_begin(tg_generator *g, const int32_t *ids, size_t n);

/* Continue a single text with ids [n], n >= 1, which were not chosen: all of them must still fit the
 * generator's tokens, as they fit its cache.  What was chosen last, and not extended, is no part of the text.
 */
void tg_generator_append(tg_generator *g, const int32_t *ids, size_t n);

/* Choose the next token of each text, for tg_generator_ids(); the logits are still those that it was chosen
 * by.  TG_EDATA like tg_sample(), with the position, and the text's number when there are several. */
TG_MUST_CHECK tg_status tg_generator_choose(tg_generator *g, const tg_sampling *sampling, tg_err *err);

/* Run the chosen tokens through the model, if more will be chosen. */
void tg_generator_extend(tg_generator *g);

/* Both: the second if `more` tokens will follow, which must fit the generator's tokens (asserted). */
TG_MUST_CHECK tg_status tg_generator_next(tg_generator *g, bool more, const tg_sampling *sampling,
                                          tg_err *err);

TG_API_END

#endif
