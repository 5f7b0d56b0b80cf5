#include "lib/heads/vectors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/base/finite.h"

#define NAME_SIZE 40

static void name_of(char name[NAME_SIZE], size_t layer)
{
    snprintf(name, NAME_SIZE, "h.%zu.resid", layer);
}

/* ---- writing */

/* The mean of rows [T,C], in the order of the tokens. */
static void mean_rows(float *mean, tg_matrix x, size_t T)
{
    for (size_t c = 0; c < x.cols; c++) {
        double sum = 0;

        for (size_t t = 0; t < T; t++)
            sum += (double)tg_floats(x)[t * x.ld + c];
        mean[c] = (float)(sum / (double)T);
    }
}

struct writer {
    tg_archive_writer *archive;
    const tg_attn_layers *layers;
    float *mean; /* [C] */
};

static tg_status put_mean(const struct writer *w, size_t layer, tg_matrix x, tg_err *err)
{
    char name[NAME_SIZE];
    tg_status status;

    mean_rows(w->mean, x, w->layers->T);
    name_of(name, layer);
    if ((status = tg_check_finite(name, w->mean, w->layers->C, err)))
        return status;
    return tg_archive_put(w->archive, name, TG_F32, 1, &w->layers->C, w->mean, err);
}

static tg_status put_layers(const struct writer *w, tg_attn_layers *layers, tg_err *err)
{
    tg_attn_layer layer;
    tg_status status = TG_OK;

    while (!status && tg_attn_layers_next(layers, &layer))
        status = put_mean(w, layer.number, layer.residual, err);
    if (!status && layers->filter.layer == TG_ATTN_ALL && tg_attn_layers_end(layers))
        status = put_mean(w, layers->L, layers->infer.acts.x, err);
    return tg_attn_layers_check(layers, err) ? err->code : status;
}

tg_status tg_vectors_write(int fd, tg_attn_layers *layers, tg_err *err)
{
    struct writer w = {.layers = layers, .mean = malloc(layers->C * sizeof *w.mean)};
    tg_status status;

    if (!w.mean)
        return tg_fail_memory(err, layers->C * sizeof *w.mean, "a vector");
    if (!(status = tg_archive_create(&w.archive, fd, err)) &&
        !(status = tg_archive_put_text(w.archive, "kind", "vectors", err)) &&
        !(status = tg_archive_put_i64(w.archive, "version", TG_VECTORS_VERSION, err)))
        status = put_layers(&w, layers, err);
    status = tg_archive_end(w.archive, status, err);
    free(w.mean);
    return status;
}

/* ---- reading */

static tg_status take_vector(float *x, tg_archive_reader *r, const tg_array *a, size_t C, tg_err *err)
{
    tg_status status;

    if (a->dtype.kind != 'f' || a->dtype.size != sizeof *x || a->ndim != 1 || a->shape[0] != C)
        return tg_fail(err, TG_EDATA, "%s has %zu elements: expected %zu of float32 in one dimension",
                       a->name, a->count, C);
    if ((status = tg_archive_read(r, x, C * sizeof *x, err)))
        return status;
    return tg_check_finite(a->name, x, C, err);
}

/* Take an array of the archive, if it is the wanted one. */
static tg_status take_array(float *x, bool *found, tg_archive_reader *r, const tg_array *a,
                            const char *wanted, size_t C, tg_err *err)
{
    if (*found || strcmp(a->name, wanted) != 0)
        return TG_OK;
    *found = true;
    return take_vector(x, r, a, C, err);
}

tg_status tg_vectors_read(float *x, int fd, size_t layer, size_t C, tg_err *err)
{
    tg_archive_reader *r;
    tg_archive_event event = TG_ARCHIVE_ARRAY;
    tg_array array;
    char wanted[NAME_SIZE];
    bool found = false;
    tg_status status;

    name_of(wanted, layer);
    if ((status = tg_archive_open(&r, fd, err)))
        return status;
    if (!(status = tg_archive_read_start(r, "vectors", TG_VECTORS_VERSION, err)))
        while (!(status = tg_archive_next(r, &array, &event, err)) && event == TG_ARCHIVE_ARRAY &&
               !(status = take_array(x, &found, r, &array, wanted, C, err)))
            continue;
    tg_archive_close(r);
    if (!status && !found)
        status = tg_fail(err, TG_EDATA, "there is no vector of layer %zu", layer);
    return status;
}
