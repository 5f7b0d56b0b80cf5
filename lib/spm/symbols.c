#include "lib/spm/symbols.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/base/utf8.h"

#define JOINED_BITS_MIN 12u
#define JOINED_SPARSE 16u /* bits for a pair, at least */

static tg_status add_page(tg_spm_symbols *s, tg_err *err)
{
    const tg_status status = tg_grow(&s->page, &s->capacity, s->n_pages + 1, sizeof *s->page, "symbols", err);

    if (status)
        return status;
    memset(s->page[s->n_pages++], 0xFF, sizeof *s->page);
    return TG_OK;
}

tg_status tg_spm_symbols_create(tg_spm_symbols *s, tg_err *err)
{
    memset(s, 0, sizeof *s);
    memset(s->ascii, 0xFF, sizeof s->ascii);
    memset(s->stop, 0xFF, sizeof s->stop);
    return add_page(s, err);
}

tg_status tg_spm_symbols_set(tg_spm_symbols *s, uint32_t code, uint32_t symbol, tg_err *err)
{
    uint16_t *page = &s->page_of[code / TG_SPM_PAGE];

    if (code < 128)
        s->ascii[code] = symbol;
    if (*page == 0) {
        const tg_status status = add_page(s, err);

        if (status)
            return status;
        *page = (uint16_t)(s->n_pages - 1);
    }
    s->page[*page][code % TG_SPM_PAGE] = symbol;
    return TG_OK;
}

tg_status tg_spm_joined_create(tg_spm_symbols *s, size_t n, tg_err *err)
{
    unsigned bits = JOINED_BITS_MIN;

    while ((size_t)1 << bits < JOINED_SPARSE * n)
        bits++;
    s->shift = 64 - bits;
    s->joined = calloc((size_t)1 << bits >> 6, sizeof *s->joined);
    return s->joined ? TG_OK : tg_fail_memory(err, (size_t)1 << bits >> 3, "pairs of characters");
}

void tg_spm_joined_add(tg_spm_symbols *s, uint32_t left, uint32_t right)
{
    const uint64_t bit = tg_spm_pair_hash(left, right) >> s->shift;

    s->joined[bit / 64] |= UINT64_C(1) << bit % 64;
    if (left < 128 && right < 128)
        s->stop[left][right / 64] &= ~(UINT64_C(1) << right % 64);
}

void tg_spm_stop_before(tg_spm_symbols *s, unsigned char byte)
{
    for (size_t a = 0; a < 256; a++)
        s->stop[a][byte / 64] |= UINT64_C(1) << byte % 64;
}

void tg_spm_symbols_free(tg_spm_symbols *s)
{
    free(s->page);
    free(s->joined);
    s->page = NULL;
    s->joined = NULL;
}

/* ---- characters */

static uint32_t space_for(uint32_t code)
{
    return code == TG_SPM_SPACE_CODE ? ' ' : code;
}

size_t tg_spm_decode(uint32_t *code, const unsigned char *text, size_t n)
{
    size_t length;

    if (text[0] < 0x80) {
        *code = text[0];
        return 1;
    }
    if ((length = tg_utf8_decode_high(code, text, n)) > 0) {
        *code = space_for(*code);
        return length;
    }
    *code = TG_SPM_BYTE_CODE + text[0];
    return 1;
}

uint32_t tg_spm_decode_last(const unsigned char *text, size_t n)
{
    uint32_t code;

    if (text[n - 1] < 0x80)
        return text[n - 1];
    return tg_utf8_decode_last(&code, text, n) > 0 ? space_for(code) : TG_SPM_BYTE_CODE + text[n - 1];
}
