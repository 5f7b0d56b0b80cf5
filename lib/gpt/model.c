#include "lib/gpt/model.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"
#include "lib/nn/tensor.h"
#include "lib/tokens/tokenizer_read.h"

#define VOCAB_BLOCK 64 /* a new model's vocab_size is a multiple of this */

/* Place all parameters.  The padding must be zero, as the arena's memory initially is,
 * because operations on the whole buffer include it. */
static void place_parameters(tg_arena *arena, void *context)
{
    tg_model *m = context;

    m->params = tg_arena_take(arena, m->table.floats, sizeof *m->params);
}

/* Build the parameter table, with no weights yet. */
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
    if (m->source)
        m->close_source(m->source);
    tg_tokenizer_free(m->tokenizer);
    *m = (tg_model){0};
}

size_t tg_model_vocab_size(const tg_tokenizer *tokenizer)
{
    return tg_round_up(tg_tokenizer_vocab_size(tokenizer), VOCAB_BLOCK);
}

tg_status tg_model_check_vocab(const tg_config *config, const tg_tokenizer *tokenizer, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(tokenizer);

    if (config->vocab_size >= ids)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "vocab_size %zu is below the %zu ids of tokenizer \"%s\"",
                   config->vocab_size, ids, tg_tokenizer_kind_name(tokenizer));
}

tg_status tg_model_begin(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer, tg_err *err)
{
    tg_status status;

    *m = (tg_model){.config = *config, .tokenizer = tg_tokenizer_ref(tokenizer)};
    if ((status = tg_config_check(config, err)) || (status = tg_model_check_vocab(config, tokenizer, err)) ||
        (status = set_up(m, err)))
        tg_model_free(m);
    return status;
}

tg_status tg_model_place(tg_model *m, const tg_param *p, float **where, tg_err *err)
{
    tg_status status = m->params ? TG_OK : tg_arena_build(&m->memory, place_parameters, m, err);

    if (status)
        return status;
    *where = m->params + p->offset;
    m->weight[p - m->table.entry] = *where;
    return TG_OK;
}

tg_status tg_model_create(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer, uint64_t seed,
                          tg_err *err)
{
    return tg_model_create_watched(m, config, tokenizer, seed, NULL, err);
}

tg_status tg_model_create_watched(tg_model *m, const tg_config *config, const tg_tokenizer *tokenizer,
                                  uint64_t seed, const tg_watch *watch, tg_err *err)
{
    float *where;
    tg_status status = tg_model_begin(m, config, tokenizer, err);

    if (status)
        return status;
    for (size_t i = 0; i < m->table.n && !status; i++)
        status = tg_model_place(m, &m->table.entry[i], &where, err);
    if (status)
        tg_model_free(m);
    else
        tg_params_init(&m->table, m->params, seed, watch);
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
        (status = tg_config_put(&m->config, w, err)) || (status = tg_tokenizer_put(m->tokenizer, w, err)))
        return status;
    if (m->probe_count > 0)
        return tg_archive_put(w, "probe/tokens", TG_I32, 1, &m->probe_count, m->probe, err);
    return TG_OK;
}

tg_status tg_model_put_tensors(const tg_model *m, tg_archive_writer *w, const tg_watch *watch, tg_err *err)
{
    size_t done = 0;

    for (size_t i = 0; i < m->table.n; i++) {
        const tg_param *p = &m->table.entry[i];
        tg_status status = tg_archive_put(w, p->name, TG_F32, p->ndim, p->shape, m->weight[i], err);

        if (status)
            return status;
        done += p->count;
        (void)tg_watch_report(watch, (double)done / (double)m->table.count);
    }
    return TG_OK;
}

tg_status tg_model_write(const tg_model *m, int fd, tg_err *err)
{
    return tg_model_write_watched(m, fd, NULL, err);
}

tg_status tg_model_write_watched(const tg_model *m, int fd, const tg_watch *watch, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status = tg_archive_create(&w, fd, err);

    if (status)
        return status;
    if (!(status = tg_model_put_header(m, w, err)) && !(status = tg_model_put_tensors(m, w, watch, err)))
        status = tg_archive_finish(w, err);
    tg_archive_abandon(w);
    return status;
}

