/*
 * logits: writes logits as an archive, as they are computed; memory: one chunk.
 *
 * Archive: kind = "logits", version = 1, tokenizer/..., then for each chunk tokens/00000000, the tokens
 * [n], as lib/text/ids.h stores them, and logits/00000000 <f4 [n,V]: row i is what the model says after
 * token i.
 */
#ifndef TG_EVAL_LOGITS_H
#define TG_EVAL_LOGITS_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"
#include "lib/gpt/model.h"

#define TG_LOGITS_VERSION 1

/* Bytes of logits in a full chunk, which has at least one row. */
#ifndef TG_LOGITS_CHUNK
#define TG_LOGITS_CHUNK ((size_t)256 << 20)
#endif

typedef struct tg_logits_writer tg_logits_writer;

/* Begin an archive on fd, which the caller closes.  The model must outlive the writer.  TG_EIO,
 * TG_ENOMEM; *w is NULL after a failure. */
TG_MUST_CHECK tg_status tg_logits_create(tg_logits_writer **w, int fd, const tg_model *model, tg_err *err);

/* Append a token of the model's tokenizer and the logits [V] after it.  TG_EIO, TG_ENOMEM; TG_EUSAGE: more
 * chunks than an archive holds.  After a failure only tg_logits_abandon() is legal. */
TG_MUST_CHECK tg_status tg_logits_write(tg_logits_writer *w, int32_t token, const float *logits, tg_err *err);

/* Write the last chunk, and end the archive.  TG_EIO, TG_ENOMEM, TG_EUSAGE likewise. */
TG_MUST_CHECK tg_status tg_logits_finish(tg_logits_writer *w, tg_err *err);

/* Free the writer, finished or not.  NULL is fine. */
void tg_logits_abandon(tg_logits_writer *w);

#endif
