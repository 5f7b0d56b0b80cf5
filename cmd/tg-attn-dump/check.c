/* --check: recompute a dump, and compare it element by element; --plain: compare it with the plain model as
 * well. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-attn-dump/ablate.h"
#include "cmd/tg-attn-dump/input.h"
#include "cmd/tg-attn-dump/places.h"
#include "lib/attn/plain_layers.h"
#include "lib/dump/dump_check.h"

/* The job's own options. */
static const char *path;
static double tolerance;
static bool plain;

/* The fast pass's numbers are float32's: after dozens of layers their errors are some 1e-5 of a number.  A
 * sum whose terms cancel is only as exact as the terms: in the residual stream of Gemma 3 270M, whose largest
 * number is 100,000, numbers below 1 are off by 1e-3; that is 1e-8 of the largest, and no number is off by
 * more than 1e-7 of it. */
#define PLAIN_TOLERANCE 1e-3
#define PLAIN_OF_LARGEST 1e-6

struct check {
    const char *name; /* of the dump, for messages */
    tg_dump dump;
    attn_input in;
    tg_stage_scratch scratch;
    size_t arrays;
    size_t elements, differ;        /* in all arrays */
    double *changes;                /* [L,H] in loss without each head, if the dump has them; owned */
    bool made[TG_DUMP_EXTRA_COUNT]; /* of a layer's arrays that are no stages, or the text's */
};

/* ---- one array */

static void print_array(const char *name, const size_t *size, size_t n)
{
    printf("%s [", name);
    print_list(size, n);
    printf("]: ");
}

static void print_difference(const tg_dump_difference *d, const tg_attn_shape *s, size_t count)
{
    size_t index[TG_ATTN_DIMS];

    for (size_t n = 0; n < s->n; n++)
        index[n] = d->first / s->stride[n] % s->size[n];
    printf("%s of %s elements differ, the first at offset %zu, [", cli_count(d->count), cli_count(count),
           d->first);
    print_list(index, s->n);
    printf("]: %.9g in the dump, %.9g computed; the largest difference is %.3g\n", d->dumped, d->computed,
           d->largest);
}

/* Count an array, and print what was found. */
static void end_array(struct check *c, const char *name, const tg_attn_shape *shape,
                      const tg_dump_difference *d)
{
    const size_t count = tg_attn_shape_count(shape);

    print_array(name, shape->size, shape->n);
    if (d->count > 0)
        print_difference(d, shape, count);
    else
        printf("%s element%s, all equal\n", cli_count(count), cli_plural(count));
    c->arrays++;
    c->elements += count;
    c->differ += d->count;
}

static void check_array(struct check *c, const tg_dump_layer *dumped, tg_attn_stage stage,
                        const tg_attn_layer *layer)
{
    char name[TG_DUMP_NAME_SIZE];
    tg_attn_shape shape;
    tg_dump_difference d = {0};

    tg_dump_array_name(name, dumped->number, stage);
    tg_attn_stage_shape(&shape, stage, &layer->view);
    tg_dump_compare(&d, &c->dump, dumped, stage, layer, &c->scratch, tolerance);
    end_array(c, name, &shape, &d);
}

/* A tg_extras_take: compare an array with the dump's, if it has one. */
static tg_status check_extra(void *context, const tg_extras_made *made, tg_err *err)
{
    struct check *c = context;
    const bool of_layer = made->extra < TG_DUMP_LAYER_EXTRAS;
    const tg_dump_extra_array *dumped =
        &(of_layer ? tg_dump_find(&c->dump, made->layer)->extra : c->dump.extra)[made->extra];
    tg_attn_shape shape = {.n = made->dims, .size = {1}, .stride = {1}};
    char name[TG_DUMP_NAME_SIZE];
    tg_dump_difference d;

    c->made[made->extra] = true;
    if (!dumped->data)
        return TG_OK;
    tg_dump_extra_array_name(name, made->layer, made->extra);
    if (dumped->count != made->count)
        return tg_fail(err, TG_EDATA, "%s has %zu elements, the input has %zu", name, dumped->count,
                       made->count);
    for (size_t n = made->dims, stride = 1; n-- > 0; stride *= made->shape[n]) {
        shape.size[n] = made->shape[n];
        shape.stride[n] = stride;
    }
    tg_dump_compare_extra(&d, dumped, made, tolerance);
    end_array(c, name, &shape, &d);
    return TG_OK;
}

