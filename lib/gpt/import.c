#include "lib/gpt/import.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"

/* ---- the table */

#define HF (1u << TG_IMPORT_HUGGING_FACE)
#define NANOGPT (1u << TG_IMPORT_NANOGPT)
#define BOTH (HF | NANOGPT)

#define IGNORED TG_PARAM_KINDS /* not a parameter */

static const struct row {
    unsigned sources;    /* that have such a tensor */
    const char *pattern; /* its name, with N for the layer's number */
    tg_param_kind kind;
    unsigned transposed; /* sources that keep it as [out,in] */
} known[] = {
    {BOTH, "wte.weight", TG_WTE, 0},
    {BOTH, "wpe.weight", TG_WPE, 0},
    {BOTH, "h.N.ln_1.weight", TG_LN1_W, 0},
    {BOTH, "h.N.ln_1.bias", TG_LN1_B, 0},
    {BOTH, "h.N.attn.c_attn.weight", TG_QKV_W, NANOGPT},
    {BOTH, "h.N.attn.c_attn.bias", TG_QKV_B, 0},
    {BOTH, "h.N.attn.c_proj.weight", TG_ATT_PROJ_W, NANOGPT},
    {BOTH, "h.N.attn.c_proj.bias", TG_ATT_PROJ_B, 0},
    {BOTH, "h.N.attn.bias", IGNORED, 0}, /* the causal mask */
    {HF, "h.N.attn.masked_bias", IGNORED, 0},
    {BOTH, "h.N.ln_2.weight", TG_LN2_W, 0},
    {BOTH, "h.N.ln_2.bias", TG_LN2_B, 0},
    {BOTH, "h.N.mlp.c_fc.weight", TG_FC_W, NANOGPT},
    {BOTH, "h.N.mlp.c_fc.bias", TG_FC_B, 0},
    {BOTH, "h.N.mlp.c_proj.weight", TG_FC_PROJ_W, NANOGPT},
    {BOTH, "h.N.mlp.c_proj.bias", TG_FC_PROJ_B, 0},
    {BOTH, "ln_f.weight", TG_LNF_W, 0},
    {BOTH, "ln_f.bias", TG_LNF_B, 0},
    {BOTH, "lm_head.weight", TG_HEAD_W, 0},
    {BOTH, "lm_head.bias", TG_HEAD_B, 0},
};

static const char *const prefixes[] = {"transformer.", "_orig_mod.", "module."};
static const char *const source_names[TG_IMPORT_SOURCES] = {"Hugging Face's GPT-2", "nanoGPT"};

/* ---- names */

static const char *without_prefixes(const char *name)
{
    size_t i = 0;

    while (i < sizeof prefixes / sizeof prefixes[0]) {
        const size_t n = strlen(prefixes[i]);

        if (strncmp(name, prefixes[i], n) == 0) {
            name += n;
            i = 0;
        } else {
            i++;
        }
    }
    return name;
}

/* A decimal number below 10^5, without leading zeros; advances *at past it. */
static bool take_number(const char **at, size_t *number)
{
    const char *p = *at;
    size_t digits = 0;

    for (*number = 0; p[digits] >= '0' && p[digits] <= '9' && digits < 5; digits++)
        *number = *number * 10 + (size_t)(p[digits] - '0');
    *at += digits;
    return digits == 1 || (digits > 1 && p[0] != '0');
}

static bool matches(const char *pattern, const char *name, size_t *layer)
{
    *layer = 0;
    for (; *pattern != '\0'; pattern++) {
        if (*pattern == 'N') {
            if (!take_number(&name, layer))
                return false;
        } else if (*pattern != *name++) {
            return false;
        }
    }
    return *name == '\0';
}

static const struct row *find_row(tg_import_source source, const char *name, size_t *layer)
{
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].sources >> source & 1 && matches(known[i].pattern, name, layer))
            return &known[i];
    return NULL;
}

/* The parameter of that kind and layer, or NULL. */
static const tg_param *find_param(const tg_params *table, tg_param_kind kind, size_t layer)
{
    const size_t i = tg_params_index(table, kind, layer);
    const tg_param *p = i < table->n ? &table->entry[i] : NULL;

    return p && p->kind == kind && p->layer == layer ? p : NULL;
}

tg_status tg_import_find(tg_import_target *target, const tg_params *table, tg_import_source source,
                         const char *name, tg_err *err)
{
    size_t layer;
    const struct row *row = find_row(source, without_prefixes(name), &layer);

    *target = (tg_import_target){0};
    if (!row)
        return tg_fail(err, TG_EDATA, "%s is not a tensor of %s", name, source_names[source]);
    if (row->kind == IGNORED)
        return TG_OK;
    target->transposed = row->transposed >> source & 1;
    target->param = find_param(table, row->kind, layer);
    if (!target->param && row->kind == TG_HEAD_W) /* tied */
        target->param = find_param(table, TG_WTE, 0);
    if (!target->param)
        return tg_fail(err, TG_EDATA, "%s is not a parameter of this config", name);
    return TG_OK;
}

