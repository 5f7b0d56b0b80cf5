/* files: temporary files with a content, at their beginning; the caller closes them. */
#ifndef TG_TESTS_FILES_H
#define TG_TESTS_FILES_H

#include <stddef.h>
#include <stdio.h>

FILE *file_of(const void *data, size_t n);

/* Archives of a text's bytes as tokens, one after another. */
FILE *tokens_of(const void *text, size_t n, size_t copies);

#endif
