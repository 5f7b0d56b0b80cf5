/* The template of conversations that the target gets. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-convert/convert.h"
#include "lib/base/size.h"
#include "lib/models/chat_template.h"
#include "lib/models/hf_settings.h"
#include "lib/models/model_format.h"

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
    n = length > 0 ? snprintf(text, sizeof text, "{{ '%.*s' }}%s", (int)length, bos, template)
                   : snprintf(text, sizeof text, "%s", template);
    f->chat_template = (tg_span){text, tg_size_min((size_t)n, sizeof text - 1)};
    f->chat_settings = false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Whether settings of generation have this id, as one of any number. */
static bool names_id(tg_span settings, int32_t id)
{
    char digits[16];
    const size_t n = (size_t)snprintf(digits, sizeof digits, "%d", (int)id);

    for (size_t i = 0; i + n <= settings.n; i++)
        if (memcmp(settings.p + i, digits, n) == 0 && (i == 0 || !is_digit(settings.p[i - 1])) &&
            (i + n == settings.n || !is_digit(settings.p[i + n])))
            return true;
    return false;
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
    else if (!names_id(settings, chat.close))
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
    if (convert_has_template(o) && !o->write.lossy) /* else it may have been left out */
        say_lacking(o, f);
    return TG_OK;
}
