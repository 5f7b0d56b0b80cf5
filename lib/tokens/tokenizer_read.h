/*
 * tokenizer_read: tokenizers by the name of their kind, alone or in an archive.
 */
#ifndef TG_TOKENS_TOKENIZER_READ_H
#define TG_TOKENS_TOKENIZER_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/archive.h"
#include "lib/base/status.h"
#include "lib/text/tokenizer.h"

/*
 * A new tokenizer of a kind that needs no file, into *tok, to be freed.
 * kind: its name, "bytes"; NULL: the default of all tools, bytes.  TG_EUSAGE: the kind is
 * unknown.  TG_ENOMEM.  *tok is NULL after a failure.
 */
TG_MUST_CHECK tg_status tg_tokenizer_create(const tg_tokenizer **tok, const char *kind, tg_err *err);

/*
 * Reading one from an archive
 *
 *     tg_tokenizer_draft draft = {0};
 *     for each array: tg_tokenizer_take(&draft, reader, &array, &taken, &err)
 *     tg_tokenizer_complete(&tok, &draft, &err)
 *     tg_tokenizer_draft_free(&draft)
 */
typedef struct tg_tokenizer_draft {
    tg_tokenizer *tok; /* NULL until tokenizer/kind has been read; owned */
    size_t vocab_size; /* 0 until tokenizer/vocab_size has been read */
} tg_tokenizer_draft;

/*
 * Take the current array if its name begins with "tokenizer/"; *taken says whether.
 * The kind comes before the kind's own arrays.  TG_EDATA: an array or a value that this version
 * does not know.  TG_EIO, TG_ENOMEM.
 */
TG_MUST_CHECK tg_status tg_tokenizer_take(tg_tokenizer_draft *draft, tg_archive_reader *r, const tg_array *a,
                                          bool *taken, tg_err *err);

/* After the last array, move the completed tokenizer from the draft to *tok, to be freed.
 * TG_EDATA: something is missing, or the arrays contradict each other.  TG_ENOMEM.
 * *tok is NULL after a failure. */
TG_MUST_CHECK tg_status tg_tokenizer_complete(const tg_tokenizer **tok, tg_tokenizer_draft *draft,
                                              tg_err *err);

/* Free what has been read.  A zeroed draft is fine. */
void tg_tokenizer_draft_free(tg_tokenizer_draft *draft);

#endif
