#include "lib/tokens/tokenizer_read.h"

#include <stdio.h>
#include <string.h>

#include "lib/text/ids.h"
#include "lib/text/kind.h"
#include "lib/tokens/kinds.h"

/* ---- the kinds */

static const tg_tokenizer_kind *find_kind(const char *name)
{
    for (size_t i = 0; tg_tokenizer_kinds[i]; i++)
        if (strcmp(tg_tokenizer_kinds[i]->name, name) == 0)
            return tg_tokenizer_kinds[i];
    return NULL;
}

/* No kind has this name: the message lists those that exist. */
static tg_status unknown_kind(const char *name, tg_status code, tg_err *err)
{
    char known[128] = "";
    size_t n = 0;

    /* unreached: too many names: there are four short ones */
    for (size_t i = 0; tg_tokenizer_kinds[i] && n < sizeof known; i++)
        n += (size_t)snprintf(known + n, sizeof known - n, "%s\"%s\"", i > 0 ? ", " : "",
                              tg_tokenizer_kinds[i]->name);
    return tg_fail(err, code, TG_TOKENIZER_KIND " is \"%s\": this version knows %s", name, known);
}

tg_status tg_tokenizer_create(const tg_tokenizer **out, const char *name, tg_err *err)
{
    const tg_tokenizer_kind *kind = name ? find_kind(name) : tg_tokenizer_kinds[0];
    tg_tokenizer *tok;
    tg_status status;

    *out = NULL;
    if (!kind)
        return unknown_kind(name, TG_EUSAGE, err);
    status = tg_tokenizer_begin(&tok, kind, err);
    return status ? status : tg_tokenizer_seal(out, tok, 0, err);
}

/* ---- archives */

static tg_status take_kind(tg_tokenizer_draft *draft, tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    char name[TG_KIND_NAME_SIZE];
    const tg_tokenizer_kind *kind;
    tg_status status = tg_archive_get_text(r, a, name, sizeof name, err);

    if (status)
        return status;
    if (!(kind = find_kind(name)))
        return unknown_kind(name, TG_EDATA, err);
    return tg_tokenizer_begin(&draft->tok, kind, err);
}

static tg_status take_vocab_size(tg_tokenizer_draft *draft, tg_archive_reader *r, const tg_array *a,
                                 tg_err *err)
{
    const tg_status status = tg_archive_get_size(r, a, &draft->vocab_size, err);

    if (status)
        return status;
    if (draft->vocab_size >= 1 && draft->vocab_size <= TG_VOCAB_MAX)
        return TG_OK;
    return tg_fail(err, TG_EDATA, TG_TOKENIZER_VOCAB_SIZE " is %zu, expected 1 to %zu", draft->vocab_size,
                   TG_VOCAB_MAX);
}

tg_status tg_tokenizer_take(tg_tokenizer_draft *draft, tg_archive_reader *r, const tg_array *a, bool *taken,
                            tg_err *err)
{
    const tg_tokenizer_kind *kind = draft->tok ? draft->tok->kind : NULL;
    bool known = false;
    tg_status status = TG_OK;

    *taken = strncmp(a->name, TG_TOKENIZER_PREFIX, strlen(TG_TOKENIZER_PREFIX)) == 0;
    if (!*taken)
        return TG_OK;
    if (strcmp(a->name, TG_TOKENIZER_KIND) == 0)
        return take_kind(draft, r, a, err);
    if (strcmp(a->name, TG_TOKENIZER_VOCAB_SIZE) == 0)
        return take_vocab_size(draft, r, a, err);
    if (!kind)
        return tg_fail(err, TG_EDATA, "%s comes before " TG_TOKENIZER_KIND, a->name);
    if (kind->take)
        status = kind->take(draft->tok->state, r, a, &known, err);
    if (status || known)
        return status;
    return tg_fail(err, TG_EDATA, "%s is not an array of tokenizer \"%s\"", a->name, kind->name);
}

tg_status tg_tokenizer_complete(const tg_tokenizer **tok, tg_tokenizer_draft *draft, tg_err *err)
{
    const tg_tokenizer_draft d = *draft;

    *tok = NULL;
    if (!d.tok)
        return tg_fail(err, TG_EDATA, TG_TOKENIZER_KIND " is missing");
    if (d.vocab_size == 0)
        return tg_fail(err, TG_EDATA, TG_TOKENIZER_VOCAB_SIZE " is missing");
    *draft = (tg_tokenizer_draft){0};
    return tg_tokenizer_seal(tok, d.tok, d.vocab_size, err);
}

void tg_tokenizer_draft_free(tg_tokenizer_draft *draft)
{
    tg_tokenizer_free(draft->tok);
    *draft = (tg_tokenizer_draft){0};
}
