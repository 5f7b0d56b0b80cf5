/*
 * convert: what tg-convert has been asked for, and the conversions.
 */
#ifndef TG_CMD_CONVERT_CONVERT_H
#define TG_CMD_CONVERT_CONVERT_H

#include <stdbool.h>
#include <stddef.h>

#include "cmd/cli/cli.h"
#include "formats/source.h"
#include "lib/base/choice.h"
#include "lib/base/status.h"
#include "lib/models/model_file.h"
#include "lib/models/token_file.h"

typedef struct convert_options {
    const char *source;
    const char *target;                   /* NULL: standard output */
    const struct tg_model_writer *format; /* of the target; NULL: it is tokens */
    size_t to;                            /* its number in the choices; SIZE_MAX: not given */
    tg_model_ask ask;
    size_t activation; /* likewise */
    char activation_name[TG_CHOICE_SIZE];
    size_t from; /* likewise; the only choice: bare ids of 16 bits */
    tg_write_options write;
    tg_token_format tokens; /* of the target, if the source is tokens */
    const char *tokenizer;  /* a file; NULL: the source's own */
    const char *chat;       /* a template's name, or a file that has one; likewise */
    size_t vocab_size;      /* of tokens without a tokenizer; 0: not given */
} convert_options;

/*
 * Convert a model, or tokens.  input: standard input, which is taken over; NULL: o->source is a path.
 * tok: of the source, if it has none; NULL: none.  Errors name the file.
 */
TG_MUST_CHECK tg_status convert_model(const convert_options *o, tg_source *input, const tg_tokenizer *tok,
                                      tg_err *err);
TG_MUST_CHECK tg_status convert_tokens(const convert_options *o, tg_source *input, const tg_tokenizer *tok,
                                       tg_err *err);

/* Whether the target's format has a template of conversations. */
bool convert_has_template(const convert_options *o);

/* Keep the template and the settings that go with the tokenizer, or put that of --chat-template in their
 * place. TG_EUSAGE, TG_EDATA: it is none, or does not fit the tokenizer; TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status convert_settle_template(const convert_options *o, tg_model_file *f, tg_err *err);

/* Check that writing to a path leaves the source, its tokenizer, the map of names and --chat-template as they
 * are. */
TG_MUST_CHECK tg_status convert_check_output(const convert_options *o, const char *path, tg_err *err);

#endif
