/* A line for each element of one stage: the number, and where it lies. */
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "formats/sink.h"

/* ---- the header */

static const char *const about[TG_ATTN_EVERY] = {
    [TG_ATTN_X] = "the input of attention, behind the first LayerNorm",
    [TG_ATTN_QKV] = "x w + bias: channels 0 to C-1 are q, then come k and v",
    [TG_ATTN_Q] = "the queries",
    [TG_ATTN_K] = "the keys",
    [TG_ATTN_V] = "the values",
    [TG_ATTN_ATT] = "the values, each weighted by its probability, summed over the keys",
    [TG_ATTN_OUT] = "att w + bias: the output projection, before the residual is added",
};

static void print_shape(const tg_attn_shape *s, const char *name)
{
    printf("# %s ", name);
    attn_print_shape(s);
    printf(", strides ");
    attn_print_list(s->stride, s->n);
    printf("\n# offset of %s[", name);
    for (size_t n = 0; n < s->n; n++)
        printf("%s%c", n > 0 ? "," : "", s->index[n]);
    printf("] = ");
    attn_print_indices(s, "\n#   = ", NULL);
    printf("\n# l layer, %sb sequence, t position, %s channel: all count from 0\n\n",
           s->n == TG_ATTN_DIMS ? "h head, " : "", s->n == TG_ATTN_DIMS ? "d" : "c");
}

/* ---- lines */

/* The index named `name` of row number `row`, all but the last dimension counted through;
 * TG_ATTN_ALL when there is none of that name. */
static size_t index_of(const tg_attn_shape *s, size_t row, char name)
{
    for (size_t n = s->n - 1; n-- > 0; row /= s->size[n]) {
        if (s->index[n] == name)
            return row % s->size[n];
    }
    return TG_ATTN_ALL;
}

static tg_status check_finite(const tg_attn_run *run, const char *name, tg_err *err)
{
    for (size_t n = 0; n < run->n; n++) {
        if (!isfinite((float)run->values[n]))
            return tg_fail(err, TG_EDATA, "layer %zu: %s is not finite at offset %zu", run->layer, name,
                           run->offset + n);
    }
    return TG_OK;
}

/* The picked rows of one layer. */
static tg_status print_layer(const tg_attn_layer *layer, const double *values, tg_attn_stage stage,
                             const tg_attn_pick *pick, const tg_attn_columns *columns, char *room,
                             tg_err *err)
{
    const size_t pick_t = pick->key == TG_ATTN_ALL ? pick->query : pick->key;
    tg_attn_shape s;
    tg_status status;

    tg_attn_stage_shape(&s, stage, &layer->view);
    for (size_t row = 0; row < tg_attn_shape_count(&s) / s.size[s.n - 1] && !cli_stdout_failed(); row++) {
        const size_t offset = row * s.size[s.n - 1];
        const tg_attn_run run = {.layer = layer->number,
                                 .b = index_of(&s, row, 'b'),
                                 .t = index_of(&s, row, 't'),
                                 .h = index_of(&s, row, 'h'),
                                 .offset = offset,
                                 .n = s.size[s.n - 1],
                                 .values = values + offset};
        tg_attn_text text = {room, 0};

        if ((run.h != TG_ATTN_ALL && !tg_attn_picks(pick->head, run.h)) || !tg_attn_picks(pick_t, run.t))
            continue;
        if ((status = check_finite(&run, tg_attn_stage_name(stage), err)))
            return status;
        tg_attn_put_run(&text, columns, &run);
        fwrite(room, 1, text.n, stdout);
    }
    return TG_OK;
}

/* The text of one row, beside the stage's own numbers. */
static char *place(tg_arena *arena, tg_attn_stages *stages, const tg_attn_columns *columns,
                   const tg_attn_layers *n)
{
    tg_attn_stages_place(arena, stages, n->B, n->T, n->C, n->H);
    return tg_arena_take(arena, tg_attn_columns_room(columns, 3 * n->C), 1);
}

static tg_status print_layers(attn_subject *s, const attn_options *o, const tg_attn_columns *columns,
                              tg_err *err)
{
    const tg_attn_stage stage = (tg_attn_stage)o->stage;
    tg_arena arena = {0};
    tg_attn_stages stages;
    tg_attn_layer layer;
    tg_status status;
    char *room;

    (void)place(&arena, &stages, columns, &s->layers);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    room = place(&arena, &stages, columns, &s->layers);
    while (!status && !cli_stdout_failed() && tg_attn_layers_find(&s->layers, o->pick.layer, &layer)) {
        tg_attn_stages_fill(&stages, stage, &layer, &o->pick);
        status = print_layer(&layer, stages.values, stage, &o->pick, columns, room, err);
    }
    tg_arena_free(&arena);
    return status;
}

/* ---- what can be shown */

tg_status attn_check_stage(const attn_subject *s, const attn_options *o, tg_err *err)
{
    const tg_attn_stage stage = (tg_attn_stage)o->stage;

    if (stage != TG_ATTN_EVERY && tg_attn_stage_of_model(stage) && !s->has_model)
        return tg_fail(err, TG_EUSAGE,
                       "stage %s is a model's: without one there are q, k, v and what follows from them",
                       tg_attn_stage_name(stage));
    return TG_OK;
}

static tg_status check_pick(const attn_options *o, tg_err *err)
{
    const tg_attn_stage stage = (tg_attn_stage)o->stage;
    const bool keys = stage == TG_ATTN_K || stage == TG_ATTN_V;
    const char *name = tg_attn_stage_name(stage);

    if (o->pick.head != TG_ATTN_ALL && tg_attn_stage_of_model(stage))
        return tg_fail(err, TG_EUSAGE, "--head: stage %s is not divided into heads", name);
    if (o->pick.key != TG_ATTN_ALL && !keys)
        return tg_fail(err, TG_EUSAGE, "--key: stage %s has a row for each query: --query picks one", name);
    if (o->pick.query != TG_ATTN_ALL && keys)
        return tg_fail(err, TG_EUSAGE, "--query: stage %s has a row for each key: --key picks one", name);
    return TG_OK;
}

tg_status attn_show_stage(attn_subject *s, const attn_options *o, tg_err *err)
{
    const tg_attn_stage stage = (tg_attn_stage)o->stage;
    const tg_attn_view view = attn_shape(s);
    const tg_attn_labels labels = attn_labels(s);
    tg_attn_columns columns;
    tg_attn_shape shape;
    tg_status status;

    if ((status = attn_check_stage(s, o, err)) || (status = check_pick(o, err)) ||
        (status = tg_attn_pick_check(&o->pick, s->layers.L, view.H, view.T, err)))
        return status;
    tg_pipe_grow(STDOUT_FILENO);
    tg_attn_columns_set(&columns, stage, &view, s->layers.L, (tg_attn_format)o->format, (tg_attn_mask)o->mask,
                        &labels);
    if (o->format == TG_ATTN_TEXT) {
        attn_print_title(s);
        printf("# stage %s: %s\n", tg_attn_stage_name(stage), about[stage]);
        tg_attn_stage_shape(&shape, stage, &view);
        print_shape(&shape, tg_attn_stage_name(stage));
    }
    attn_print_titles(&columns);
    return print_layers(s, o, &columns, err);
}
