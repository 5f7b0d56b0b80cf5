#include "lib/text/decoder.h"

const unsigned char *tg_decoder_next(tg_decoder *d, int32_t id, size_t *n)
{
    const unsigned char *text = tg_tokenizer_token(d->tok, id, n);
    const int32_t before = d->begun ? d->last : -1;
    const bool added = *n > 0 && text[0] == ' ' && tg_tokenizer_adds_space(d->tok, before, id);

    d->begun = true;
    d->last = id;
    *n -= added;
    return text + added;
}
