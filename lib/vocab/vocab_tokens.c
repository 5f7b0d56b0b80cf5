#include "lib/vocab/vocab_tokens.h"

#include <string.h>

#include "formats/sha256.h"
#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/vocab/foreign.h"

const unsigned char *tg_vocab_token(const tg_bpe_vocab *v, size_t id, size_t *n)
{
    return tg_token_text(v->ends, v->tokens, id, n);
}

size_t tg_vocab_longest(const tg_bpe_vocab *v)
{
    size_t longest = 0, n;

    for (size_t id = 0; id < v->n; id++) {
        (void)tg_vocab_token(v, id, &n);
        longest = tg_size_max(longest, n);
    }
    return longest;
}

bool tg_vocab_is_ordinary(const tg_bpe_vocab *v, size_t id)
{
    return !tg_ids_contain(v->special, v->n_special, id) && !tg_ids_contain(v->added, v->n_added, id);
}

static tg_status add_ordinary(tg_token_table *table, const tg_bpe_vocab *v, tg_err *err)
{
    char shown[TG_TOKEN_SHOWN];
    size_t n;

    for (size_t id = 0; id < v->n; id++) {
        const unsigned char *token = tg_vocab_token(v, id, &n);
        uint32_t same;

        if (n == 0 || !tg_vocab_is_ordinary(v, id))
            continue;
        if ((same = tg_token_table_add(table, (uint32_t)id)) != id)
            return tg_fail(err, TG_EDATA, "tokens %u and %zu are both \"%s\"", same, id,
                           tg_token_shown(shown, token, n));
    }
    return TG_OK;
}

tg_status tg_vocab_table(tg_token_table *table, const tg_bpe_vocab *v, tg_err *err)
{
    unsigned char hash[TG_SHA256_SIZE]; /* nobody can choose tokens that collide: they choose it too */
    uint64_t secret[2];
    tg_status status;

    /* unreached: a vocabulary without tokens, which is refused before */
    tg_sha256(hash, v->tokens, v->n > 0 ? v->ends[v->n - 1] : 0);
    memcpy(secret, hash, sizeof secret);
    if (!(status = tg_token_table_create(table, v->ends, v->tokens, v->n, tg_vocab_longest(v), secret, err)))
        status = add_ordinary(table, v, err);
    if (status)
        tg_token_table_free(table);
    return status;
}

int tg_vocab_missing_byte(const tg_token_table *table)
{
    for (int i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;

        if (tg_token_table_find(table, &byte, 1) == TG_TOKEN_NONE)
            return i;
    }
    return -1;
}
