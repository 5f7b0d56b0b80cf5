#include "lib/dump/dump_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/finite.h"
#include "lib/base/object.h"
#include "lib/base/size.h"
#include "lib/dump/extras_read.h"
#include "lib/gpt/config.h"
#include "lib/nn/tensor.h"
#include "lib/tg/array.h"

tg_qkv_view tg_dump_shape(const tg_dump *dump)
{
    return (tg_qkv_view){.B = dump->B,
                         .T = dump->T,
                         .C = dump->C,
                         .H = dump->H,
                         .KV = dump->KV,
                         .D = dump->D,
                         .layout = dump->layout};
}

tg_attention_rule tg_dump_rule(const tg_dump *dump, size_t layer)
{
    const bool has_window = tg_layer_in(dump->window_layers, layer);

    return (tg_attention_rule){dump->attn_scale, dump->attn_cap, has_window ? dump->window : 0};
}

void tg_dump_array_name(char name[TG_DUMP_NAME_SIZE], size_t layer, tg_attn_stage stage)
{
    snprintf(name, TG_DUMP_NAME_SIZE, "h.%zu.%s", layer, tg_attn_stage_name(stage));
}

const tg_dump_layer *tg_dump_find(const tg_dump *dump, size_t number)
{
    for (size_t l = 0; l < dump->n; l++) {
        if (dump->layer[l].number == number)
            return &dump->layer[l];
    }
    return NULL;
}

/* ---- shapes */

static tg_status wrong_shape(const tg_array *a, size_t ndim, const size_t *shape, tg_err *err)
{
    char got[TG_ARRAY_TEXT_MAX], want[TG_ARRAY_TEXT_MAX];

    return tg_fail(err, TG_EDATA, "array %s has shape %s, expected %s", a->name,
                   tg_shape_text(got, a->ndim, a->shape), tg_shape_text(want, ndim, shape));
}

/* Take B and T from the first array, unless the tokens have already set T. */
static void infer_sizes(tg_dump *dump, const tg_array *a, tg_attn_stage stage)
{
    const tg_qkv_view view = tg_dump_shape(dump);
    tg_attn_shape shape;

    tg_attn_stage_shape(&shape, stage, &view);

    if (dump->B == 0)
        dump->B = a->shape[0];
    if (dump->T == 0)
        dump->T = a->shape[shape.index[1] == 'h' ? 2 : 1];
}

static tg_status check_array(tg_dump *dump, const tg_array *a, tg_attn_stage stage, tg_err *err)
{
    tg_qkv_view view;
    tg_attn_shape shape;

    if (dump->C == 0)
        return tg_fail(err, TG_EDATA,
                       "array %s comes before dump/layout, dump/n_layer, dump/n_head and dump/n_embd",
                       a->name);
    if (a->dtype.kind != 'f' || a->dtype.size != 4)
        return tg_fail(err, TG_EDATA, "array %s: elements are '%c%zu', expected 'f4'", a->name, a->dtype.kind,
                       a->dtype.size);
    if (a->count == 0 || a->ndim < 3 || a->ndim > TG_ATTN_DIMS)
        return tg_fail(
            err, TG_EDATA,
            "array %s has %zu dimensions and %zu elements, expected 3 or 4 dimensions, none of size 0",
            a->name, a->ndim, a->count);
    infer_sizes(dump, a, stage);
    view = tg_dump_shape(dump);
    tg_attn_stage_shape(&shape, stage, &view);
    if (a->ndim != shape.n || memcmp(a->shape, shape.size, shape.n * sizeof *shape.size) != 0)
        return wrong_shape(a, shape.n, shape.size, err);
    return TG_OK;
}

/* The largest offset is in scores; the largest size in bytes may be that of C-vectors as doubles. */
static tg_status check_offsets(const tg_dump *a, tg_err *err)
{
    const size_t scores[] = {a->B, a->H, a->T, a->T}, bytes[] = {a->B, a->T, a->C, sizeof(double)};
    const size_t heads[] = {a->B, a->T, a->H * a->D, sizeof(double)};
    char text[TG_TENSOR_TEXT_MAX];
    size_t n;

    /* unreached: too many: an array of so many positions has 16 GiB or more */
    if (!tg_tensor_count(&n, scores, 4, err) && !tg_tensor_count(&n, bytes, 4, err) &&
        !tg_tensor_count(&n, heads, 4, err))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "offsets of scores of %s exceed %zu", tg_tensor_text(text, scores, 4),
                   SIZE_MAX);
}