/* ---- reading: the header's arrays, then tensors and others in any order */

/* What has been read so far. */
struct load {
    tg_model *m;
    tg_archive_reader *r; /* m->source */
    bool flat;
    bool lean; /* what has been checked leaves memory */
    uint64_t config_seen;
    tg_tokenizer_draft tokenizer;
    tg_model_extra extra;
    void *context;
};

static tg_status take_probe(struct load *load, const tg_array *a, tg_err *err)
{
    tg_model *m = load->m;
    tg_status status;

    if (a->ndim != 1 || a->count < 1 || a->count > TG_PROBE_MAX || a->dtype.kind != 'i' ||
        a->dtype.size != sizeof(int32_t))
        return tg_fail(err, TG_EDATA,
                       "probe/tokens has %zu elements of type %c%zu, expected 1 to %d of type i4", a->count,
                       a->dtype.kind, a->dtype.size, TG_PROBE_MAX);
    if ((status = tg_archive_read(load->r, m->probe, a->bytes, err)))
        return status;
    m->probe_count = a->count;
    return TG_OK;
}

/* Read one of the header's arrays.  *taken = false: it is not one, so the header has ended. */
static tg_status take_header(struct load *load, const tg_array *a, bool *taken, tg_err *err)
{
    tg_model *m = load->m;
    tg_status status;

    *taken = strcmp(a->name, "probe/tokens") == 0;
    if (*taken)
        return take_probe(load, a, err);
    if ((status = tg_config_take(&m->config, &load->config_seen, load->r, a, taken, err)) || *taken)
        return status;
    return tg_tokenizer_take(&load->tokenizer, load->r, a, taken, err);
}

/* The next array; *more = false at the end of the archive, which is also the end of the input. */
static tg_status next_array(struct load *load, tg_array *a, bool *more, tg_err *err)
{
    tg_archive_event event = TG_ARCHIVE_EOF;
    tg_status status = tg_archive_next(load->r, a, &event, err);

    if (load->lean)
        tg_archive_forget(load->r);
    *more = event == TG_ARCHIVE_ARRAY;
    if (status || *more)
        return status;
    if ((status = tg_archive_next(load->r, a, &event, err)))
        return status;
    return event == TG_ARCHIVE_EOF ? TG_OK : tg_fail(err, TG_EDATA, "another archive follows the first");
}

/* Read kind, version and the header.  *a is the first array after it, unless *more is false. */
static tg_status read_header(struct load *load, tg_array *a, bool *more, tg_err *err)
{
    bool taken = true;
    tg_status status;

    if ((status = next_array(load, a, more, err)) ||
        (status = tg_archive_expect_kind(load->r, a, "model", err)) ||
        (status = next_array(load, a, more, err)))
        return status;
    if (*more && (status = tg_archive_expect_version(load->r, a, TG_MODEL_VERSION, err)))
        return status;
    while (*more && taken)
        if ((status = next_array(load, a, more, err)) ||
            (*more && (status = take_header(load, a, &taken, err))))
            return status;
    return *more ? TG_OK : tg_fail(err, TG_EDATA, "the archive holds no tensors");
}

/* Weights that cannot be in the file are refused before memory is allocated for them. */
static tg_status check_claim(const struct load *load, tg_err *err)
{
    const uint64_t bytes = (uint64_t)load->m->table.count * sizeof(float);
    const uint64_t max = tg_archive_max_bytes(load->r);

    if (bytes <= max)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "the config needs %llu bytes of weights, the file holds at most %llu",
                   (unsigned long long)bytes, (unsigned long long)max);
}

/* The header is complete: build the table that tensors are checked against. */
static tg_status finish_header(struct load *load, tg_err *err)
{
    tg_model *m = load->m;
    size_t ids;
    tg_status status;

    if ((status = tg_config_complete(&m->config, load->config_seen, err)) ||
        (status = tg_tokenizer_complete(&m->tokenizer, &load->tokenizer, err)) ||
        (status = tg_model_check_vocab(&m->config, m->tokenizer, err)) || (status = set_up(m, err)) ||
        (status = check_claim(load, err)))
        return status;
    ids = tg_tokenizer_vocab_size(m->tokenizer);
    for (size_t i = 0; i < m->probe_count; i++)
        if (m->probe[i] < 0 || (size_t)m->probe[i] >= ids)
            return tg_fail(err, TG_EDATA, "probe/tokens[%zu] is %d: the vocabulary has %zu ids", i,
                           (int)m->probe[i], ids);
    return TG_OK;
}

