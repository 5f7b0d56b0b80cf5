/*
 * sample: the state of a generator, which lib/tg/infer.h describes.
 */
#ifndef TG_GPT_SAMPLE_H
#define TG_GPT_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/packed.h"
#include "lib/tg/infer.h"

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

#endif
