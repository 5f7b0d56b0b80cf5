/*
 * adapter: a change of low rank to matrices of a model's blocks, which are computed with as they were (LoRA).
 *
 *     W' = W + s B A        s = alpha / R, or alpha / sqrt(R)
 *
 * A is [R,in] and B [out,R], for y = x W'^T + b, however W lies in memory.  The parameters A and B have a
 * table of their own, so that what is written for a model's serves them as well: they are placed,
 * initialised, updated and saved by it.
 *
 * Sources: Hu et al. 2021, arXiv:2106.09685; Kalajdzievski 2023, arXiv:2312.03732 (alpha / sqrt(R)).
 */
#ifndef TG_GPT_ADAPTER_H
#define TG_GPT_ADAPTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/params.h"
#include "lib/kernels/matmul.h"
#include "lib/text/chat_note.h"

typedef struct tg_adapter_shape {
    size_t rank; /* R */
    double alpha;
    bool rank_stabilized; /* s = alpha / sqrt(R) */
    uint64_t targets;     /* bit i: the matrices of tg_param_kind i, in all blocks */
} tg_adapter_shape;

#define TG_ADAPTER_RANK_MAX 4096
#define TG_ADAPTER_ALPHA_MAX 1e6
#define TG_ADAPTER_TARGETS_SIZE 512 /* bytes of the names of targets, with the NUL */

typedef struct tg_adapter tg_adapter;
struct tg_adapter {
    tg_adapter_shape shape;
    /* "NAME.lora_A.weight" [R,in] of each target, of the target's kind, then "NAME.lora_B.weight" [out,R]; in
     * the order of the model's table */
    tg_params table;
    float *params;             /* flat */
    double weight;             /* of the change, besides s: 1, unless the user says otherwise */
    tg_chat_note chat;         /* of the conversations that it was trained on */
    float *scaled;             /* scratch: weight * s * B */
    tg_matmul_scratch scratch; /* of products */
    tg_arena memory;
    /* Change the values w of a parameter that it changes, laid out as its row p of the model's table says or,
     * if turned, as the transpose of that; uses threads.  A member, so that a program that only reads models
     * is linked without products. */
    void (*apply)(const tg_adapter *a, float *w, const tg_param *p, bool turned);
};

/*
 * An adapter of zeros for the model of that table.  TG_EUSAGE: its rank or alpha exceeds the maximum, or a
 * target is no matrix of the model's blocks; TG_ENOMEM.  After a failure *a needs no free.  The number of
 * threads must not be raised afterwards.
 */
TG_MUST_CHECK tg_status tg_adapter_create(tg_adapter *a, const tg_params *model,
                                          const tg_adapter_shape *shape, tg_err *err);
void tg_adapter_free(tg_adapter *a); /* a zeroed one is fine */

/* Initialise A from the seed: normal, with the standard deviation 1/sqrt(3 in) that the uniform distribution
 * of PEFT has; and B: zeros, so that W' is W, bit for bit. */
void tg_adapter_init(tg_adapter *a, uint64_t seed);

/* s */
double tg_adapter_scale(const tg_adapter_shape *shape);

/* The entry A, which B follows, of a parameter of the model; NULL: it is not changed. */
static inline const tg_param *tg_adapter_of(const tg_adapter *a, tg_param_kind kind, size_t layer)
{
    const size_t i = tg_params_index(&a->table, kind, layer);

    return i < a->table.n ? &a->table.entry[i] : NULL;
}

/* ---- names of targets: "q_proj,v_proj".  A name is that of a matrix, "self_attn.q_proj", or the end of one
 * or of several, after a period */

/* All matrices of a model's blocks. */
uint64_t tg_adapter_all_targets(const tg_params *model);

/* Those that a list names.  TG_EUSAGE: a name is none; the message has those that there are. */
TG_MUST_CHECK tg_status tg_adapter_find_targets(uint64_t *targets, const tg_params *model, const char *list,
                                                tg_err *err);

/* The list of these targets, by their whole names. */
const char *tg_adapter_target_names(char list[TG_ADAPTER_TARGETS_SIZE], const tg_params *model,
                                    uint64_t targets);

#endif
