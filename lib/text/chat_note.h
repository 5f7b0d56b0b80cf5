/*
 * chat_note: the template of conversations (lib/tg/chat.h) that a text was made with, or a model was
 * trained on, as archives of tokens, models and adapters note it: chat_template, a name, after tokenizer/...
 * .
 */
#ifndef TG_TEXT_CHAT_NOTE_H
#define TG_TEXT_CHAT_NOTE_H

#include <stdbool.h>

#include "formats/archive.h"
#include "lib/base/status.h"

/* 1 + a tg_chat_template; 0: none, or it is not known. */
typedef unsigned tg_chat_note;

/* Write the note; 0 is none.  Fails like tg_archive_put(). */
TG_MUST_CHECK tg_status tg_chat_note_put(tg_chat_note chat, tg_archive_writer *w, tg_err *err);

/* Take the current array if it is a note; *taken says whether.  TG_EDATA: it names no template; TG_EIO. */
TG_MUST_CHECK tg_status tg_chat_note_take(tg_chat_note *chat, tg_archive_reader *r, const tg_array *a,
                                          bool *taken, tg_err *err);

#endif