/* What the dump has must have been made. */
static tg_status check_made(struct check *c, const tg_dump_extra_array *extra, tg_dump_extra first,
                            tg_dump_extra end, size_t layer, tg_err *err)
{
    char name[TG_DUMP_NAME_SIZE];

    for (tg_dump_extra e = first; e < end; e++) {
        if (!extra[e].data || c->made[e])
            continue;
        tg_dump_extra_array_name(name, layer, e);
        return tg_fail(err, TG_EDATA, "%s is in the dump, but not in the input", name);
    }
    return TG_OK;
}

static tg_status check_extras(struct check *c, const tg_dump_layer *dumped, const tg_attn_layer *layer,
                              tg_err *err)
{
    const tg_dump_extra_array *target = &c->dump.extra[TG_DUMP_TARGET], *of = dumped->extra;
    const int64_t id = target->data ? *(const int64_t *)target->data : 0;
    const tg_model *model = c->in.layers.model;
    const tg_dump_settings what = {.stages = TG_DUMP_EVERY,
                                   .weights = of[TG_DUMP_W_PROJ].data || of[TG_DUMP_W_PROJ_T].data,
                                   .gradient = target->data && of[TG_DUMP_DATT].data,
                                   .target = (int32_t)id,
                                   .changes = of[TG_DUMP_CHANGE].data ? c->changes : NULL};
    tg_status status;

    if (what.gradient && model && (size_t)id >= model->config.vocab_size)
        return tg_fail(err, TG_EDATA, "dump/target is %lld, expected below %zu", (long long)id,
                       model->config.vocab_size);
    memset(c->made, 0, sizeof c->made);
    if ((status = tg_extras_make_layer(&c->in.layers, layer, &what, check_extra, c, err)))
        return status;
    return check_made(c, of, 0, TG_DUMP_LAYER_EXTRAS, dumped->number, err);
}

static tg_status check_next(struct check *c, tg_err *err)
{
    tg_dump_settings what = {.next = true};
    tg_status status = TG_OK;

    memset(c->made, 0, sizeof c->made);
    if (c->dump.extra[TG_DUMP_NEXT_IDS].data && c->in.layers.model) {
        if (c->dump.extra[TG_DUMP_NEXT_TEXT].data)
            what.text_of = cli_token_text_of;
        what.context = c->in.layers.model->tokenizer;
        status = tg_extras_make_next(&c->in.layers, &what, check_extra, c, err);
    }
    return status ? status : check_made(c, c->dump.extra, TG_DUMP_NEXT_VOCAB, TG_DUMP_EXTRA_COUNT, 0, err);
}

/* Compare the tokens' texts, if both have them.  Their padding may differ. */
static tg_status check_text(struct check *c, tg_err *err)
{
    const tg_dump *dump = &c->dump;
    size_t differ = 0;
    token_labels text;
    tg_status status = input_pack_text(&text, &c->in, err);

    if (status || !text.text || !dump->text)
        goto done;
    for (size_t t = 0; t < dump->T; t++) {
        const char *dumped = dump->text + t * dump->text_size, *computed = label_of(&text, t);
        const size_t n = strnlen(dumped, dump->text_size);

        differ += n != strnlen(computed, text.size) || memcmp(dumped, computed, n) != 0;
    }
    print_array("dump/text", &dump->T, 1);
    if (differ > 0)
        printf("%s of %s differ\n", cli_count(differ), cli_count(dump->T));
    else
        printf("%s, all equal\n", cli_count(dump->T));
    c->arrays++;
    c->elements += dump->T;
    c->differ += differ;

done:
    labels_free(&text);
    return status;
}

