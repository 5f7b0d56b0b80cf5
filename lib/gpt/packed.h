/*
 * packed: a model's matrices, laid out for decoding (lib/kernels/packed_matrix.h), in float32 or
 * rounded to bf16 or int8, which are a half or a quarter of the bytes to read per token.
 *
 * Vectors and embeddings are not packed.
 */
#ifndef TG_GPT_PACKED_H
#define TG_GPT_PACKED_H

#include "lib/base/arena.h"
#include "lib/gpt/model.h"
#include "lib/kernels/packed_matrix.h"

typedef struct tg_packed_model {
    tg_weight_type type;
    tg_packed_matrix *matrix; /* [table.n] in the arena: a linear layer's is [in,out], and the head's
                               * (lm_head.weight, or wte.weight when tied) its transpose [C,V]; panels is NULL
                               * for other parameters */
    tg_arena arena;           /* owned */
} tg_packed_model;

/*
 * Pack all matrices of the model.  The model must outlive *p: decoding reads its vectors and
 * embeddings, and long prompts its matrices (TG_INFER_ROWS16).  The layout depends on the kernels
 * in use: call tg_kernels_choose() first.  The caller frees *p.
 * TG_EDATA: bf16 has no finite value for a weight, or a weight is not finite, for int8; the
 * message names it.  TG_ENOMEM.
 * After a failure *p needs no free.
 */
TG_MUST_CHECK tg_status tg_packed_model_create(tg_packed_model *p, const tg_model *model, tg_weight_type type,
                                               tg_err *err);
void tg_packed_model_free(tg_packed_model *p); /* a zeroed one is fine */

#endif