/* ---- values */

#define TILE ((size_t)32) /* rows and columns: both tiles fit in the first-level cache */

static bool can_import(tg_dtype dtype)
{
    return tg_dtype_equal(dtype, TG_F32) || tg_dtype_equal(dtype, TG_F16) || tg_dtype_equal(dtype, TG_BF16);
}

/* Convert values at .. at + n - 1 of `in` to out [n]. */
static void load(float *out, const unsigned char *in, tg_dtype dtype, size_t at, size_t n)
{
    uint16_t bits;

    if (dtype.size == 4) {
        memcpy(out, in + 4 * at, 4 * n);
        return;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(&bits, in + 2 * (at + i), sizeof bits);
        out[i] = dtype.kind == 'B' ? tg_float_from_bf16(bits) : tg_float_from_half(bits);
    }
}

/* Columns c0 .. c0 + TILE - 1 of out, which are rows of in. */
static void copy_transposed(float *out, const unsigned char *in, tg_dtype dtype, size_t rows, size_t columns,
                            size_t c0)
{
    const size_t c1 = tg_size_min(columns, c0 + TILE);
    float run[TILE];

    for (size_t r0 = 0; r0 < rows; r0 += TILE) {
        const size_t n = tg_size_min(TILE, rows - r0);

        for (size_t c = c0; c < c1; c++) {
            load(run, in, dtype, c * rows + r0, n);
            for (size_t r = 0; r < n; r++)
                out[(r0 + r) * columns + c] = run[r];
        }
    }
}

void tg_import_copy(float *out, const void *in, tg_dtype dtype, size_t rows, size_t columns, bool transposed)
{
    if (!transposed) {
#pragma omp parallel for schedule(static)
        for (size_t r = 0; r < rows; r++)
            load(out + r * columns, in, dtype, r * columns, columns);
        return;
    }
#pragma omp parallel for schedule(static)
    for (size_t c = 0; c < columns; c += TILE)
        copy_transposed(out, in, dtype, rows, columns, c);
}

/* ---- tensors */

/* Memory for one tensor. */
struct buffers {
    void *raw;     /* its bytes, unless they are mapped */
    float *second; /* its values, if the parameter already has some to compare with */
};

static tg_status read_tensor(struct buffers *b, tg_model *m, tg_tensors *t, const tg_array *a,
                             const tg_import_target *target, tg_err *err)
{
    const tg_param *p = target->param;
    const float *first = m->weight[p - m->table.entry];
    const void *raw = a->data;
    float *where;
    tg_status status;

    if (first)
        where = b->second = malloc(p->count * sizeof *where);
    else if ((status = tg_model_place(m, p, &where, err)))
        return status;
    if (!raw)
        raw = b->raw = malloc(a->bytes);
    if (!where || !raw)
        return tg_fail_memory(err, a->bytes, a->name);
    if (!a->data && (status = tg_tensors_read(t, b->raw, a->bytes, err)))
        return status;
    tg_import_copy(where, raw, a->dtype, p->shape[0], p->shape[1], target->transposed);
    if (first && memcmp(first, where, p->count * sizeof *where) != 0)
        return tg_fail(err, TG_EDATA, "%s differs from the %s before it", a->name, p->name);
    return tg_check_finite(a->name, where, p->count, err);
}

static tg_status import_tensor(tg_model *m, tg_tensors *t, const tg_array *a, tg_import_source source,
                               tg_err *err)
{
    struct buffers b = {0};
    tg_import_target target;
    char type[TG_ARRAY_TEXT_MAX];
    tg_status status = tg_import_find(&target, &m->table, source, a->name, err);

    if (status || !target.param)
        return status;
    if ((status = tg_model_check_shape(target.param, a, target.transposed, err)))
        return status;
    if (!can_import(a->dtype))
        return tg_fail(err, TG_EDATA, "%s has type %s, expected f4, f2 or bf16", a->name,
                       tg_dtype_text(type, a->dtype));
    status = read_tensor(&b, m, t, a, &target, err);
    free(b.raw);
    free(b.second);
    return status;
}

tg_status tg_import_tensors(tg_model *m, tg_tensors *t, tg_import_source source, tg_err *err)
{
    tg_array a;
    bool more;
    tg_status status;

    while (!(status = tg_tensors_next(t, &a, &more, err)) && more)
        if ((status = import_tensor(m, t, &a, source, err)))
            return status;
    return status;
}
