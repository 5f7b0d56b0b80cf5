#include "lib/models/hf_settings.h"

#include <stdlib.h>
#include <string.h>

#include "formats/path.h"
#include "lib/models/model_format.h"

static tg_status load(tg_span *text, tg_model_file *f, const char *directory, const char *name, tg_err *err)
{
    const char *const names[] = {name, NULL};
    const char *found;
    char *path;
    tg_loaded *file;
    tg_status status = tg_path_find(&found, directory, names, err);

    if (status || !found)
        return status;
    if (!(path = tg_path_in(directory, name)))
        return tg_fail_memory(err, strlen(directory), "a path");
    if (!(status = tg_model_file_add(f, path, NULL, &file, err)))
        *text = (tg_span){(const char *)file->bytes, file->n};
    free(path);
    return status;
}

tg_status tg_hf_settings_keep(tg_model_file *f, const char *directory, tg_err *err)
{
    static const char *const names[TG_HF_SETTINGS] = {
        [TG_HF_TOKENIZER_SETTINGS] = TG_CHAT_SETTINGS_FILE,
        [TG_HF_GENERATION_SETTINGS] = TG_HF_GENERATION_FILE,
    };
    tg_status status = TG_OK;

    for (int i = 0; i < TG_HF_SETTINGS && !status; i++)
        status = load(&f->settings[i], f, directory, names[i], err);
    return status;
}
