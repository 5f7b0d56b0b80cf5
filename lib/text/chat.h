/*
 * chat: how a conversation becomes the text that a model was tuned on.
 *
 *     tg_chat_begin(&chat, TG_CHAT_CHATML, tok, &err)
 *     for each message:
 *         n = tg_chat_message(&chat, piece, role, content)
 *         encode the pieces in order, each as a text of its own that continues the last
 *     n = tg_chat_end(&chat, piece)           nothing more is said
 * or  n = tg_chat_ask(&chat, piece)           the model is to answer, and when it has
 *     n = tg_chat_answered(&chat, piece)
 *
 * Templates (sources: the chat_template of the models' tokenizer_config.json on Hugging Face):
 *
 *     chatml   <|im_start|>user\nHello<|im_end|>\n                 Qwen, SmolLM2
 *     llama3   <|start_header_id|>user<|end_header_id|>\n\nHello<|eot_id|>      after <|begin_of_text|>
 *     gemma    <start_of_turn>user\nHello<end_of_turn>\n           after <bos>; the answer's role is model,
 * and a system message begins the user's first plain    user: Hello\n ended by the end-of-text token, if
 * there is one
 *
 * Names in angle brackets are tokens, which content cannot make.  White space around content is dropped in
 * llama3 and gemma.  Some models' own templates begin with a system message if there is none; give it where
 * it is wanted.
 */
#ifndef TG_TEXT_CHAT_H
#define TG_TEXT_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

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

/* A token, or text. */
typedef struct tg_chat_piece {
    int32_t id;       /* -1: text */
    const char *text; /* [n] the content's bytes, or the template's */
    size_t n;
    bool is_answer; /* what an assistant says, and the token that ends it */
} tg_chat_piece;

#define TG_CHAT_PIECES 10 /* of a message, at most */

typedef struct tg_chat {
    tg_chat_template kind;
    int32_t bos, eot;                /* -1: none */
    int32_t open, header_end, close; /* tokens of the template; -1: it has none */
    bool begun;
    bool in_turn; /* Gemma's first message of a user has begun with that of the system */
} tg_chat;

/* At the beginning of a conversation.  TG_CHAT_TEMPLATES is the first whose opening token the tokenizer has.
 * TG_EDATA: the tokenizer lacks a token of the template, which the message names; TG_EUSAGE: it has none's.
 */
TG_MUST_CHECK tg_status tg_chat_begin(tg_chat *chat, tg_chat_template kind, const tg_tokenizer *tok,
                                      tg_err *err);

/* The pieces of a message, of a conversation's end, and of the beginning of an answer; returns their number.
 */
size_t tg_chat_message(tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES], tg_chat_role role,
                       const char *content, size_t n);
size_t tg_chat_end(tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES]);
size_t tg_chat_ask(tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES]);

/* Those after the content of an answer. */
size_t tg_chat_answered(const tg_chat *chat, tg_chat_piece piece[TG_CHAT_PIECES]);

/* Text that ends an answer, where no token of the template does; otherwise NULL. */
const char *tg_chat_stop(const tg_chat *chat);

TG_API_END

#endif
