#include "lib/text/masks.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/text/unicode.h"

/* What a byte is: a flag for each class but the first, and two more.  SPECIAL, with one or both
 * of SPACE and CONTINUED or neither, are the characters that rules name. */
enum {
    SPACE = 1,
    NUMBER = 2,
    LOWER = 4,
    UPPER = 8,
    LETTER = 16,
    MARK = 32,
    CONTINUED = 64,
    SPECIAL = 128,
    BLANK = SPECIAL | SPACE,
    LINE = SPECIAL | SPACE | CONTINUED,
    APOSTROPHE = SPECIAL,
    SLASH = SPECIAL | CONTINUED
};

#define FLAG_OF_CLASS(class) (unsigned char)((1u << (class)) >> 1)

/* clang-format off */
#define _ 0
#define S SPACE
#define B BLANK
#define E LINE
#define Q APOSTROPHE
#define D SLASH
#define N NUMBER
#define U UPPER
#define L LOWER
static const unsigned char ascii_flags[128] = {
    _, _, _, _, _, _, _, _, _, S, E, S, S, E, _, _,
    _, _, _, _, _, _, _, _, _, _, _, _, _, _, _, _,
    B, _, _, _, _, _, _, Q, _, _, _, _, _, _, _, D,
    N, N, N, N, N, N, N, N, N, N, _, _, _, _, _, _,
    _, U, U, U, U, U, U, U, U, U, U, U, U, U, U, U,
    U, U, U, U, U, U, U, U, U, U, U, _, _, _, _, _,
    _, L, L, L, L, L, L, L, L, L, L, L, L, L, L, L,
    L, L, L, L, L, L, L, L, L, L, L, _, _, _, _, _,
};
#undef _
#undef S
#undef B
#undef E
#undef Q
#undef D
#undef N
#undef U
#undef L
/* clang-format on */

/* ---- characters to flags */

static inline bool continues(unsigned char byte)
{
    return tg_utf8_continues(byte);
}

/* tg_utf8_decode() for a character that is not ASCII, inline. */
static inline size_t decode(uint32_t *code, const unsigned char *p, size_t n)
{
    if (p[0] < 0xE0) {
        if (p[0] < 0xC2 || n < 2 || !continues(p[1]))
            return 0;
        *code = (p[0] & 0x1Fu) << 6 | (p[1] & 0x3Fu);
        return 2;
    }
    if (p[0] < 0xF0) {
        if (n < 3 || !continues(p[1]) || !continues(p[2]))
            return 0;
        *code = (p[0] & 0xFu) << 12 | (p[1] & 0x3Fu) << 6 | (p[2] & 0x3Fu);
        return *code < 0x800 || (*code >= 0xD800 && *code <= 0xDFFF) ? 0 : 3;
    }
    return tg_utf8_decode(code, p, n);
}

/* The flags of n bytes, at most 64, of which the last character may reach beyond. */
static void flag_bytes(tg_masks_reader *r, size_t n)
{
    const unsigned char *p = r->next;
    size_t i = r->spilled;

    memcpy(r->flags, r->flags + 64, 3);
    while (i < n) {
        uint32_t code;
        size_t length;

        if (p[i] < 0x80) {
            r->flags[i] = ascii_flags[p[i]];
            i++;
            continue;
        }
        length = decode(&code, p + i, r->n - i);
        if (length == 0) {
            r->flags[i++] = 0;
            continue;
        }
        r->flags[i] = FLAG_OF_CLASS(tg_unicode_class_of(code));
        for (size_t j = 1; j < length; j++)
            r->flags[i + j] = r->flags[i] | CONTINUED;
        i += length;
    }
    r->spilled = (unsigned)(i - n);
    memset(r->flags + i, 0, sizeof r->flags - i);
}

/* ---- flags to masks */

static uint64_t load_little_endian(const unsigned char *p)
{
    uint64_t x = 0;

    for (unsigned i = 0; i < 8; i++)
        x |= (uint64_t)p[i] << 8 * i;
    return x;
}

/* Transpose 8 x 8 bits: bit k of byte j becomes bit j of byte k. */
static uint64_t transpose(uint64_t x)
{
    uint64_t t;

    t = (x ^ x >> 7) & 0x00AA00AA00AA00AA;
    x ^= t ^ t << 7;
    t = (x ^ x >> 14) & 0x0000CCCC0000CCCC;
    x ^= t ^ t << 14;
    t = (x ^ x >> 28) & 0x00000000F0F0F0F0;
    return x ^ t ^ t << 28;
}

/* Bit i of plane [k] is bit k of flags[i]. */
static void take_planes(uint64_t plane[8], const unsigned char *flags)
{
    memset(plane, 0, 8 * sizeof *plane);
    for (unsigned i = 0; i < 8; i++) {
        const uint64_t x = transpose(load_little_endian(flags + 8 * i));

        for (unsigned k = 0; k < 8; k++)
            plane[k] |= (x >> 8 * k & 0xFF) << 8 * i;
    }
}

static void masks_of_planes(tg_masks *m, const uint64_t plane[8], uint64_t valid)
{
    const uint64_t special = plane[7], continued = plane[6];

    m->space = plane[0];
    m->number = plane[1];
    m->lower = plane[2];
    m->upper = plane[3];
    m->letter = plane[4] | m->lower | m->upper;
    m->mark = plane[5];
    m->other = valid & ~(m->letter | m->number | m->space);
    m->continued = continued & ~special;
    m->blank = special & m->space & ~continued;
    m->line = special & m->space & continued;
    m->apostrophe = special & ~m->space & ~continued;
    m->slash = special & ~m->space & continued;
}

/* ---- the text */

void tg_masks_start(tg_masks_reader *r, const unsigned char *text, size_t n)
{
    *r = (tg_masks_reader){.next = text, .n = n};
}

void tg_masks_read(tg_masks_reader *r, tg_masks *m, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        const size_t n = tg_size_min(r->n, 64);
        const uint64_t valid = n == 64 ? ~(uint64_t)0 : ((uint64_t)1 << n) - 1;
        uint64_t plane[8];

        flag_bytes(r, n);
        take_planes(plane, r->flags);
        for (unsigned k = 0; k < 8; k++)
            plane[k] &= valid;
        masks_of_planes(m + w, plane, valid);
        r->next += n;
        r->n -= n;
    }
}
