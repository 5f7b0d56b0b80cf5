#include "lib/text/chat_note.h"

#include <string.h>

#include "lib/base/choice.h"
#include "lib/text/chat.h"

#define NAME "chat_template"

tg_status tg_chat_note_put(tg_chat_note chat, tg_archive_writer *w, tg_err *err)
{
    char name[TG_CHOICE_SIZE];

    if (chat == 0)
        return TG_OK;
    return tg_archive_put_text(w, NAME, tg_choice_name(name, TG_CHAT_NAMES, chat - 1), err);
}

tg_status tg_chat_note_take(tg_chat_note *chat, tg_archive_reader *r, const tg_array *a, bool *taken,
                            tg_err *err)
{
    char name[TG_CHOICE_SIZE];
    size_t number;
    tg_status status;

    if (!(*taken = strcmp(a->name, NAME) == 0))
        return TG_OK;
    if ((status = tg_archive_get_text(r, a, name, sizeof name, err)))
        return status;
    if (!tg_choice_find(&number, TG_CHAT_NAMES, name))
        return tg_fail(err, TG_EDATA, "%s is '%s', expected " TG_CHAT_NAMES, a->name, name);
    *chat = 1 + (tg_chat_note)number;
    return TG_OK;
}
