/*
 * unicode: the properties of characters that splitting and normalising need.  tests/unicode_tables.py
 * generates the tables from the Unicode Character Database, version TG_UNICODE_VERSION.
 */
#ifndef TG_UNICODE_UNICODE_H
#define TG_UNICODE_UNICODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_UNICODE_VERSION "18.0.0"

/* Tables have two stages: the block of a code point, then a row for each distinct block. */
#define TG_UNICODE_SHIFT 7
#define TG_UNICODE_BLOCK (1 << TG_UNICODE_SHIFT)
#define TG_UNICODE_BLOCKS (0x110000 >> TG_UNICODE_SHIFT)

/* ---- classes */

/* A code point's class: general categories, as far as the rules of lib/split/split.h distinguish
 * them.  White space is the property White_Space. */
typedef enum tg_unicode_class {
    TG_UNICODE_OTHER,
    TG_UNICODE_SPACE,
    TG_UNICODE_NUMBER, /* Nd, Nl, No */
    TG_UNICODE_LOWER,  /* Ll */
    TG_UNICODE_UPPER,  /* Lu, Lt */
    TG_UNICODE_LETTER, /* Lm, Lo: without case */
    TG_UNICODE_MARK,   /* Mn, Mc, Me */
} tg_unicode_class;

extern const unsigned char tg_unicode_class_block[TG_UNICODE_BLOCKS];
extern const char tg_unicode_classes[][TG_UNICODE_BLOCK + 1]; /* digits */

/* code <= 0x10FFFF. */
static inline tg_unicode_class tg_unicode_class_of(uint32_t code)
{
    const unsigned block = tg_unicode_class_block[code >> TG_UNICODE_SHIFT];

    return (tg_unicode_class)(tg_unicode_classes[block][code % TG_UNICODE_BLOCK] - '0');
}

/* ---- canonical forms (UAX #15), by utf8proc: those of the version of Unicode that it has, to which newer
 * characters are starters that nothing changes */

typedef struct tg_unicode_form {
    unsigned char order; /* Canonical_Combining_Class; 0: a starter */
    bool changes;        /* NFC_Quick_Check is not Yes: it may change, alone or with what precedes */
    bool starts;         /* whatever precedes never affects this character's normal form */
} tg_unicode_form;

/* code <= 0x10FFFF.  For loops it is too slow: some tens of nanoseconds. */
tg_unicode_form tg_unicode_form_of(uint32_t code);

#define TG_UNICODE_PARTS 4 /* the longest decomposition */

/* Write the full canonical decomposition of a code point, or itself if it has none, into
 * parts [TG_UNICODE_PARTS]; returns their number. */
size_t tg_unicode_decompose(uint32_t *parts, uint32_t code);

/* What two characters compose to; 0: they do not. */
uint32_t tg_unicode_compose(uint32_t first, uint32_t second);

/* The characters that compose with one before them, which utf8proc does not list: in ascending order, first
 * and last of each range. */
typedef struct tg_unicode_range {
    uint32_t first, last;
} tg_unicode_range;

extern const tg_unicode_range tg_unicode_seconds[];
extern const size_t tg_unicode_seconds_n;

#endif
