#include "lib/attn/qkv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

#define PIECE 1024 /* elements converted at a time */

static const char names[3][2] = {"q", "k", "v"};

/* The next n elements of the array as finite floats; `at` is the first one's number. */
static tg_status read_piece(float *out, tg_archive_reader *r, const tg_array *a, size_t at, size_t n,
                            tg_err *err)
{
    union {
        float f4[PIECE];
        double f8[PIECE];
    } in;
    tg_status s = tg_archive_read(r, &in, n * a->dtype.size, err);

    for (size_t i = 0; s == TG_OK && i < n; i++) {
        out[i] = a->dtype.size == 4 ? in.f4[i] : (float)in.f8[i];
        if (!isfinite(out[i]))
            s = tg_fail(err, TG_EDATA, "array %s: element %zu is %g: not a finite float32 number", a->name,
                        at + i, a->dtype.size == 4 ? (double)in.f4[i] : in.f8[i]);
    }
    return s;
}

static tg_status check_shape(tg_attn_view *view, const tg_array *a, tg_err *err)
{
    if (a->dtype.kind != 'f' || (a->dtype.size != 4 && a->dtype.size != 8))
        return tg_fail(err, TG_EDATA, "array %s: elements are '%c%zu', expected 'f4' or 'f8'", a->name,
                       a->dtype.kind, a->dtype.size);
    if (a->ndim != 3)
        return tg_fail(err, TG_EDATA, "array %s has %zu dimensions, expected 3: [B,T,C]", a->name, a->ndim);
    if (a->count == 0)
        return tg_fail(err, TG_EDATA, "array %s is empty: [%zu,%zu,%zu]", a->name, a->shape[0], a->shape[1],
                       a->shape[2]);
    if (view->T == 0) {
        view->B = a->shape[0];
        view->T = a->shape[1];
        view->C = view->stride = a->shape[2];
        view->H = 1;
    }
    if (a->shape[0] != view->B || a->shape[1] != view->T || a->shape[2] != view->C)
        return tg_fail(err, TG_EDATA, "array %s is [%zu,%zu,%zu], the ones before are [%zu,%zu,%zu]", a->name,
                       a->shape[0], a->shape[1], a->shape[2], view->B, view->T, view->C);
    return TG_OK;
}

/* B*H*T*T, H <= C, is the largest offset. */
static tg_status check_offsets(const tg_attn_view *a, tg_err *err)
{
    size_t n;

    if (tg_size_mul(&n, a->B, a->C) && tg_size_mul(&n, n, a->T) && tg_size_mul(&n, n, a->T))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "scores of [%zu,%zu,%zu] would have offsets beyond %zu", a->B, a->T, a->C,
                   SIZE_MAX);
}

static tg_status take(tg_attn_qkv *qkv, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    tg_status s;
    float **data;
    size_t which = 0;

    while (which < 3 && strcmp(a->name, names[which]) != 0)
        which++;
    if (which == 3)
        return TG_OK;
    if ((s = check_shape(&qkv->view, a, err)) != TG_OK || (s = check_offsets(&qkv->view, err)) != TG_OK)
        return s;
    data = &qkv->data[which];
    if (*data)
        return tg_fail(err, TG_EDATA, "there are two arrays %s", a->name);
    if (!(*data = calloc(a->count, sizeof **data)))
        return tg_fail_memory(err, (unsigned long long)a->count * sizeof **data, a->name);
    for (size_t at = 0, n; s == TG_OK && at < a->count; at += n) {
        n = tg_size_min(PIECE, a->count - at);
        s = read_piece(*data + at, r, a, at, n, err);
    }
    return s;
}

static tg_status check_complete(const tg_attn_qkv *qkv, tg_err *err)
{
    for (size_t i = 0; i < 3; i++) {
        if (!qkv->data[i])
            return tg_fail(err, TG_EDATA, "there is no array %s: expected q, k and v [B,T,C]", names[i]);
    }
    return TG_OK;
}

tg_status tg_attn_qkv_read(tg_attn_qkv *qkv, int fd, tg_err *err)
{
    tg_archive_reader *r = NULL;
    tg_archive_event event = TG_ARCHIVE_ARRAY;
    tg_array a;
    tg_status s;

    memset(qkv, 0, sizeof *qkv);
    if ((s = tg_archive_open(&r, fd, err)) != TG_OK)
        return s;
    while (s == TG_OK && event != TG_ARCHIVE_END) {
        s = tg_archive_next(r, &a, &event, err);
        if (s == TG_OK && event == TG_ARCHIVE_ARRAY)
            s = take(qkv, r, &a, err);
    }
    if (s == TG_OK)
        s = check_complete(qkv, err);
    if (s == TG_OK)
        s = tg_archive_next(r, &a, &event, err);
    if (s == TG_OK && event != TG_ARCHIVE_EOF)
        s = tg_fail(err, TG_EDATA, "another archive follows the one with q, k and v");
    tg_archive_close(r);
    if (s != TG_OK)
        tg_attn_qkv_free(qkv);
    qkv->view.q = qkv->data[0];
    qkv->view.k = qkv->data[1];
    qkv->view.v = qkv->data[2];
    return s;
}

void tg_attn_qkv_free(tg_attn_qkv *qkv)
{
    for (size_t i = 0; i < 3; i++) {
        free(qkv->data[i]);
        qkv->data[i] = NULL;
    }
}

tg_status tg_attn_set_heads(tg_attn_view *view, size_t H, tg_err *err)
{
    if (H == 0 || view->C % H != 0)
        return tg_fail(err, TG_EUSAGE, "%zu heads do not divide C = %zu", H, view->C);
    view->H = H;
    return TG_OK;
}
