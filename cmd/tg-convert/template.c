/* The template of conversations that the target gets. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-convert/convert.h"
#include "formats/json.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "lib/models/hf_settings.h"
#include "lib/models/model_format.h"
#include "lib/text/chat.h"

bool convert_has_template(const convert_options *o)
{
    return o->format && (strcmp(o->format->name, "hf") == 0 || strcmp(o->format->name, "gguf") == 0);
}

/* The tokens that end an answer, as settings of generation, for programs that know only these. */
static void put_ends(tg_model_file *f, const tg_chat *chat)
{
    static char text[64];
    const int32_t end =
        f->config.eos_token > 0 ? (int32_t)f->config.eos_token - 1 : tg_tokenizer_end_of_text(f->tokenizer);
    int n;

    if (end >= 0 && end != chat->close)
        n = snprintf(text, sizeof text, "{\n  \"eos_token_id\": [%d, %d]\n}\n", (int)end, (int)chat->close);
    else
        n = snprintf(text, sizeof text, "{\n  \"eos_token_id\": %d\n}\n", (int)chat->close);
    f->settings[TG_HF_GENERATION_SETTINGS] = (tg_span){text, (size_t)n};
}

/* The template, after the token that begins a conversation, which settings of a tokenizer may lack. */
static void put_text(tg_model_file *f, const tg_chat *chat)
{
    static char text[2048];
    const char *template = tg_chat_template_text(chat->kind), *bos = "";
    size_t length = 0;
    int n;

    if (chat->bos >= 0)
        bos = (const char *)tg_tokenizer_token(f->tokenizer, chat->bos, &length);
    if (memchr(bos, '\'', length) ||
        memchr(bos, '\\', length)) /* what a string of Jinja would end at, or change */
        length = 0;
    n = length > 0 ? snprintf(text, sizeof text, "{{ '%.*s' }}%s", (int)length, bos, template)
                   : snprintf(text, sizeof text, "%s", template);
    f->chat_template = (tg_span){text, tg_size_min((size_t)n, sizeof text - 1)};
    f->chat_settings = false;
}

/* Whether settings of generation end a text at this id: their eos_token_id is it, or a list that has it. */
static bool ends_at(tg_span settings, int32_t id)
{
    tg_json j;
    bool found = false;

    tg_json_open(&j, settings.p, settings.n, NULL);
    if (tg_json_find_kind(&j, 0, "eos_token_id", TG_JSON_NUMBER)) {
        found = tg_json_get_size(&j) == (size_t)id;
    } else if (tg_json_find_kind(&j, 0, "eos_token_id", TG_JSON_ARRAY)) {
        tg_json_enter(&j, TG_JSON_ARRAY);
        while (tg_json_element(&j))
            found = tg_json_get_size(&j) == (size_t)id || found;
    }
    return !tg_json_close(&j) && found;
}

/* One that this library knows, which the tokenizer must fit. */
static tg_status put_named(tg_model_file *f, tg_chat_template kind, tg_err *err)
{
    const tg_span settings = f->settings[TG_HF_GENERATION_SETTINGS];
    tg_chat chat;
    tg_status status;

    if (!tg_chat_template_text(kind))
        return tg_fail(err, TG_EUSAGE, "--chat-template: plain is no template of other programs");
    if ((status = tg_chat_open(&chat, kind, f->tokenizer, NULL, NULL, err)))
        return status;
    put_text(f, &chat);
    if (!settings.p)
        put_ends(f, &chat);
    else if (!ends_at(settings, chat.close))
        cli_note(
            "generation_config.json is the source's, and lacks token %d, which ends an answer: add it to its "
            "eos_token_id",
            (int)chat.close);
    tg_chat_close(&chat);
    return TG_OK;
}

static tg_status put_given(const convert_options *o, tg_model_file *f, tg_err *err)
{
    size_t kind;
    tg_status status;

    if (tg_choice_find(&kind, TG_CHAT_NAMES, o->chat))
        return put_named(f, (tg_chat_template)kind, err);
    if (access(o->chat, F_OK) != 0) {
        (void)tg_fail_sys(err, "no template of these names: " TG_CHAT_NAMES ", and no file");
        return tg_err_in(err, o->chat);
    }
    status = tg_chat_template_keep(f, o->chat, err);
    f->chat_settings = false;
    if (status || f->chat_template.p)
        return status;
    return tg_fail(err, TG_EDATA,
                   "%s: no template of conversations: expected one in a model's directory, a GGUF file or a "
                   "file NAME.jinja",
                   o->chat);
}

/* Give the target the template that the model was trained on, or say why it has another one. */
static tg_status put_trained(tg_model_file *f, tg_chat_template kind, tg_err *err)
{
    char name[TG_CHOICE_SIZE];
    const tg_span own = f->chat_template;

    (void)tg_choice_name(name, TG_CHAT_NAMES, kind);
    if (own.p && tg_chat_recognize(own.p, own.n) == kind)
        return TG_OK;
    if (!tg_chat_template_text(kind)) {
        cli_note("the model was trained on the template plain, which other programs do not have");
        return TG_OK;
    }
    if (own.p) {
        cli_say("the model was trained on the template %s, and its files have another one, which is written: "
                "--chat-template %s writes that",
                name, name);
        return TG_OK;
    }
    cli_note("the target has the template %s, which the model was trained on", name);
    return put_named(f, kind, err);
}

/* Other programs would not know how to ask a model that has such tokens. */
static void say_lacking(const convert_options *o, const tg_model_file *f)
{
    char name[TG_CHOICE_SIZE];
    tg_chat chat;

    if (f->chat_template.p || tg_chat_open(&chat, TG_CHAT_TEMPLATES, f->tokenizer, NULL, NULL, NULL))
        return;
    (void)tg_choice_name(name, TG_CHAT_NAMES, chat.kind);
    cli_note("%s has no template of conversations, but tokens of %s: --chat-template %s writes one",
             cli_input_name(o->source), name, name);
    tg_chat_close(&chat);
}

tg_status convert_settle_template(const convert_options *o, tg_model_file *f, tg_err *err)
{
    const tg_chat_note trained = tg_model_file_chat(f);

    if (!f->tokenizer || !tg_tokenizer_has_text(f->tokenizer)) {
        tg_hf_settings_drop(f);
        return o->chat ? tg_fail(err, TG_EUSAGE, "--chat-template: %s has no tokenizer of text",
                                 cli_input_name(o->source))
                       : TG_OK;
    }
    if (!f->settings[TG_HF_TOKENIZER_SETTINGS].p)
        f->chat_settings = false;
    if (o->chat)
        return put_given(o, f, err);
    if (!convert_has_template(o))
        return TG_OK;
    if (trained > 0)
        return put_trained(f, (tg_chat_template)(trained - 1), err);
    if (!o->write.lossy) /* else it may have been left out */
        say_lacking(o, f);
    return TG_OK;
}
