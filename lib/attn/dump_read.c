#include "lib/attn/dump_read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/npy.h"
#include "lib/base/size.h"

#define VERSION 1

static const char stage_names[TG_DUMP_STAGES][8] = {"x",      "qkv",   "q",   "k",  "v",
                                                    "scores", "probs", "att", "out"};

const char *tg_dump_stage_name(tg_dump_stage stage)
{
    return stage_names[stage];
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

#define NDIM_MAX 4

/* The shape that a stage has, from what is known; returns its dimensions. */
static size_t expected_shape(size_t shape[NDIM_MAX], const tg_dump *a, tg_dump_stage stage)
{
    const size_t thc[NDIM_MAX] = {a->B, a->T, a->H, a->D}, htc[NDIM_MAX] = {a->B, a->H, a->T, a->D};
    const size_t htt[NDIM_MAX] = {a->B, a->H, a->T, a->T};

    switch (stage) {
    case TG_DUMP_X:
    case TG_DUMP_OUT:
    case TG_DUMP_QKV:
        memcpy(shape, (size_t[3]){a->B, a->T, stage == TG_DUMP_QKV ? 3 * a->C : a->C}, 3 * sizeof *shape);
        return 3;
    case TG_DUMP_SCORES:
    case TG_DUMP_PROBS:
        memcpy(shape, htt, sizeof htt);
        return 4;
    default:
        memcpy(shape, a->heads_first ? htc : thc, sizeof thc);
        return 4;
    }
}

static tg_status wrong_shape(const tg_array *a, size_t ndim, const size_t *shape, tg_err *err)
{
    char got[TG_NPY_TEXT_MAX], want[TG_NPY_TEXT_MAX];

    return tg_fail(err, TG_EDATA, "array %s has shape %s, where %s is expected", a->name,
                   tg_npy_shape_text(got, a->ndim, a->shape), tg_npy_shape_text(want, ndim, shape));
}

/* The first array tells B, and T unless the tokens did. */
static void learn(tg_dump *dump, const tg_array *a, tg_dump_stage stage)
{
    const bool heads_second =
        stage == TG_DUMP_SCORES || stage == TG_DUMP_PROBS || (dump->heads_first && a->ndim == NDIM_MAX);

    if (dump->B == 0)
        dump->B = a->shape[0];
    if (dump->T == 0)
        dump->T = a->shape[heads_second ? 2 : 1];
}

static tg_status check_array(tg_dump *dump, const tg_array *a, tg_dump_stage stage, tg_err *err)
{
    size_t shape[NDIM_MAX], ndim;

    if (dump->C == 0)
        return tg_fail(err, TG_EDATA,
                       "array %s comes before dump/layout, dump/n_layer, dump/n_head and dump/n_embd",
                       a->name);
    if (a->dtype.kind != 'f' || a->dtype.size != 4)
        return tg_fail(err, TG_EDATA, "array %s: elements are '%c%zu', expected 'f4'", a->name, a->dtype.kind,
                       a->dtype.size);
    if (a->count == 0 || a->ndim < 3 || a->ndim > NDIM_MAX)
        return tg_fail(err, TG_EDATA, "array %s has %zu dimensions and %zu elements", a->name, a->ndim,
                       a->count);
    learn(dump, a, stage);
    ndim = expected_shape(shape, dump, stage);
    if (a->ndim != ndim || memcmp(a->shape, shape, ndim * sizeof *shape) != 0)
        return wrong_shape(a, ndim, shape, err);
    return TG_OK;
}

/* The largest offset is that of a score. */
static tg_status check_offsets(const tg_dump *a, tg_err *err)
{
    size_t n;

    if (tg_size_mul(&n, a->B, a->H) && tg_size_mul(&n, n, a->T) && tg_size_mul(&n, n, a->T) &&
        tg_size_mul(&n, a->B, a->C) && tg_size_mul(&n, n, a->T) && tg_size_mul(&n, n, sizeof(double)))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "scores of [%zu,%zu,%zu,%zu] would have offsets beyond %zu", a->B, a->H,
                   a->T, a->T, SIZE_MAX);
}

/* ---- values */

static tg_status not_finite(const char *name, size_t at, float x, tg_err *err)
{
    return tg_fail(err, TG_EDATA, "array %s: element %zu is %g: it must be finite", name, at, (double)x);
}

