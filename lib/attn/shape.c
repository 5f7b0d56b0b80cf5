#include "lib/attn/shape.h"

#include <assert.h>

#define STAGE_NAME(constant, name) #name,

const char *tg_attn_stage_name(tg_attn_stage stage)
{
    static const char names[TG_ATTN_STAGE_COUNT][12] = {TG_ATTN_STAGE_TABLE(STAGE_NAME)};

    assert(stage < TG_ATTN_STAGE_COUNT);
    return names[stage];
}

bool tg_attn_stage_of_model(tg_attn_stage stage)
{
    return stage < TG_ATTN_Q || stage == TG_ATTN_OUT;
}

bool tg_attn_stage_whole(tg_attn_stage stage)
{
    return stage <= TG_ATTN_QKV || stage == TG_ATTN_OUT;
}

bool tg_attn_stage_of_keys(tg_attn_stage stage)
{
    return stage == TG_ATTN_K_PROJECTED || stage == TG_ATTN_K_NORMED || stage == TG_ATTN_K ||
           stage == TG_ATTN_V;
}

bool tg_attn_stage_square(tg_attn_stage stage)
{
    return stage == TG_ATTN_SCORES || stage == TG_ATTN_PROBS;
}

static void add_index(tg_attn_shape *s, const char *dim, char index, size_t size)
{
    s->dim[s->n] = dim;
    s->index[s->n] = index;
    s->size[s->n] = size;
    s->n++;
}

void tg_attn_stage_shape(tg_attn_shape *s, tg_attn_stage stage, const tg_qkv_view *a)
{
    const bool square = tg_attn_stage_square(stage), whole = tg_attn_stage_whole(stage);
    const bool heads_first = square || (!whole && a->layout == TG_ATTN_BHTD);
    const bool kv = a->KV != a->H && tg_attn_stage_of_keys(stage);
    const size_t heads = kv ? a->KV : a->H, qkv = (a->H + 2 * a->KV) * a->D;
    const char *heads_name = kv ? "KV" : "H";
    size_t stride = 1;

    *s = (tg_attn_shape){0};
    add_index(s, "B", 'b', a->B);
    if (heads_first)
        add_index(s, heads_name, 'h', heads);
    add_index(s, "T", square ? 'i' : 't', a->T);
    if (!heads_first && !whole)
        add_index(s, heads_name, 'h', heads);
    if (square)
        add_index(s, "T", 'j', a->T);
    else if (whole)
        add_index(s, stage == TG_ATTN_QKV ? "3C" : "C", 'c', stage == TG_ATTN_QKV ? qkv : a->C);
    else
        add_index(s, "D", 'd', a->D);
    for (size_t n = s->n; n-- > 0; stride *= s->size[n])
        s->stride[n] = stride;
}

size_t tg_attn_shape_count(const tg_attn_shape *s)
{
    return s->size[0] * s->stride[0];
}
