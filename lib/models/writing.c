#include "lib/models/writing.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/base/convert.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"

/* ---- parameters */

tg_status tg_padded_params_open(tg_padded_params *padded, const tg_model_file *f, tg_err *err)
{
    tg_config all = f->config;

    all.layer_norm_weight = all.layer_norm_bias = all.linear_bias = true;
    all.head_bias = false;
    return tg_padded_params_open_as(padded, f, &all, err);
}

tg_status tg_padded_params_open_as(tg_padded_params *padded, const tg_model_file *f, const tg_config *all,
                                   tg_err *err)
{
    tg_params *const table = &padded->file.table;
    tg_status status;

    *padded = (tg_padded_params){.file = *f};
    padded->file.values = NULL;
    if ((status = tg_params_build(table, all, err)))
        return status;
    if (!(padded->file.values = calloc(table->n, sizeof *f->values)))
        return tg_fail_memory(err, table->n * sizeof *f->values, "the table of values");
    for (size_t i = 0; i < table->n; i++) {
        const tg_param *p = &table->entry[i];
        const size_t entry = tg_params_index(&f->table, p->kind, p->layer);

        padded->file.values[i] = entry < f->table.n
                                     ? f->values[entry]
                                     : (tg_values){.fill = (float)p->mean}; /* of gains 1, else 0 */
        padded->largest = tg_size_max(padded->largest, p->count);
    }
    return TG_OK;
}

void tg_padded_params_close(tg_padded_params *padded)
{
    tg_params_free(&padded->file.table);
    free(padded->file.values);
    free(padded->buffer.x);
    *padded = (tg_padded_params){0};
}

void tg_padded_params_done(tg_padded_params *padded, size_t i, const tg_write_options *o)
{
    const tg_params *table = &padded->file.table;

    tg_model_file_release(&padded->file, i);
    padded->done += table->entry[i].count * sizeof(float);
    if (o->progress)
        o->progress(o->context, padded->done, (uint64_t)table->count * sizeof(float));
}

/* ---- types */

/* A type of 16 bits. */
struct type {
    const char *name, *max;
    uint16_t exponent; /* its bits: all ones in infinities and NaNs */
    bool (*round)(void *out, const float *x, size_t n);
};

struct rounding {
    const struct type *type;
    uint16_t *out;
    const float *x;
    atomic_bool bad; /* some result is not finite */
};

static void round_some(void *context, size_t begin, size_t end)
{
    struct rounding *r = context;

    if (!r->type->round(r->out + begin, r->x + begin, end - begin))
        r->bad = true;
}

tg_status tg_write_convert(const void **bytes, uint16_t *buffer, const float *values, size_t n,
                           tg_write_type type, const char *name, tg_err *err)
{
    static const struct type types[TG_WRITE_TYPES] = {
        [TG_WRITE_F16] = {"f16", "65504", 0x7C00, tg_round_to_half},
        [TG_WRITE_BF16] = {"bf16", "3.39e38", 0x7F80, tg_round_to_bf16},
    };
    struct rounding r = {.type = &types[type], .out = buffer, .x = values};
    size_t i = 0;

    *bytes = type == TG_WRITE_F32 ? (const void *)values : buffer;
    if (type != TG_WRITE_F32)
        tg_threads_run(n, TG_THREADS_ELEMENTS, round_some, &r);
    if (!r.bad)
        return TG_OK;
    while ((buffer[i] & r.type->exponent) != r.type->exponent)
        i++;
    return tg_fail(err, TG_EDATA, "%s[%zu] is %g: %s holds at most %s", name, i, (double)values[i],
                   r.type->name, r.type->max);
}

/* ---- what a format does not have */

tg_status tg_lose(tg_notes *notes, bool lossy, tg_err *err, const char *program, const char *what)
{
    if (lossy)
        return tg_notes_add(notes, err, "%s differs: %s", program, what);
    return tg_fail(err, TG_EUSAGE, "%s differs: %s (--lossy accepts that)", program, what);
}

bool tg_other_activation(char what[TG_OTHER_ACTIVATION_MAX], const tg_config *c)
{
    snprintf(what, TG_OTHER_ACTIVATION_MAX, "its activation is %s, the model's %s",
             tg_activation_text(TG_GELU_TANH), tg_activation_text(c->activation));
    return c->activation != TG_GELU_TANH;
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

tg_status tg_note_ends(const tg_config *c, const char *format, tg_notes *notes, tg_err *err)
{
    static const char *const names[] = {"bos_token_id", "eos_token_id"};
    const size_t token[] = {c->bos_token, c->eos_token};
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < 2; i++)
        if (token[i] > 0)
            status = tg_notes_add(notes, err, "%s %zu is left out: %s does not have it", names[i],
                                  token[i] - 1, format);
    if (!status && c->add_bos)
        status = tg_notes_add(notes, err, "add_bos is left out: %s does not have it", format);
    return status;
}
