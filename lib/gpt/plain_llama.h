/*
 * plain_llama: Llama's forward pass, and its relatives', as plainly as it can be written, in double
 * precision: what plain.h is for GPT-2, the page to read first, and what the fast passes (lib/gpt/llama.c,
 * gemma.c, neox.c, stablelm.c, nanochat.c) are compared with, in tests and by tg-attn-dump --check --plain.
 *
 *     x = embed[ids]
 *     for each block
 *         q, k, v = norm_1(x) Wq^T, norm_1(x) Wk^T, norm_1(x) Wv^T
 *         q, k = rotated by their position
 *         att = attention(q, k, v); H/KV heads of q read one head of k and v
 *         x = x + att Wo^T
 *         x = x + (silu(norm_2(x) Wg^T) * norm_2(x) Wu^T) Wd^T
 *     logits = norm(x) head^T
 *
 * A relative differs in some of these; its config and its tables (lib/gpt/family.h) say in which:
 *
 *   - Norms are LayerNorms (GPT-NeoX, StableLM), have an offset (Gemma) or no gains (nanochat).
 *   - q and k are normed, each head by itself (Qwen3, Gemma 3, nanochat) or all heads at once (OLMo 2).
 *   - What is added to x is normed (Gemma 2 and 3, OLMo 2); norm_1 and norm_2 are missing (OLMo 2).
 *   - Some layers have biases (Qwen2, GPT-NeoX, StableLM).
 *   - The MLP has another activation; no gate, as GPT-2's (GPT-NeoX, nanochat); or it reads the same x as
 *     attention does (GPT-NeoX).
 *   - Some blocks see a window of the keys (Mistral, Gemma 2 and 3), or do not rotate (SmolLM3); some rotate
 *     by other angles (Gemma 3), or only some channels of a head (GPT-NeoX, StableLM).
 *   - Scores have another scale or a cap (Gemma 2), and so have logits (Gemma 2, nanochat).
 *   - The vectors of tokens are scaled (Gemma) or normed (nanochat).
 *
 *     tg_plain_llama_open(&p, &config, weights, T, &err)
 *     tg_plain_llama_embed(&p, ids)
 *     for (l = 0; l < config.n_layer; l++)
 *         tg_plain_llama_attend(&p, l), tg_plain_llama_project(&p, l), tg_plain_llama_mlp(&p, l)
 *     tg_plain_llama_logits(&p, logits)
 *     tg_plain_llama_close(&p)
 *
 * Its operations are the references of lib/nn/ref.  Nothing is fast, and a [T,T] matrix is stored for each
 * head.
 * Sources: those that the fast pages name.
 */
#ifndef TG_GPT_PLAIN_LLAMA_H
#define TG_GPT_PLAIN_LLAMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/gpt/plain.h"

/* Sizes: Qd = H*D channels of queries, KVd = KV*D of keys, F inner ones of the MLP. */
typedef struct tg_plain_llama {
    const tg_config *config;
    tg_plain_weights weights;
    size_t T;
    double *x;                        /* [T,C] the residual stream */
    double *block_x;                  /* [T,C] the same when the last block began */
    double *normed;                   /* [T,C] the last norm's output */
    double *added;                    /* [T,C] what the last sublayer has added to x */
    double *q, *q_normed, *q_rotated; /* [T,Qd] of the last block: projected, normed, rotated */
    double *k, *k_normed, *k_rotated; /* [T,KVd] */
    double *v;                        /* [T,KVd] */
    double *scores, *probs;           /* [H,T,T] */
    double *att;                      /* [T,Qd] */
    double *out;                      /* [T,C] att projected, before it is normed */
    double *gate, *up;                /* [T,F] */
    double *mean, *rstd;              /* [T,H] of the last norm */
    double *cosines, *sines;          /* [T,d/2] of the last block's angles */
    tg_arena arena;                   /* of all these */
} tg_plain_llama;

/* Whether this page reads all parameters that models of a config's family have. */
bool tg_plain_llama_knows(const tg_config *config);

/* The page knows the config, which, as the weights, must outlive p.  TG_ENOMEM: nothing to close. */
TG_MUST_CHECK tg_status tg_plain_llama_open(tg_plain_llama *p, const tg_config *config,
                                            tg_plain_weights weights, size_t T, tg_err *err);
void tg_plain_llama_close(tg_plain_llama *p);

void tg_plain_llama_embed(tg_plain_llama *p, const int32_t *ids); /* ids [T] */
void tg_plain_llama_attend(tg_plain_llama *p, size_t layer);      /* from x to att */
void tg_plain_llama_project(tg_plain_llama *p, size_t layer);     /* att is added to x */
void tg_plain_llama_mlp(tg_plain_llama *p, size_t layer);
void tg_plain_llama_logits(tg_plain_llama *p, double *logits); /* logits [T,V] written */

#endif
