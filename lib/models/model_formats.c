/* The formats of models that are read. */
#include <stddef.h>

#include "lib/models/model_format.h"

extern const tg_model_format tg_npz_format;         /* npz.c */
extern const tg_model_format tg_hf_format;          /* hf.c: a directory */
extern const tg_model_format tg_safetensors_format; /* hf.c: a file */
extern const tg_model_format tg_gguf_format;        /* gguf_read.c */
extern const tg_model_format tg_torch_format;       /* torch_read.c */
extern const tg_model_format tg_llmc_format;        /* llmc_read.c */
extern const tg_model_format tg_llama2c_format;     /* llama2c_read.c */
extern const tg_model_format tg_arrays_format;      /* npz.c: any other archive of arrays */

const tg_model_format *const tg_model_formats[] = {
    &tg_npz_format,     &tg_hf_format,     &tg_safetensors_format,
    &tg_gguf_format,    &tg_torch_format,  &tg_llmc_format,
    &tg_llama2c_format, &tg_arrays_format, NULL};
