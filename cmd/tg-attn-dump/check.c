/* A dump computed again: does it hold the numbers that it should? */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "lib/attn/dump_check.h"

struct check {
    const char *name; /* of the dump, for messages */
    tg_dump dump;
    double tolerance;
    tg_attn_stages stages;
    size_t arrays;
    size_t elements, differ; /* of all of them */
};

/* ---- one array */

static void print_shape(const char *name, const size_t *size, size_t n)
{
    printf("%s [", name);
    attn_print_list(size, n);
    printf("]: ");
}

static void print_difference(const tg_dump_difference *d, const tg_attn_shape *s, size_t count)
{
    size_t index[TG_ATTN_DIMS];

    for (size_t n = 0; n < s->n; n++)
        index[n] = d->first / s->stride[n] % s->size[n];
    printf("%s of %s elements differ, the first at offset %zu, [", cli_count(d->count), cli_count(count),
           d->first);
    attn_print_list(index, s->n);
    printf("]: %.9g in the dump, %.9g computed; the largest difference is %.3g\n", (double)d->dumped,
           (double)d->computed, d->largest);
}

static void check_stage(struct check *c, const tg_dump_layer *dumped, tg_attn_stage stage,
                        const tg_attn_layer *layer)
{
    char name[TG_DUMP_NAME_ROOM];
    tg_attn_shape shape;
    tg_dump_difference d;

    tg_dump_array_name(name, dumped->number, stage);
    tg_attn_stage_shape(&shape, stage, &layer->view);
    tg_dump_compare(&d, &c->dump, dumped, stage, layer, &c->stages, c->tolerance);
    print_shape(name, shape.size, shape.n);
    if (d.count > 0)
        print_difference(&d, &shape, tg_attn_shape_count(&shape));
    else
        printf("%s elements, all equal\n", cli_count(tg_attn_shape_count(&shape)));
    c->arrays++;
    c->elements += tg_attn_shape_count(&shape);
    c->differ += d.count;
}

/* The tokens' texts, as far as both have them; the shorter padding is as good. */
static tg_status check_text(struct check *c, const attn_subject *s, tg_err *err)
{
    const tg_dump *dump = &c->dump;
    size_t width, differ = 0;
    char *text;
    tg_status status = attn_pack_text(&text, &width, s, err);

    if (status || !text || !dump->text)
        goto done;
    for (size_t t = 0; t < dump->T; t++) {
        const char *dumped = dump->text + t * dump->text_size, *computed = text + t * width;
        const size_t n = strnlen(dumped, dump->text_size);

        differ += n != strnlen(computed, width) || memcmp(dumped, computed, n) != 0;
    }
    print_shape("dump/text", &dump->T, 1);
    if (differ > 0)
        printf("%s of %s differ\n", cli_count(differ), cli_count(dump->T));
    else
        printf("%s, all equal\n", cli_count(dump->T));
    c->arrays++;
    c->elements += dump->T;
    c->differ += differ;

done:
    free(text);
    return status;
}

/* ---- all of them */

static tg_status check_same_shape(const tg_dump *dump, const attn_subject *s, tg_err *err)
{
    const tg_attn_layers *n = &s->layers;

    if (dump->n_layer == n->L && dump->B == n->B && dump->T == n->T && dump->C == n->C)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "it is of %zu layer%s with [B,T,C] = [%zu,%zu,%zu]; what it is computed from has %zu with "
                   "[%zu,%zu,%zu]",
                   dump->n_layer, cli_plural(dump->n_layer), dump->B, dump->T, dump->C, n->L, n->B, n->T,
                   n->C);
}

static tg_status check_layers(struct check *c, attn_subject *s, tg_err *err)
{
    for (size_t l = 0; l < c->dump.n; l++) {
        const tg_dump_layer *dumped = &c->dump.layer[l];
        tg_attn_layer layer;

        if (!tg_attn_layers_find(&s->layers, dumped->number, &layer))
            return tg_fail(err, TG_EDATA, "there is no layer %zu", dumped->number);
        for (tg_attn_stage stage = TG_ATTN_X; stage < TG_ATTN_EVERY; stage++) {
            if (!dumped->data[stage])
                continue;
            if (tg_attn_stage_of_model(stage) && !layer.x)
                return tg_fail(err, TG_EDATA, "h.%zu.%s is there, but only a model has it", dumped->number,
                               tg_attn_stage_name(stage));
            check_stage(c, dumped, stage, &layer);
        }
    }
    return TG_OK;
}

static tg_status check_subject(struct check *c, attn_subject *s, tg_err *err)
{
    const tg_attn_layers *n = &s->layers;
    tg_arena arena = {0};
    tg_status status;

    if ((status = check_same_shape(&c->dump, s, err)) || (status = check_text(c, s, err)))
        return status;
    tg_attn_stages_place(&arena, &c->stages, n->B, n->T, n->C, n->H);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    tg_attn_stages_place(&arena, &c->stages, n->B, n->T, n->C, n->H);
    status = check_layers(c, s, err);
    tg_arena_free(&arena);
    if (status)
        return status;
    if (c->differ > 0)
        return tg_fail(err, TG_EDATA, "%s of %s elements differ", cli_count(c->differ),
                       cli_count(c->elements));
    printf("%zu array%s, %s elements: all equal\n", c->arrays, cli_plural(c->arrays), cli_count(c->elements));
    return TG_OK;
}

/* ---- */

/* What the dump says of how it was made. */
static tg_status options_of(attn_options *o, const tg_dump *dump, tg_err *err)
{
    if (dump->n == 0)
        return tg_fail(err, TG_EDATA, "it holds no layers");
    o->heads = dump->H;
    o->layout = dump->layout;
    o->mask = dump->mask;
    if (o->qkv || o->example != ATTN_NONE)
        return TG_OK;
    o->ids = dump->ids;
    o->n_ids = dump->T;
    if (!dump->ids)
        return tg_fail(err, TG_EUSAGE,
                       "there are no tokens in it: say with --qkv or --example what it was made from");
    return TG_OK;
}

/* Messages name the dump; those of the subject's own files name these instead. */
static tg_status check_dump(struct check *c, attn_options *o, tg_err *err)
{
    attn_subject s;
    tg_status status;

    if (options_of(o, &c->dump, err))
        return tg_err_in(err, c->name);
    if ((status = attn_subject_open(&s, o, err)))
        return status;
    if ((status = check_subject(c, &s, err)))
        (void)tg_err_in(err, c->name);
    attn_subject_close(&s);
    return status;
}

tg_status attn_check_archive(const attn_options *given, tg_err *err)
{
    const tg_dump_want want = {TG_ATTN_ALL, TG_DUMP_EVERY};
    struct check c = {.name = cli_input_name(given->check), .tolerance = given->tolerance};
    attn_options o = *given;
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, o.check, err)))
        return status;
    if (tg_dump_read(&c.dump, fd, want, err)) {
        cli_close_input(fd);
        return tg_err_in(err, c.name);
    }
    status = check_dump(&c, &o, err);
    tg_dump_free(&c.dump);
    cli_close_input(fd);
    return status;
}
