#include "lib/text/chat.h"

#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "formats/format.h"
#include "formats/path.h"
#include "lib/models/hf_settings.h"
#include "lib/models/model_format.h"

/* ---- archives of tg's */

/* The note is before the tensors, whose names alone have periods. */
static tg_status find_note(tg_chat_note *chat, tg_archive_reader *r, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    bool taken = false;
    tg_status status;

    do {
        if ((status = tg_archive_next(r, &a, &event, err)) || event != TG_ARCHIVE_ARRAY ||
            (status = tg_chat_note_take(chat, r, &a, &taken, err)))
            return status;
    } while (!taken && !strchr(a.name, '.'));
    return TG_OK;
}

static tg_status read_note(tg_chat_note *chat, int fd, tg_err *err)
{
    tg_archive_reader *r;
    tg_status status = tg_archive_open(&r, fd, err);

    if (!status)
        status = find_note(chat, r, err);
    tg_archive_close(r);
    return status;
}

/* *chat: 0 also where the path is no such archive. */
static tg_status in_archive(tg_chat_note *chat, const char *path, tg_err *err)
{
    unsigned char first[TG_FORMAT_BYTES];
    struct stat st;
    bool exists;
    size_t n;
    int fd;
    tg_status status = tg_path_examine(path, &st, &exists, err);

    *chat = 0;
    if (status || !exists || !S_ISREG(st.st_mode))
        return status;
    if ((status = tg_path_peek(path, first, sizeof first, &n, err)))
        return status;
    if (!tg_archive_begins(first, n, "model") && !tg_archive_begins(first, n, "adapter"))
        return TG_OK;
    if ((fd = tg_path_open(path)) < 0)
        return tg_fail_sys(err, "%s", path);
    if ((status = read_note(chat, fd, err)))
        (void)tg_err_in(err, path);
    close(fd);
    return status;
}

/* ---- files of other projects */

tg_status tg_chat_template_of(tg_chat_template *kind, const char *path, tg_err *err)
{
    tg_model_file f = {0};
    tg_status status = tg_chat_template_keep(&f, path, err);
    const tg_span text = f.chat_template;
    tg_chat_note chat;

    *kind = TG_CHAT_TEMPLATES;
    if (!status && text.p && (*kind = tg_chat_recognize(text.p, text.n)) == TG_CHAT_TEMPLATES) {
        status = tg_fail(err, TG_EDATA,
                         "the model's template of conversations is none of " TG_CHAT_NAMES
                         ": give one of these with --template");
        (void)tg_err_in(err, f.file[f.n_files - 1]->path);
    }
    tg_model_file_close(&f);
    if (status || *kind != TG_CHAT_TEMPLATES || (status = in_archive(&chat, path, err)))
        return status;
    if (chat > 0)
        *kind = (tg_chat_template)(chat - 1);
    return TG_OK;
}

/* Roles that do not alternate, where they should, are refused by who asks. */
static const char *const texts[TG_CHAT_TEMPLATES] = {
    [TG_CHAT_CHATML] =
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    [TG_CHAT_LLAMA3] = "{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
                       "'<|end_header_id|>\\n\\n' + "
                       "(m['content'] | trim) + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
                       "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    [TG_CHAT_GEMMA] =
        "{% for m in messages %}{% if m['role'] == 'system' %}"
        "{{ '<start_of_turn>user\\n' + m['content'] + '\\n\\n' }}{% else %}"
        "{% if not (loop.index0 == 1 and messages[0]['role'] == 'system') %}"
        "{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else 'user') + '\\n' }}{% endif %}"
        "{{ (m['content'] | trim) + '<end_of_turn>\\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
};

const char *tg_chat_template_text(tg_chat_template kind)
{
    return texts[kind];
}
