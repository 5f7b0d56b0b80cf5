#include "lib/vocab/spm_pieces.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/grow.h"
#include "lib/bpe/bpe.h"
#include "lib/vocab/foreign.h"

bool tg_spm_is_byte(const void *text, size_t n, unsigned char *byte)
{
    static const char digits[] = "0123456789ABCDEF";
    const char *t = text, *high, *low;

    if (n != 6 || memcmp(t, "<0x", 3) != 0 || t[5] != '>')
        return false;
    high = memchr(digits, t[3], 16);
    low = memchr(digits, t[4], 16);
    if (!high || !low)
        return false;
    *byte = (unsigned char)((high - digits) * 16 + (low - digits));
    return true;
}

/* Append text; spaces: as U+2581. */
static void put_text(tg_spm_pieces *p, const unsigned char *text, size_t n, bool spaces)
{
    for (size_t i = 0; i < n; i++) {
        const bool space = spaces && text[i] == ' ';
        const size_t length = space ? TG_SPM_SPACE_BYTES : 1;

        memcpy(p->tokens + p->n_bytes, space ? (const unsigned char *)TG_SPM_SPACE : text + i, length);
        p->n_bytes += length;
    }
}

static tg_status reserve(tg_spm_pieces *p, size_t n, tg_err *err)
{
    static const char what[] = "a vocabulary";
    const size_t bytes = p->n_bytes + TG_SPM_SPACE_BYTES * n;
    tg_status status = tg_grow(&p->ends, &p->ends_capacity, p->n + 1, sizeof *p->ends, what, err);

    if (!status)
        status = tg_grow(&p->tokens, &p->tokens_capacity, bytes, 1, what, err);
    if (!status)
        status = tg_grow(&p->scores, &p->scores_capacity, p->n + 1, sizeof *p->scores, what, err);
    if (!status)
        status = tg_grow(&p->types, &p->types_capacity, p->n + 1, 1, what, err);
    if (!status)
        status = tg_grow(&p->special, &p->special_capacity, p->n_special + 1, sizeof *p->special, what, err);
    return status;
}

tg_status tg_spm_pieces_add(tg_spm_pieces *p, const void *text, size_t n, double score, int64_t type,
                            tg_err *err)
{
    unsigned char byte;
    char shown[TG_TOKEN_SHOWN];
    tg_status status;

    if (p->n == TG_BPE_TOKENS_MAX)
        return tg_fail(err, TG_EDATA, "more than %zu tokens", TG_BPE_TOKENS_MAX);
    if (n > TG_BPE_TOKEN_MAX || p->n_bytes > TG_BPE_BYTES_MAX)
        return tg_fail(err, TG_EDATA,
                       "token %zu has %zu bytes, all before it %zu; expected at most %zu and %zu", p->n, n,
                       p->n_bytes, TG_BPE_TOKEN_MAX, TG_BPE_BYTES_MAX);
    if (type < TG_SPM_NORMAL || type > TG_SPM_BYTE)
        return tg_fail(err, TG_EDATA, "token %zu has type %lld, expected 1 to 6", p->n, (long long)type);
    if (type == TG_SPM_BYTE && !tg_spm_is_byte(text, n, &byte))
        return tg_fail(err, TG_EDATA, "token %zu is \"%s\", expected a byte like \"<0x0A>\"", p->n,
                       tg_token_shown(shown, text, n));
    if ((status = reserve(p, n, err)))
        return status;
    if (type == TG_SPM_BYTE)
        put_text(p, &byte, 1, false);
    else
        put_text(p, text, n, p->spaced || type == TG_SPM_USER_DEFINED);
    if (type == TG_SPM_CONTROL || type == TG_SPM_UNKNOWN)
        p->special[p->n_special++] = (uint32_t)p->n;
    p->scores[p->n] = (float)score;
    p->types[p->n] = (unsigned char)type;
    p->ends[p->n++] = (uint32_t)p->n_bytes;
    return TG_OK;
}

tg_status tg_spm_pieces_build(const tg_tokenizer **tok, const tg_spm_pieces *p, tg_spm_prefix prefix,
                              tg_err *err)
{
    const tg_spm_vocab v = {.prefix = prefix,
                            .n = p->n,
                            .ends = p->ends,
                            .tokens = p->tokens,
                            .scores = p->scores,
                            .types = p->types,
                            .n_special = p->n_special,
                            .special = p->special};

    *tok = NULL;
    if (p->n == 0)
        return tg_fail(err, TG_EDATA, "the vocabulary has no tokens");
    return tg_spm_create(tok, &v, err);
}

void tg_spm_pieces_free(tg_spm_pieces *p)
{
    free(p->ends);
    free(p->tokens);
    free(p->scores);
    free(p->types);
    free(p->special);
    *p = (tg_spm_pieces){0};
}
