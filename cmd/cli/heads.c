#include "cmd/cli/heads.h"

#include <stdlib.h>

#include "lib/attn/attn.h"

/* The next item; L.* keeps all heads of layer L.  False: it is not an item. */
static bool take_item(const char **at, tg_attn_filter *filter)
{
    *filter = TG_ATTN_KEEP_ALL;
    return cli_take_head(at, &filter->layer, &filter->head, "*"); /* TG_ATTN_ALL is SIZE_MAX */
}

bool cli_heads_given(const char *list)
{
    tg_attn_filter filter;

    do {
        if (!take_item(&list, &filter))
            return false;
    } while (*list != '\0');
    return true;
}

static tg_status mark(bool *marked, const char *list, const tg_config *c, tg_err *err)
{
    tg_attn_filter filter;
    tg_status status;

    while (*list != '\0' && take_item(&list, &filter)) {
        if ((status = tg_attn_filter_check(&filter, c->n_layer, c->n_head, 1, err)))
            return status;
        for (size_t n = 0; n < c->n_layer * c->n_head; n++)
            marked[n] |=
                tg_attn_keeps(filter.layer, n / c->n_head) && tg_attn_keeps(filter.head, n % c->n_head);
    }
    return TG_OK;
}

tg_status cli_heads_find(tg_ablate_head **out, size_t *n, const char *list, const tg_config *c, tg_err *err)
{
    const size_t all = c->n_layer * c->n_head;
    tg_ablate_head *heads = *out = malloc(all * sizeof *heads);
    bool *marked = calloc(all, sizeof *marked);
    tg_status status;

    *n = 0;
    if (!heads || !marked)
        status = tg_fail_memory(err, all * (sizeof *heads + sizeof *marked), "the heads");
    else
        status = mark(marked, list, c, err);
    for (size_t h = 0; !status && h < all; h++)
        if (marked[h])
            heads[(*n)++] = (tg_ablate_head){h / c->n_head, h % c->n_head};
    free(marked);
    return status;
}
