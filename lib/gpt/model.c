#include "lib/gpt/model.h"

#include <stdlib.h>
#include <string.h>

const float *tg_model_weight(const tg_model *m, tg_param_kind kind, size_t layer)
{
    size_t i = tg_params_index(&m->table, kind, layer);

    return i == m->table.n ? NULL : m->weight[i];
}

/* Memory for all parameters.  Its zeros matter: the padding takes part in whole-buffer
 * passes. */
static tg_status take_memory(tg_model *m, tg_err *err)
{
    tg_status status;

    (void)tg_arena_take(&m->memory, m->table.floats, sizeof(float));
    if ((status = tg_arena_alloc(&m->memory, err)))
        return status;
    m->params = tg_arena_take(&m->memory, m->table.floats, sizeof(float));
    return TG_OK;
}

/* The table, with no tensor in it yet. */
static tg_status set_up(tg_model *m, tg_err *err)
{
    tg_status status = tg_params_build(&m->table, &m->config, err);

    if (status)
        return status;
    m->weight = calloc(m->table.n, sizeof *m->weight);
    if (!m->weight)
        return tg_fail_memory(err, m->table.n * sizeof *m->weight, "the table of weights");
    return TG_OK;
}

void tg_model_free(tg_model *m)
{
    tg_arena_free(&m->memory);
    free(m->weight);
    tg_params_free(&m->table);
    tg_archive_close(m->source);
    *m = (tg_model){0};
}

static tg_status check_fit(const tg_model *m, tg_err *err)
{
    if (m->config.vocab_size >= m->tokenizer.vocab_size)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "vocab_size %zu is below the %zu tokens of the tokenizer (%s)",
                   m->config.vocab_size, m->tokenizer.vocab_size, m->tokenizer.kind);
}

tg_status tg_model_create(tg_model *m, const tg_config *config, uint64_t seed, tg_err *err)
{
    tg_status status;

    *m = (tg_model){.config = *config, .tokenizer = tg_tokenizer_bytes()};
    if ((status = tg_config_check(config, err)) || (status = check_fit(m, err)) ||
        (status = set_up(m, err)) || (status = take_memory(m, err)))
        goto done;
    for (size_t i = 0; i < m->table.n; i++)
        m->weight[i] = m->params + m->table.entry[i].offset;
    tg_params_init(&m->table, m->params, seed);

done:
    if (status)
        tg_model_free(m);
    return status;
}

tg_status tg_model_set_heads(tg_model *m, size_t heads, tg_err *err)
{
    if (tg_config_check_heads(heads, m->config.n_embd, TG_EUSAGE, err))
        return TG_EUSAGE;
    m->config.n_head = heads;
    return TG_OK;
}

/* ---- the archive */

tg_status tg_model_put_header(const tg_model *m, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if ((status = tg_archive_put_text(w, "kind", "model", err)) ||
        (status = tg_archive_put_i64(w, "version", TG_MODEL_VERSION, err)) ||
        (status = tg_config_put(&m->config, w, err)) || (status = tg_tokenizer_put(&m->tokenizer, w, err)))
        return status;
    if (m->probe_count > 0)
        return tg_archive_put(w, "probe/tokens", (tg_dtype){'i', 4}, 1, &m->probe_count, m->probe, err);
    return TG_OK;
}

tg_status tg_model_put_tensors(const tg_model *m, tg_archive_writer *w, tg_err *err)
{
    for (size_t i = 0; i < m->table.n; i++) {
        const tg_param *p = &m->table.entry[i];
        tg_status status = tg_archive_put(w, p->name, TG_F32, p->ndim, p->shape, m->weight[i], err);

        if (status)
            return status;
    }
    return TG_OK;
}

tg_status tg_model_write(const tg_model *m, int fd, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status = tg_archive_create(&w, fd, 0, err);

    if (status)
        return status;
    if (!(status = tg_model_put_header(m, w, err)) && !(status = tg_model_put_tensors(m, w, err)))
        status = tg_archive_finish(w, err);
    tg_archive_abandon(w);
    return status;
}

/* ---- reading */

/* What has been read so far. */
struct load {
    tg_model *m;
    tg_archive_reader *r;
    bool flat;
    bool table_built; /* the head is complete: tensors may come */
    size_t arrays;    /* seen before this one */
    uint64_t config_seen;
    tg_model_extra extra;
    void *context;
};

static tg_status take_probe(struct load *load, const tg_array *a, tg_err *err)
{
    tg_model *m = load->m;
    tg_status status;

    if (a->ndim != 1 || a->count < 1 || a->count > TG_PROBE_MAX || a->dtype.kind != 'i' ||
        a->dtype.size != sizeof(int32_t))
        return tg_fail(err, TG_EDATA, "probe/tokens must be 1 to %d ids of type <i4", TG_PROBE_MAX);
    if ((status = tg_archive_read(load->r, m->probe, a->bytes, err)))
        return status;
    m->probe_count = a->count;
    return TG_OK;
}

/* State that a reader of the bare model may pass over. */
static bool is_extra(const char *name)
{
    return strncmp(name, "train/", 6) == 0 || strncmp(name, "opt/", 4) == 0;
}

/* Weights that cannot be in the input are refused before there is memory for them. */
static tg_status check_claim(const struct load *load, tg_err *err)
{
    const uint64_t bytes = (uint64_t)load->m->table.count * sizeof(float);
    const uint64_t most = tg_archive_max_bytes(load->r);

    if (bytes <= most)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "the config asks for %llu bytes of weights: the file cannot hold more than %llu",
                   (unsigned long long)bytes, (unsigned long long)most);
}

