/*
 * span: bytes of a file or of a text, which belong to somebody else; and numbers in them.
 */
#ifndef TG_FORMATS_SPAN_H
#define TG_FORMATS_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct tg_span {
    const char *p; /* [n], without a NUL at the end */
    size_t n;
} tg_span;

/* Whether it is this word; whether it ends with it. */
bool tg_span_is(tg_span s, const char *word);
bool tg_span_ends(tg_span s, const char *word);

/* For qsort() and bsearch(), of spans or of structs that begin with one: the order of their bytes. */
int tg_span_compare(const void *a, const void *b);

/* For a message: copy a span to out, cut if need be, with ? in place of all but printable ASCII.  Returns
 * out. */
#define TG_SHOWN_MAX 96
const char *tg_shown(char out[TG_SHOWN_MAX], tg_span s);

/* The little-endian number at p. */
static inline uint16_t tg_get16(const unsigned char *p)
{
    return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t tg_get32(const unsigned char *p)
{
    return (uint32_t)tg_get16(p) | (uint32_t)tg_get16(p + 2) << 16;
}

static inline uint64_t tg_get64(const unsigned char *p)
{
    return (uint64_t)tg_get32(p) | (uint64_t)tg_get32(p + 4) << 32;
}

#endif
