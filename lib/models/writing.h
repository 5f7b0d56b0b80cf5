/*
 * writing: what writers of tensors have in common.
 */
#ifndef TG_MODELS_WRITING_H
#define TG_MODELS_WRITING_H

#include <stddef.h>
#include <stdint.h>

#include "lib/models/model_format.h"

/*
 * The parameters of a model with all biases and gains, for formats that cannot leave any out.  Those that the
 * model lacks are zeros and ones, which changes no result.  A head's bias is not one of them.
 */
typedef struct tg_padded_params {
    tg_model_file file;     /* the model's, with a table and values of its own */
    size_t largest;         /* values of an entry */
    tg_float_buffer buffer; /* for tg_model_file_get() */
    uint64_t done;          /* bytes read */
} tg_padded_params;

TG_MUST_CHECK tg_status tg_padded_params_open(tg_padded_params *padded, const tg_model_file *f, tg_err *err);

/* The same with the parameters of another config, which lacks none of f's except a head's bias. */
TG_MUST_CHECK tg_status tg_padded_params_open_as(tg_padded_params *padded, const tg_model_file *f,
                                                 const tg_config *all, tg_err *err);
void tg_padded_params_close(tg_padded_params *padded); /* a zeroed one is fine */

/* Call when entry i of padded->file.table has been written: releases it, and reports the progress. */
void tg_padded_params_done(tg_padded_params *padded, size_t i, const tg_write_options *o);

/*
 * Values as the bytes of a type, F32, F16 or BF16: the values themselves, or rounded to nearest, ties to
 * even, in a buffer [n] of the caller's.  TG_EDATA: values[i] is beyond the type's range, with `name` and i.
 */
TG_MUST_CHECK tg_status tg_write_convert(const void **bytes, uint16_t *buffer, const float *values, size_t n,
                                         tg_write_type type, const char *name, tg_err *err);

/* Refuse what a program does otherwise (TG_EUSAGE), or note it if `lossy`. */
TG_MUST_CHECK tg_status tg_lose(tg_notes *notes, bool lossy, tg_err *err, const char *program,
                                const char *what);

/*
 * Refuse, or note if o->lossy, a head's bias other than zeros, which `format` does not have.
 */
TG_MUST_CHECK tg_status tg_check_head_bias(const tg_model_file *f, const tg_write_options *o,
                                           const char *format, tg_notes *notes, tg_err *err);

/* Whether the model's activation is another than GPT-2's; what a message says of that. */
#define TG_OTHER_ACTIVATION_MAX 96
bool tg_other_activation(char what[TG_OTHER_ACTIVATION_MAX], const tg_config *c);

/* Note which tokens begin and end a text, if the model names any: `format` does not have them.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_note_ends(const tg_config *c, const char *format, tg_notes *notes, tg_err *err);

#endif
