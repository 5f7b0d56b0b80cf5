/*
 * growing: the attention of a text's last token, while the text grows.
 *
 *     tg_attn_growing_open(&g, model, keys, first, &err)
 *     tg_attn_growing_add(&g, ids, first, NULL, &err)             the beginning
 *     tg_attn_growing_add(&g, &id, 1, &visitor, &err)             and each token after it
 *     tg_attn_growing_close(&g)
 *
 * Every row has the bits that tg_attn_layers_walk_parallel() gives for the text so far.  Those of a step of
 * decoding would differ in the last digits: the products of a single row, and the attention of fewer than
 * TG_ATTEND_FEW queries, are summed in another order than those of a whole text.  So each call runs at
 * least that many tokens, those before the new ones once more; their keys and values stay as they are.
 */
#ifndef TG_ATTN_GROWING_H
#define TG_ATTN_GROWING_H

#include <stddef.h>
#include <stdint.h>

#include "lib/attn/attn.h"
#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/infer.h"

typedef struct tg_attn_growing {
    tg_infer infer; /* with a cache */
    size_t T, keys; /* the tokens so far, and the most */
    int32_t *ids;   /* [keys] */
    float *q;       /* [keys,H*D] of which a layer's last row is used */
    tg_attn_scratch scratch;
    tg_arena arena;
} tg_attn_growing;

/* For a text of up to `keys` <= n_ctx tokens, of which up to `first` are added at once.  The model must
 * outlive it, and *g must not be moved.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_attn_growing_open(tg_attn_growing *g, const tg_model *model, size_t keys,
                                             size_t first, tg_err *err);
void tg_attn_growing_close(tg_attn_growing *g); /* a zeroed one is fine */

/* Append n >= 1 tokens, each below vocab_size.  visitor, unless it is NULL, sees the rows of the last one, by
 * layer and head; each has T keys.  If its turn ends the walk, the result is TG_OK and nothing may be added.
 * TG_EDATA: a tensor of a lent model is not finite. */
TG_MUST_CHECK tg_status tg_attn_growing_add(tg_attn_growing *g, const int32_t *ids, size_t n,
                                            const tg_attn_visitor *visitor, tg_err *err);

/* The shape of the text so far; the pointers are NULL. */
tg_qkv_view tg_attn_growing_shape(const tg_attn_growing *g);

#endif