/* ---- values */

/* Rounding may have taken a probability a little above 1. */
static tg_status check_probabilities(const char *name, const float *x, size_t count, tg_err *err)
{
    const float most = 1.001f;

    for (size_t i = 0; i < count; i++)
        if (!(x[i] >= 0 && x[i] <= most))
            return tg_fail(err, TG_EDATA, "%s[%zu] is %g: a probability is between 0 and 1", name, i,
                           (double)x[i]);
    return TG_OK;
}

/* All elements must be finite, and probabilities between 0 and 1; of scores, only those that are not masked.
 */
static tg_status check_values(const tg_dump *dump, const char *name, size_t layer, tg_attn_stage stage,
                              const float *x, size_t count, tg_err *err)
{
    const tg_attention_rule rule = tg_dump_rule(dump, layer);

    if (stage == TG_ATTN_PROBS && tg_find_not_finite(x, count) == count)
        return check_probabilities(name, x, count, err);
    if (stage != TG_ATTN_SCORES)
        return tg_check_finite(name, x, count, err);
    for (size_t at = 0, i = 0; at < count; at += dump->T, i = (i + 1) % dump->T) {
        const size_t first = tg_attention_first(&rule, i);
        const size_t bad = first + tg_find_not_finite(x + at + first, i + 1 - first);

        if (bad <= i)
            return tg_fail_not_finite(name, at + bad, (double)x[at + bad], err);
    }
    return TG_OK;
}

/* ---- arrays */

/* Find the layer `number`, or insert it. */
static tg_status get_layer(tg_dump_layer **layer, tg_dump *dump, size_t number, tg_err *err)
{
    tg_dump_layer *grown;
    size_t at = dump->n;

    *layer = NULL;
    while (at > 0 && dump->layer[at - 1].number >= number)
        at--;
    if (at == dump->n || dump->layer[at].number != number) {
        if (!(grown = realloc(dump->layer, (dump->n + 1) * sizeof *grown)))
            return tg_fail_memory(err, (dump->n + 1) * sizeof *grown, "the layers");
        memmove(grown + at + 1, grown + at, (dump->n - at) * sizeof *grown);
        grown[at] = (tg_dump_layer){.number = number};
        dump->layer = grown;
        dump->n++;
    }
    *layer = &dump->layer[at];
    return TG_OK;
}

static tg_status keep_data(tg_dump_layer *layer, tg_dump *dump, const tg_array *a, tg_attn_stage stage,
                           tg_err *err)
{
    const float *data = a->data;
    tg_status status;

    if (layer->data[stage])
        return tg_fail(err, TG_EDATA, "array %s: h.%zu.%s was given before", a->name, layer->number,
                       tg_attn_stage_name(stage));
    if (!data || (uintptr_t)data % sizeof *data != 0) {
        if (!(layer->owned[stage] = malloc(a->bytes)))
            return tg_fail_memory(err, a->bytes, a->name);
        if ((status = tg_archive_read(dump->reader, layer->owned[stage], a->bytes, err)))
            return status;
        data = layer->owned[stage];
    }
    layer->data[stage] = data;
    return check_values(dump, a->name, layer->number, stage, data, a->count, err);
}

/* Parse "h.N." before an array's own name, and return that; NULL: another name.  A number that is too large
 * stays above every layer's. */
static const char *parse_layer(const char *name, size_t *number)
{
    const char *at = name + 2;

    if (strncmp(name, "h.", 2) != 0)
        return NULL;
    *number = 0;
    for (; *at >= '0' && *at <= '9'; at++)
        *number = tg_size_add_sat(tg_size_mul_sat(*number, 10), (size_t)(*at - '0'));
    return at > name + 2 && *at == '.' ? at + 1 : NULL;
}

static tg_status check_number(const tg_dump *dump, const tg_array *a, size_t number, tg_err *err)
{
    if (number < dump->n_layer)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "array %s: the layer must be below dump/n_layer, %zu", a->name,
                   dump->n_layer);
}

