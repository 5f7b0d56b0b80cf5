#include "lib/text/decoder.h"

const unsigned char *tg_decoder_text(const tg_tokenizer *tok, int32_t before, int32_t id, size_t *n)
{
    const unsigned char *text = tg_tokenizer_token(tok, id, n);
    const bool added = *n > 0 && text[0] == ' ' && tg_tokenizer_adds_space(tok, before, id);

    *n -= added;
    return text + added;
}

const unsigned char *tg_decoder_next(tg_decoder *d, int32_t id, size_t *n)
{
    const int32_t before = d->begun ? d->last : -1;

    d->begun = true;
    d->last = id;
    return tg_decoder_text(d->tok, before, id, n);
}
