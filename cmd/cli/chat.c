/* The template of a conversation: the one that is given, or the one that is known. */
#include "cmd/cli/text.h"
#include "lib/base/choice.h"
#include "lib/text/chat.h"

tg_status cli_chat_open(tg_chat *chat, tg_chat_template kind, tg_chat_note trained, const char *path,
                        const tg_tokenizer *tok, tg_chat_take *take, void *context, tg_err *err)
{
    char names[2][TG_CHOICE_SIZE];
    tg_status status;

    if (kind == TG_CHAT_TEMPLATES && trained > 0)
        kind = (tg_chat_template)(trained - 1);
    else if (trained > 0 && kind + 1 != trained)
        cli_say("the model was trained on the template %s, and this conversation has %s",
                tg_choice_name(names[0], TG_CHAT_NAMES, trained - 1),
                tg_choice_name(names[1], TG_CHAT_NAMES, kind));
    if (kind == TG_CHAT_TEMPLATES && path && (status = tg_chat_template_of(&kind, path, err)))
        return status;
    status = tg_chat_open(chat, kind, tok, take, context, err);
    return status && path ? tg_err_in(err, path) : status;
}
