/*
 * chat: how a conversation becomes the ids that a model was tuned on.
 *
 *     tg_chat_new(&chat, TG_CHAT_CHATML, tok, take, context, &err)
 *     for each conversation:
 *         tg_chat_begin(chat)
 *         tg_chat_message(chat, role, content, n, &err) ...
 *         tg_chat_end(chat, &err)                nothing more is said
 *      or tg_chat_ask(chat, &err)                the model is to answer, and when it has:
 *         tg_chat_answered(chat, &err)           then messages again
 *     tg_chat_destroy(chat)
 *
 * Templates (sources: the chat_template of the models' tokenizer_config.json on Hugging Face):
 *
 *     chatml   <|im_start|>user\nHello<|im_end|>\n                 Qwen, SmolLM2
 *     llama3   <|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>      after <|begin_of_text|>
 *     gemma    <start_of_turn>user\nHello<end_of_turn>\n           after <bos>
 *     plain    user: Hello\n                                       before the token that ends a text, if any
 *
 * In gemma the answer's role is model, and a system message begins the user's first one.
 * In gemma, user and assistant alternate, and the user begins.
 *
 * Names in angle brackets are special tokens, which content cannot make.  White space around content is
 * dropped in llama3 and gemma, except in Gemma's system message.  Some models' own templates begin with a
 * system message if there is none; give it where it is wanted.
 *
 * Text between two tokens is encoded as one, but an answer by itself, as it is when the model generates it.
 */
#ifndef TG_TG_CHAT_H
#define TG_TG_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/api.h"
#include "lib/tg/status.h"
#include "lib/tg/tokenizer.h"

TG_API_BEGIN

typedef enum tg_chat_template {
    TG_CHAT_CHATML,
    TG_CHAT_LLAMA3,
    TG_CHAT_GEMMA,
    TG_CHAT_PLAIN,
    TG_CHAT_TEMPLATES
} tg_chat_template;

#define TG_CHAT_NAMES "chatml|llama3|gemma|plain"

typedef enum tg_chat_role { TG_CHAT_SYSTEM, TG_CHAT_USER, TG_CHAT_ASSISTANT, TG_CHAT_ROLES } tg_chat_role;

/* Take the next n >= 1 ids of a conversation.  is_answer: they are what an assistant says, or the token that
 * ends it. A failure ends the call, which returns it. */
typedef tg_status tg_chat_take(void *context, const int32_t *ids, size_t n, bool is_answer, tg_err *err);

typedef struct tg_chat tg_chat;

/* TG_CHAT_TEMPLATES is the first template whose opening token the tokenizer has.  The tokenizer must outlive
 * the chat.  TG_EDATA: it lacks a token of the template, which the message names; TG_EUSAGE: no known
 * template matches the tokenizer.  TG_ENOMEM.  *chat is NULL after a failure. */
TG_MUST_CHECK tg_status tg_chat_new(tg_chat **chat, tg_chat_template kind, const tg_tokenizer *tok,
                                    tg_chat_take *take, void *context, tg_err *err);
void tg_chat_destroy(tg_chat *chat); /* NULL is fine */

/* Where a template has no tokens of its own (plain), begin each conversation with the token that begins a
 * text; -1: with none, as after tg_chat_new().  False: it has tokens of its own, and nothing changes. */
bool tg_chat_begin_with(tg_chat *chat, int32_t bos);

/* Begin a conversation. */
void tg_chat_begin(tg_chat *chat);

/* A message; what ends the conversation; what comes before an answer, which the model makes; and what comes
 * after it. All but the first have given all ids when they return.  TG_EDATA: the vocabulary cannot express
 * the text, or the template refuses the role; TG_ENOMEM; and what take() returns. */
TG_MUST_CHECK tg_status tg_chat_message(tg_chat *chat, tg_chat_role role, const char *content, size_t n,
                                        tg_err *err);
TG_MUST_CHECK tg_status tg_chat_end(tg_chat *chat, tg_err *err);
TG_MUST_CHECK tg_status tg_chat_ask(tg_chat *chat, tg_err *err);
TG_MUST_CHECK tg_status tg_chat_answered(tg_chat *chat, tg_err *err);

/* Whether the template leaves nothing of a content: it has no bytes, or only white space that is dropped. */
bool tg_chat_is_empty(const tg_chat *chat, const char *content, size_t n);

/* Whether a token that the model has chosen ends its answer; and text that does, where no token of the
 * template is for that, otherwise NULL. */
bool tg_chat_is_end(const tg_chat *chat, int32_t id);
const char *tg_chat_stop(const tg_chat *chat);

/*
 * What the files of a model say: a directory's chat_template.jinja or tokenizer_config.json, a GGUF file, or
 * a file NAME.jinja; or an archive of tg's, of a model or an adapter.
 * TG_CHAT_TEMPLATES: they have no template, or path names something else.  A template is a program, of which
 * only the tokens that it writes are looked at.  TG_EDATA: it is none of these, or the file is damaged;
 * TG_EIO, TG_ENOMEM.  Messages name the file.
 */
TG_MUST_CHECK tg_status tg_chat_template_of(tg_chat_template *kind, const char *path, tg_err *err);

/* One of these templates as a program in Jinja, for other projects, without the token that begins
 * a conversation; NULL: plain, which has no tokens. */
const char *tg_chat_template_text(tg_chat_template kind);

TG_API_END

#endif
