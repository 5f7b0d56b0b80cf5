/*
 * Where the added tokens of a byte-level tokenizer.json are found.
 *
 * Readers of the file look for those with "normalized": false first, and for the others in the text between
 * them, after it is normalised.  A tg_bpe_vocab has one search, before normalising (lib/tg/tokenizer.h).  It
 * finds the same tokens, unless normalising makes one or unmakes it, or one of the others takes a part of one
 * of the first.
 */
#include <stdlib.h>

#include "lib/text/special.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"

/*
 * Whether NFC neither makes nor unmakes text [n], whatever surrounds it.  It never changes ASCII, except that
 * letters and < = > take the marks after them; and makes no ASCII, except K ; ` of U+212A, U+037E and U+1FEF.
 */
static bool is_stable(const unsigned char *text, size_t n)
{
    const unsigned char last = text[n - 1];

    for (size_t i = 0; i < n; i++)
        if (text[i] >= 0x80 || text[i] == 'K' || text[i] == ';' || text[i] == '`')
            return false;
    return !(last >= 'A' && last <= 'Z') && !(last >= 'a' && last <= 'z') && !(last >= '<' && last <= '>');
}

/* Whether a token of `first` may begin within text [n], or is its beginning: the search for all tokens at
 * once takes the text then, the search for these first takes the token. */
static bool overlaps(const tg_specials *first, const unsigned char *text, size_t n)
{
    const tg_special_token *token;

    for (size_t i = 0; i < n; i++)
        if (tg_specials_match(first, text + i, n - i, i == 0, &token) != TG_SPECIAL_NONE)
            return true;
    return false;
}

static void check_token(const tg_added_tokens *a, size_t number, const tg_specials *first,
                        tg_normalizer normalizer, tg_json *j)
{
    char shown[TG_TOKEN_SHOWN];
    size_t n;
    const unsigned char *text = tg_added_text(a, number, &n);

    if (n > TG_SPECIAL_MAX) /* tg_bpe_create() refuses it */
        return;
    (void)tg_token_shown(shown, text, n);
    if (normalizer != TG_NORMALIZER_NONE && !is_stable(text, n))
        (void)tg_json_fail(
            j, "added token \"%s\" with \"normalized\" is not supported with normalizer \"NFC\"", shown);
    else if (overlaps(first, text, n))
        (void)tg_json_fail(
            j, "added token \"%s\" with \"normalized\" is not supported: it may overlap one without", shown);
}

void tg_check_added(const tg_added_tokens *a, tg_normalizer normalizer, tg_json *j, size_t at)
{
    tg_specials first = {0};

    if (j->status || a->n == 0)
        return;
    if (!(first.tokens = malloc(a->n * sizeof *first.tokens))) {
        j->status = tg_fail_memory(j->err, a->n * sizeof *first.tokens, "added tokens");
        return;
    }
    for (size_t i = 0; i < a->n; i++) {
        size_t n;
        const unsigned char *text = tg_added_text(a, i, &n);

        if (!a->token[i].normalized)
            first.tokens[first.n++] = (tg_special_token){text, (uint32_t)n, (int32_t)i};
    }
    tg_specials_index(&first);
    j->value = at;
    for (size_t i = 0; !j->status && i < a->n; i++)
        if (a->token[i].normalized && !a->token[i].special)
            check_token(a, i, &first, normalizer, j);
    tg_specials_free(&first);
}
