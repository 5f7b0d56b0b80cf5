#include "lib/models/writing.h"

#include <stdlib.h>

#include "lib/base/size.h"

tg_status tg_padded_params_open(tg_padded_params *padded, const tg_model_file *f, tg_err *err)
{
    tg_config all = f->config;
    tg_status status;

    *padded = (tg_padded_params){.f = f};
    all.layer_norm_weight = all.layer_norm_bias = all.linear_bias = true;
    all.head_bias = false;
    if ((status = tg_params_build(&padded->table, &all, err)))
        return status;
    for (size_t i = 0; i < padded->table.n; i++)
        padded->largest = tg_size_max(padded->largest, padded->table.entry[i].count);
    return TG_OK;
}

void tg_padded_params_close(tg_padded_params *padded)
{
    tg_params_free(&padded->table);
    free(padded->buffer.x);
    *padded = (tg_padded_params){0};
}

/* The entry of the model; its table's n if it has none. */
static size_t entry_of(const tg_padded_params *padded, size_t i)
{
    const tg_param *p = &padded->table.entry[i];

    return tg_params_index(&padded->f->table, p->kind, p->layer);
}

tg_status tg_padded_params_get(const float **values, tg_padded_params *padded, size_t i, bool transposed,
                               tg_err *err)
{
    const size_t entry = entry_of(padded, i);
    const tg_param *p = &padded->table.entry[i];
    tg_status status;

    if (entry < padded->f->table.n)
        return tg_model_file_get(values, &padded->buffer, padded->f, entry, transposed, err);
    if ((status = tg_float_buffer_grow(&padded->buffer, p, err)))
        return status;
    for (size_t e = 0; e < p->count; e++)
        padded->buffer.x[e] = (float)p->mean; /* 1 of gains, 0 of biases */
    *values = padded->buffer.x;
    return TG_OK;
}

void tg_padded_params_done(tg_padded_params *padded, size_t i, const tg_write_options *o)
{
    const size_t entry = entry_of(padded, i);

    if (entry < padded->f->table.n)
        tg_model_file_release(padded->f, entry);
    padded->done += padded->table.entry[i].count * sizeof(float);
    if (o->progress)
        o->progress(o->context, padded->done, (uint64_t)padded->table.count * sizeof(float));
}

tg_status tg_write_convert(const void **bytes, uint16_t *buffer, const float *values, size_t n,
                           tg_write_type type, const char *name, tg_err *err)
{
    *bytes = type == TG_WRITE_F32 ? (const void *)values : buffer;
    if (type == TG_WRITE_F16)
        return tg_to_half(buffer, values, n, name, err);
    if (type == TG_WRITE_BF16)
        return tg_to_bf16(buffer, values, n, name, err);
    return TG_OK;
}

tg_status tg_check_head_bias(const tg_model_file *f, const tg_write_options *o, const char *format,
                             tg_notes *notes, tg_err *err)
{
    bool zeros;
    tg_status status;

    if (!f->config.head_bias)
        return TG_OK;
    if ((status = tg_model_file_is_constant(&zeros, f, tg_params_index(&f->table, TG_HEAD_B, 0), 0, err)) ||
        zeros)
        return status;
    if (o->lossy)
        return tg_notes_add(notes, err, "lm_head.bias is left out: %s has no bias of the output head",
                            format);
    return tg_fail(err, TG_EUSAGE,
                   "%s has no bias of the output head, but lm_head.bias is not zero (--lossy leaves it out)",
                   format);
}

static tg_status note_end(size_t token, const char *name, const char *format, tg_notes *notes, tg_err *err)
{
    if (token == 0)
        return TG_OK;
    return tg_notes_add(notes, err, "%s %zu is left out: %s does not have it", name, token - 1, format);
}

tg_status tg_note_ends(const tg_config *c, const char *format, tg_notes *notes, tg_err *err)
{
    const tg_status status = note_end(c->bos_token, "bos_token_id", format, notes, err);

    return status ? status : note_end(c->eos_token, "eos_token_id", format, notes, err);
}
