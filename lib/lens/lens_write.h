/*
 * lens_write: predictions after each layer, or the parts of a logit, as an archive of kind "lens" or
 * "attribution".  formats/README.md lists their arrays.
 */
#ifndef TG_LENS_LENS_WRITE_H
#define TG_LENS_LENS_WRITE_H

#include "lib/lens/attribute.h"
#include "lib/lens/lens.h"
#include "lib/text/token_texts.h"

#define TG_LENS_VERSION 1

/* Run the lens on ids [T], as tg_lens_run() does, and write all of its rows to fd.  text_of's context is the
 * model's tokenizer.  TG_EDATA: a logit is not finite.  TG_EIO, TG_ENOMEM.  After a failure the bytes already
 * written are not a valid archive. */
TG_MUST_CHECK tg_status tg_lens_write(int fd, tg_lens *lens, const int32_t *ids, tg_token_text_of text_of,
                                      tg_err *err);

/* Write an attribution that has run on ids [T].  Fails likewise. */
TG_MUST_CHECK tg_status tg_attribution_write(int fd, const tg_attribution *attribution, const int32_t *ids,
                                             tg_token_text_of text_of, tg_err *err);

#endif
