/*
 * chat_template: the template with which another project's model was tuned on conversations.
 */
#ifndef TG_MODELS_CHAT_TEMPLATE_H
#define TG_MODELS_CHAT_TEMPLATE_H

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/text/chat.h"

TG_API_BEGIN

/*
 * What the files of a model say: a directory's chat_template.jinja or tokenizer_config.json, a GGUF file, or
 * a file NAME.jinja; or an archive of tg's, of a model or an adapter.
 * TG_CHAT_TEMPLATES: they have no template, or path names
 * something else. A template is a program, of which only the tokens that it writes are looked at
 * (tg_chat_recognize()). TG_EDATA: it is none of lib/text/chat.h's, or the file is damaged; TG_EIO,
 * TG_ENOMEM.  Messages name the file.
 */
TG_MUST_CHECK tg_status tg_chat_template_of(tg_chat_template *kind, const char *path, tg_err *err);

/* One of lib/text/chat.h's templates as a program in Jinja, for other projects, without the token that begins
 * a conversation; NULL: plain, which has no tokens. */
const char *tg_chat_template_text(tg_chat_template kind);

TG_API_END

#endif
