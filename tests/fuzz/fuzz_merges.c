/*
 * The reader of GPT-2's files.
 *
 * An input is merges, then perhaps a NUL and the vocabulary.
 */
#include <string.h>

#include "lib/vocab/foreign.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = size > 0 ? memchr(data, 0, size) : NULL;
    const tg_file_text merges = {"merges", data, end ? (size_t)(end - data) : size};
    const tg_file_text vocab = {"vocab", end ? end + 1 : NULL, end ? size - merges.n - 1 : 0};
    const tg_tokenizer *tok;
    tg_err err = {0};
    const tg_status status = tg_gpt2_files_read(&tok, &merges, end ? &vocab : NULL, &err);

    must(status == TG_OK ||
         (status == TG_EDATA && !tok &&
          (strncmp(err.message, "merges: ", 8) == 0 || strncmp(err.message, "vocab: ", 7) == 0)));
    must(status || end || tg_tokenizer_vocab_size(tok) >= 257);
    tg_tokenizer_free(tok);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char alone[] = "#version: 0.2\nh e\nl l\nhe ll\n\xC4\xA0 he\r\n",
                      both[] = "a b\nab c\n{\"a\":0,\"b\":1,\"c\":2,\"ab\":3,\"abc\":4,\"<|endoftext|>\":5}";

    if (size < 10) {
        size = input_seed(data, max, seed % 2 ? alone : both);
        if (seed % 2 == 0 && size > 9)
            data[8] = 0; /* the second line's end */
    }
    return LLVMFuzzerMutate(data, size, max);
}
