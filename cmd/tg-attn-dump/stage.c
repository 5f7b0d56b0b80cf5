/* A line for each element of one stage: the number and its offset. */
#include <stdio.h>
#include <unistd.h>

#include "cmd/lines/columns.h"
#include "cmd/tg-attn-dump/input.h"
#include "cmd/tg-attn-dump/places.h"
#include "formats/sink.h"
#include "lib/attn/stage.h"
#include "lib/base/finite.h"
#include "lib/gpt/family.h"

/* ---- the header */

static const char *const about[TG_ATTN_EVERY] = {
    [TG_ATTN_RESID] = "the residual stream that reaches the layer",
    [TG_ATTN_X] = "the input of attention: the output of ln_1",
    [TG_ATTN_QKV] = "x w + bias: channels 0 to C-1 are q, then come k and v",
    [TG_ATTN_Q_PROJECTED] = "x w + bias: the queries before they are normed and rotated",
    [TG_ATTN_K_PROJECTED] = "x w + bias: the keys before they are normed and rotated",
    [TG_ATTN_Q_NORMED] = "the queries, normed, before they are rotated",
    [TG_ATTN_K_NORMED] = "the keys, normed, before they are rotated",
    [TG_ATTN_Q] = "the queries",
    [TG_ATTN_K] = "the keys",
    [TG_ATTN_V] = "the values",
    [TG_ATTN_ATT] = "the values, each weighted by its probability, summed over the keys",
    [TG_ATTN_OUT] = "att w + bias: the output projection, before the residual is added",
};

static const char *about_of(const attn_input *in, tg_attn_stage stage)
{
    const bool is_gpt2 = in->has_model && tg_config_family(&in->model.model.config)->qkv;

    if (stage == TG_ATTN_X && !is_gpt2)
        return "the input of attention, after the layer's first norm if the model has one";
    return about[stage];
}

static void print_array(const tg_attn_shape *s, const char *name)
{
    printf("# %s ", name);
    print_shape(s);
    printf(", strides ");
    print_list(s->stride, s->n);
    printf("\n# offset of %s[", name);
    for (size_t n = 0; n < s->n; n++)
        printf("%s%c", n > 0 ? "," : "", s->index[n]);
    printf("] = ");
    print_formulas(s, "\n#   = ", NULL);
    printf("\n# l layer, %sb sequence, t position, %s channel: all count from 0\n\n",
           s->n == TG_ATTN_DIMS ? "h head, " : "", s->n == TG_ATTN_DIMS ? "d" : "c");
}

/* ---- lines */

/* The value of the index `name` in row number `row`, counted over all dimensions except the last.
 * TG_ATTN_ALL: the shape has no such index. */
static size_t index_of(const tg_attn_shape *s, size_t row, char name)
{
    for (size_t n = s->n - 1; n-- > 0; row /= s->size[n]) {
        if (s->index[n] == name)
            return row % s->size[n];
    }
    return TG_ATTN_ALL;
}

static tg_status check_finite(const value_run *run, const char *name, tg_err *err)
{
    const size_t bad = tg_find_not_finite_rounded(run->values, run->n);
    char array[64];

    if (bad == run->n)
        return TG_OK;
    snprintf(array, sizeof array, "layer %zu: %s", run->layer, name);
    return tg_fail_not_finite(array, run->offset + bad, run->values[bad], err);
}

struct dump {
    tg_attn_stage stage;
    tg_attn_layers *layers;
    columns columns;
    tg_stage_scratch scratch;
    char *text; /* of one row */
};

static bool keeps(const tg_attn_filter *f, const value_run *run)
{
    const size_t t = f->key == TG_ATTN_ALL ? f->query : f->key;

    return (run->h == TG_ATTN_ALL || tg_attn_keeps(f->head, run->h)) && tg_attn_keeps(t, run->t);
}

static tg_status print_layer(struct dump *d, const tg_attn_layer *layer, const tg_attn_filter *filter,
                             tg_err *err)
{
    tg_attn_shape s;
    tg_status status;

    tg_attn_stage_shape(&s, d->stage, &layer->view);
    for (size_t row = 0; row < tg_attn_shape_count(&s) / s.size[s.n - 1] && !cli_stdout_failed(); row++) {
        const size_t offset = row * s.size[s.n - 1];
        const value_run run = {.layer = layer->number,
                               .b = index_of(&s, row, 'b'),
                               .t = index_of(&s, row, 't'),
                               .h = index_of(&s, row, 'h'),
                               .offset = offset,
                               .n = s.size[s.n - 1],
                               .values = d->scratch.values + offset};
        table_text text = {d->text, 0};

        if (!keeps(filter, &run))
            continue;
        if ((status = check_finite(&run, tg_attn_stage_name(d->stage), err)))
            return status;
        columns_put_run(&text, &d->columns, &run);
        fwrite(text.text, 1, text.n, stdout);
    }
    return TG_OK;
}

static void place_stage(tg_arena *arena, void *context)
{
    struct dump *d = context;
    const tg_qkv_view shape = tg_attn_layers_shape(d->layers);

    tg_stage_scratch_place(arena, &d->scratch, &shape);
    d->text = tg_arena_take(arena, table_capacity(&d->columns.table, tg_stage_width(&shape)), 1);
}

static tg_status print_layers(struct dump *d, tg_err *err)
{
    tg_attn_layers *layers = d->layers;
    tg_arena arena;
    tg_attn_layer layer;
    tg_status status;

    if ((status = tg_arena_build(&arena, place_stage, d, err)))
        return status;
    while (!status && !cli_stdout_failed() && tg_attn_layers_next(layers, &layer)) {
        tg_stage_fill(&d->scratch, d->stage, &layer, &layers->filter);
        status = print_layer(d, &layer, &layers->filter, err);
    }
    tg_arena_free(&arena);
    return tg_attn_layers_check(layers, err) ? err->code : status;
}

/* ---- what can be shown */

static int check(const attn_options *o)
{
    const tg_attn_stage stage = o->stage;
    const bool keys = tg_attn_stage_of_keys(stage);
    const char *name = tg_attn_stage_name(stage);

    if (o->filter.head != TG_ATTN_ALL && tg_attn_stage_whole(stage))
        return cli_usage("--head does not go with stage %s, which is not divided into heads", name);
    if (o->filter.key != TG_ATTN_ALL && !keys)
        return cli_usage("--key does not go with stage %s, which has a row per query: use --query", name);
    if (o->filter.query != TG_ATTN_ALL && keys)
        return cli_usage("--query does not go with stage %s, which has a row per key: use --key", name);
    return CLI_OK;
}

static tg_status show(attn_input *in, const attn_options *o, tg_err *err)
{
    const columns_of of = input_columns(in, o);
    struct dump d = {.stage = of.stage, .layers = &in->layers};
    tg_attn_shape shape;
    tg_status status;

    if ((status = input_check_stage(in, o, err)) ||
        (tg_attn_stage_of_keys(of.stage) &&
         (status = tg_attn_check_index("head of keys", o->filter.head, of.view.KV, err))))
        return status;
    tg_pipe_grow(STDOUT_FILENO);
    columns_set(&d.columns, &of);
    if (of.format == TABLE_TEXT && !o->no_header) {
        input_print_title(in);
        printf("# stage %s: %s\n", tg_attn_stage_name(of.stage), about_of(in, of.stage));
        tg_attn_stage_shape(&shape, of.stage, &of.view);
        print_array(&shape, tg_attn_stage_name(of.stage));
    }
    if (!o->no_header)
        table_print_titles(&d.columns.table);
    return print_layers(&d, err);
}

const job stage_job = {.check = check, .show = show};
