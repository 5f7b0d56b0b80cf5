#include "lib/dump/dump_write.h"

#include <stdio.h>

#include "formats/archive.h"
#include "lib/base/atomic_min.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/dump/extras_make.h"

struct writer {
    tg_archive_writer *archive;
    const tg_attn_layers *layers;
    const tg_dump_settings *dump;
    tg_dump_buffers *in;
    float masked;      /* what the array's masked elements are, which may be infinite, */
    atomic_size_t bad; /* and the first other one that is not finite; SIZE_MAX: none */
};

/* ---- settings and tokens */

const char *tg_dump_source(char text[TG_DUMP_SOURCE_SIZE], const char *option, const char *name)
{
    return snprintf(text, TG_DUMP_SOURCE_SIZE, "%s %s", option, name) < TG_DUMP_SOURCE_SIZE ? text : NULL;
}

void tg_dump_add_extras(tg_dump_settings *dump, const tg_attn_layers *n, tg_dump_text_of text_of,
                        size_t *weights)
{
    const tg_tokenizer *tok = n->model->tokenizer;
    const size_t layers = n->filter.layer == TG_ATTN_ALL ? n->L : 1;

    *weights = tg_size_mul_sat(layers * sizeof(float), tg_size_mul_sat(n->H * n->D, n->C));
    dump->weights = *weights <= TG_DUMP_WEIGHTS_MAX;
    dump->next = true;
    dump->text_of = tg_tokenizer_has_text(tok) ? text_of : NULL;
    dump->context = tok;
}

static tg_status put_tokens(struct writer *w, size_t T, tg_err *err)
{
    const tg_dump_settings *dump = w->dump;
    const tg_dtype text = {'S', dump->text_size};
    tg_status status;

    for (size_t t = 0; t < T; t++)
        w->in->ids[t] = dump->ids[t];
    status = tg_archive_put(w->archive, "dump/ids", TG_I64, 1, &T, w->in->ids, err);
    if (status || !dump->text)
        return status;
    return tg_archive_put(w->archive, "dump/text", text, 1, &T, dump->text, err);
}

static tg_status put_settings(struct writer *w, tg_err *err)
{
    const tg_attn_layers *n = w->layers;
    const tg_config *c = n->model ? &n->model->config : NULL; /* arrays as given have no rule of their own */
    const tg_dump dump = {.layout = n->layout,
                          .mask = w->dump->mask,
                          .n_layer = n->L,
                          .C = n->C,
                          .H = n->H,
                          .KV = n->KV,
                          .D = n->D,
                          .attn_scale = c ? c->attn_scale : 0,
                          .attn_cap = c ? c->attn_cap : 0,
                          .window = c ? c->window : 0,
                          .window_layers = c ? c->window_layers : 0};
    tg_archive_writer *a = w->archive;
    tg_status status;

    /* unreached: failures: there is room in the buffer */
    if ((status = tg_archive_put_text(a, "kind", TG_DUMP_KIND, err)) ||
        /* unreached: as above */
        (status = tg_archive_put_i64(a, "version", TG_DUMP_VERSION, err)) ||
        /* unreached: as above */
        (status = tg_dump_put_settings(&dump, a, err)) ||
        /* unreached: as above */
        (w->dump->source && (status = tg_archive_put_text(a, "dump/source", w->dump->source, err))) ||
        /* unreached: as above */
        (w->dump->gradient &&
         (status = tg_archive_put_i64(a, tg_dump_extra_name(TG_DUMP_TARGET), w->dump->target, err))))
        return status;
    return w->dump->ids ? put_tokens(w, n->T, err) : TG_OK;
}

/* ---- a layer's stages */

static void store_row(void *context, const tg_stage_part *part)
{
    struct writer *w = context;
    float *row = w->in->array + part->offset;
    const size_t seen = part->last + 1 - part->first;
    size_t bad;

    for (size_t j = 0; j < part->T; j++)
        row[j] = j >= part->first && j <= part->last ? (float)part->numbers[j] : w->masked;
    if ((bad = tg_find_not_finite(row + part->first, seen)) < seen)
        tg_atomic_min(&w->bad, part->offset + part->first + bad);
}

