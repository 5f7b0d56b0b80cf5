/* The template of a conversation: the one that is given, or the one that is known. */
#include "cmd/cli/text.h"
#include "lib/base/choice.h"
#include "lib/models/chat_template.h"

/* Take the template that the adapters were trained on, if none is given; say where it is another one. */
static tg_status ask_adapters(tg_chat_template *kind, tg_err *err)
{
    char names[2][TG_CHOICE_SIZE];
    tg_chat_note trained;
    tg_status status;

    for (size_t i = 0; i < cli_adapters.n; i++) {
        if ((status = tg_chat_template_trained(&trained, cli_adapters.file[i].path, err)))
            return status;
        if (trained == 0)
            continue;
        if (*kind == TG_CHAT_TEMPLATES)
            *kind = (tg_chat_template)(trained - 1);
        else if (*kind + 1 != trained)
            cli_say("%s was trained on the template %s, and this conversation has %s",
                    cli_adapters.file[i].path, tg_choice_name(names[0], TG_CHAT_NOTES, trained),
                    tg_choice_name(names[1], TG_CHAT_NAMES, *kind));
    }
    return TG_OK;
}

tg_status cli_chat_open(tg_chat *chat, tg_chat_template kind, const char *path, const tg_tokenizer *tok,
                        tg_chat_take *take, void *context, tg_err *err)
{
    tg_status status = ask_adapters(&kind, err);

    if (status)
        return status;
    if (kind == TG_CHAT_TEMPLATES && path && (status = tg_chat_template_of(&kind, path, err)))
        return status;
    status = tg_chat_open(chat, kind, tok, take, context, err);
    return status && path ? tg_err_in(err, path) : status;
}
