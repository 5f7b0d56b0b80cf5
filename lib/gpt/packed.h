/*
 * packed: a model's matrices, laid out for decoding (lib/kernels/packed_matrix.h), in float32 or
 * rounded to bf16, which halves the bytes to read per token.
 *
 * Vectors and embeddings stay the model's own.
 */
#ifndef TG_GPT_PACKED_H
#define TG_GPT_PACKED_H

#include "lib/base/arena.h"
#include "lib/gpt/model.h"
#include "lib/kernels/packed_matrix.h"

typedef struct tg_packed_model {
    tg_packed_matrix *matrix; /* [table.n]; panels NULL for what is no matrix; the arena's */
    tg_arena arena;     /* owned */
} tg_packed_model;

/*
 * Pack all matrices of the model, which is not changed and must outlive *p: decoding reads its
 * vectors and embeddings.  The layout is that of the kernels in use: call tg_kernels_choose()
 * before.  To be freed.
 * TG_EDATA: bf16 has no finite value for a weight, which the message names.  TG_ENOMEM.
 * After a failure *p needs no free.
 */
TG_MUST_CHECK tg_status tg_packed_model_create(tg_packed_model *p, const tg_model *model, tg_precision precision,
                                         tg_err *err);
void tg_packed_model_free(tg_packed_model *p); /* a zeroed one is fine */

/* A linear layer's [in,out]; or, for the kind that holds the head (lm_head.weight, else
 * wte.weight), its transpose [C,V]. */
const tg_packed_matrix *tg_packed_model_get(const tg_packed_model *p, const tg_model *model, tg_param_kind kind, size_t layer);

#endif
