#include "lib/patch/edge_write.h"

#include <stdlib.h>
#include <string.h>

/* ---- senders and receivers that have edges, in their order */

struct axes {
    size_t senders, receivers; /* how many there are */
    size_t *sender, *receiver; /* [graph's] places among them, or SIZE_MAX */
    double *value, *effect;    /* [receivers,senders] */
    int64_t *edge;             /* 1 where there is one */
    char *names;               /* of the more of them, TG_PATCH_PART_SIZE bytes each */
};

static void mark(struct axes *a, const tg_edge_grid *g)
{
    memset(a->sender, -1, g->graph->senders * sizeof *a->sender);
    memset(a->receiver, -1, g->graph->receivers * sizeof *a->receiver);
    for (size_t i = 0; i < g->n; i++)
        a->sender[g->edge[i].sender] = a->receiver[g->edge[i].receiver] = 0;
    for (size_t s = 0; s < g->graph->senders; s++)
        if (a->sender[s] == 0)
            a->sender[s] = a->senders++;
    for (size_t r = 0; r < g->graph->receivers; r++)
        if (a->receiver[r] == 0)
            a->receiver[r] = a->receivers++;
}

static void fill(struct axes *a, const tg_edge_grid *g)
{
    for (size_t i = 0; i < g->n; i++) {
        const size_t at = a->receiver[g->edge[i].receiver] * a->senders + a->sender[g->edge[i].sender];

        a->value[at] = g->value[i];
        a->effect[at] = g->effect[i];
        a->edge[at] = 1;
    }
}

static tg_status make(struct axes *a, const tg_edge_grid *g, tg_err *err)
{
    const size_t parts = g->graph->receivers; /* more than senders */

    a->sender = calloc(g->graph->senders, sizeof *a->sender);
    a->receiver = calloc(g->graph->receivers, sizeof *a->receiver);
    a->names = calloc(parts, TG_PATCH_PART_SIZE);
    if (!a->sender || !a->receiver || !a->names)
        return tg_fail_memory(err, parts * TG_PATCH_PART_SIZE, "the parts of the model");
    mark(a, g);
    a->value = calloc(a->receivers * a->senders, sizeof *a->value);
    a->effect = calloc(a->receivers * a->senders, sizeof *a->effect);
    a->edge = calloc(a->receivers * a->senders, sizeof *a->edge);
    if (!a->value || !a->effect || !a->edge)
        return tg_fail_memory(err, a->receivers * a->senders * sizeof *a->value, "the edges");
    fill(a, g);
    return TG_OK;
}

static void drop(struct axes *a)
{
    free(a->sender);
    free(a->receiver);
    free(a->names);
    free(a->value);
    free(a->effect);
    free(a->edge);
}

/* ---- arrays */

static tg_status put_names(tg_archive_writer *w, struct axes *a, const tg_patch_graph *g, bool receivers,
                           tg_err *err)
{
    const size_t all = receivers ? g->receivers : g->senders, *place = receivers ? a->receiver : a->sender;
    const size_t n = receivers ? a->receivers : a->senders;

    memset(a->names, 0, all * TG_PATCH_PART_SIZE);
    for (size_t i = 0; i < all; i++)
        if (place[i] != SIZE_MAX)
            (receivers ? tg_patch_receiver_name
                       : tg_patch_sender_name)(a->names + place[i] * TG_PATCH_PART_SIZE, g, i);
    return tg_archive_put(w, receivers ? "edges/receivers" : "edges/senders",
                          (tg_dtype){'S', TG_PATCH_PART_SIZE}, 1, &n, a->names, err);
}

static tg_status put_all(tg_archive_writer *w, struct axes *a, const tg_edge_grid *g, tg_err *err)
{
    tg_status status;

    if ((status = make(a, g, err)) || (status = tg_archive_put_text(w, "kind", "edges", err)) ||
        (status = tg_archive_put_i64(w, "version", TG_EDGES_VERSION, err)) ||
        (status = tg_patch_settings_put(w, "edges", &g->settings, err)) ||
        (status = put_names(w, a, g->graph, false, err)) || (status = put_names(w, a, g->graph, true, err)))
        return status;

    const size_t shape[] = {a->receivers, a->senders};

    if ((status = tg_archive_put(w, "edges/edge", TG_I64, 2, shape, a->edge, err)) ||
        (status = tg_archive_put(w, "edges/value", TG_F64, 2, shape, a->value, err)))
        return status;
    return tg_archive_put(w, "edges/effect", TG_F64, 2, shape, a->effect, err);
}

tg_status tg_edges_write(int fd, const tg_edge_grid *g, tg_err *err)
{
    struct axes axes = {0};
    tg_archive_writer *w;
    tg_status status = tg_archive_create(&w, fd, err);

    if (!status)
        status = tg_archive_end(w, put_all(w, &axes, g, err), err);
    drop(&axes);
    return status;
}
