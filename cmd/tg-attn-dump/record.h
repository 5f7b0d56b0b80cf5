/*
 * attn_record: a line of named values for a program: tab-separated, or a JSON object.
 *
 * What puts a record out is written once, and run first with `titles` for the line of
 * names that tab-separated values begin with.  A value that is missing is empty there,
 * and null in JSON.
 */
#ifndef TG_CMD_ATTN_RECORD_H
#define TG_CMD_ATTN_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct attn_record {
    bool json, titles;
    size_t n; /* values so far */
} attn_record;

void attn_put_size(attn_record *r, const char *name, bool there, uint64_t value);
void attn_put_real(attn_record *r, const char *name, bool there, double value); /* finite; 9 digits */
void attn_put_text(attn_record *r, const char *name, bool there, const char *text, size_t n);
void attn_end_record(attn_record *r);

#endif