tg_status tg_model_check_shape(const tg_param *p, const tg_array *a, bool transposed, tg_err *err)
{
    const size_t shape[2] = {p->shape[transposed], p->shape[!transposed]};
    char got[TG_TENSOR_TEXT_MAX], want[TG_TENSOR_TEXT_MAX];
    bool same = a->ndim == p->ndim;

    for (size_t i = 0; same && i < p->ndim; i++)
        same = a->shape[i] == shape[i];
    if (same)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has shape %s, the config asks for %s", a->name,
                   tg_tensor_text(got, a->shape, a->ndim), tg_tensor_text(want, shape, p->ndim));
}

static tg_status take_tensor(struct load *load, const tg_param *p, const tg_array *a, tg_err *err)
{
    tg_model *m = load->m;
    const float *values = a->data;
    float *where;
    tg_status status = tg_model_check_shape(p, a, false, err);

    if (status)
        return status;
    if (!tg_dtype_equal(a->dtype, TG_F32))
        return tg_fail(err, TG_EDATA, "%s has type %c%zu, expected f4", a->name, a->dtype.kind,
                       a->dtype.size);
    if (!load->flat && values && (uintptr_t)values % TG_ALIGN == 0) {
        m->weight[p - m->table.entry] = values;
    } else {
        if ((status = tg_model_place(m, p, &where, err)) ||
            (status = tg_archive_read(load->r, where, a->bytes, err)))
            return status;
        values = where;
    }
    return tg_check_finite(p->name, values, p->count, err);
}

/* State that a reader of the bare model may skip. */
static bool is_extra(const char *name)
{
    return strncmp(name, "train/", 6) == 0 || strncmp(name, "opt/", 4) == 0;
}

/* An array after the header: a tensor, or the caller's. */
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

tg_status tg_model_check_complete(const tg_model *m, tg_err *err)
{
    for (size_t i = 0; i < m->table.n; i++)
        if (!m->weight[i])
            return tg_fail(err, TG_EDATA, "%s is missing", m->table.entry[i].name);
    return TG_OK;
}

static tg_status read_all(struct load *load, tg_err *err)
{
    tg_array a;
    bool more;
    tg_status status;

    if ((status = read_header(load, &a, &more, err)) || (status = finish_header(load, err)))
        return status;
    while (more)
        if ((status = take_body(load, &a, err)) || (status = next_array(load, &a, &more, err)))
            return status;
    return tg_model_check_complete(load->m, err);
}

static void close_archive(void *reader)
{
    tg_archive_close(reader);
}

/* The rest of a read, after the archive has been opened. */
static tg_status finish_read(struct load *load, tg_err *err)
{
    tg_model *m = load->m;
    tg_status status;

    m->source = load->r;
    m->close_source = close_archive;
    status = read_all(load, err);
    tg_tokenizer_draft_free(&load->tokenizer);
    if (status) {
        tg_model_free(m);
    } else if (load->flat) {
        m->close_source(m->source);
        m->source = NULL;
    }
    return status;
}

tg_status tg_model_read(tg_model *m, int fd, bool flat, tg_model_extra extra, void *context, tg_err *err)
{
    struct load load = {.m = m, .flat = flat, .extra = extra, .context = context};
    tg_status status = tg_archive_open(&load.r, fd, err);

    *m = (tg_model){0};
    return status ? status : finish_read(&load, err);
}

tg_status tg_model_read_source(tg_model *m, tg_source *source, tg_err *err)
{
    struct load load = {.m = m, .lean = true};
    tg_status status = tg_archive_open_source(&load.r, source, err);

    *m = (tg_model){0};
    return status ? status : finish_read(&load, err);
}
