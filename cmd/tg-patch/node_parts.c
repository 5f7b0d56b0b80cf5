/* Circuits of heads and MLPs. */
#include <stdint.h>
#include <stdlib.h>

#include "cmd/tg-patch/circuit_parts.h"

/* Items are L.H and L.mlp; for the latter, head is TG_PATCH_ALL, SIZE_MAX. */
static tg_status mark(circuit_parts *parts, bool *named, const char *list, tg_err *err)
{
    const node_parts *p = (node_parts *)parts;
    const char *at = list;
    size_t layer, head;

    do {
        if (!cli_take_head(&at, &layer, &head, "mlp"))
            return tg_fail(err, TG_EUSAGE, "expected LAYER.HEAD or LAYER.mlp, separated by commas, got '%s'",
                           list);
        if (layer >= p->L)
            return tg_fail(err, TG_EUSAGE, "layer %zu is out of range: expected 0 to %zu", layer, p->L - 1);
        if (head != TG_PATCH_ALL && head >= p->H)
            return tg_fail(err, TG_EUSAGE, "head %zu is out of range: expected 0 to %zu", head, p->H - 1);
        named[layer * (p->H + 1) + (head == TG_PATCH_ALL ? p->H : head)] = true;
    } while (*at != '\0');
    return TG_OK;
}

static void name(const circuit_parts *parts, char out[TG_PATCH_EDGE_SIZE], size_t part)
{
    const node_parts *p = (const node_parts *)parts;
    const size_t l = part / (p->H + 1), h = part % (p->H + 1);

    if (h < p->H)
        snprintf(out, TG_PATCH_EDGE_SIZE, "%zu.%zu", l, h);
    else
        snprintf(out, TG_PATCH_EDGE_SIZE, "%zu.mlp", l);
}

static tg_patch_edit edit_of(const node_parts *p, size_t part)
{
    const size_t l = part / (p->H + 1), h = part % (p->H + 1);

    return h < p->H ? (tg_patch_edit){TG_PATCH_Z, l, h, TG_PATCH_ALL}
                    : (tg_patch_edit){TG_PATCH_MLP, l, TG_PATCH_ALL, TG_PATCH_ALL};
}

static tg_status take_cases(circuit_parts *parts, const bool *kept, size_t n, tg_err *err)
{
    node_parts *p = (node_parts *)parts;

    p->n = n;
    p->edit = calloc(n * parts->all, sizeof *p->edit);
    p->cases = calloc(n, sizeof *p->cases);
    if (!p->edit || !p->cases)
        return tg_fail_memory(err, n * parts->all * sizeof *p->edit, "the cases");
    for (size_t k = 0; k < n; k++) {
        tg_patch_edit *edit = p->edit + k * parts->all;
        size_t edits = 0;

        for (size_t i = 0; i < parts->all; i++)
            if (!kept[k * parts->all + i])
                edit[edits++] = edit_of(p, i);
        p->cases[k] = (tg_patch_case){edit, edits};
    }
    return TG_OK;
}

static tg_status run(circuit_parts *parts, const circuit_run *r, double *values, tg_err *err)
{
    const node_parts *p = (node_parts *)parts;
    const tg_patch_plan plan = {p->cases, p->n, r->base, r->source, r->metric, r->watch};

    return tg_patch_run(&parts->job->patch, &plan, values, err);
}

static void drop(circuit_parts *parts)
{
    node_parts *p = (node_parts *)parts;

    free(p->edit);
    free(p->cases);
}

void circuit_nodes(node_parts *p, patch_job *job)
{
    const tg_acts *a = &job->patch.pass.acts;

    *p = (node_parts){
        .parts = {job, 0, mark, name, take_cases, run, drop}, .L = a->L, .H = tg_patch_heads(a, TG_PATCH_Z)};
    p->parts.all = p->L * (p->H + 1);
}
