#include "lib/tokens/window_map.h"

#include "lib/base/size.h"

/* What precedes the results of a member, and aligns them. */
union head {
    tg_status status;
    max_align_t align;
};

void tg_tokens_window_map_place(tg_arena *arena, tg_tokens_window_map *map, const tg_team *team, size_t bytes)
{
    map->team = team ? team : &tg_team_alone;
    map->bytes = tg_size_mul_sat(tg_ceil_div(bytes, sizeof(union head)) + 1, sizeof(union head));
    map->sent = tg_arena_take_rows(arena, map->team->size, map->bytes, 1);
}

static union head *head_of(const tg_tokens_window_map *map, size_t member)
{
    return (union head *)(void *)(map->sent + member * map->bytes);
}

/* Read a batch for each member, *n in all, and compute this member's. */
static tg_status compute_round(const tg_tokens_window_map *map, tg_tokens_windows *windows,
                               const tg_tokens_window_work *work, size_t *n, tg_err *err)
{
    tg_tokens_window_batch batch;
    tg_status status;

    for (*n = 0; *n < map->team->size; ++*n) {
        if ((status = tg_tokens_windows_next(windows, &batch, err)) || batch.B == 0)
            return status;
        if (*n == map->team->rank &&
            (status = work->compute(work->context, &batch, head_of(map, *n) + 1, err)))
            return status;
    }
    return TG_OK;
}

/* Use the results of the n batches of a round. */
static tg_status use_round(const tg_tokens_window_map *map, const tg_tokens_window_work *work, size_t n,
                           tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t member = 0; member < map->team->size; member++)
        if ((status = head_of(map, member)->status))
            return tg_fail(err, status, "process %zu failed", member);
    for (size_t member = 0; !status && member < n; member++)
        status = work->use(work->context, head_of(map, member) + 1, err);
    return status;
}

tg_status tg_tokens_window_map_run(tg_tokens_window_map *map, tg_tokens_windows *windows,
                                   const tg_tokens_window_work *work, tg_err *err)
{
    const tg_team *team = map->team;
    size_t n = team->size;
    tg_status status = TG_OK;

    while (!status && n == team->size) {
        status = compute_round(map, windows, work, &n, err);
        head_of(map, team->rank)->status = status;
        tg_team_allgather(team, map->sent, team->size, map->bytes);
        if (!status)
            status = use_round(map, work, n, err);
    }
    return status;
}