static tg_status put_stage(struct writer *w, const tg_attn_layer *layer, tg_attn_stage stage, tg_err *err)
{
    char name[TG_DUMP_NAME_SIZE];
    tg_attn_shape s;
    size_t bad;

    tg_dump_array_name(name, layer->number, stage);
    tg_attn_stage_shape(&s, stage, &layer->view);
    w->masked = tg_stage_masked(stage, w->dump->mask);
    w->bad = SIZE_MAX;
    tg_stage_walk(&w->in->scratch, stage, layer, store_row, w);
    if ((bad = w->bad) < SIZE_MAX)
        return tg_fail_not_finite(name, bad, (double)w->in->array[bad], err);
    return tg_archive_put(w->archive, name, TG_F32, s.n, s.size, w->in->array, err);
}

/* A tg_extras_take. */
static tg_status put_extra(void *context, const tg_extras_made *made, tg_err *err)
{
    struct writer *w = context;
    char name[TG_DUMP_NAME_SIZE];

    tg_dump_extra_array_name(name, made->layer, made->extra);
    return tg_archive_put(w->archive, name, made->type, made->dims, made->shape, made->data, err);
}

static tg_status put_layer(struct writer *w, const tg_attn_layer *layer, tg_err *err)
{
    tg_status status = TG_OK;

    for (tg_attn_stage stage = TG_ATTN_RESID; stage < TG_ATTN_EVERY && !status; stage++) {
        if (w->dump->stages & TG_DUMP_BIT(stage) && tg_attn_layer_has(layer, stage))
            status = put_stage(w, layer, stage, err);
    }
    return status ? status : tg_extras_make_layer(w->layers, layer, w->dump, put_extra, w, err);
}

/* ---- the archive */

void tg_dump_place(tg_arena *arena, tg_dump_buffers *b, const tg_attn_layers *n, unsigned stages)
{
    const bool square = stages & (TG_DUMP_BIT(TG_ATTN_SCORES) | TG_DUMP_BIT(TG_ATTN_PROBS));
    const size_t rows = tg_size_mul_sat(n->B, n->T);
    const size_t width = square ? tg_size_mul_sat(n->H, n->T) : 0; /* of all heads together */
    const tg_qkv_view shape = tg_attn_layers_shape(n);

    tg_stage_scratch_place(arena, &b->scratch, &shape);
    b->ids = tg_arena_take(arena, n->T, sizeof *b->ids);
    b->array = tg_arena_take_rows(arena, rows, tg_size_max(width, tg_stage_width(&shape)), sizeof *b->array);
}

tg_status tg_dump_write_in(tg_dump_buffers *buffers, int fd, tg_attn_layers *layers,
                           const tg_dump_settings *dump, tg_err *err)
{
    struct writer w = {.layers = layers, .dump = dump, .in = buffers};
    tg_attn_layer layer;
    tg_status status;

    if ((status = tg_archive_create(&w.archive, fd, err)) || (status = put_settings(&w, err)))
        goto done;
    while (!status && tg_attn_layers_next(layers, &layer))
        status = put_layer(&w, &layer, err);
    if (!status && dump->next && layers->model && layers->next == layers->L)
        status = tg_extras_make_next(layers, dump, put_extra, &w, err);
    if (tg_attn_layers_check(layers, err))
        status = err->code;

done:
    return tg_archive_end(w.archive, status, err);
}

struct placing {
    tg_dump_buffers buffers;
    const tg_attn_layers *layers;
    unsigned stages;
};

static void place(tg_arena *arena, void *context)
{
    struct placing *p = context;

    tg_dump_place(arena, &p->buffers, p->layers, p->stages);
}

tg_status tg_dump_write(int fd, tg_attn_layers *layers, const tg_dump_settings *dump, tg_err *err)
{
    struct placing p = {.layers = layers, .stages = dump->stages};
    tg_arena arena = {0};
    tg_status status;

    if ((status = tg_arena_build(&arena, place, &p, err)))
        return status;
    status = tg_dump_write_in(&p.buffers, fd, layers, dump, err);
    tg_arena_free(&arena);
    return status;
}
