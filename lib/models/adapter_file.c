/* An adapter's archive. */
#include "lib/models/adapter_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/fields.h"
#include "formats/path.h"
#include "lib/base/finite.h"
#include "lib/models/peft.h"

#define TARGETS "adapter/targets"
#define EMBEDDINGS "adapter/base_embeddings"

/* The scalars of the header. */
struct header {
    tg_adapter_shape shape;
    size_t crc;
    tg_adapter_base base; /* of its sample */
    tg_chat_note chat;
};

enum { RANK, ALPHA, RANK_STABILIZED, CRC, FIELDS };
static const tg_field rows[FIELDS] = {
    [RANK] = TG_SIZE_FIELD("adapter/rank", struct header, shape.rank, 1, TG_ADAPTER_RANK_MAX),
    [ALPHA] = TG_REAL_FIELD("adapter/alpha", struct header, shape.alpha, 0, TG_ADAPTER_ALPHA_MAX),
    [RANK_STABILIZED] = TG_BOOL_FIELD("adapter/rank_stabilized", struct header, shape.rank_stabilized),
    [CRC] = TG_SIZE_FIELD("adapter/base_crc", struct header, crc, 0, (double)UINT32_MAX),
};
static const tg_fields fields = {rows, FIELDS};

/* ---- reading */

struct load {
    tg_adapter *a;
    tg_archive_reader *r;
    const tg_model_file *base;
    struct header header;
    uint64_t seen;
    bool *filled; /* [a->table.n], once the header is complete; owned */
    tg_adapter_extra extra;
    void *context;
};

static tg_status take_targets(struct load *load, const tg_array *a, tg_err *err)
{
    char list[TG_ADAPTER_TARGETS_SIZE];
    tg_status status = tg_archive_get_text(load->r, a, list, sizeof list, err);

    if (!status && tg_adapter_find_targets(&load->header.shape.targets, &load->base->table, list, err))
        status = err->code = TG_EDATA;
    return status;
}

static tg_status take_embeddings(struct load *load, const tg_array *a, tg_err *err)
{
    tg_adapter_base *base = &load->header.base;
    tg_status status;

    if (a->ndim != 2 || a->shape[0] > TG_BASE_ROWS || a->shape[1] > TG_BASE_COLUMNS ||
        !tg_dtype_equal(a->dtype, TG_F32))
        return tg_fail(err, TG_EDATA,
                       "%s has %zu elements of type %c%zu, expected at most [%d,%d] of type f4", a->name,
                       a->count, a->dtype.kind, a->dtype.size, TG_BASE_ROWS, TG_BASE_COLUMNS);
    base->rows = a->shape[0];
    base->columns = a->shape[1];
    if ((status = tg_archive_read(load->r, base->sample, a->bytes, err)))
        return status;
    return tg_check_finite(a->name, base->sample, a->count, err);
}

static tg_status take_header(struct load *load, const tg_array *a, bool *taken, tg_err *err)
{
    const bool targets = strcmp(a->name, TARGETS) == 0;
    tg_status status;

    *taken = true;
    if (targets || strcmp(a->name, EMBEDDINGS) == 0)
        return (targets ? take_targets : take_embeddings)(load, a, err);
    if ((status = tg_chat_note_take(&load->header.chat, load->r, a, taken, err)) || *taken)
        return status;
    return tg_fields_take(fields, &load->header, &load->seen, load->r, a, taken, err);
}

/* Kind, version and the header; *a is the first array after it, unless *more is false. */
static tg_status read_header(struct load *load, tg_array *a, bool *more, tg_err *err)
{
    bool taken = true;
    tg_status status = tg_archive_read_start(load->r, "adapter", TG_ADAPTER_VERSION, err);

    *more = true;
    while (!status && *more && taken)
        if (!(status = tg_archive_next_of_one(load->r, a, more, err)) && *more)
            status = take_header(load, a, &taken, err);
    return status;
}

static tg_status check_base(struct load *load, tg_err *err)
{
    tg_adapter_base here;
    const tg_status status = tg_adapter_base_of(&here, load->base, err);

    load->header.base.crc = (uint32_t)load->header.crc;
    return status ? status : tg_adapter_base_check(&load->header.base, &here, err);
}

static tg_status finish_header(struct load *load, tg_err *err)
{
    tg_status status;

    if ((status = tg_fields_complete(fields, load->seen, err)) ||
        (status = tg_fields_check(fields, &load->header, err)))
        return status;
    if (load->header.shape.targets == 0)
        return tg_fail(err, TG_EDATA, TARGETS " is missing");
    if ((status = check_base(load, err)) ||
        (status = tg_adapter_create(load->a, &load->base->table, &load->header.shape, err)))
        return status;
    load->a->chat = load->header.chat;
    load->filled = calloc(load->a->table.n, sizeof *load->filled);
    return load->filled ? TG_OK : tg_fail_memory(err, load->a->table.n, "the list of tensors");
}

