/* llm.c's tokenizers: the bytes of each token, and nothing else. */
#include "formats/llmc.h"
#include "formats/sink.h"
#include "lib/spm/spm.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_builder.h"

/* ---- reading */

static tg_status take_tokens(tg_vocab_builder *b, const tg_file_text *file, tg_err *err)
{
    tg_llmc_tokenizer t;
    tg_status status = tg_llmc_tokenizer_read(&t, file->text, file->n, err);

    for (size_t id = 0; !status && id < t.n; id++) {
        size_t n;
        const unsigned char *const token = tg_llmc_tokenizer_next(&t, &n);

        if (n > 0) /* an id that stands for nothing */
            status = tg_vocab_add(b, id, token, n, id == t.end_of_text ? TG_TOKEN_SPECIAL : TG_TOKEN_ORDINARY,
                                  err);
    }
    return status;
}

tg_status tg_llmc_vocab_read(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err)
{
    tg_vocab_builder b = {.split = TG_SPLIT_GPT2};
    tg_status status = take_tokens(&b, file, err);

    if (!status)
        status = tg_vocab_arrange_by_rank(&b, err);
    status = tg_vocab_build(tok, &b, status, err);
    return status ? tg_err_in(err, file->name) : TG_OK;
}

/* ---- writing */

#define REFUSAL "an llm.c tokenizer cannot hold this vocabulary: "

static tg_status check_tokens(const tg_tokenizer *tok, tg_err *err)
{
    const size_t n = tg_tokenizer_vocab_size(tok);
    size_t bytes;

    if (!tg_tokenizer_has_text(tok))
        return tg_fail(err, TG_EUSAGE, REFUSAL "its tokens have no text");
    if (tg_spm_vocab_of(tok)) /* merges by rank would encode texts otherwise */
        return tg_fail(err, TG_EUSAGE, REFUSAL "it is SentencePiece's");
    if (tg_tokenizer_end_of_text(tok) < 0)
        return tg_fail(err, TG_EUSAGE, REFUSAL "it has no token that ends a text");
    for (size_t id = 0; id < n; id++) {
        (void)tg_tokenizer_token(tok, (int32_t)id, &bytes);
        if (bytes > TG_LLMC_TOKEN_MAX)
            return tg_fail(err, TG_EUSAGE, REFUSAL "token %zu has %zu bytes, more than %d", id, bytes,
                           TG_LLMC_TOKEN_MAX);
    }
    return TG_OK;
}

tg_status tg_llmc_vocab_write(int fd, const tg_tokenizer *tok, tg_err *err)
{
    unsigned char header[TG_LLMC_HEADER];
    tg_sink sink = {.fd = fd};
    const size_t n = tg_tokenizer_vocab_size(tok);
    tg_status status = check_tokens(tok, err);

    if (status)
        return status;
    tg_llmc_tokenizer_header(header, n, (size_t)tg_tokenizer_end_of_text(tok));
    tg_sink_put(&sink, header, sizeof header);
    for (size_t id = 0; id < n; id++) {
        size_t bytes;
        const unsigned char *const token = tg_tokenizer_token(tok, (int32_t)id, &bytes);

        tg_sink_put(&sink, &(unsigned char){(unsigned char)bytes}, 1);
        tg_sink_put(&sink, token, bytes);
    }
    return tg_sink_flush(&sink, err);
}