static tg_status read_stage(tg_dump *dump, const tg_array *a, size_t number, tg_attn_stage stage,
                            tg_dump_want want, tg_err *err)
{
    tg_dump_layer *layer;
    tg_status status;

    /* unreached: the status of check_offsets(), as there */
    if ((status = check_array(dump, a, stage, err)) || (status = check_offsets(dump, err)) ||
        (status = check_number(dump, a, number, err)))
        return status;
    if (want.layer != TG_ATTN_ALL && want.layer != number)
        return TG_OK;
    if ((status = get_layer(&layer, dump, number, err)) || !(want.stages & TG_DUMP_BIT(stage)))
        return status;
    return keep_data(layer, dump, a, stage, err);
}

/* One of a layer that has no stages is not kept. */
static tg_status read_layer_extra(tg_dump *dump, const tg_array *a, size_t number, tg_dump_extra extra,
                                  tg_dump_want want, tg_err *err)
{
    const tg_status status = check_number(dump, a, number, err);
    const tg_qkv_view view = tg_dump_shape(dump);
    tg_dump_extra_array none = {0};
    const tg_dump_layer *layer = status ? NULL : tg_dump_find(dump, number);
    tg_dump_extra_array *kept = layer ? &dump->layer[layer - dump->layer].extra[extra] : &none;

    return status ? status : tg_extras_read(kept, dump->reader, &view, a, extra, layer && want.extras, err);
}

static tg_status read_extra(tg_dump *dump, const tg_array *a, tg_dump_extra extra, tg_dump_want want,
                            tg_err *err)
{
    const tg_qkv_view view = tg_dump_shape(dump);

    return tg_extras_read(&dump->extra[extra], dump->reader, &view, a, extra, want.extras, err);
}

static tg_status read_of_layer(tg_dump *dump, const tg_array *a, tg_dump_want want, tg_err *err)
{
    tg_dump_extra extra;
    size_t number, stage;
    const char *name = parse_layer(a->name, &number);

    if (!name)
        return TG_OK;
    if (tg_choice_find(&stage, TG_ATTN_STAGES, name))
        return read_stage(dump, a, number, (tg_attn_stage)stage, want, err);
    if (tg_dump_extra_find(&extra, name, true))
        return read_layer_extra(dump, a, number, extra, want, err);
    return TG_OK;
}

/* ---- the tokens */

/* Read an array with an element per token into *data, which tg_dump_free() frees. */
static tg_status read_tokens(void **data, tg_dump *dump, const tg_array *a, bool right_type, const char *type,
                             tg_err *err)
{
    if (!right_type || a->ndim != 1 || a->count == 0)
        return tg_fail(err, TG_EDATA, "array %s: expected [T] %s, T > 0", a->name, type);
    if (dump->T == 0)
        dump->T = a->shape[0];
    if (a->shape[0] != dump->T)
        return wrong_shape(a, 1, &dump->T, err);
    if (!(*data = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, a->name);
    return tg_archive_read(dump->reader, *data, a->bytes, err);
}

static tg_status read_ids(tg_dump *dump, const tg_array *a, tg_err *err)
{
    const bool right_type = a->dtype.kind == 'i' && a->dtype.size == 8;
    void *data = NULL;
    const tg_status status = read_tokens(&data, dump, a, right_type, "numbers of type i8", err);

    dump->ids = data;
    return status;
}

static tg_status read_text(tg_dump *dump, const tg_array *a, tg_err *err)
{
    void *data = NULL;
    const tg_status status = read_tokens(&data, dump, a, a->dtype.kind == 'S', "texts of type S", err);

    dump->text = data;
    dump->text_size = a->dtype.size;
    return status;
}

/* ---- the archive */

#define NO_MASK ((tg_attn_mask)~0u) /* not read yet */

static const tg_field settings_rows[] = {
    TG_CHOICE_FIELD("dump/layout", tg_dump, layout, TG_ATTN_LAYOUTS),
    TG_SIZE_FIELD("dump/n_layer", tg_dump, n_layer, 0, 0),
    TG_SIZE_FIELD("dump/n_head", tg_dump, H, 0, 0),
    TG_SIZE_FIELD("dump/n_kv_head", tg_dump, KV, 0, 0),
    TG_SIZE_FIELD("dump/head_dim", tg_dump, D, 0, 0),
    TG_REAL_FIELD("dump/attn_scale", tg_dump, attn_scale, 0, TG_ATTENTION_RULE_MAX),
    TG_REAL_FIELD("dump/attn_cap", tg_dump, attn_cap, 0, TG_ATTENTION_RULE_MAX),
    TG_SIZE_FIELD("dump/window", tg_dump, window, 0, 0),
    TG_U64_FIELD("dump/window_layers", tg_dump, window_layers),
    TG_SIZE_FIELD("dump/n_embd", tg_dump, C, 0, 0),
    TG_CHOICE_FIELD("dump/mask", tg_dump, mask, TG_ATTN_MASKS),
};
#define SETTINGS (sizeof settings_rows / sizeof settings_rows[0])

static const tg_fields settings = {settings_rows, SETTINGS};

/* Whether a setting is written: GPT-2's dumps have neither those of heads nor a rule. */
static bool has_setting(const tg_dump *dump, size_t offset)
{
    switch (offset) {
    case offsetof(tg_dump, KV):
    case offsetof(tg_dump, D):
        return dump->KV != dump->H || dump->H * dump->D != dump->C;
    case offsetof(tg_dump, attn_scale):
        return dump->attn_scale > 0;
    case offsetof(tg_dump, attn_cap):
        return dump->attn_cap > 0;
    case offsetof(tg_dump, window):
    case offsetof(tg_dump, window_layers):
        return dump->window > 0;
    default:
        return true;
    }
}

tg_status tg_dump_put_settings(const tg_dump *dump, tg_archive_writer *w, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < SETTINGS; i++)
        if (has_setting(dump, settings_rows[i].offset))
            status = tg_fields_put((tg_fields){&settings_rows[i], 1}, dump, w, err);
    return status;
}

