/*
 * documents: splits text that arrives in parts, cut anywhere, into documents.
 */
#ifndef TG_CMD_TOKENIZE_DOCUMENTS_H
#define TG_CMD_TOKENIZE_DOCUMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/text/encoder.h"

typedef struct documents {
    const char *separator; /* a line that ends a document; NULL: none */
    bool null;             /* a NUL byte does */
    size_t length;         /* of the separator */
    size_t matched;        /* bytes of it that begin the current line; they are held back */
    bool in_line;          /* the line is not the separator */
} documents;

/* At the start of a file.  The caller keeps `separator`. */
void documents_begin(documents *d, const char *separator, bool null);

/*
 * The next part of the document: *part points to *n bytes, which may be 0; `text` is advanced past
 * what was consumed.  Returns whether the document ends after this part.  Call it until text->n is 0.
 */
bool documents_next(documents *d, tg_text *text, const unsigned char **part, size_t *n);

/* At the end of the file, return the bytes that were held back, if they are text. */
void documents_end(documents *d, const unsigned char **part, size_t *n);

#endif
