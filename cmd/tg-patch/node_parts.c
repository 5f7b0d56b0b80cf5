/* Circuits of heads and MLPs. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-patch/circuit_parts.h"
#include "cmd/tg-patch/names.h"

#define EXPECTED "expected LAYER.HEAD, LAYER.* or LAYER.mlp"

static tg_status mark(circuit_parts *parts, bool *named, const char *list, tg_err *err)
{
    node_parts *p = (node_parts *)parts;

    if (!(p->sender = calloc(p->g.senders, sizeof *p->sender)))
        return tg_fail_memory(err, p->g.senders, "the parts of the model");
    if (*list == '\0')
        return tg_fail(err, TG_EUSAGE, "the list is empty: " EXPECTED);
    if (patch_mark_senders(p->sender, &p->g, list, list + strlen(list), err))
        return err->code;
    if (p->sender[TG_PATCH_EMBEDDING])
        return tg_fail(err, TG_EUSAGE, "embed is no head and no MLP: " EXPECTED);
    memcpy(named, p->sender + 1, parts->all * sizeof *named);
    return TG_OK;
}

static void name(const circuit_parts *parts, char out[TG_PATCH_EDGE_SIZE], size_t part)
{
    tg_patch_sender_name(out, &((const node_parts *)parts)->g, part + 1);
}

static tg_patch_edit edit_of(const tg_patch_graph *g, size_t sender)
{
    const size_t l = tg_patch_sender_layer(g, sender), h = tg_patch_sender_head(g, sender);

    return h < g->H ? (tg_patch_edit){TG_PATCH_Z, l, h, TG_PATCH_ALL}
                    : (tg_patch_edit){TG_PATCH_MLP, l, TG_PATCH_ALL, TG_PATCH_ALL};
}

static tg_status open_nodes(circuit_parts *parts, size_t n, tg_err *err)
{
    node_parts *p = (node_parts *)parts;

    p->edit = calloc(n * parts->all, sizeof *p->edit);
    p->cases = calloc(n, sizeof *p->cases);
    return p->edit && p->cases ? TG_OK : tg_fail_memory(err, n * parts->all * sizeof *p->edit, "the cases");
}

static tg_status run(circuit_parts *parts, const circuit_run *r, const bool *kept, size_t n, double *values,
                     tg_err *err)
{
    const node_parts *p = (node_parts *)parts;
    const tg_patch_plan plan = {p->cases, n, r->base, r->source, r->metric, r->watch};

    for (size_t k = 0; k < n; k++) {
        tg_patch_edit *edit = p->edit + k * parts->all;
        size_t edits = 0;

        for (size_t i = 0; i < parts->all; i++)
            if (!kept[k * parts->all + i])
                edit[edits++] = edit_of(&p->g, i + 1);
        p->cases[k] = (tg_patch_case){edit, edits};
    }
    return tg_patch_run(&parts->job->patch, &plan, values, err);
}

static void drop(circuit_parts *parts)
{
    node_parts *p = (node_parts *)parts;

    free(p->sender);
    free(p->edit);
    free(p->cases);
}

void circuit_nodes(node_parts *p, patch_job *job)
{
    *p = (node_parts){.parts = {job, 0, mark, name, open_nodes, run, drop},
                      .g = tg_patch_graph_of(&job->m.model.config)};
    p->parts.all = p->g.senders - 1;
}