static tg_status check_plain_array(const struct check *c, const tg_dump_layer *dumped, tg_attn_stage stage,
                                   const double *numbers, tg_err *err)
{
    char name[TG_DUMP_NAME_SIZE];
    tg_dump_difference d;

    tg_dump_array_name(name, dumped->number, stage);
    tg_dump_compare_numbers(&d, &c->dump, dumped, stage, numbers, 0, 0);
    printf("%s and the plain model's: the largest difference is %.3g\n", name, d.largest);
    tg_dump_compare_numbers(&d, &c->dump, dumped, stage, numbers, PLAIN_TOLERANCE, PLAIN_OF_LARGEST);
    if (d.count == 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s differs from the plain model's: offset %zu is %.9g, computed %.9g",
                   name, d.first, d.dumped, d.computed);
}

/* ---- all of them */

static tg_status check_same_shape(const tg_dump *dump, const tg_attn_layers *n, tg_err *err)
{
    if (dump->n_layer != n->L || dump->B != n->B || dump->T != n->T || dump->C != n->C)
        return tg_fail(
            err, TG_EDATA,
            "the dump has %zu layer%s with [B,T,C] = [%zu,%zu,%zu], the input has %zu with [%zu,%zu,%zu]",
            dump->n_layer, cli_plural(dump->n_layer), dump->B, dump->T, dump->C, n->L, n->B, n->T, n->C);
    if (dump->KV != n->KV || dump->D != n->D)
        return tg_fail(err, TG_EDATA, "the dump has [KV,D] = [%zu,%zu], the input has [%zu,%zu]", dump->KV,
                       dump->D, n->KV, n->D);
    return TG_OK;
}

static tg_status check_layer(struct check *c, const tg_dump_layer *dumped, tg_err *err)
{
    tg_attn_layer layer;

    if (!tg_attn_layers_find(&c->in.layers, dumped->number, &layer))
        return tg_fail(err, TG_EDATA, "layer %zu is not in the input", dumped->number);
    for (tg_attn_stage stage = TG_ATTN_RESID; stage < TG_ATTN_EVERY; stage++) {
        if (!dumped->data[stage])
            continue;
        if (!tg_attn_layer_has(&layer, stage))
            return tg_fail(err, TG_EDATA, "h.%zu.%s is in the dump, but not in the input", dumped->number,
                           tg_attn_stage_name(stage));
        check_array(c, dumped, stage, &layer);
    }
    return check_extras(c, dumped, &layer, err);
}

static tg_status check_arrays(struct check *c, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t l = 0; !status && l < c->dump.n; l++)
        status = check_layer(c, &c->dump.layer[l], err);
    return status ? status : check_next(c, err);
}

/* The same arrays, which the input has, against the plain model's. */
static tg_status check_plain_arrays(const struct check *c, tg_plain_layers *layers, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t l = 0; !status && l < c->dump.n; l++) {
        const tg_dump_layer *dumped = &c->dump.layer[l];

        tg_plain_layers_find(layers, dumped->number);
        for (tg_attn_stage stage = TG_ATTN_RESID; !status && stage < TG_ATTN_EVERY; stage++)
            if (dumped->data[stage])
                status = check_plain_array(c, dumped, stage, tg_plain_layers_stage(layers, stage), err);
    }
    return status;
}

static tg_status open_plain(tg_plain_layers *layers, const struct check *c, tg_err *err)
{
    const tg_attn_layers *n = &c->in.layers;

    if (!n->model)
        return tg_fail(err, TG_EUSAGE, "--plain needs a dump of a model");
    return tg_plain_layers_open(layers, n->model, n->ids, c->dump.T, err);
}

/* Check all; a model that has no plain one is refused before anything is printed. */
static tg_status check_all(struct check *c, tg_err *err)
{
    tg_plain_layers layers = {0};
    tg_status status = plain ? open_plain(&layers, c, err) : TG_OK;

    if (status)
        return status;
    if (!(status = check_text(c, err)) && !(status = check_arrays(c, err)) && plain)
        status = check_plain_arrays(c, &layers, err);
    tg_plain_layers_close(&layers);
    return status;
}

