/*
 * hf_settings: what a model's files have for programs that hold conversations, which a changed model should
 * still have: the template of conversations, settings of the tokenizer, and settings of generation, with the
 * tokens that end an answer.  Writers copy them as they are.
 */
#ifndef TG_MODELS_HF_SETTINGS_H
#define TG_MODELS_HF_SETTINGS_H

#include "lib/base/status.h"
#include "lib/models/model_file.h"

/* Files of a directory that may have a template: its text, or settings of the tokenizer. */
#define TG_CHAT_TEMPLATE_FILE "chat_template.jinja"
#define TG_CHAT_SETTINGS_FILE "tokenizer_config.json"

#define TG_HF_GENERATION_FILE "generation_config.json"

/* Load the settings that a directory has into f->settings.  TG_EIO, TG_ENOMEM, with the file. */
TG_MUST_CHECK tg_status tg_hf_settings_keep(tg_model_file *f, const char *directory, tg_err *err);

/* Set f->chat_template to the template of a directory, a GGUF file or a file NAME.jinja, whatever it is;
 * other paths have none.  TG_EDATA: the file is damaged; TG_EIO, TG_ENOMEM; with the file. */
TG_MUST_CHECK tg_status tg_chat_template_keep(tg_model_file *f, const char *path, tg_err *err);

#endif
