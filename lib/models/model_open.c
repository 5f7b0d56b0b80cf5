#include "lib/models/model_open.h"

#include "lib/base/object.h"
#include "lib/models/model_file.h"
#include "lib/tokens/stream.h"

tg_status tg_model_open(tg_model *m, const char *path, tg_err *err)
{
    tg_model_file f;
    tg_status status;

    *m = (tg_model){0};
    if ((status = tg_model_file_open(&f, path, NULL, err)))
        return status;
    status = tg_model_file_to_model(m, &f, false, err);
    return status ? tg_err_in(err, path) : TG_OK;
}

tg_status tg_model_load(tg_model **m, const char *path, tg_err *err)
{
    *m = tg_object_new(sizeof **m, "a model", err);
    return *m ? tg_object_begun(m, tg_model_open(*m, path, err)) : TG_ENOMEM;
}

tg_status tg_model_prompt(tg_tokens_prompt *p, const tg_model *m, const void *text, size_t n, tg_err *err)
{
    tg_status status = tg_tokens_prompt_text(p, m->tokenizer, text, n, err);

    if (status || !m->config.add_bos)
        return status;
    if ((status = tg_tokens_prompt_begin(p, tg_model_bos(m), err)))
        tg_tokens_prompt_free(p);
    return status;
}