/* Complete and check the heads, of which an archive may say less than it has. */
static tg_status check_heads(tg_dump *dump, tg_err *err)
{
    if (dump->KV == 0)
        dump->KV = dump->H;
    if (dump->H % dump->KV != 0)
        return tg_fail(err, TG_EDATA, "dump/n_kv_head %zu does not divide dump/n_head %zu", dump->KV,
                       dump->H);
    if (dump->D > SIZE_MAX / 16 / dump->H)
        return tg_fail(err, TG_EDATA, "dump/head_dim is %zu, expected at most %zu", dump->D,
                       SIZE_MAX / 16 / dump->H);
    if (dump->D > 0)
        return TG_OK;
    if (dump->C % dump->H != 0)
        return tg_fail(err, TG_EDATA, "dump/n_head %zu does not divide dump/n_embd %zu", dump->H, dump->C);
    dump->D = dump->C / dump->H;
    return TG_OK;
}

/* Check the settings that shapes depend on, after the last of them, dump/n_embd. */
static tg_status check_channels(tg_dump *dump, tg_err *err)
{
    if (dump->H == 0 || dump->n_layer == 0)
        return tg_fail(
            err, TG_EDATA,
            "dump/n_layer is %zu and dump/n_head is %zu: expected 1 or more of each before dump/n_embd",
            dump->n_layer, dump->H);
    if (dump->n_layer > TG_NAMES_MAX) /* a layer has an array */
        return tg_fail(err, TG_EDATA, "dump/n_layer is %zu, expected at most %d", dump->n_layer,
                       TG_NAMES_MAX);
    if (dump->C > SIZE_MAX / 16)
        return tg_fail(err, TG_EDATA, "dump/n_embd is %zu, expected at most %zu", dump->C, SIZE_MAX / 16);
    if (dump->C == 0)
        return tg_fail(err, TG_EDATA, "dump/n_head %zu does not divide dump/n_embd %zu", dump->H, dump->C);
    return check_heads(dump, err);
}

/* All but the mask, which has not been read. */
static tg_status check_settings(tg_dump *dump, tg_err *err)
{
    const tg_status status = check_channels(dump, err);

    return status ? status : tg_fields_check((tg_fields){settings_rows, SETTINGS - 1}, dump, err);
}

static tg_status read_array(tg_dump *dump, const tg_array *a, size_t nth, tg_dump_want want, tg_err *err)
{
    tg_archive_reader *r = dump->reader;
    tg_dump_extra extra;
    tg_status status;
    bool taken;

    if (nth == 1)
        return tg_archive_expect_version(r, a, TG_DUMP_VERSION, err);
    if (nth == 2 && strcmp(a->name, "dump/layout") != 0)
        return tg_fail(err, TG_EDATA, "the third array is %s, expected dump/layout", a->name);
    if (dump->C > 0 && strcmp(a->name, "dump/mask") != 0)
        taken = false;
    else if ((status = tg_fields_take(settings, dump, NULL, r, a, &taken, err)))
        return status;
    if (taken)
        return strcmp(a->name, "dump/n_embd") == 0 ? check_settings(dump, err) : TG_OK;
    if (strcmp(a->name, "dump/source") == 0)
        return tg_archive_get_text(r, a, dump->source, sizeof dump->source, err);
    if (strcmp(a->name, "dump/ids") == 0)
        return read_ids(dump, a, err);
    if (strcmp(a->name, "dump/text") == 0)
        return read_text(dump, a, err);
    if (tg_dump_extra_find(&extra, a->name, false))
        return read_extra(dump, a, extra, want, err);
    return read_of_layer(dump, a, want, err);
}

