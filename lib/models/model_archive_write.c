#include "formats/archive.h"
#include "lib/models/model_archive.h"
#include "lib/tokens/tokenizer_read.h"

tg_status tg_model_put_header(const tg_model *m, tg_archive_writer *w, tg_err *err)
{
    tg_status status;

    if ((status = tg_archive_put_text(w, "kind", "model", err)) ||
        (status = tg_archive_put_i64(w, "version", TG_MODEL_VERSION, err)) ||
        (status = tg_config_put(&m->config, w, err)) || (status = tg_tokenizer_put(m->tokenizer, w, err)) ||
        (status = tg_chat_note_put(m->chat, w, err)))
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
        const tg_status status =
            m->halves ? tg_archive_put_widened(w, p->name, p->ndim, p->shape, m->halves + p->offset, err)
                      : tg_archive_put(w, p->name, TG_F32, p->ndim, p->shape, tg_model_values(m, i), err);

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
    if (!(status = tg_model_put_header(m, w, err)))
        status = tg_model_put_tensors(m, w, watch, err);
    return tg_archive_end(w, status, err);
}
