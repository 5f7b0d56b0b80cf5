/*
 * lines: a source, a line at a time.
 *
 *     tg_lines lines = {.source = &source}
 *     while (!(status = tg_lines_next(&lines, &any, &err)) && any)
 *         use lines.text [lines.n], lines.number
 *     tg_lines_free(&lines)
 *
 * A byte order mark of UTF-8 at the beginning of the source is no part of a line.
 */
#ifndef TG_FORMATS_LINES_H
#define TG_FORMATS_LINES_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/source.h"
#include "lib/base/status.h"

typedef struct tg_lines {
    tg_source *source; /* the caller's */
    char *text; /* [n] a line without its line feed, and a NUL after it; owned; the caller may change it */
    size_t n, capacity;
    size_t number; /* of the line, from 1 */
} tg_lines;

/* The next line; *any is false at the end of the source.  The last line may lack a line feed.  TG_EIO,
 * TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_lines_next(tg_lines *lines, bool *any, tg_err *err);

/* A zeroed one is fine. */
void tg_lines_free(tg_lines *lines);

#endif
