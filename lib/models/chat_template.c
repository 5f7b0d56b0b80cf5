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

/* Roles that do not alternate, where they should, are refused by who asks. */
static const char *const texts[TG_CHAT_TEMPLATES] = {
    [TG_CHAT_CHATML] =
        "{% for m in messages %}{{ '<|im_start|>' + m['role'] + '\\n' + m['content'] + '<|im_end|>\\n' }}"
        "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
    [TG_CHAT_LLAMA3] = "{% for m in messages %}{{ '<|start_header_id|>' + m['role'] + "
                       "'<|end_header_id|>\\n\\n' + "
                       "(m['content'] | trim) + '<|eot_id|>' }}{% endfor %}{% if add_generation_prompt %}"
                       "{{ '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}",
    [TG_CHAT_GEMMA] =
        "{% for m in messages %}{% if m['role'] == 'system' %}"
        "{{ '<start_of_turn>user\\n' + m['content'] + '\\n\\n' }}{% else %}"
        "{% if not (loop.index0 == 1 and messages[0]['role'] == 'system') %}"
        "{{ '<start_of_turn>' + ('model' if m['role'] == 'assistant' else 'user') + '\\n' }}{% endif %}"
        "{{ (m['content'] | trim) + '<end_of_turn>\\n' }}{% endif %}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}",
};

const char *tg_chat_template_text(tg_chat_template kind)
{
    return texts[kind];
}
