#include "lib/models/hf_settings.h"

#include "lib/models/model_format.h"

static tg_status load(tg_model_file *f, const char *directory, tg_err *err)
{
    static const char *const names[TG_HF_SETTINGS] = {
        [TG_HF_TOKENIZER_SETTINGS] = TG_CHAT_SETTINGS_FILE,
        [TG_HF_GENERATION_SETTINGS] = TG_HF_GENERATION_FILE,
    };
    tg_loaded *file;
    tg_status status;

    for (int i = 0; i < TG_HF_SETTINGS; i++) {
        status = tg_model_file_add_found(f, &file, directory, names[i], false, TG_HF_SETTINGS_MAX, err);
        if (status)
            return status;
        if (file)
            f->settings[i] = (tg_span){(const char *)file->bytes, file->n};
    }
    return TG_OK;
}

tg_status tg_hf_settings_read(tg_model_file *f, const char *directory, const tg_model_ask *ask, tg_err *err)
{
    tg_err why = {0};
    tg_status status = ask->chat_template ? tg_chat_template_keep(f, directory, &why) : TG_OK;

    if (!status && ask->hf_settings)
        status = load(f, directory, &why);
    if (!status)
        return TG_OK;
    tg_hf_settings_drop(f);
    if (status != TG_EDATA)
        return tg_fail(err, status, "%s", why.message);
    if (!ask->lossy)
        return tg_fail(err, status, "%s (--lossy leaves it out)", why.message);
    return tg_notes_add(&f->notes, err, "the template of conversations is left out: %s", why.message);
}

void tg_hf_settings_drop(tg_model_file *f)
{
    f->chat_template = (tg_span){0};
    f->chat_settings = false;
    for (int i = 0; i < TG_HF_SETTINGS; i++)
        f->settings[i] = (tg_span){0};
}