/* All elements are finite, of scores those with j <= i.  (The sum of x*0 is 0 unless one is not.) */
static tg_status check_finite(const tg_dump *dump, const char *name, tg_dump_stage stage, const float *x,
                              size_t count, tg_err *err)
{
    const size_t row = stage == TG_DUMP_SCORES ? dump->T : tg_size_min(count, 4096);

    for (size_t at = 0; at < count; at += row) {
        const size_t n = stage == TG_DUMP_SCORES ? at / row % row + 1 : tg_size_min(row, count - at);
        float zero = 0;

        for (size_t i = 0; i < n; i++)
            zero += x[at + i] * 0.0f;
        for (size_t i = 0; zero != 0 && i < n; i++) {
            if (!isfinite(x[at + i]))
                return not_finite(name, at + i, x[at + i], err);
        }
    }
    return TG_OK;
}

/* ---- arrays */

/* The layer `number`, made when it is not there yet. */
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

static tg_status take_data(tg_dump_layer *layer, tg_dump *dump, const tg_array *a, tg_dump_stage stage,
                           tg_err *err)
{
    const float *data = a->data;
    tg_status status;

    if (layer->data[stage])
        return tg_fail(err, TG_EDATA, "array %s: there is an h.%zu.%s already", a->name, layer->number,
                       stage_names[stage]);
    if (!data || (uintptr_t)data % sizeof *data != 0) {
        if (!(layer->owned[stage] = malloc(a->bytes)))
            return tg_fail_memory(err, a->bytes, a->name);
        if ((status = tg_archive_read(dump->reader, layer->owned[stage], a->bytes, err)))
            return status;
        data = layer->owned[stage];
    }
    layer->data[stage] = data;
    return check_finite(dump, a->name, stage, data, a->count, err);
}

/* "h.N.stage": false for any other name. */
static bool parse_name(const char *name, size_t *number, tg_dump_stage *stage)
{
    const char *at = name + 2;

    if (strncmp(name, "h.", 2) != 0)
        return false;
    *number = 0;
    for (; *at >= '0' && *at <= '9' && *number < SIZE_MAX / 16; at++)
        *number = *number * 10 + (size_t)(*at - '0');
    if (at == name + 2 || *at++ != '.')
        return false;
    for (*stage = 0; *stage < TG_DUMP_STAGES; *stage = *stage + 1) {
        if (strcmp(at, stage_names[*stage]) == 0)
            return true;
    }
    return false;
}

static tg_status take_stage(tg_dump *dump, const tg_array *a, tg_dump_want want, tg_err *err)
{
    tg_dump_layer *layer;
    tg_dump_stage stage;
    size_t number;
    tg_status status;

    if (!parse_name(a->name, &number, &stage))
        return TG_OK;
    if ((status = check_array(dump, a, stage, err)) || (status = check_offsets(dump, err)))
        return status;
    if (number >= dump->n_layer)
        return tg_fail(err, TG_EDATA, "array %s: dump/n_layer is %zu", a->name, dump->n_layer);
    if (want.layer != TG_DUMP_ALL && want.layer != number)
        return TG_OK;
    if ((status = get_layer(&layer, dump, number, err)) || !(want.stages & TG_DUMP_BIT(stage)))
        return status;
    return take_data(layer, dump, a, stage, err);
}

/* ---- the tokens */

static tg_status check_tokens(tg_dump *dump, const tg_array *a, bool right_type, const char *type,
                              tg_err *err)
{
    if (!right_type || a->ndim != 1 || a->count == 0)
        return tg_fail(err, TG_EDATA, "array %s: expected %s, one or more", a->name, type);
    if (dump->T == 0)
        dump->T = a->shape[0];
    return a->shape[0] == dump->T ? TG_OK : wrong_shape(a, 1, &dump->T, err);
}

