/*
 * chat: what the library needs of conversations, besides what programs use (lib/tg/chat.h, which has the
 * templates).
 */
#ifndef TG_TEXT_CHAT_H
#define TG_TEXT_CHAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/text/encoder.h"
#include "lib/text/tokenizer.h"
#include "lib/tg/chat.h"

typedef struct tg_chat {
    tg_chat_template kind;
    const tg_tokenizer *tok; /* the caller's */
    tg_chat_take *take;
    void *context;
    tg_encoder *encoder;             /* owned */
    int32_t bos, eot;                /* -1: none */
    int32_t open, header_end, close; /* tokens of the template; -1: it has none */
    tg_chat_role last;               /* who has spoken last; at the beginning, the system */
    bool begun;                      /* something has been said, */
    bool has_ids;                    /* and some of it taken */
    bool in_turn;                    /* Gemma's first message of a user has begun with that of the system */
    char *text;                      /* [n] that waits to be encoded; owned */
    size_t n, capacity;
    bool is_answer; /* that text */
} tg_chat;

/* The template whose opening and closing tokens a program for templates [n] writes, as Hugging Face's in
 * Jinja; TG_CHAT_TEMPLATES: none's, or tokens of another one. */
tg_chat_template tg_chat_recognize(const char *text, size_t n);

/* TG_CHAT_TEMPLATES is the first template whose opening token the tokenizer has.  The tokenizer must outlive
 * the chat. TG_EDATA: it lacks a token of the template, which the message names; TG_EUSAGE: it has none's, or
 * that of a template which is none of these.  TG_ENOMEM.  After a failure *chat needs no close. */
TG_MUST_CHECK tg_status tg_chat_open(tg_chat *chat, tg_chat_template kind, const tg_tokenizer *tok,
                                     tg_chat_take *take, void *context, tg_err *err);
void tg_chat_close(tg_chat *chat); /* a zeroed one is fine */

#endif
