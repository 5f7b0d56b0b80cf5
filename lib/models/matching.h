/*
 * matching: which stored tensor is which parameter: what match.c and match_table.c share.
 */
#ifndef TG_MODELS_MATCHING_H
#define TG_MODELS_MATCHING_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/tensor_list.h"
#include "lib/models/model_format.h"

/* Whether the files give this setting. */
bool tg_match_knows(const tg_model_file *f, tg_config_id id);

/* Check that what is asked for, if it is, is what the files say, where they do.  TG_EUSAGE. */
TG_MUST_CHECK tg_status tg_match_check_asked(const tg_model_file *f, const tg_model_ask *ask, tg_err *err);

/* Check that a tensor has floating-point numbers, and this shape.  TG_EDATA. */
TG_MUST_CHECK tg_status tg_match_check_numbers(const tg_stored *s, tg_err *err);
TG_MUST_CHECK tg_status tg_match_check_shape(const tg_stored *s, size_t ndim, const size_t *shape,
                                             tg_err *err);

/* Whether the head, NULL if it is not stored, is the embedding: f->config.tied.  TG_EDATA: no numbers. */
TG_MUST_CHECK tg_status tg_match_tie(tg_model_file *f, const tg_stored *wte, const tg_stored *head,
                                     tg_err *err);

/*
 * tg_model_file_match() of a family after GPT-2 (match_table.c), whose config is known as a whole, except
 * for the head.  Tensors that the names have no row for, or all if the names are another family's, have the
 * parameters' names.  TG_QKV_W, or _B, is a tensor of q, k and v.
 */
TG_MUST_CHECK tg_status tg_match_table(tg_model_file *f, const tg_names *names, const tg_model_ask *ask,
                                       tg_err *err);

#endif
