/*
 * convert: what tg-convert has been asked for, and the conversions.
 */
#ifndef TG_CMD_CONVERT_CONVERT_H
#define TG_CMD_CONVERT_CONVERT_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/checkpoint/model_file.h"

typedef struct convert_options {
    const char *source;
    const char *target;                   /* NULL: standard output */
    const struct tg_model_format *format; /* of the target */
    size_t to;                            /* its number in the choices; SIZE_MAX: not given */
    tg_model_ask ask;
    size_t activation; /* likewise */
    tg_write_options write;
} convert_options;

/* Convert a model.  Errors name the file. */
TG_MUST_CHECK tg_status convert_model(const convert_options *o, tg_err *err);

#endif
