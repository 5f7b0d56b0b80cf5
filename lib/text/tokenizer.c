#include "lib/text/tokenizer.h"

#include <assert.h>
#include <string.h>

#define BYTES_KIND "bytes"
#define BYTES_VOCAB 256

tg_tokenizer tg_tokenizer_bytes(void)
{
    return (tg_tokenizer){.kind = BYTES_KIND, .vocab_size = BYTES_VOCAB};
}

bool tg_tokenizer_equal(const tg_tokenizer *a, const tg_tokenizer *b)
{
    return strcmp(a->kind, b->kind) == 0 && a->vocab_size == b->vocab_size;
}

size_t tg_tokenizer_encode(const tg_tokenizer *tok, int32_t *ids, const unsigned char *text, size_t n)
{
    (void)tok; /* one kind so far */
    for (size_t i = 0; i < n; i++)
        ids[i] = text[i];
    return n;
}

size_t tg_tokenizer_decode(const tg_tokenizer *tok, unsigned char *text, int32_t id)
{
    (void)tok;
    assert(id >= 0 && id < BYTES_VOCAB);
    text[0] = (unsigned char)id;
    return 1;
}

tg_status tg_tokenizer_put(const tg_tokenizer *tok, tg_archive_writer *w, tg_err *err)
{
    tg_status status = tg_archive_put_text(w, "tokenizer/kind", tok->kind, err);

    if (status)
        return status;
    return tg_archive_put_i64(w, "tokenizer/vocab_size", (int64_t)tok->vocab_size, err);
}

tg_status tg_tokenizer_take(tg_tokenizer *tok, tg_archive_reader *r, const tg_array *a, bool *taken,
                            tg_err *err)
{
    *taken = strncmp(a->name, "tokenizer/", 10) == 0;
    if (!*taken)
        return TG_OK;
    if (strcmp(a->name, "tokenizer/kind") == 0)
        return tg_archive_get_text(r, a, tok->kind, sizeof tok->kind, err);
    if (strcmp(a->name, "tokenizer/vocab_size") == 0)
        return tg_archive_get_size(r, a, &tok->vocab_size, err);
    return tg_fail(err, TG_EDATA, "%s is an array that this version does not know", a->name);
}

tg_status tg_tokenizer_check(const tg_tokenizer *tok, tg_err *err)
{
    if (tok->kind[0] == '\0')
        return tg_fail(err, TG_EDATA, "tokenizer/kind is missing");
    if (strcmp(tok->kind, BYTES_KIND) != 0)
        return tg_fail(err, TG_EDATA, "tokenizer/kind is \"%s\": this version knows \"%s\"", tok->kind,
                       BYTES_KIND);
    if (tok->vocab_size != BYTES_VOCAB)
        return tg_fail(err, TG_EDATA, "tokenizer/vocab_size must be %d for \"%s\", got %zu", BYTES_VOCAB,
                       BYTES_KIND, tok->vocab_size);
    return TG_OK;
}
