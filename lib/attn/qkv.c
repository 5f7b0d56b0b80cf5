#include "lib/attn/qkv.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/gpt/config.h"
#include "lib/nn/tensor.h"

#define PIECE 1024 /* elements converted at a time */

static const char names[3][2] = {"q", "k", "v"};

/* Read the next n elements as finite floats; `at` is the index of the first. */
static tg_status read_piece(float *out, tg_archive_reader *r, const tg_array *a, size_t at, size_t n,
                            tg_err *err)
{
    union {
        float f4[PIECE];
        double f8[PIECE];
    } in;
    size_t bad;
    tg_status status = tg_archive_read(r, &in, n * a->dtype.size, err);

    if (status)
        return status;
    for (size_t i = 0; i < n; i++)
        out[i] = a->dtype.size == 4 ? in.f4[i] : (float)in.f8[i];
    bad = tg_find_not_finite(out, n);
    if (bad == n)
        return TG_OK;
    return tg_fail_not_finite(a->name, at + bad, a->dtype.size == 4 ? (double)in.f4[bad] : in.f8[bad], err);
}

static tg_status check_shape(tg_qkv_view *view, const tg_array *a, tg_err *err)
{
    char got[TG_TENSOR_TEXT_MAX], want[TG_TENSOR_TEXT_MAX];

    if (a->dtype.kind != 'f' || (a->dtype.size != 4 && a->dtype.size != 8))
        return tg_fail(err, TG_EDATA, "array %s: elements are '%c%zu', expected 'f4' or 'f8'", a->name,
                       a->dtype.kind, a->dtype.size);
    if (a->ndim != 3)
        return tg_fail(err, TG_EDATA, "array %s has %zu dimensions, expected 3: [B,T,C]", a->name, a->ndim);
    if (a->count == 0)
        return tg_fail(err, TG_EDATA, "array %s is empty: %s", a->name, tg_tensor_text(got, a->shape, 3));
    if (view->T == 0)
        *view = tg_attn_shape_of(a->shape[0], a->shape[1], a->shape[2], 1);
    if (a->shape[0] != view->B || a->shape[1] != view->T || a->shape[2] != view->C)
        return tg_fail(err, TG_EDATA, "array %s is %s, the arrays before it are %s", a->name,
                       tg_tensor_text(got, a->shape, 3),
                       tg_tensor_text(want, (size_t[]){view->B, view->T, view->C}, 3));
    return TG_OK;
}

/* The largest offset is below B*H*T*T, with H <= C. */
static tg_status check_offsets(const tg_qkv_view *a, tg_err *err)
{
    char text[TG_TENSOR_TEXT_MAX];
    size_t n;

    if (!tg_tensor_count(&n, (size_t[]){a->B, a->C, a->T, a->T}, 4, err))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "offsets of scores of %s exceed %zu",
                   tg_tensor_text(text, (size_t[]){a->B, a->T, a->C}, 3), SIZE_MAX);
}

static tg_status read_array(tg_attn_qkv *qkv, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    tg_status status;
    float **data;
    size_t which = 0;

    while (which < 3 && strcmp(a->name, names[which]) != 0)
        which++;
    if (which == 3)
        return TG_OK;
    if ((status = check_shape(&qkv->view, a, err)) || (status = check_offsets(&qkv->view, err)))
        return status;
    data = &qkv->data[which]; /* NULL: the names in an archive are unique */
    if (!(*data = calloc(a->count, sizeof **data)))
        return tg_fail_memory(err, (unsigned long long)a->count * sizeof **data, a->name);
    for (size_t at = 0, n; !status && at < a->count; at += n) {
        n = tg_size_min(PIECE, a->count - at);
        status = read_piece(*data + at, r, a, at, n, err);
    }
    return status;
}

tg_status tg_attn_qkv_read(tg_attn_qkv *qkv, int fd, tg_err *err)
{
    tg_archive_reader *r = NULL;
    tg_archive_event event = TG_ARCHIVE_ARRAY;
    tg_array a;
    tg_status status;

    memset(qkv, 0, sizeof *qkv);
    if ((status = tg_archive_open(&r, fd, err)))
        return status;
    while (!status && event != TG_ARCHIVE_END) {
        status = tg_archive_next(r, &a, &event, err);
        if (!status && event == TG_ARCHIVE_ARRAY)
            status = read_array(qkv, r, &a, err);
    }
    for (size_t i = 0; !status && i < 3; i++)
        if (!qkv->data[i])
            status = tg_fail(err, TG_EDATA, "array %s is missing: expected q, k and v [B,T,C]", names[i]);
    if (!status)
        status = tg_archive_next(r, &a, &event, err);
    if (!status && event != TG_ARCHIVE_EOF)
        status = tg_fail(err, TG_EDATA, "data follows the archive with q, k and v: expected one archive");
    tg_archive_close(r);
    if (status)
        tg_attn_qkv_free(qkv);
    qkv->view.q = qkv->data[0];
    qkv->view.k = qkv->data[1];
    qkv->view.v = qkv->data[2];
    return status;
}

void tg_attn_qkv_free(tg_attn_qkv *qkv)
{
    for (size_t i = 0; i < 3; i++) {
        free(qkv->data[i]);
        qkv->data[i] = NULL;
    }
}

tg_status tg_attn_set_heads(tg_qkv_view *view, size_t H, tg_err *err)
{
    const tg_tensor channels = {.ndim = 3, .shape = {view->B, view->T, view->C}};
    tg_tensor heads; /* a view of the same floats: nothing moves */

    if (tg_config_check_heads(H, view->C, TG_EUSAGE, err) ||
        tg_tensor_reshape(&heads, &channels, (size_t[]){view->B, view->T, H, view->C / H}, 4, err))
        return TG_EUSAGE;
    view->H = view->KV = heads.shape[2];
    view->D = heads.shape[3];
    return TG_OK;
}
