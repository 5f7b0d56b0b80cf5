/* Reading an archive: the header's arrays, then tensors and others in any order. */
#include <string.h>

#include "formats/archive.h"
#include "lib/base/finite.h"
#include "lib/models/model_archive.h"
#include "lib/nn/tensor.h"
#include "lib/tokens/tokenizer_read.h"

/* What has been read so far. */
struct load {
    tg_model *m; /* once the header is complete */
    tg_archive_reader *r;
    bool flat;
    bool lean; /* what has been checked leaves memory */
    tg_config config;
    uint64_t config_seen;
    tg_tokenizer_draft tokenizer;
    int32_t probe[TG_PROBE_MAX];
    size_t probe_count;
    tg_chat_note chat;
    tg_model_extra extra;
    void *context;
};

static tg_status take_probe(struct load *load, const tg_array *a, tg_err *err)
{
    tg_status status;

    if (a->ndim != 1 || a->count < 1 || a->count > TG_PROBE_MAX || a->dtype.kind != 'i' ||
        a->dtype.size != sizeof(int32_t))
        return tg_fail(err, TG_EDATA,
                       "probe/tokens has %zu elements of type %c%zu, expected 1 to %d of type i4", a->count,
                       a->dtype.kind, a->dtype.size, TG_PROBE_MAX);
    if ((status = tg_archive_read(load->r, load->probe, a->bytes, err)))
        return status;
    load->probe_count = a->count;
    return TG_OK;
}

/* Read one of the header's arrays.  *taken = false: it is not one, so the header has ended. */
static tg_status take_header(struct load *load, const tg_array *a, bool *taken, tg_err *err)
{
    tg_status status;

    *taken = strcmp(a->name, "probe/tokens") == 0;
    if (*taken)
        return take_probe(load, a, err);
    if ((status = tg_config_take(&load->config, &load->config_seen, load->r, a, taken, err)) || *taken ||
        (status = tg_chat_note_take(&load->chat, load->r, a, taken, err)) || *taken)
        return status;
    return tg_tokenizer_take(&load->tokenizer, load->r, a, taken, err);
}

/* The next array; *more = false at the end of the archive. */
static tg_status next_array(struct load *load, tg_array *a, bool *more, tg_err *err)
{
    const tg_status status = tg_archive_next_of_one(load->r, a, more, err);

    if (load->lean)
        tg_archive_forget(load->r);
    return status;
}

/* Read kind, version and the header.  *a is the first array after it. */
static tg_status read_header(struct load *load, tg_array *a, tg_err *err)
{
    bool taken = true, more = true;
    tg_status status = tg_archive_read_start(load->r, "model", TG_MODEL_VERSION, err);

    while (!status && more && taken)
        if (!(status = next_array(load, a, &more, err)) && more)
            status = take_header(load, a, &taken, err);
    if (status)
        return status;
    return more ? TG_OK : tg_fail(err, TG_EDATA, "the archive holds no tensors");
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

static tg_status check_probe(const struct load *load, tg_err *err)
{
    const size_t ids = tg_tokenizer_vocab_size(load->m->tokenizer);

    for (size_t i = 0; i < load->probe_count; i++)
        if (load->probe[i] < 0 || (size_t)load->probe[i] >= ids)
            return tg_fail(err, TG_EDATA, "probe/tokens[%zu] is %d: the vocabulary has %zu ids", i,
                           (int)load->probe[i], ids);
    return TG_OK;
}

/* The header is complete: begin the model, with the table that tensors are checked against. */
static tg_status finish_header(struct load *load, tg_err *err)
{
    tg_model *m = load->m;
    const tg_tokenizer *tokenizer;
    tg_status status;

    if ((status = tg_config_complete(&load->config, load->config_seen, err)) ||
        (status = tg_tokenizer_complete(&tokenizer, &load->tokenizer, err)))
        return status;
    status = tg_model_begin(m, &load->config, tokenizer, err);
    tg_tokenizer_free(tokenizer);
    if (status || (status = check_claim(load, err)) || (status = check_probe(load, err)))
        return status;
    memcpy(m->probe, load->probe, sizeof m->probe);
    m->probe_count = load->probe_count;
    m->chat = load->chat;
    return TG_OK;
}

static tg_status check_shape(const tg_param *p, const tg_array *a, tg_err *err)
{
    char got[TG_TENSOR_TEXT_MAX], want[TG_TENSOR_TEXT_MAX];
    bool same = a->ndim == p->ndim;

    for (size_t i = 0; same && i < p->ndim; i++)
        same = a->shape[i] == p->shape[i];
    if (same)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has shape %s, the config asks for %s", a->name,
                   tg_tensor_text(got, a->shape, a->ndim), tg_tensor_text(want, p->shape, p->ndim));
}

static tg_status take_tensor(struct load *load, const tg_param *p, const tg_array *a, tg_err *err)
{
    tg_model *m = load->m;
    const float *values = a->data;
    float *where;
    tg_status status = check_shape(p, a, err);

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

static tg_status read_all(struct load *load, tg_err *err)
{
    tg_array a;
    bool more = true;
    tg_status status;

    if ((status = read_header(load, &a, err)) || (status = finish_header(load, err)))
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
    tg_status status = read_all(load, err);

    tg_tokenizer_draft_free(&load->tokenizer);
    if (status)
        tg_model_free(m);
    if (status || load->flat) {
        tg_archive_close(load->r);
    } else {
        m->source = load->r;
        m->close_source = close_archive;
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
