/* Circuits of edges. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-patch/circuit_parts.h"
#include "cmd/tg-patch/names.h"

/* ---- parts */

static tg_patch_edge edge_of(const edge_parts *p, size_t part)
{
    size_t receiver = 0, before;

    while (part >= (before = tg_patch_senders_before(&p->g, receiver))) {
        part -= before;
        receiver++;
    }
    return (tg_patch_edge){part, receiver};
}

static void name(const circuit_parts *parts, char out[TG_PATCH_EDGE_SIZE], size_t part)
{
    const edge_parts *p = (const edge_parts *)parts;
    const tg_patch_edge edge = edge_of(p, part);

    tg_patch_edge_name(out, &p->g, &edge);
}

/* ---- lists */

/* Mark the edges between the parts that an item has named; returns how many. */
static size_t mark_between(const edge_parts *p, bool *named)
{
    size_t part = 0, n = 0;

    for (size_t r = 0; r < p->g.receivers; r++)
        for (size_t s = 0; s < tg_patch_senders_before(&p->g, r); s++, part++)
            if (p->sender[s] && p->receiver[r]) {
                named[part] = true;
                n++;
            }
    return n;
}

static tg_status mark_item(const edge_parts *p, bool *named, const char *item, const char *end, tg_err *err)
{
    const char *colon = memchr(item, ':', (size_t)(end - item));

    if (!colon || colon == item || colon + 1 == end)
        return tg_fail(err, TG_EUSAGE, "expected edges, SENDER:RECEIVER, separated by commas, got '%.*s'",
                       (int)(end - item), item);
    memset(p->sender, 0, p->g.senders * sizeof *p->sender);
    memset(p->receiver, 0, p->g.receivers * sizeof *p->receiver);
    if (patch_mark_senders(p->sender, &p->g, item, colon, err) ||
        patch_mark_receivers(p->receiver, &p->g, colon + 1, end, err))
        return err->code;
    if (mark_between(p, named) == 0)
        return tg_fail(err, TG_EUSAGE, "%.*s: the receiver reads before the sender writes", (int)(end - item),
                       item);
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

/* ---- cases */

static tg_status take_cases(circuit_parts *parts, const bool *kept, size_t n, tg_err *err)
{
    edge_parts *p = (edge_parts *)parts;

    p->n = n;
    p->edge = calloc(n * parts->all, sizeof *p->edge);
    p->cases = calloc(n, sizeof *p->cases);
    if (!p->edge || !p->cases)
        return tg_fail_memory(err, n * parts->all * sizeof *p->edge, "the cases");
    for (size_t k = 0; k < n; k++) {
        tg_patch_edge *edge = p->edge + k * parts->all;
        size_t part = 0, edges = 0;

        for (size_t r = 0; r < p->g.receivers; r++)
            for (size_t s = 0; s < tg_patch_senders_before(&p->g, r); s++, part++)
                if (!kept[k * parts->all + part])
                    edge[edges++] = (tg_patch_edge){s, r};
        p->cases[k] = (tg_path_case){edge, edges};
    }
    return tg_patch_paths_open(&p->paths, &parts->job->m.model, parts->job->patch.capacity, err);
}

static tg_status run(circuit_parts *parts, const circuit_run *r, double *values, tg_err *err)
{
    edge_parts *p = (edge_parts *)parts;
    const tg_path_plan plan = {p->cases, p->n, r->base, r->source, r->metric, r->watch};

    return tg_patch_paths_run(&p->paths, &plan, values, err);
}

static void drop(circuit_parts *parts)
{
    edge_parts *p = (edge_parts *)parts;

    free(p->edge);
    free(p->cases);
    free(p->sender);
    free(p->receiver);
    tg_patch_paths_close(&p->paths);
}

void circuit_edges(edge_parts *p, patch_job *job)
{
    *p = (edge_parts){.parts = {job, 0, mark, name, take_cases, run, drop},
                      .g = tg_patch_graph_of(&job->m.model.config)};
    for (size_t r = 0; r < p->g.receivers; r++)
        p->parts.all += tg_patch_senders_before(&p->g, r);
}
