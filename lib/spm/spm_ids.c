#include "lib/spm/spm_ids.h"

#include <stdlib.h>

#include "lib/base/utf8.h"

tg_status tg_spm_ids_create(tg_spm_ids *p, const tg_spm *spm, tg_err *err)
{
    *p = (tg_spm_ids){.spm = spm};
    if (!spm->divides)
        return TG_OK;
    p->stack = malloc((spm->longest + 1) * sizeof *p->stack);
    return p->stack ? TG_OK : tg_fail_memory(err, (spm->longest + 1) * sizeof *p->stack, "parts of a piece");
}

void tg_spm_ids_free(tg_spm_ids *p)
{
    tg_id_queue_free(&p->queue);
    free(p->stack);
    p->stack = NULL;
}

void tg_spm_ids_put(tg_spm_ids *p, int32_t id)
{
    p->queue.ids[p->queue.n++] = id;
    p->unknown = false;
}

/* No vocabulary with an unknown piece comes here. */
static tg_status fail_unknown(const unsigned char *text, size_t n, tg_err *err)
{
    uint32_t code;

    if (tg_utf8_decode(&code, text, n) == 0)
        return tg_fail(err, TG_EDATA,
                       "byte 0x%02X is not in the vocabulary, which has neither bytes nor an unknown token",
                       text[0]);
    return tg_fail(err, TG_EDATA,
                   "character U+%04lX is not in the vocabulary, which has neither bytes nor an unknown token",
                   (unsigned long)code);
}

/* The ids of a character that is no piece. */
static tg_status put_character(tg_spm_ids *p, const unsigned char *text, size_t n, tg_err *err)
{
    const tg_spm *s = p->spm;

    if (text[0] == ' ') {
        text = (const unsigned char *)TG_SPM_SPACE;
        n = TG_SPM_SPACE_BYTES;
    }
    for (size_t i = 0; s->bytes && i < n; i++)
        tg_spm_ids_put(p, s->byte_ids[text[i]]);
    if (s->bytes)
        return TG_OK;
    if (s->unknown < 0)
        return fail_unknown(text, n, err);
    if (!p->unknown)
        tg_spm_ids_put(p, s->unknown);
    p->unknown = p->any_unknown = true;
    return TG_OK;
}

/* The text of a part of an unused piece is needed only for characters that are no piece. */
static tg_status put_part(tg_spm_ids *p, uint32_t symbol, tg_err *err)
{
    size_t n;
    const unsigned char *text;

    if (symbol < p->spm->vocab.n) {
        tg_spm_ids_put(p, (int32_t)symbol);
        return TG_OK;
    }
    text = tg_spm_text(p->spm, symbol, &n);
    return put_character(p, text, n, err);
}

/* Divide an unused piece into its halves, those that are unused again, and so on. */
static tg_status put_divided(tg_spm_ids *p, uint32_t symbol, tg_err *err)
{
    const tg_spm *s = p->spm;
    size_t n = 0;
    tg_status status = TG_OK;

    p->stack[n++] = symbol;
    while (!status && n > 0) {
        const uint32_t part = p->stack[--n];

        if (s->made_by[part] != TG_RANK_NONE && s->types[part] == TG_SPM_UNUSED) {
            const tg_pair *pair = &s->pairs.pairs[s->made_by[part]];

            p->stack[n++] = pair->right;
            p->stack[n++] = pair->left;
        } else {
            status = put_part(p, part, err);
        }
    }
    return status;
}

tg_status tg_spm_ids_put_symbol(tg_spm_ids *p, uint32_t symbol, const unsigned char *text, size_t n,
                                tg_err *err)
{
    const tg_spm *s = p->spm;

    if (symbol >= s->vocab.n)
        return put_character(p, text, n, err);
    if (s->types[symbol] == TG_SPM_UNUSED && s->made_by[symbol] != TG_RANK_NONE)
        return put_divided(p, symbol, err);
    tg_spm_ids_put(p, (int32_t)symbol);
    return TG_OK;
}
