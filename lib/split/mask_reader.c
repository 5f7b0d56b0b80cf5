#include <string.h>

#include "lib/base/utf8.h"
#include "lib/kernels/text_kernels.h"
#include "lib/split/split_rules.h"

/* n < 64 */
static uint64_t ones(unsigned n)
{
    return ((uint64_t)1 << n) - 1;
}

/* Add the characters that are not ASCII to the masks of the next bytes. */
static void add_characters(tg_mask_reader *r, tg_masks *m)
{
    uint64_t of_class[TG_UNICODE_MARK + 1] = {0}, left = m->high;

    of_class[r->class] = m->continued = ones(r->spilled);
    left &= ~m->continued;
    r->spilled = 0;
    while (left) {
        const unsigned i = (unsigned)__builtin_ctzll(left);
        uint32_t code;
        const size_t length = tg_utf8_decode_high(&code, r->next + i, r->n - i);

        if (length > 0) {
            const unsigned class = tg_unicode_class_of(code);
            const uint64_t bytes = ones((unsigned)length) << i;

            of_class[class] |= bytes;
            m->continued |= bytes << 1 & bytes;
            left &= ~bytes;
            if (i + length > 64) {
                r->spilled = (unsigned)(i + length - 64);
                r->class = class;
            }
        } else {
            left &= left - 1;
        }
    }
    m->lower |= of_class[TG_UNICODE_LOWER];
    m->upper |= of_class[TG_UNICODE_UPPER];
    m->letter |= of_class[TG_UNICODE_LETTER] | m->lower | m->upper;
    m->number |= of_class[TG_UNICODE_NUMBER];
    m->space |= of_class[TG_UNICODE_SPACE];
    m->mark = of_class[TG_UNICODE_MARK];
    m->other &= ~(m->letter | m->number | m->space);
}

/* The text's last bytes, fewer than 64. */
static void read_last(tg_mask_reader *r, tg_masks *m)
{
    unsigned char text[64] = {0};

    memcpy(text, r->next, r->n);
    r->kernel(m, text, 1);
    m->other &= ones((unsigned)r->n); /* what NUL is */
}

void tg_mask_reader_start(tg_mask_reader *r, const unsigned char *text, size_t n)
{
    *r = (tg_mask_reader){.next = text, .n = n, .kernel = tg_text_kernels_get()->masks};
}

void tg_mask_reader_read(tg_mask_reader *r, tg_masks *masks, size_t words)
{
    const size_t whole = r->n / 64 < words ? r->n / 64 : words;

    r->kernel(masks, r->next, whole);
    for (size_t w = 0; w < words; w++) {
        const size_t n = w < whole ? 64 : r->n;

        if (w >= whole)
            read_last(r, masks + w);
        if (masks[w].high)
            add_characters(r, masks + w);
        r->next += n;
        r->n -= n;
    }
}
