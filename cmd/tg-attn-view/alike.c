/* view: whether dumps can be compared number by number. */
#include <string.h>

#include "cmd/tg-attn-view/view.h"

static tg_status check_sizes(const tg_dump *a, const tg_dump *b, tg_err *err)
{
    const struct {
        const char *what;
        size_t a, b;
    } sizes[] = {
        {"tokens", a->T, b->T},   {"layers", a->n_layer, b->n_layer}, {"layers in the dump", a->n, b->n},
        {"heads", a->H, b->H},    {"heads of keys", a->KV, b->KV},    {"channels of a head", a->D, b->D},
        {"channels", a->C, b->C}, {"sequences", a->B, b->B},
    };

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        if (sizes[i].a != sizes[i].b)
            return tg_fail(err, TG_EDATA, "%s: %zu, but %zu in the first dump", sizes[i].what, sizes[i].b,
                           sizes[i].a);
    return TG_OK;
}

static tg_status check_rules(const tg_dump *a, const tg_dump *b, tg_err *err)
{
    const bool alike = a->layout == b->layout && a->mask == b->mask && a->window == b->window &&
                       a->window_layers == b->window_layers && !(a->attn_scale < b->attn_scale) &&
                       !(a->attn_scale > b->attn_scale) && !(a->attn_cap < b->attn_cap) &&
                       !(a->attn_cap > b->attn_cap);

    return alike ? TG_OK
                 : tg_fail(err, TG_EDATA, "its layout, mask, window, scale or cap is not the first dump's");
}

/* Two texts of as many tokens can be compared position by position. */
static tg_status check_tokens(const tg_dump *a, const tg_dump *b, tg_err *err)
{
    if (!a->ids == !b->ids)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "it has %stokens, unlike the first dump", b->ids ? "" : "no ");
}

tg_status view_check_alike(const view *first, const view *other, tg_err *err)
{
    const tg_dump *a = first->dump, *b = other->dump;
    tg_status status;

    if ((status = check_sizes(a, b, err)) || (status = check_rules(a, b, err)) ||
        (status = check_tokens(a, b, err)))
        return status;
    for (size_t l = 0; l < a->n; l++)
        if (a->layer[l].number != b->layer[l].number)
            return tg_fail(err, TG_EDATA, "it has layer %zu, but the first dump %zu", b->layer[l].number,
                           a->layer[l].number);
    return TG_OK;
}
