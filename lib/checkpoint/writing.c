#include "lib/checkpoint/writing.h"

#include <stdlib.h>

#include "lib/base/size.h"

tg_status tg_full_open(tg_full *full, const tg_model_file *f, tg_err *err)
{
    tg_config all = f->config;
    tg_status status;

    *full = (tg_full){.f = f};
    all.layer_norm_weight = all.layer_norm_bias = all.linear_bias = true;
    all.head_bias = false;
    if ((status = tg_params_build(&full->table, &all, err)))
        return status;
    for (size_t i = 0; i < full->table.n; i++)
        full->largest = tg_size_max(full->largest, full->table.entry[i].count);
    return TG_OK;
}

void tg_full_close(tg_full *full)
{
    tg_params_free(&full->table);
    free(full->buffer.x);
    *full = (tg_full){0};
}

/* The entry of the model; its table's n if it has none. */
static size_t entry_of(const tg_full *full, size_t i)
{
    const tg_param *p = &full->table.entry[i];

    return tg_params_index(&full->f->table, p->kind, p->layer);
}

tg_status tg_full_get(const float **values, tg_full *full, size_t i, bool transposed, tg_err *err)
{
    const size_t entry = entry_of(full, i);
    const tg_param *p = &full->table.entry[i];
    tg_status status;

    if (entry < full->f->table.n)
        return tg_model_file_get(values, &full->buffer, full->f, entry, transposed, err);
    if ((status = tg_float_buffer_grow(&full->buffer, p, err)))
        return status;
    for (size_t e = 0; e < p->count; e++)
        full->buffer.x[e] = (float)p->mean; /* 1 of gains, 0 of biases */
    *values = full->buffer.x;
    return TG_OK;
}

void tg_full_done(tg_full *full, size_t i, const tg_write_options *o)
{
    const size_t entry = entry_of(full, i);

    if (entry < full->f->table.n)
        tg_model_file_release(full->f, entry);
    full->done += full->table.entry[i].count * sizeof(float);
    if (o->progress)
        o->progress(o->context, full->done, (uint64_t)full->table.count * sizeof(float));
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