static tg_status take_tensor(struct load *load, const tg_param *p, const tg_array *a, tg_err *err)
{
    float *where = load->a->params + p->offset;
    tg_status status;

    if (a->ndim != 2 || a->shape[0] != p->shape[0] || a->shape[1] != p->shape[1] ||
        !tg_dtype_equal(a->dtype, TG_F32))
        return tg_fail(err, TG_EDATA, "%s has %zu elements of type %c%zu, expected [%zu,%zu] of type f4",
                       a->name, a->count, a->dtype.kind, a->dtype.size, p->shape[0], p->shape[1]);
    load->filled[p - load->a->table.entry] = true;
    if ((status = tg_archive_read(load->r, where, a->bytes, err)))
        return status;
    return tg_check_finite(p->name, where, p->count, err);
}

static tg_status take_body(struct load *load, const tg_array *a, tg_err *err)
{
    const tg_param *p = tg_params_find(&load->a->table, a->name);
    const bool is_extra = strncmp(a->name, "train/", 6) == 0 || strncmp(a->name, "opt/", 4) == 0;
    bool taken = !load->extra && is_extra;
    tg_status status;

    if (p)
        return take_tensor(load, p, a, err);
    if (load->extra && (status = load->extra(load->context, load->r, a, &taken, err)))
        return status;
    return taken ? TG_OK : tg_fail(err, TG_EDATA, "%s is not an array of this adapter", a->name);
}

static tg_status check_complete(const struct load *load, tg_err *err)
{
    for (size_t i = 0; i < load->a->table.n; i++)
        if (!load->filled[i])
            return tg_fail(err, TG_EDATA, "%s is missing", load->a->table.entry[i].name);
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
        if ((status = take_body(load, &a, err)) || (status = tg_archive_next_of_one(load->r, &a, &more, err)))
            return status;
    return check_complete(load, err);
}

tg_status tg_adapter_read(tg_adapter *a, int fd, const tg_model_file *base, tg_adapter_extra extra,
                          void *context, tg_err *err)
{
    struct load load = {.a = a, .base = base, .extra = extra, .context = context};
    tg_status status = tg_archive_open(&load.r, fd, err);

    *a = (tg_adapter){0};
    if (status)
        return status;
    if ((status = read_all(&load, err)))
        tg_adapter_free(a);
    free(load.filled);
    tg_archive_close(load.r);
    return status;
}

static tg_status open_archive(tg_adapter *a, const char *path, const tg_model_file *base, tg_err *err)
{
    const int fd = tg_path_open(path);
    tg_status status;

    if (fd < 0)
        return tg_fail_sys(err, "%s", path);
    if ((status = tg_adapter_read(a, fd, base, NULL, NULL, err)))
        (void)tg_err_in(err, path);
    close(fd);
    return status;
}

tg_status tg_adapter_open(tg_adapter *a, const char *path, const tg_model_file *base, tg_err *err)
{
    struct stat st;
    bool exists;
    const tg_status status = tg_path_examine(path, &st, &exists, err);

    *a = (tg_adapter){0};
    if (status)
        return status;
    return exists && S_ISDIR(st.st_mode) ? tg_peft_read(a, path, base, err)
                                         : open_archive(a, path, base, err);
}

/* ---- writing */

tg_status tg_adapter_put_header(const tg_adapter *a, const tg_params *model, const tg_adapter_base *base,
                                tg_archive_writer *w, tg_err *err)
{
    const struct header header = {.shape = a->shape, .crc = base->crc};
    const size_t shape[] = {base->rows, base->columns};
    char targets[TG_ADAPTER_TARGETS_SIZE];
    tg_status status;

    if ((status = tg_archive_put_text(w, "kind", "adapter", err)) ||
        (status = tg_archive_put_i64(w, "version", TG_ADAPTER_VERSION, err)) ||
        (status = tg_fields_put(fields, &header, w, err)) ||
        (base->rows > 0 && (status = tg_archive_put(w, EMBEDDINGS, TG_F32, 2, shape, base->sample, err))))
        return status;
    if ((status =
             tg_archive_put_text(w, TARGETS, tg_adapter_target_names(targets, model, a->shape.targets), err)))
        return status;
    return tg_chat_note_put(a->chat, w, err);
}

tg_status tg_adapter_put_tensors(const tg_adapter *a, tg_archive_writer *w, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; i < a->table.n && !status; i++) {
        const tg_param *p = &a->table.entry[i];

        status = tg_archive_put(w, p->name, TG_F32, p->ndim, p->shape, a->params + p->offset, err);
    }
    return status;
}