static tg_status take_tokens(void **data, tg_dump *dump, const tg_array *a, tg_err *err)
{
    if (!(*data = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, a->name);
    return tg_archive_read(dump->reader, *data, a->bytes, err);
}

static tg_status take_ids(tg_dump *dump, const tg_array *a, tg_err *err)
{
    void *data = NULL;
    tg_status status =
        check_tokens(dump, a, a->dtype.kind == 'i' && a->dtype.size == 8, "numbers of type i8", err);

    if (!status)
        status = take_tokens(&data, dump, a, err);
    dump->ids = data;
    return status;
}

static tg_status take_text(tg_dump *dump, const tg_array *a, tg_err *err)
{
    void *data = NULL;
    tg_status status = check_tokens(dump, a, a->dtype.kind == 'S', "texts of type S", err);

    if (!status)
        status = take_tokens(&data, dump, a, err);
    dump->text = data;
    dump->text_size = a->dtype.size;
    return status;
}

/* ---- the archive */

static tg_status take_layout(tg_dump *dump, const tg_array *a, tg_err *err)
{
    char layout[16];
    tg_status status = tg_archive_get_text(dump->reader, a, layout, sizeof layout, err);

    dump->heads_first = !status && strcmp(layout, "bhtd") == 0;
    if (status || dump->heads_first || strcmp(layout, "bthd") == 0)
        return status;
    return tg_fail(err, TG_EDATA, "dump/layout is \"%s\", expected bthd or bhtd", layout);
}

/* The last of the settings that shapes depend on makes C, and with it D. */
static tg_status take_channels(tg_dump *dump, const tg_array *a, tg_err *err)
{
    size_t C;
    tg_status status = tg_archive_get_size(dump->reader, a, &C, err);

    if (status)
        return status;
    if (dump->H == 0 || dump->n_layer == 0)
        return tg_fail(err, TG_EDATA, "dump/n_layer is %zu and dump/n_head is %zu, where dump/n_embd comes",
                       dump->n_layer, dump->H);
    if (C == 0 || C > SIZE_MAX / 16 || C % dump->H != 0)
        return tg_fail(err, TG_EDATA, "%zu heads do not divide %zu channels", dump->H, C);
    dump->C = C;
    dump->D = C / dump->H;
    return TG_OK;
}

static tg_status take(tg_dump *dump, const tg_array *a, size_t nth, tg_dump_want want, tg_err *err)
{
    tg_archive_reader *r = dump->reader;

    if (nth == 0)
        return tg_archive_expect_kind(r, a, "attention", err);
    if (nth == 1)
        return tg_archive_expect_version(r, a, VERSION, err);
    if (nth == 2 && strcmp(a->name, "dump/layout") != 0)
        return tg_fail(err, TG_EDATA, "the third array is %s, not dump/layout", a->name);
    if (strcmp(a->name, "dump/layout") == 0)
        return take_layout(dump, a, err);
    if (strcmp(a->name, "dump/n_layer") == 0)
        return tg_archive_get_size(r, a, &dump->n_layer, err);
    if (strcmp(a->name, "dump/n_head") == 0)
        return tg_archive_get_size(r, a, &dump->H, err);
    if (strcmp(a->name, "dump/n_embd") == 0)
        return take_channels(dump, a, err);
    if (strcmp(a->name, "dump/mask") == 0)
        return tg_archive_get_text(r, a, dump->mask, sizeof dump->mask, err);
    if (strcmp(a->name, "dump/ids") == 0)
        return take_ids(dump, a, err);
    if (strcmp(a->name, "dump/text") == 0)
        return take_text(dump, a, err);
    return take_stage(dump, a, want, err);
}

static tg_status check_complete(const tg_dump *dump, tg_err *err)
{
    if (dump->C == 0)
        return tg_fail(err, TG_EDATA, "there is no array dump/n_embd");
    if (strcmp(dump->mask, "-1e9") != 0 && strcmp(dump->mask, "-inf") != 0 && strcmp(dump->mask, "min") != 0)
        return tg_fail(err, TG_EDATA, "dump/mask is \"%s\", expected -1e9, -inf or min", dump->mask);
    return TG_OK;
}

tg_status tg_dump_read(tg_dump *dump, int fd, tg_dump_want want, tg_err *err)
{
    tg_archive_event event = TG_ARCHIVE_ARRAY;
    tg_array a;
    tg_status status;

    *dump = (tg_dump){0};
    if ((status = tg_archive_open(&dump->reader, fd, err)))
        return status;
    for (size_t nth = 0; !status && event != TG_ARCHIVE_END; nth++) {
        status = tg_archive_next(dump->reader, &a, &event, err);
        if (!status && event == TG_ARCHIVE_ARRAY)
            status = take(dump, &a, nth, want, err);
    }
    if (!status)
        status = check_complete(dump, err);
    if (!status)
        status = tg_archive_next(dump->reader, &a, &event, err);
    if (!status && event != TG_ARCHIVE_EOF)
        status = tg_fail(err, TG_EDATA, "another archive follows the one with attention");
    if (status)
        tg_dump_free(dump);
    return status;
}

void tg_dump_free(tg_dump *dump)
{
    for (size_t l = 0; l < dump->n; l++) {
        for (size_t s = 0; s < TG_DUMP_STAGES; s++)
            free(dump->layer[l].owned[s]);
    }
    free(dump->layer);
    free(dump->ids);
    free(dump->text);
    tg_archive_close(dump->reader);
    *dump = (tg_dump){0};
}
