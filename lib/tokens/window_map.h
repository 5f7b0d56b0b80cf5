/*
 * window_map: results of each batch of windows of a text, computed by a team and used in the text's order.
 *
 * Every member reads the whole text, so that all cut it into the same batches (lib/tokens/windows.h).  In
 * each round a member computes one batch and sends its results to the others; then each member uses those of
 * all batches, in order.  So nothing depends on the number of members; one process is a team of one.
 *
 *     tg_tokens_window_map_place(arena, &map, team, bytes)
 *     tg_tokens_windows_begin(&windows, &stream, -1)
 *     tg_tokens_window_map_run(&map, &windows, &work, &err)
 */
#ifndef TG_TOKENS_WINDOW_MAP_H
#define TG_TOKENS_WINDOW_MAP_H

#include <stddef.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"
#include "lib/base/team.h"
#include "lib/tokens/windows.h"

typedef struct tg_tokens_window_map {
    const tg_team *team;
    size_t bytes;        /* of a member's status and results */
    unsigned char *sent; /* [size][bytes] */
} tg_tokens_window_map;

typedef struct tg_tokens_window_work {
    /* Compute a batch, and write its results: `bytes` bytes, aligned for any type. */
    tg_status (*compute)(void *context, const tg_tokens_window_batch *batch, void *results, tg_err *err);
    /* Use the results of a batch, the next one of the text. */
    tg_status (*use)(void *context, const void *results, tg_err *err);
    void *context;
} tg_tokens_window_work;

/* Place the buffers (see arena.h) for a batch's results of at most `bytes` bytes.  team NULL: one process. */
void tg_tokens_window_map_place(tg_arena *arena, tg_tokens_window_map *map, const tg_team *team,
                                size_t bytes);

/* Run to the end of the stream that *windows has begun.  A failure of one member ends all: what
 * tg_tokens_windows_next(), compute() and use() return; a failure of another member has its code, and names
 * it. */
TG_MUST_CHECK tg_status tg_tokens_window_map_run(tg_tokens_window_map *map, tg_tokens_windows *windows,
                                                 const tg_tokens_window_work *work, tg_err *err);

#endif
