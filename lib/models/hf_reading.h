/*
 * hf_reading: a config.json of Hugging Face's that is being read.  Only for the files hf_*.c that read it.
 *
 * A member that is null counts as missing.
 */
#ifndef TG_MODELS_HF_READING_H
#define TG_MODELS_HF_READING_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/json.h"
#include "formats/span.h"
#include "lib/models/model_file.h"

typedef struct tg_hf_reading {
    tg_model_file *f;
    const tg_model_ask *ask;
    tg_json j;                             /* it keeps the reader's first failure, and others */
    size_t in;                             /* the object that has the model's settings; 0: the whole */
    const char *member[TG_CONFIG_MEMBERS]; /* what a value of the config comes from as it is; NULL: nothing */
} tg_hf_reading;

/* Whether r->in has no such member, not even null. */
bool tg_hf_is_missing(tg_hf_reading *r, const char *name);

/* The member of the object at `in` (0: the whole; without `in`: r->in), or `otherwise` where it is missing.
 */
bool tg_hf_get_bool(tg_hf_reading *r, const char *name, bool otherwise);
double tg_hf_get_number(tg_hf_reading *r, size_t in, const char *name, double otherwise);
size_t tg_hf_get_size(tg_hf_reading *r, size_t in, const char *name, size_t otherwise);
tg_activation tg_hf_get_activation(tg_hf_reading *r, const char *name, tg_activation otherwise);

/* A text, cut to what a message shows; "" if there is none. */
void tg_hf_get_text(tg_hf_reading *r, size_t in, const char *name, char out[TG_SHOWN_MAX]);

/* A member that must be there. */
double tg_hf_need_number(tg_hf_reading *r, size_t in, const char *name);
size_t tg_hf_need_size(tg_hf_reading *r, size_t in, const char *name);

/* Fail, unless something has before: the member is missing. */
void tg_hf_refuse_missing(tg_hf_reading *r, const char *name);

/* Fail, unless something has before: that value of the member is not supported. */
void tg_hf_refuse(tg_hf_reading *r, const char *name, const char *value);
void tg_hf_refuse_quantised(tg_hf_reading *r);

#endif
