/*
 * circuit_parts: what a circuit is made of: heads and MLPs, or edges between them.  Each kind gives numbers
 * to its parts, 0 .. all - 1, and runs a model of which some are ablated.
 */
#ifndef TG_CMD_PATCH_CIRCUIT_PARTS_H
#define TG_CMD_PATCH_CIRCUIT_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/tg-patch/job.h"
#include "lib/patch/paths.h"

/* The run that is ablated, and what takes the place of its ablated parts, or NULL for zeros. */
typedef struct circuit_run {
    const tg_patch_kept *base, *source;
    const tg_patch_metric *metric;
    const tg_watch *watch;
} circuit_run;

typedef struct circuit_parts circuit_parts;
struct circuit_parts {
    patch_job *job;
    size_t all;
    /* Mark the parts [all] that a list names.  TG_EUSAGE. */
    tg_status (*mark)(circuit_parts *parts, bool *named, const char *list, tg_err *err);
    void (*name)(const circuit_parts *parts, char out[TG_PATCH_EDGE_SIZE], size_t part);
    /* Take memory for cases.  TG_ENOMEM. */
    tg_status (*open)(circuit_parts *parts, size_t n, tg_err *err);
    /* values [n] of n cases, of each of which the parts that kept [n,all] does not mark are ablated.
     * TG_ENOMEM; TG_EDATA: a value is not finite. */
    tg_status (*run)(circuit_parts *parts, const circuit_run *run, const bool *kept, size_t n, double *values,
                     tg_err *err);
    void (*drop)(circuit_parts *parts); /* whatever has failed */
};

/* Heads and MLPs: the senders (lib/patch/graph.h) after the embedding. */
typedef struct node_parts {
    circuit_parts parts; /* part n is sender n + 1 */
    tg_patch_graph g;
    bool *sender;         /* [g.senders] that a list names */
    tg_patch_edit *edit;  /* [n,all] */
    tg_patch_case *cases; /* [n] */
} node_parts;

/* Edges: SENDER:RECEIVER. */
typedef struct edge_parts {
    circuit_parts parts; /* in the order of tg_patch_next_edge() */
    tg_patch_graph g;
    bool *sender, *receiver; /* [g.senders], [g.receivers] that an item of a list names */
    tg_patch_edge *edge;     /* [all] of a case */
    tg_patch_paths paths;
} edge_parts;

void circuit_nodes(node_parts *parts, patch_job *job); /* node_parts.c */
void circuit_edges(edge_parts *parts, patch_job *job); /* edge_parts.c */

#endif
