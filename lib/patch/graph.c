#include "lib/patch/graph.h"

#include <stdio.h>

#include "lib/gpt/family.h"

tg_patch_graph tg_patch_graph_of(const tg_config *c)
{
    tg_patch_graph g = {.L = c->n_layer,
                        .H = c->n_head,
                        .KV = tg_config_kv_heads(c),
                        .parallel = tg_config_family(c)->mlp_in == TG_ACT_X};

    g.senders = 1 + g.L * (g.H + 1);
    g.receivers = g.L * (g.H + 2 * g.KV + 1) + 1;
    for (size_t r = 0; r < g.receivers; r++)
        g.edges += tg_patch_senders_before(&g, r);
    return g;
}

/* ---- senders */

size_t tg_patch_sender(const tg_patch_graph *g, size_t layer, size_t head)
{
    return 1 + layer * (g->H + 1) + head;
}

size_t tg_patch_sender_layer(const tg_patch_graph *g, size_t sender)
{
    return (sender - 1) / (g->H + 1);
}

size_t tg_patch_sender_head(const tg_patch_graph *g, size_t sender)
{
    return (sender - 1) % (g->H + 1);
}

/* ---- receivers */

static size_t receivers_of_layer(const tg_patch_graph *g)
{
    return g->H + 2 * g->KV + 1;
}

tg_patch_receiver tg_patch_receiver_of(const tg_patch_graph *g, size_t number)
{
    const size_t layer = number / receivers_of_layer(g), i = number % receivers_of_layer(g);

    if (layer == g->L)
        return (tg_patch_receiver){TG_PATCH_X, layer, 0};
    if (i < g->H)
        return (tg_patch_receiver){TG_PATCH_Q, layer, i};
    if (i < g->H + g->KV)
        return (tg_patch_receiver){TG_PATCH_K, layer, i - g->H};
    if (i < g->H + 2 * g->KV)
        return (tg_patch_receiver){TG_PATCH_V, layer, i - g->H - g->KV};
    return (tg_patch_receiver){TG_PATCH_MLP, layer, 0};
}

size_t tg_patch_receiver_number(const tg_patch_graph *g, const tg_patch_receiver *r)
{
    const size_t first[TG_PATCH_SITES] = {
        [TG_PATCH_K] = g->H, [TG_PATCH_V] = g->H + g->KV, [TG_PATCH_MLP] = g->H + 2 * g->KV};

    return r->layer * receivers_of_layer(g) + first[r->site] + r->head;
}

size_t tg_patch_senders_before(const tg_patch_graph *g, size_t receiver)
{
    const tg_patch_receiver r = tg_patch_receiver_of(g, receiver);

    return tg_patch_sender(g, r.layer, r.site == TG_PATCH_MLP && !g->parallel ? g->H : 0);
}

/* ---- edges */

tg_patch_edge tg_patch_next_edge(const tg_patch_graph *g, tg_patch_edge e)
{
    if (e.sender + 1 < tg_patch_senders_before(g, e.receiver))
        return (tg_patch_edge){e.sender + 1, e.receiver};
    return (tg_patch_edge){0, e.receiver + 1};
}

/* ---- names */

void tg_patch_sender_name(char out[TG_PATCH_PART_SIZE], const tg_patch_graph *g, size_t sender)
{
    if (sender == TG_PATCH_EMBEDDING)
        snprintf(out, TG_PATCH_PART_SIZE, "embed");
    else if (tg_patch_sender_head(g, sender) == g->H)
        snprintf(out, TG_PATCH_PART_SIZE, "%zu.mlp", tg_patch_sender_layer(g, sender));
    else
        snprintf(out, TG_PATCH_PART_SIZE, "%zu.%zu", tg_patch_sender_layer(g, sender),
                 tg_patch_sender_head(g, sender));
}

static const char *letter(tg_patch_site site)
{
    return site == TG_PATCH_Q ? "q" : site == TG_PATCH_K ? "k" : "v";
}

void tg_patch_receiver_name(char out[TG_PATCH_PART_SIZE], const tg_patch_graph *g, size_t receiver)
{
    const tg_patch_receiver r = tg_patch_receiver_of(g, receiver);

    if (r.site == TG_PATCH_X)
        snprintf(out, TG_PATCH_PART_SIZE, "logits");
    else if (r.site == TG_PATCH_MLP)
        snprintf(out, TG_PATCH_PART_SIZE, "%zu.mlp", r.layer);
    else
        snprintf(out, TG_PATCH_PART_SIZE, "%zu.%zu.%s", r.layer, r.head, letter(r.site));
}

void tg_patch_edge_name(char out[TG_PATCH_EDGE_SIZE], const tg_patch_graph *g, const tg_patch_edge *edge)
{
    char sender[TG_PATCH_PART_SIZE], receiver[TG_PATCH_PART_SIZE];

    tg_patch_sender_name(sender, g, edge->sender);
    tg_patch_receiver_name(receiver, g, edge->receiver);
    snprintf(out, TG_PATCH_EDGE_SIZE, "%s:%s", sender, receiver);
}
