/* The formats that models are written in. */
#include <stdio.h>
#include <string.h>

#include "lib/models/model_format.h"

extern const tg_model_writer tg_writer_npz;         /* npz.c */
extern const tg_model_writer tg_writer_hf;          /* hf_write.c: a directory */
extern const tg_model_writer tg_writer_safetensors; /* hf_write.c: a file */
extern const tg_model_writer tg_writer_gguf;        /* gguf_write.c */
extern const tg_model_writer tg_writer_llmc;        /* llmc_write.c */
extern const tg_model_writer tg_writer_peft;        /* peft_write.c: a directory, of an adapter alone */

const tg_model_writer *const tg_model_writers[] = {
    &tg_writer_npz,  &tg_writer_hf, &tg_writer_safetensors, &tg_writer_gguf, &tg_writer_llmc,
    &tg_writer_peft, NULL};

const tg_model_writer *tg_model_writer_named(const char *name)
{
    for (const tg_model_writer *const *writer = tg_model_writers; *writer; writer++)
        if (strcmp((*writer)->name, name) == 0)
            return *writer;
    return NULL;
}

const char *tg_model_writer_names(char *text, size_t size)
{
    size_t used = 0;

    text[0] = '\0';
    for (const tg_model_writer *const *writer = tg_model_writers; *writer && used < size; writer++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", used > 0 ? "|" : "", (*writer)->name);
    return text;
}
