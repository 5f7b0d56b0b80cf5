/*
 * The readers of llm.c's tokenizers and of meta.pkl.
 *
 * A tokenizer of llm.c that is accepted is written again, and must read back the same.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/llmc.h"
#include "lib/text/tokenizer.h"
#include "lib/vocab/foreign.h"
#include "tests/fuzz/input.h"

#define WRITTEN_MAX ((size_t)1 << 18) /* bytes that are enough for 511 tokens */

typedef tg_status reader(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

static const tg_tokenizer *read_with(reader *read, const uint8_t *data, size_t size)
{
    const tg_file_text file = {"file", data, size};
    const tg_tokenizer *tok;
    tg_err err = {0};
    const tg_status status = read(&tok, &file, &err);

    must(status == TG_OK ? tok != NULL
                         : !tok && status == TG_EDATA && strncmp(err.message, "file: ", 6) == 0);
    return tok;
}

/* All tokens have as many bytes as an llm.c file can hold. */
static bool is_short(const tg_tokenizer *tok)
{
    size_t n;

    for (size_t id = 0; id < tg_tokenizer_vocab_size(tok); id++) {
        (void)tg_tokenizer_token(tok, (int32_t)id, &n);
        if (n > TG_LLMC_TOKEN_MAX)
            return false;
    }
    return true;
}

static void write_again(const tg_tokenizer *tok)
{
    const int fd = input_file(NULL, 0);
    const tg_status status = tg_llmc_vocab_write(fd, tok, NULL);
    uint8_t *again = malloc(WRITTEN_MAX);
    const tg_tokenizer *back;

    must(again != NULL);
    must(status == (tg_tokenizer_end_of_text(tok) >= 0 && is_short(tok) ? TG_OK : TG_EUSAGE));
    if (!status) {
        back = read_with(tg_llmc_vocab_read, again, input_take(fd, again, WRITTEN_MAX));
        must(back && tg_tokenizer_vocab_size(back) == tg_tokenizer_vocab_size(tok));
        tg_tokenizer_free(back);
    }
    free(again);
}

/* The input as tokens, after those of all bytes. */
static uint8_t *with_bytes(const uint8_t *data, size_t *size)
{
    const size_t n = 256 + (*size > 0 ? data[0] : 1);
    uint8_t *const file = malloc(TG_LLMC_HEADER + 512 + *size);

    must(file != NULL);
    tg_llmc_tokenizer_header(file, n, *size > 1 ? 256 + data[1] % (n - 256 + 1) : 256);
    for (size_t i = 0; i < 256; i++) {
        file[TG_LLMC_HEADER + 2 * i] = 1;
        file[TG_LLMC_HEADER + 2 * i + 1] = (uint8_t)i;
    }
    if (*size > 2)
        memcpy(file + TG_LLMC_HEADER + 512, data + 2, *size - 2);
    *size = TG_LLMC_HEADER + 512 + (*size > 2 ? *size - 2 : 0);
    return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tg_tokenizer *tok;
    uint8_t *file;

    tg_tokenizer_free(read_with(tg_meta_pickle_read, data, size));
    tg_tokenizer_free(read_with(tg_llmc_vocab_read, data, size));
    if (size > INPUT_MAX)
        return 0;
    file = with_bytes(data, &size);
    tok = read_with(tg_llmc_vocab_read, file, size);
    free(file);
    if (tok)
        write_again(tok);
    tg_tokenizer_free(tok);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char tokens[] = "\3\0\2ab\3abc\x0D<|endoftext|>",
                      meta[] = "\x80\4}(\x8C\4itos}(K\0\x8C\1aK\1\x8C\1bK\2\x8C\2\xC3\xA9uu.";

    if (size < 10) {
        size = seed % 2 ? sizeof tokens - 1 : sizeof meta - 1;
        size = size < max ? size : max;
        memcpy(data, seed % 2 ? tokens : meta, size);
    }
    return LLVMFuzzerMutate(data, size, max);
}
