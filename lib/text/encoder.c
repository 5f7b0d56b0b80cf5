#include "lib/text/encoder.h"

#include <assert.h>
#include <stdlib.h>

#include "lib/text/kind.h"

struct tg_encoder {
    const tg_tokenizer *tok;
    const tg_tokenizer_kind *kind;
    const void *state; /* of the tokenizer */
    max_align_t own[]; /* the encoder's state, kind->encoder_size bytes */
};

tg_status tg_encoder_create(tg_encoder **out, const tg_tokenizer *tok, tg_err *err)
{
    const tg_tokenizer_kind *kind = tg_tokenizer_kind_of(tok);
    const size_t bytes = sizeof(tg_encoder) + kind->encoder_size;
    tg_encoder *e = calloc(1, bytes);
    tg_status status = TG_OK;

    *out = NULL;
    if (!e)
        return tg_fail_memory(err, bytes, "an encoder");
    e->tok = tg_tokenizer_share(tok);
    e->kind = kind;
    e->state = tg_tokenizer_state_of(tok);
    if (kind->start)
        status = kind->start(e->own, e->state, err);
    if (status)
        tg_encoder_free(e);
    else
        *out = e;
    return status;
}

tg_status tg_encoder_encode(tg_encoder *e, tg_text *text, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    assert(max >= 1);
    *n = 0;
    return e->kind->encode(e->own, e->state, text, ids, max, n, err);
}

tg_status tg_encoder_finish(tg_encoder *e, int32_t *ids, size_t max, size_t *n, tg_err *err)
{
    assert(max >= 1);
    *n = 0;
    return e->kind->finish(e->own, e->state, ids, max, n, err);
}

void tg_encoder_free(tg_encoder *e)
{
    if (!e)
        return;
    if (e->kind->stop)
        e->kind->stop(e->own);
    tg_tokenizer_free(e->tok);
    free(e);
}
