/* The formats of models. */
#include <stdio.h>
#include <string.h>

#include "lib/checkpoint/model_format.h"

extern const tg_model_format tg_npz_format;         /* npz.c */
extern const tg_model_format tg_hf_format;          /* hf.c: a directory */
extern const tg_model_format tg_safetensors_format; /* hf.c: a file */
extern const tg_model_format tg_gguf_format;        /* gguf_read.c */
extern const tg_model_format tg_torch_format;       /* torch_read.c */
extern const tg_model_format tg_llmc_format;        /* llmc_read.c, llmc_write.c */
extern const tg_model_format tg_arrays_format;      /* npz.c: any other archive of arrays */

const tg_model_format *const tg_model_formats[] = {
    &tg_npz_format,   &tg_hf_format,   &tg_safetensors_format, &tg_gguf_format,
    &tg_torch_format, &tg_llmc_format, &tg_arrays_format,      NULL};

const tg_model_format *tg_model_format_named(const char *name)
{
    for (const tg_model_format *const *format = tg_model_formats; *format; format++)
        if ((*format)->check && strcmp((*format)->name, name) == 0)
            return *format;
    return NULL;
}

const char *tg_model_format_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (const tg_model_format *const *format = tg_model_formats; *format; format++)
        if ((*format)->check && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? "|" : "", (*format)->name);
    return text;
}
