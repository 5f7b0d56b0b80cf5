/*
 * unicode: what splitting and normalising must know of characters.  The tables are generated
 * from the Unicode Character Database by tests/unicode_tables.py; TG_UNICODE_VERSION tells which.
 */
#ifndef TG_TEXT_UNICODE_H
#define TG_TEXT_UNICODE_H

#include <stdint.h>

#define TG_UNICODE_VERSION "17.0.0"

/* A code point's class: general categories, as far as the rules of lib/text/split.h tell them
 * apart.  White space is the property White_Space. */
typedef enum tg_unicode_class {
    TG_UNICODE_OTHER,
    TG_UNICODE_SPACE,
    TG_UNICODE_NUMBER, /* Nd, Nl, No */
    TG_UNICODE_LOWER,  /* Ll */
    TG_UNICODE_UPPER,  /* Lu, Lt */
    TG_UNICODE_LETTER, /* Lm, Lo: without case */
    TG_UNICODE_MARK,   /* Mn, Mc, Me */
} tg_unicode_class;

/* code <= 0x10FFFF. */
tg_unicode_class tg_unicode_class_of(uint32_t code);

#endif
