/*
 * decimal: numbers as text, tens of millions per second.
 *
 * The text is what printf gives in the C locale, byte for byte, without a NUL after it, whichever locale the
 * program has set.  Each function returns the end of the text.  `out` holds TG_DECIMAL_SIZE bytes, all
 * of which may be overwritten.
 */
#ifndef TG_BASE_DECIMAL_H
#define TG_BASE_DECIMAL_H

#include <stddef.h>

#define TG_DECIMAL_SIZE 32

/* Digits of a whole number: 1 for 0. */
size_t tg_decimal_digits(size_t value);

/* "%zu" */
char *tg_decimal_size(char *out, size_t value);

/* "%.9g": enough digits to read back `value`, bit for bit. */
char *tg_decimal_float(char *out, float value);

/* "%.8f" if |value| < 1e9, otherwise "%.9g" */
char *tg_decimal_fixed(char *out, double value);

/* "%.*g" with so many digits, at most 17 */
char *tg_decimal_general(char *out, int digits, double value);

/* The number that a text of at most TG_DECIMAL_READ bytes begins with, as strtod() reads it in the C locale;
 * *end is what follows it, or `text` if there is none. */
#define TG_DECIMAL_READ 63
double tg_decimal_read(const char *text, const char **end);

#endif
