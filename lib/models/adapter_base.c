#include "lib/models/adapter_base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/crc.h"
#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/models/model_file.h"

#define APART 0.5 /* the distance, relative to their size, of embeddings of two models */

static uint32_t add_rounded(uint32_t crc, const float *x, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const tg_bf16 rounded = tg_bf16_from_float(x[i]);

        crc = tg_crc32(crc, &rounded, sizeof rounded);
    }
    return crc;
}

static tg_status add_vectors(tg_adapter_base *base, const tg_model_file *f, tg_err *err)
{
    tg_float_buffer buffer = {0};
    tg_status status = TG_OK;

    for (size_t i = 0; i < f->table.n && !status; i++) {
        const tg_param *p = &f->table.entry[i];
        const float *x;

        if (p->ndim == 1 && !(status = tg_model_file_get(&x, &buffer, f, i, false, err)))
            base->crc = add_rounded(base->crc, x, p->count);
    }
    free(buffer.x);
    return status;
}

static tg_status add_embeddings(tg_adapter_base *base, const tg_model_file *f, tg_err *err)
{
    const size_t i = tg_params_index(&f->table, TG_WTE, 0), V = f->config.vocab_size, C = f->config.n_embd;
    float *row;
    tg_status status = TG_OK;

    if (!tg_model_file_has_rows(f, i))
        return TG_OK;
    if (!(row = malloc(C * sizeof *row)))
        return tg_fail_memory(err, C * sizeof *row, "a row of the embedding");
    base->columns = tg_size_min(C, TG_BASE_COLUMNS);
    for (size_t id = 1; id < V && base->rows < TG_BASE_ROWS && !status; id *= 2)
        if (!(status = tg_model_file_read_row(row, f, i, id, err)))
            memcpy(base->sample + base->rows++ * base->columns, row, base->columns * sizeof *row);
    free(row);
    return status;
}

tg_status tg_adapter_base_of(tg_adapter_base *base, const tg_model_file *f, tg_err *err)
{
    tg_status status;

    *base = (tg_adapter_base){0};
    status = add_vectors(base, f, err);
    return status ? status : add_embeddings(base, f, err);
}

/* Of the embeddings that both have, relative to their size. */
static double distance(const tg_adapter_base *a, const tg_adapter_base *b)
{
    const size_t n = a->columns == b->columns ? tg_size_min(a->rows, b->rows) * a->columns : 0;
    double size = 0, apart = 0;

    for (size_t i = 0; i < n; i++) {
        const double x = (double)a->sample[i], d = (double)b->sample[i] - x;

        size += x * x;
        apart += d * d;
    }
    return size > 0 ? sqrt(apart / size) : 0;
}

tg_status tg_adapter_base_check(const tg_adapter_base *base, const tg_adapter_base *here, tg_err *err)
{
    const double apart = distance(base, here);

    if (base->crc != here->crc)
        return tg_fail(err, TG_EDATA,
                       "an adapter of another model: the CRC-32 of its norms is %08x, here %08x",
                       (unsigned)base->crc, (unsigned)here->crc);
    if (apart <= APART)
        return TG_OK;
    return tg_fail(
        err, TG_EDATA,
        "an adapter of another model, or of one with another vocabulary: the embeddings here differ "
        "from its by %.2f of their size, more than %g",
        apart, APART);
}
