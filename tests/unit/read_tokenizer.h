/*
 * read_tokenizer: the tokenizer in an archive that has nothing else, read array by array.
 */
#ifndef TG_TESTS_READ_TOKENIZER_H
#define TG_TESTS_READ_TOKENIZER_H

#include <stdio.h>

#include "lib/text/tokenizer.h"

/* Read it from the file's start into *tok, to be freed; NULL after a failure.  The archive is whole. */
TG_MUST_CHECK tg_status read_tokenizer(const tg_tokenizer **tok, FILE *f, tg_err *err);

#endif