static tg_status check_complete(const tg_dump *dump, tg_err *err)
{
    if (dump->C == 0)
        return tg_fail(err, TG_EDATA, "array dump/n_embd is missing");
    if (dump->mask == NO_MASK)
        return tg_fail(err, TG_EDATA, "array dump/mask is missing");
    return tg_extras_check(dump, err);
}

/* Read the arrays after the first one. */
static tg_status read_rest(tg_dump *dump, tg_dump_want want, tg_err *err)
{
    tg_archive_event event = TG_ARCHIVE_ARRAY;
    tg_array a;
    tg_status status = TG_OK;

    for (size_t nth = 1; !status && event != TG_ARCHIVE_END; nth++) {
        status = tg_archive_next(dump->reader, &a, &event, err);
        if (!status && event == TG_ARCHIVE_ARRAY)
            status = read_array(dump, &a, nth, want, err);
    }
    if (!status)
        status = check_complete(dump, err);
    if (!status)
        status = tg_archive_next(dump->reader, &a, &event, err);
    if (!status && event != TG_ARCHIVE_EOF)
        status = tg_fail(err, TG_EDATA, "data follows the archive with attention: expected one archive");
    return status;
}

tg_status tg_dump_read_after_kind(tg_dump *dump, tg_archive_reader *reader, tg_dump_want want, tg_err *err)
{
    tg_status status;

    *dump = (tg_dump){.mask = NO_MASK, .reader = reader};
    if ((status = read_rest(dump, want, err)))
        tg_dump_free(dump);
    return status;
}

tg_status tg_dump_read(tg_dump *dump, int fd, tg_dump_want want, tg_err *err)
{
    tg_archive_reader *reader;
    size_t kind;
    tg_status status;

    *dump = (tg_dump){0};
    if ((status = tg_archive_open(&reader, fd, err)))
        return status;
    if (!(status = tg_archive_read_kind(reader, TG_DUMP_KIND, &kind, err)))
        return tg_dump_read_after_kind(dump, reader, want, err);
    tg_archive_close(reader);
    return status;
}

static void free_extras(tg_dump_extra_array *extra, size_t n)
{
    for (size_t e = 0; e < n; e++)
        free(extra[e].owned);
}

void tg_dump_free(tg_dump *dump)
{
    for (size_t l = 0; l < dump->n; l++) {
        for (size_t s = 0; s < TG_ATTN_STAGE_COUNT; s++)
            free(dump->layer[l].owned[s]);
        free_extras(dump->layer[l].extra, TG_DUMP_LAYER_EXTRAS);
    }
    free_extras(dump->extra, TG_DUMP_EXTRA_COUNT);
    free(dump->layer);
    free(dump->ids);
    free(dump->text);
    tg_archive_close(dump->reader);
    *dump = (tg_dump){0};
}

/* ---- for programs (lib/tg/dump.h) */

tg_status tg_dump_load(tg_dump **d, int fd, tg_dump_want want, tg_err *err)
{
    *d = tg_object_new(sizeof **d, "a dump", err);
    return *d ? tg_object_begun(d, tg_dump_read(*d, fd, want, err)) : TG_ENOMEM;
}

void tg_dump_destroy(tg_dump *d)
{
    if (d)
        tg_dump_free(d);
    free(d);
}

const float *tg_dump_stage(const tg_dump *d, size_t layer, tg_attn_stage stage)
{
    const tg_dump_layer *found = tg_dump_find(d, layer);

    return found ? found->data[stage] : NULL;
}

const int64_t *tg_dump_ids(const tg_dump *d)
{
    return d->ids;
}

const char *tg_dump_text(const tg_dump *d, size_t t, size_t *size)
{
    *size = d->text_size;
    return d->text ? d->text + t * d->text_size : NULL;
}
