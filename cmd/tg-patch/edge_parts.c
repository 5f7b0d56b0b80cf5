/* Circuits of edges. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-patch/circuit_parts.h"
#include "cmd/tg-patch/names.h"

/* ---- lists */

static void name(const circuit_parts *parts, char out[TG_PATCH_EDGE_SIZE], size_t part)
{
    const tg_patch_graph *g = &((const edge_parts *)parts)->g;
    tg_patch_edge e = tg_patch_first_edge();

    for (size_t i = 0; i < part; i++)
        e = tg_patch_next_edge(g, e);
    tg_patch_edge_name(out, g, &e);
}

/* Mark the edges between the parts that an item has named; returns how many. */
static size_t mark_between(const edge_parts *p, bool *named)
{
    tg_patch_edge e = tg_patch_first_edge();
    size_t n = 0;

    for (size_t i = 0; i < p->g.edges; i++, e = tg_patch_next_edge(&p->g, e))
        if (p->sender[e.sender] && p->receiver[e.receiver]) {
            named[i] = true;
            n++;
        }
    return n;
}

static tg_status mark_item(const edge_parts *p, bool *named, const char *item, const char *end, tg_err *err)
{
    const char *colon = memchr(item, ':', (size_t)(end - item));

    if (!colon || colon == item || colon + 1 == end)
        return tg_fail(err, TG_EUSAGE,
                       "expected edges alone, SENDER:RECEIVER with commas between, got '%.*s'",
                       (int)(end - item), item);
    memset(p->sender, 0, p->g.senders * sizeof *p->sender);
    memset(p->receiver, 0, p->g.receivers * sizeof *p->receiver);
    if (patch_mark_senders(p->sender, &p->g, item, colon, err) ||
        patch_mark_receivers(p->receiver, &p->g, colon + 1, end, err))
        return err->code;
    if (mark_between(p, named) == 0)
        return tg_fail(err, TG_EUSAGE, "%.*s names no edge: a receiver reads only from senders before it",
                       (int)(end - item), item);
    return TG_OK;
}

static tg_status mark(circuit_parts *parts, bool *named, const char *list, tg_err *err)
{
    edge_parts *p = (edge_parts *)parts;
    tg_status status = TG_OK;

    p->sender = calloc(p->g.senders, sizeof *p->sender);
    p->receiver = calloc(p->g.receivers, sizeof *p->receiver);
    if (!p->sender || !p->receiver)
        return tg_fail_memory(err, p->g.senders + p->g.receivers, "the parts of the model");
    for (const char *at = list; at && !status;) {
        const char *comma = strchr(at, ',');

        status = mark_item(p, named, at, comma ? comma : at + strlen(at), err);
        at = comma ? comma + 1 : NULL;
    }
    return status;
}

/* ---- cases, one after another, each of which may have nearly all edges */

static tg_status open_edges(circuit_parts *parts, size_t n, tg_err *err)
{
    edge_parts *p = (edge_parts *)parts;

    (void)n;
    if (!(p->edge = calloc(parts->all, sizeof *p->edge)))
        return tg_fail_memory(err, parts->all * sizeof *p->edge, "the edges");
    return tg_patch_paths_open(&p->paths, &parts->job->m.model, parts->job->patch.capacity, true, err);
}

static tg_path_case case_of(const edge_parts *p, const bool *kept)
{
    tg_patch_edge e = tg_patch_first_edge();
    size_t n = 0;

    for (size_t i = 0; i < p->g.edges; i++, e = tg_patch_next_edge(&p->g, e))
        if (!kept[i])
            p->edge[n++] = e;
    return (tg_path_case){p->edge, n};
}

static tg_status run(circuit_parts *parts, const circuit_run *r, const bool *kept, size_t n, double *values,
                     tg_err *err)
{
    edge_parts *p = (edge_parts *)parts;

    tg_patch_paths_begin(&p->paths, r->base, r->source);
    for (size_t k = 0; k < n; k++) {
        const tg_path_case one = case_of(p, kept + k * parts->all);
        const tg_path_plan plan = {&one, 1, r->metric, NULL};

        if (tg_patch_paths_run(&p->paths, &plan, &values[k], err))
            return err->code;
        (void)tg_watch_report(r->watch, (double)(k + 1) / (double)n);
    }
    return TG_OK;
}

static void drop(circuit_parts *parts)
{
    edge_parts *p = (edge_parts *)parts;

    free(p->edge);
    free(p->sender);
    free(p->receiver);
    tg_patch_paths_close(&p->paths);
}

void circuit_edges(edge_parts *p, patch_job *job)
{
    *p = (edge_parts){.parts = {job, 0, mark, name, open_edges, run, drop},
                      .g = tg_patch_graph_of(&job->m.model.config)};
    p->parts.all = p->g.edges;
}
