#include "lib/patch/graph.h"

#include "lib/gpt/family.h"

tg_patch_graph tg_patch_graph_of(const tg_config *c)
{
    tg_patch_graph g = {.L = c->n_layer,
                        .H = c->n_head,
                        .KV = tg_config_kv_heads(c),
                        .parallel = tg_config_family(c)->mlp_in == TG_ACT_X};

    g.senders = 1 + g.L * (g.H + 1);
    g.receivers = g.L * (g.H + 2 * g.KV + 1) + 1;
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
