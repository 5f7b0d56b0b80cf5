/*
 * decimal: numbers as text, tens of millions a second.
 *
 * The text is printf's in the C locale, byte for byte, without a NUL behind it.  Each
 * function returns the end of what it wrote, and may scribble over all of the
 * TG_DECIMAL_ROOM bytes that `out` must have.
 */
#ifndef TG_BASE_DECIMAL_H
#define TG_BASE_DECIMAL_H

#include <stddef.h>

#define TG_DECIMAL_ROOM 32

/* Digits of a whole number: 1 for 0. */
size_t tg_decimal_digits(size_t value);

/* "%zu" */
char *tg_decimal_size(char *out, size_t value);

/* "%.9g": the digits that tell any two float32 numbers apart, so that reading the text
 * as a float gives back `value`, bit for bit. */
char *tg_decimal_float(char *out, float value);

/* "%.8f" below 1e9, else "%.9g" */
char *tg_decimal_fixed(char *out, double value);

#endif
