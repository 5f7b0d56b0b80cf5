/* Archives: this project's own models, and other .npz files of tensors. */
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/models/matching.h"
#include "lib/models/model_archive.h"
#include "lib/models/writing.h"
#include "lib/text/bare_ids.h"

/* ---- our own */

/* The model's weights as stored tensors, in the order of the table. */
static tg_status list_weights(tg_model_file *f, tg_err *err)
{
    tg_loaded *file = f->file[0];

    if (!(f->values = calloc(f->table.n, sizeof *f->values)))
        return tg_fail_memory(err, f->table.n * sizeof *f->values, "the table of values");
    for (size_t i = 0; i < f->table.n; i++) {
        const tg_param *p = &f->table.entry[i];
        tg_stored s = {.array = {.dtype = TG_F32, .ndim = p->ndim, .shape = {p->shape[0], p->shape[1]}}};
        tg_status status;

        strcpy(s.array.name, p->name);
        s.array.count = p->count;
        s.array.bytes = s.stored = p->count * sizeof(float);
        s.array.data = s.at = (const unsigned char *)f->own.weight[i];
        if ((uintptr_t)s.at - (uintptr_t)file->bytes < file->n)
            s.offset = (uintptr_t)s.at - (uintptr_t)file->bytes;
        if ((status = tg_tensor_list_add(&file->list, &s, err)))
            return status;
    }
    for (size_t i = 0; i < f->table.n; i++)
        f->values[i] = (tg_values){.n = 1, .piece = {&file->list.tensor[i]}};
    return TG_OK;
}

static tg_status open_own(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    tg_source source = tg_loaded_take_source(f->file[0]);
    tg_status status = tg_model_read_source(&f->own, &source, err);

    (void)path;
    if (status)
        return status;
    f->config = f->own.config;
    f->config_known = ~(uint64_t)0;
    if (ask->map)
        return tg_fail(err, TG_EUSAGE, "tg's models (.npz) have the parameters' names: --map is for others");
    if ((status = tg_match_check_asked(f, ask, err)))
        return status;
    if (tg_tokenizer_has_text(f->own.tokenizer))
        f->tokenizer = tg_tokenizer_ref(f->own.tokenizer);
    status = tg_params_build(&f->table, &f->config, err);
    return status ? status : list_weights(f, err);
}

/* ---- other arrays */

/* The data of an array that is not mapped. */
static tg_status read_data(tg_model_file *f, tg_archive_reader *r, tg_array *a, tg_err *err)
{
    void *data = tg_loaded_alloc(f->file[0], a->bytes);

    if (!data)
        return tg_fail_memory(err, a->bytes, a->name);
    a->data = data;
    return tg_archive_read(r, data, a->bytes, err);
}

static tg_status add_array(tg_model_file *f, tg_archive_reader *r, tg_array *a, tg_err *err)
{
    const tg_loaded *file = f->file[0];
    tg_stored s;
    tg_status status = a->data ? TG_OK : read_data(f, r, a, err);

    if (status)
        return status;
    s = (tg_stored){.array = *a, .at = a->data, .stored = a->bytes};
    if (s.at >= file->bytes && s.at < file->bytes + file->n)
        s.offset = (uint64_t)(s.at - file->bytes);
    return tg_tensor_list_add(&f->file[0]->list, &s, err);
}

/* Our own arrays, which another program has put in another order, are no tensors to be left out: a model
 * without its settings would compute something else. */
static tg_status check_not_own(const tg_tensor_list *list, tg_err *err)
{
    size_t kind = list->n;
    bool config = false;

    for (size_t i = 0; i < list->n; i++) {
        const char *name = list->tensor[i].array.name;

        if (strcmp(name, "kind") == 0)
            kind = i;
        config |= strncmp(name, "config/", 7) == 0;
    }
    if (kind == list->n || !config)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "kind is array %zu, expected the first: a model of tg in another order",
                   kind + 1);
}

static void close_archive(void *reader)
{
    tg_archive_close(reader);
}

static tg_status open_arrays(tg_model_file *f, const char *path, const tg_model_ask *ask, tg_err *err)
{
    tg_source source = tg_loaded_take_source(f->file[0]);
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;
    tg_status status = tg_archive_open_source(&r, &source, err);

    (void)path;
    if (status)
        return status;
    f->own.source = r; /* keeps the arrays mapped */
    f->own.close_source = close_archive;
    while (!(status = tg_archive_next(r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY)
        if ((status = add_array(f, r, &a, err)))
            break;
    if (!status && !ask->map)
        status = check_not_own(&f->file[0]->list, err);
    return status ? status : tg_model_file_match(f, &tg_names_by_shape, ask, err);
}

const tg_model_format tg_npz_format = {
    .text = "a model of tg", .format = TG_FORMAT_ZIP, .member = TG_MEMBER_KIND, .open = open_own};
const tg_model_format tg_arrays_format = {.text = "an .npz file of arrays",
                                          .format = TG_FORMAT_ZIP,
                                          .member = TG_MEMBER_ARRAY,
                                          .open = open_arrays};

/* ---- writing */

static tg_status check(const tg_model_file *f, const tg_write_options *o, tg_notes *notes, tg_err *err)
{
    (void)f;
    (void)notes;
    if (o->type != TG_WRITE_F32)
        return tg_fail(err, TG_EUSAGE, "tg's models (.npz) are float32: expected --dtype f32");
    if (o->split_qkv)
        return tg_fail(err, TG_EUSAGE,
                       "tg's models (.npz) have q, k and v joined: only --to safetensors splits them");
    return TG_OK;
}

static tg_status put_tensors(tg_archive_writer *w, const tg_model_file *f, const tg_write_options *o,
                             tg_err *err)
{
    tg_float_buffer buffer = {0};
    uint64_t done = 0;
    tg_status status = TG_OK;

    for (size_t i = 0; i < f->table.n && !status; i++) {
        const tg_param *p = &f->table.entry[i];
        const float *x;

        if (!(status = tg_model_file_get(&x, &buffer, f, i, false, err)))
            status = tg_archive_put(w, p->name, TG_F32, p->ndim, p->shape, x, err);
        tg_model_file_release(f, i);
        done += p->count * sizeof *x;
        if (o->progress)
            o->progress(o->context, done, (uint64_t)f->table.count * sizeof *x);
    }
    free(buffer.x);
    return status;
}

static tg_status write_archive(int fd, const tg_model_file *f, const tg_model *header,
                               const tg_write_options *o, tg_err *err)
{
    tg_archive_writer *w;
    tg_status status = tg_archive_create(&w, fd, err);

    if (status)
        return status;
    if (!(status = tg_model_put_header(header, w, err)))
        status = put_tensors(w, f, o, err);
    return tg_archive_end(w, status, err);
}

static tg_status write_own(int fd, const tg_model_file *f, const tg_write_options *o, tg_err *err)
{
    tg_model header = {.config = f->config,
                       .tokenizer = f->tokenizer,
                       .probe_count = f->own.probe_count,
                       .chat = tg_model_file_chat(f)};
    const tg_tokenizer *ids = NULL;
    tg_status status = TG_OK;

    memcpy(header.probe, f->own.probe, sizeof header.probe);
    if (!f->tokenizer)
        status = tg_bare_ids_create(&ids, f->config.vocab_size, err);
    if (ids)
        header.tokenizer = ids;
    if (!status)
        status = write_archive(fd, f, &header, o, err);
    tg_tokenizer_free(ids);
    return status;
}

static const tg_model_part parts[] = {{.write = write_own}};

const tg_model_writer tg_writer_npz = {.name = "npz", .check = check, .part = parts, .n_parts = 1};