/* The settings are complete: build the table that tensors are checked against. */
static tg_status finish_header(struct load *load, tg_err *err)
{
    tg_model *m = load->m;
    tg_status status;

    if ((status = tg_config_complete(&m->config, load->config_seen, err)) ||
        (status = tg_tokenizer_check(&m->tokenizer, err)) || (status = check_fit(m, err)) ||
        (status = set_up(m, err)) || (status = check_claim(load, err)))
        return status;
    for (size_t i = 0; i < m->probe_count; i++)
        if (m->probe[i] < 0 || (size_t)m->probe[i] >= m->tokenizer.vocab_size)
            return tg_fail(err, TG_EDATA, "probe/tokens[%zu] is %d, the vocabulary has %zu", i,
                           (int)m->probe[i], m->tokenizer.vocab_size);
    load->table_built = true;
    return TG_OK;
}

static tg_status check_shape(const tg_param *p, const tg_array *a, tg_err *err)
{
    bool same = a->ndim == p->ndim;

    for (size_t i = 0; same && i < p->ndim; i++)
        same = a->shape[i] == p->shape[i];
    if (!same && p->ndim == 2)
        return tg_fail(err, TG_EDATA, "%s has %zu dimensions and %zu elements, the config asks for [%zu,%zu]",
                       p->name, a->ndim, a->count, p->shape[0], p->shape[1]);
    if (!same)
        return tg_fail(err, TG_EDATA, "%s has %zu dimensions and %zu elements, the config asks for [%zu]",
                       p->name, a->ndim, a->count, p->shape[0]);
    if (a->dtype.kind != 'f' || a->dtype.size != sizeof(float))
        return tg_fail(err, TG_EDATA, "%s has type %c%zu, a model holds float32 (f4)", p->name, a->dtype.kind,
                       a->dtype.size);
    return TG_OK;
}

static tg_status take_tensor(struct load *load, const tg_param *p, const tg_array *a, tg_err *err)
{
    tg_model *m = load->m;
    const float **weight = &m->weight[p - m->table.entry];
    tg_status status = check_shape(p, a, err);

    if (status)
        return status;
    if (!load->flat && a->data && (uintptr_t)a->data % TG_ALIGN == 0) {
        *weight = a->data;
    } else {
        if (!m->params && (status = take_memory(m, err)))
            return status;
        if ((status = tg_archive_read(load->r, m->params + p->offset, a->bytes, err)))
            return status;
        *weight = m->params + p->offset;
    }
    return tg_params_check_finite(p->name, *weight, p->count, err);
}

/* An array behind the head: a tensor, or the caller's. */
static tg_status take_body(struct load *load, const tg_array *a, tg_err *err)
{
    const tg_param *p = tg_params_find(&load->m->table, a->name);
    bool taken = false;
    tg_status status;

    if (p)
        return take_tensor(load, p, a, err);
    if (load->extra && (status = load->extra(load->context, load->r, a, &taken, load->m, err)))
        return status;
    if (taken || (!load->extra && is_extra(a->name)))
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s is not an array of this model", a->name);
}

static tg_status take_array(struct load *load, const tg_array *a, tg_err *err)
{
    tg_model *m = load->m;
    bool taken = false;
    tg_status status;

    if (load->arrays == 0)
        return tg_archive_expect_kind(load->r, a, "model", err);
    if (load->arrays == 1)
        return tg_archive_expect_version(load->r, a, TG_MODEL_VERSION, err);
    if (load->table_built)
        return take_body(load, a, err);
    if (strcmp(a->name, "probe/tokens") == 0)
        return take_probe(load, a, err);
    if ((status = tg_config_take(&m->config, &load->config_seen, load->r, a, &taken, err)) || taken)
        return status;
    if ((status = tg_tokenizer_take(&m->tokenizer, load->r, a, &taken, err)) || taken)
        return status;
    if ((status = finish_header(load, err)))
        return status;
    return take_body(load, a, err);
}

static tg_status check_complete(const struct load *load, tg_err *err)
{
    const tg_model *m = load->m;

    if (!load->table_built)
        return tg_fail(err, TG_EDATA, "the archive holds no tensors");
    for (size_t i = 0; i < m->table.n; i++)
        if (!m->weight[i])
            return tg_fail(err, TG_EDATA, "%s is missing", m->table.entry[i].name);
    return TG_OK;
}

static tg_status read_all(struct load *load, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    tg_status status;

    while (!(status = tg_archive_next(load->r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY)
        if ((status = take_array(load, &a, err)))
            return status;
        else
            load->arrays++;
    if (status || (status = check_complete(load, err)) ||
        (status = tg_archive_next(load->r, &a, &event, err)))
        return status;
    if (event != TG_ARCHIVE_EOF)
        return tg_fail(err, TG_EDATA, "another archive follows the model");
    return TG_OK;
}

tg_status tg_model_read(tg_model *m, int fd, bool flat, tg_model_extra extra, void *context, tg_err *err)
{
    struct load load = {.m = m, .flat = flat, .extra = extra, .context = context};
    tg_status status;

    *m = (tg_model){0};
    if ((status = tg_archive_open(&m->source, fd, err)))
        return status;
    load.r = m->source;
    status = read_all(&load, err);
    if (status) {
        tg_model_free(m);
    } else if (flat) {
        tg_archive_close(m->source);
        m->source = NULL;
    }
    return status;
}
