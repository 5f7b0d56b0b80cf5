/* Attention as an archive, for NumPy and for tg-attn-view. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "lib/attn/dump_write.h"

tg_status attn_pack_text(char **text, size_t *width, const attn_subject *s, tg_err *err)
{
    const size_t T = s->layers.T;

    *text = NULL;
    *width = 1;
    if (!s->label)
        return TG_OK;
    if (s->label_width > 3)
        *width = s->label_width - 2;
    if (!(*text = calloc(T, *width)))
        return tg_fail_memory(err, T * *width, "the tokens' texts");
    for (size_t t = 0; t < T; t++)
        memcpy(*text + t * *width, s->label[t] + 1, strlen(s->label[t]) - 2);
    return TG_OK;
}

static tg_status write_dump(const cli_output *out, attn_subject *s, const tg_dump_settings *dump, tg_err *err)
{
    const tg_status status = tg_dump_write(out->fd, &s->layers, dump, err);

    return status == TG_EIO ? tg_err_in(err, out->name) : status;
}

tg_status attn_write_archive(attn_subject *s, const attn_options *o, tg_err *err)
{
    cli_output out = {0};
    tg_dump_settings dump = {.stage = (tg_attn_stage)o->stage,
                             .layer = o->pick.layer,
                             .mask = (tg_attn_mask)o->mask,
                             .ids = s->layers.ids};
    char *text = NULL;
    tg_status status = attn_check_stage(s, o, err);

    if (!status)
        status = tg_attn_pick_check(&o->pick, s->layers.L, s->layers.H, s->layers.T, err);
    if (status || (status = attn_pack_text(&text, &dump.text_size, s, err)))
        return status;
    dump.text = text;
    if ((status = cli_output_begin(&out, o->output, true, err)) || (status = write_dump(&out, s, &dump, err)))
        goto done;
    status = cli_output_commit(&out, err);

done:
    cli_output_abort(&out);
    free(text);
    return status;
}
