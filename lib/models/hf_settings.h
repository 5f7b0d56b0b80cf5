/*
 * hf_settings: what a model's files have for programs that hold conversations, which a changed model should
 * still have: the template of conversations, settings of the tokenizer, and settings of generation, with the
 * tokens that end an answer.  Writers copy them as they are.
 */
#ifndef TG_MODELS_HF_SETTINGS_H
#define TG_MODELS_HF_SETTINGS_H

#include "formats/gguf.h"
#include "lib/base/status.h"
#include "lib/models/model_file.h"

/* Files of a directory that may have a template: its text, or settings of the tokenizer. */
#define TG_CHAT_TEMPLATE_FILE "chat_template.jinja"
#define TG_CHAT_SETTINGS_FILE "tokenizer_config.json"

#define TG_HF_GENERATION_FILE "generation_config.json"

#define TG_HF_SETTINGS_MAX ((size_t)1 << 26) /* bytes of each of these files */

/*
 * Load what a directory has of these files, as far as it is asked for, into f->chat_template and f->settings.
 * TG_EDATA: one of them is damaged or too large; if ask->lossy, all are left out, with a note.  TG_EIO,
 * TG_ENOMEM. Messages name the file.
 */
TG_MUST_CHECK tg_status tg_hf_settings_read(tg_model_file *f, const char *directory, const tg_model_ask *ask,
                                            tg_err *err);

/* Forget them. */
void tg_hf_settings_drop(tg_model_file *f);

/* Set f->chat_template to the template of a directory, a GGUF file or a file NAME.jinja, whatever it is;
 * other paths have none.  TG_EDATA: the file is damaged; TG_EIO, TG_ENOMEM; with the file. */
TG_MUST_CHECK tg_status tg_chat_template_keep(tg_model_file *f, const char *path, tg_err *err);

/* Likewise to that of a GGUF file, of whose bytes it is a part.  TG_EDATA: it is no text. */
TG_MUST_CHECK tg_status tg_chat_template_keep_gguf(tg_model_file *f, tg_gguf *g);

#endif
