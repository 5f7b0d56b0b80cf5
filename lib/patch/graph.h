/*
 * graph: a model as parts that write to the residual stream and parts that read it, and the edges between
 * them.
 *
 * Senders write: the embedding, each head, each MLP.  Receivers read: the queries, keys and values of each
 * head, each MLP, and the output.  What a receiver reads is a sum of what the senders before it have written,
 * and of biases; an edge is one term of it.  Where heads share keys and values, there are as many receivers
 * of these as there are heads of keys.  GPT-2 small has 157 senders, 445 receivers and 32,491 edges. Sources:
 * Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"; Conmy et al. 2023,
 * arXiv:2304.14997.
 */
#ifndef TG_PATCH_GRAPH_H
#define TG_PATCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/gpt/config.h"
#include "lib/patch/kept.h"

typedef struct tg_patch_graph {
    size_t L, H, KV;
    bool parallel;                    /* an MLP does not read what its block's heads write */
    size_t senders, receivers, edges; /* how many there are */
} tg_patch_graph;

tg_patch_graph tg_patch_graph_of(const tg_config *config);

/* A sender is numbered in the order of writing: the embedding is 0, then each layer's heads and its MLP. */
#define TG_PATCH_EMBEDDING ((size_t)0)
size_t tg_patch_sender(const tg_patch_graph *g, size_t layer, size_t head); /* head = H: the MLP */

/* Of a sender that is not the embedding: its layer, and its head, H for the MLP. */
size_t tg_patch_sender_layer(const tg_patch_graph *g, size_t sender);
size_t tg_patch_sender_head(const tg_patch_graph *g, size_t sender);

/* A receiver is numbered in the order of reading: each layer's heads of q, of k, of v, its MLP; at last the
 * output. */
typedef struct tg_patch_receiver {
    tg_patch_site site; /* q, k, v, mlp; x of layer L is the output */
    size_t layer, head; /* head: 0 of x and mlp */
} tg_patch_receiver;

tg_patch_receiver tg_patch_receiver_of(const tg_patch_graph *g, size_t number);
size_t tg_patch_receiver_number(const tg_patch_graph *g, const tg_patch_receiver *r);

/* How many senders have written what it reads: they are 0, 1, ... */
size_t tg_patch_senders_before(const tg_patch_graph *g, size_t receiver);

typedef struct tg_patch_edge {
    size_t sender, receiver;
} tg_patch_edge;

/* The edges in ascending order of receivers, and of a receiver's senders: the first, and the one after e. */
static inline tg_patch_edge tg_patch_first_edge(void)
{
    return (tg_patch_edge){0, 0};
}

tg_patch_edge tg_patch_next_edge(const tg_patch_graph *g, tg_patch_edge e);

/*
 * Names, NUL included:
 *
 *     embed  L.H  L.mlp                        senders
 *     L.H.q  L.H.k  L.H.v  L.mlp  logits       receivers
 *     SENDER:RECEIVER                          edges
 */
#define TG_PATCH_PART_SIZE 64
#define TG_PATCH_EDGE_SIZE 128
void tg_patch_sender_name(char out[TG_PATCH_PART_SIZE], const tg_patch_graph *g, size_t sender);
void tg_patch_receiver_name(char out[TG_PATCH_PART_SIZE], const tg_patch_graph *g, size_t receiver);
void tg_patch_edge_name(char out[TG_PATCH_EDGE_SIZE], const tg_patch_graph *g, const tg_patch_edge *edge);

#endif
