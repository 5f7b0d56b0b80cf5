#include "lib/models/chat_template.h"

#include "lib/models/hf_settings.h"
#include "lib/models/model_format.h"

tg_status tg_chat_template_of(tg_chat_template *kind, const char *path, tg_err *err)
{
    tg_model_file f = {0};
    tg_status status = tg_chat_template_keep(&f, path, err);
    const tg_span text = f.chat_template;

    *kind = TG_CHAT_TEMPLATES;
    if (!status && text.p && (*kind = tg_chat_recognize(text.p, text.n)) == TG_CHAT_TEMPLATES) {
        status = tg_fail(err, TG_EDATA,
                         "the model's template of conversations is none of " TG_CHAT_NAMES
                         ": give one of these with --template");
        (void)tg_err_in(err, f.file[f.n_files - 1]->path);
    }
    tg_model_file_close(&f);
    return status;
}
