/*
 * circuit_write: what heads do by their weights, or how pairs of them compose, as an archive of kind
 * "circuit".  formats/README.md lists its arrays.
 */
#ifndef TG_CIRCUIT_CIRCUIT_WRITE_H
#define TG_CIRCUIT_CIRCUIT_WRITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/circuit/compose.h"
#include "lib/circuit/heads.h"

#define TG_CIRCUIT_VERSION 1

#define TG_CIRCUIT_ALL SIZE_MAX

/* Which layers and heads are written. */
typedef struct tg_circuit_kept {
    size_t L, H;        /* of the model */
    size_t layer, head; /* one of them, or TG_CIRCUIT_ALL */
} tg_circuit_kept;

/* Write numbers [L,H] of heads to fd, those of positions only where the model learns them.  What is not a
 * number is written as 0.  TG_EIO, TG_ENOMEM.  After a failure the bytes already written are not a valid
 * archive. */
TG_MUST_CHECK tg_status tg_circuit_write_heads(int fd, const tg_circuit_kept *kept,
                                               const tg_head_numbers *numbers, bool positions, tg_err *err);

/* Write the scores of pairs, with the kept heads as the later ones; 0 where the other is not of an earlier
 * layer.  Fails likewise. */
TG_MUST_CHECK tg_status tg_circuit_write_pairs(int fd, const tg_circuit_kept *kept, const tg_compose *c,
                                               double baseline, tg_err *err);

#endif