static void place_check(tg_arena *arena, void *context)
{
    struct check *c = context;
    const tg_qkv_view shape = tg_attn_layers_shape(&c->in.layers);

    tg_stage_scratch_place(arena, &c->scratch, &shape);
}

static bool has_changes(const tg_dump *dump)
{
    for (size_t l = 0; l < dump->n; l++)
        if (dump->layer[l].extra[TG_DUMP_CHANGE].data)
            return true;
    return false;
}

static tg_status check_input(struct check *c, tg_err *err)
{
    tg_arena arena;
    tg_status status;

    if ((status = check_same_shape(&c->dump, &c->in.layers, err)) ||
        (has_changes(&c->dump) && c->in.has_model && (status = ablate_changes(&c->changes, &c->in, err))) ||
        (status = tg_arena_build(&arena, place_check, c, err)))
        return status;
    status = check_all(c, err);
    tg_arena_free(&arena);
    if (status)
        return status;
    if (c->differ > 0)
        return tg_fail(err, TG_EDATA, "%s of %s elements differ", cli_count(c->differ),
                       cli_count(c->elements));
    printf("%zu array%s, %s elements: all equal\n", c->arrays, cli_plural(c->arrays), cli_count(c->elements));
    return TG_OK;
}

/* ---- what the dump was made from */

/* Set the options that the dump records. */
static tg_status follow_dump(attn_options *o, const tg_dump *dump, tg_err *err)
{
    if (dump->n == 0)
        return tg_fail(err, TG_EDATA, "the dump has no layers");
    o->heads = dump->H;
    o->layout = dump->layout;
    if (!dump->ids && !o->qkv && o->example == NOT_GIVEN)
        return tg_fail(err, TG_EUSAGE, "the dump has no tokens: give its input with --qkv or --example");
    return TG_OK;
}

/* Messages about the dump name it; messages about the input's files name those. */
static tg_status check_dump(struct check *c, attn_options *o, tg_err *err)
{
    tg_status status;

    if (follow_dump(o, &c->dump, err))
        return tg_err_in(err, c->name);
    if ((status = input_open(&c->in, o, &c->dump, err)))
        return status;
    if ((status = check_input(c, err)))
        (void)tg_err_in(err, c->name);
    if (c->in.has_model && cli_model_check(&c->in.model, err))
        status = err->code;
    input_close(&c->in);
    return status;
}

static tg_status run(const attn_options *given, tg_err *err)
{
    const tg_dump_want want = {.layer = TG_ATTN_ALL, .stages = TG_DUMP_EVERY, .extras = true};
    struct check c = {.name = cli_input_name(path)};
    attn_options o = *given;
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, path, err)))
        return status;
    if (tg_dump_read(&c.dump, fd, want, err)) {
        cli_close_input(fd);
        return tg_err_in(err, c.name);
    }
    status = check_dump(&c, &o, err);
    tg_dump_free(&c.dump);
    free(c.changes);
    cli_close_input(fd);
    return status;
}

/* ---- the job */

static int check(const attn_options *o)
{
    if (cli_is_dash(path) && ((o->model && cli_is_dash(o->model)) || (o->qkv && cli_is_dash(o->qkv))))
        return cli_usage("standard input cannot be both the dump and its input");
    return CLI_OK;
}

static const cli_option own[] = {
    CLI_INPUT_OPTION(0, "check", &path, "FILE",
                     "recompute the dump in FILE, and compare it element by element"),
    CLI_NUMBER_OPTION(0, "tolerance", &tolerance, "X", 0, 1,
                      "with --check: maximum difference that counts as equal; relative for numbers above 1"),
    CLI_FLAG_OPTION(0, "plain", &plain,
                    "with --check: also compare with the plain model, in double precision"),
};

const job check_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "takes everything from the dump except its input: -m, --qkv or --example",
    .accepts = "model|example|qkv|threads",
    .check = check,
    .run = run,
};
