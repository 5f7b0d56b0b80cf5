/*
 * The reader of .tiktoken files under libFuzzer:
 *
 *     clang -fsanitize=fuzzer,address,undefined ... tests/fuzz/fuzz_tiktoken.c tests/fuzz/input.c
 *     ./fuzz_tiktoken -max_len=4096 CORPUS
 *
 * Bytes that the input leaves out are added, or hardly any would be read.  What is accepted is
 * written again, and must read back the same.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base64.h"
#include "lib/vocab/foreign.h"
#include "tests/fuzz/again.h"
#include "tests/fuzz/input.h"

#define FIRST 1000 /* rank of byte 0: other tokens come before and after */

static tg_status read_ranks(const tg_tokenizer **tok, const uint8_t *data, size_t size)
{
    const tg_file_text file = {"file", data, size};
    tg_err err = {0};
    const tg_status status = tg_tiktoken_read(tok, &file, TG_SPLIT_NONE, &err);

    (void)tg_tiktoken_recognize(&file);
    must(status == TG_OK ? *tok != NULL : status == TG_EDATA && strncmp(err.message, "file: ", 6) == 0);
    return status;
}

/* The lines of all bytes, then the input, to be freed. */
static uint8_t *with_bytes(const uint8_t *data, size_t *size)
{
    uint8_t *text = malloc(256 * 16 + *size);
    size_t n = 0;

    must(text != NULL);
    for (unsigned i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;

        n += tg_base64_encode((char *)text + n, &byte, 1);
        n += (size_t)sprintf((char *)text + n, " %u\n", FIRST + i);
    }
    if (*size > 0)
        memcpy(text + n, data, *size);
    *size += n;
    return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tg_tokenizer *tok = NULL;
    uint8_t *text;

    if (size > INPUT_MAX)
        return 0;
    text = with_bytes(data, &size);
    if (!read_ranks(&tok, text, size))
        must(again(tok, tg_tiktoken_write, read_ranks));
    tg_tokenizer_free(tok);
    free(text);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char text[] = "YWI= 5\nYWJj 3\nYmM= 2000\nYWJjYWJj 1300\n";

    (void)seed;
    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, text) : size, max);
}
