/* Notes of a conversion: see model_file.h. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/models/model_file.h"

tg_status tg_notes_add(tg_notes *notes, tg_err *err, const char *format, ...)
{
    char line[TG_ERR_MAX];
    va_list args;

    if (notes->n == TG_NOTES_MAX)
        return TG_OK;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (!notes->line)
        notes->line = calloc(TG_NOTES_MAX, sizeof *notes->line);
    if (!notes->line || !(notes->line[notes->n] = strdup(line)))
        return tg_fail_memory(err, sizeof line, "a note");
    notes->n++;
    return TG_OK;
}

void tg_notes_free(tg_notes *notes)
{
    for (size_t i = 0; i < notes->n; i++)
        free(notes->line[i]);
    free(notes->line);
    *notes = (tg_notes){0};
}
