/*
 * prompt: a whole text for a model, as ids of its tokenizer.
 *
 * It comes as text, as ids, or from a stream that is either text or a token archive.
 */
#ifndef TG_GPT_PROMPT_H
#define TG_GPT_PROMPT_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/api.h"
#include "lib/gpt/model.h"

TG_API_BEGIN

#define TG_PROMPT_MAX ((size_t)64 << 20) /* max bytes of text, or tokens, in a stream */

typedef struct tg_prompt {
    int32_t *ids; /* [n], each of the model's tokenizer; owned */
    size_t n;
} tg_prompt;

/* Text [n bytes], n may be 0.  TG_EDATA: the tokenizer cannot express it.  TG_ENOMEM.  After a
 * failure *p needs no free. */
TG_MUST_CHECK tg_status tg_prompt_text(tg_prompt *p, const tg_model *model, const void *text, size_t n,
                                       tg_err *err);

/* A copy of ids [n].  TG_EDATA: the model's tokenizer lacks one.  TG_ENOMEM.  After a
 * failure *p needs no free. */
TG_MUST_CHECK tg_status tg_prompt_ids(tg_prompt *p, const tg_model *model, const int32_t *ids, size_t n,
                                      tg_err *err);

/*
 * All of fd: one token archive or several in a row if it begins with one, otherwise text.
 * Empty text is no error: p->n is 0.  TG_EDATA: more than TG_PROMPT_MAX, tokens of another tokenizer, a
 * damaged archive. TG_EIO, TG_ENOMEM.  After a failure *p needs no free.
 */
TG_MUST_CHECK tg_status tg_prompt_read(tg_prompt *p, const tg_model *model, int fd, tg_err *err);

void tg_prompt_free(tg_prompt *p);

TG_API_END

#endif
