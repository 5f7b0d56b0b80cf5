/*
 * edge_write: edges and their effects, as an archive of kind "edges".  formats/README.md lists its arrays.
 */
#ifndef TG_PATCH_EDGE_WRITE_H
#define TG_PATCH_EDGE_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/patch/graph.h"
#include "lib/patch/patch_write.h"

#define TG_EDGES_VERSION 1

/* What is written; the caller keeps all of it. */
typedef struct tg_edge_grid {
    const tg_patch_graph *graph;
    const tg_patch_edge *edge; /* [n], n >= 1, by receiver, and those of a receiver by sender */
    size_t n;
    const double *value, *effect; /* [n] */
    tg_patch_settings settings;
} tg_edge_grid;

/* Write it to fd.  TG_EIO, TG_ENOMEM.  After a failure the bytes already written are not a valid archive. */
TG_MUST_CHECK tg_status tg_edges_write(int fd, const tg_edge_grid *grid, tg_err *err);

#endif
