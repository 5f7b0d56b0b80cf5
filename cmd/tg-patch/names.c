#include "cmd/tg-patch/names.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "cmd/cli/cli.h"

static tg_status check_range(size_t layer, size_t head, const tg_patch_graph *g, size_t heads, tg_err *err)
{
    if (layer >= g->L)
        return tg_fail(err, TG_EUSAGE, "layer %zu is out of range: expected 0 to %zu", layer, g->L - 1);
    if (head >= heads)
        return tg_fail(err, TG_EUSAGE, "head %zu is out of range: expected 0 to %zu", head, heads - 1);
    return TG_OK;
}

/* In the place of a head's number: of L.mlp, and of L.*. */
static const size_t no_head = SIZE_MAX, every_head = SIZE_MAX - 1;

/* A part's layer, its head, and what follows; nothing follows L.mlp. */
static bool take_part(const char *item, size_t *layer, size_t *head, const char **rest)
{
    *head = no_head;
    *rest = item;
    if (!cli_take_size(rest, layer) || *(*rest)++ != '.')
        return false;
    if (strcmp(*rest, "mlp") == 0)
        *rest += strlen("mlp");
    else if (**rest == '*' && (*rest)++)
        *head = every_head;
    else if (!cli_take_size(rest, head))
        return false;
    return true;
}

static tg_status mark_sender(bool *marked, const tg_patch_graph *g, const char *item, tg_err *err)
{
    const char *rest;
    size_t layer, head;

    if (strcmp(item, "embed") == 0) {
        marked[TG_PATCH_EMBEDDING] = true;
        return TG_OK;
    }
    if (!take_part(item, &layer, &head, &rest) || *rest != '\0')
        return tg_fail(err, TG_EUSAGE, "expected LAYER.HEAD, LAYER.*, LAYER.mlp or embed, got '%s'", item);
    if (check_range(layer, head >= every_head ? 0 : head, g, g->H, err))
        return err->code;
    if (head == every_head)
        for (size_t h = 0; h < g->H; h++)
            marked[tg_patch_sender(g, layer, h)] = true;
    else
        marked[tg_patch_sender(g, layer, head == no_head ? g->H : head)] = true;
    return TG_OK;
}

static void mark(bool *marked, const tg_patch_graph *g, tg_patch_site site, size_t layer, size_t head)
{
    marked[tg_patch_receiver_number(g, &(tg_patch_receiver){site, layer, head})] = true;
}

/* What a head reads: q, k or v, or with '\0' all of them, of a head of queries. */
static void mark_head(bool *marked, const tg_patch_graph *g, size_t layer, size_t head, char which)
{
    const size_t keys = which == '\0' ? head / (g->H / g->KV) : head;

    if (which == 'q' || which == '\0')
        mark(marked, g, TG_PATCH_Q, layer, head);
    if (which == 'k' || which == '\0')
        mark(marked, g, TG_PATCH_K, layer, keys);
    if (which == 'v' || which == '\0')
        mark(marked, g, TG_PATCH_V, layer, keys);
}

/* Whether what follows LAYER.HEAD is nothing, or one of these. */
static bool is_head_part(const char *rest)
{
    return *rest == '\0' || strcmp(rest, ".q") == 0 || strcmp(rest, ".k") == 0 || strcmp(rest, ".v") == 0;
}

static tg_status mark_receiver(bool *marked, const tg_patch_graph *g, const char *item, tg_err *err)
{
    const char *rest;
    size_t layer, head, heads;

    if (strcmp(item, "logits") == 0) {
        mark(marked, g, TG_PATCH_X, g->L, 0);
        return TG_OK;
    }
    if (!take_part(item, &layer, &head, &rest) || !is_head_part(rest))
        return tg_fail(
            err, TG_EUSAGE,
            "expected LAYER.HEAD.q, .k or .v, LAYER.HEAD, LAYER.mlp or logits, HEAD a number or *, "
            "got '%s'",
            item);
    heads = *rest == '\0' || rest[1] == 'q' ? g->H : g->KV;
    if (check_range(layer, head >= every_head ? 0 : head, g, heads, err))
        return err->code;
    if (head == no_head)
        mark(marked, g, TG_PATCH_MLP, layer, 0);
    else if (head < every_head)
        mark_head(marked, g, layer, head, rest[*rest == '.']);
    for (size_t h = 0; head == every_head && h < heads; h++)
        mark_head(marked, g, layer, h, rest[*rest == '.']);
    return TG_OK;
}

typedef tg_status mark_item(bool *marked, const tg_patch_graph *g, const char *item, tg_err *err);

/* Mark what each item of at .. end - 1 names. */
static tg_status mark_items(bool *marked, const tg_patch_graph *g, const char *at, const char *end,
                            mark_item *mark_one, tg_err *err)
{
    tg_status status = TG_OK;
    bool more = true;

    while (more && !status) {
        const char *comma = memchr(at, ',', (size_t)(end - at)), *to = comma ? comma : end;
        char item[TG_PATCH_EDGE_SIZE];

        snprintf(item, sizeof item, "%.*s", (int)(to - at), at);
        status = mark_one(marked, g, item, err);
        more = comma;
        at = to + more;
    }
    return status;
}

static void mark_all(bool *marked, size_t n)
{
    for (size_t i = 0; i < n; i++)
        marked[i] = true;
}

tg_status patch_mark_senders(bool *marked, const tg_patch_graph *g, const char *list, const char *end,
                             tg_err *err)
{
    if (list < end)
        return mark_items(marked, g, list, end, mark_sender, err);
    mark_all(marked, g->senders);
    return TG_OK;
}

tg_status patch_mark_receivers(bool *marked, const tg_patch_graph *g, const char *list, const char *end,
                               tg_err *err)
{
    if (list < end)
        return mark_items(marked, g, list, end, mark_receiver, err);
    mark_all(marked, g->receivers);
    return TG_OK;
}
