/*
 * The reader of .tiktoken files.
 *
 * Bytes that the input leaves out are added, or hardly any would be read.  What is accepted is
 * written again, and must read back the same.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/base64.h"
#include "lib/vocab/foreign.h"
#include "tests/fuzz/again.h"
#include "tests/fuzz/input.h"

#define FIRST 20 /* rank of byte 0: other tokens come before and after */

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

/* A rank that is allowed, but takes as many ids to arrange. */
static bool has_large_rank(const uint8_t *data, size_t size)
{
    size_t rank = 0;

    for (size_t i = 0; i < size; i++) {
        rank = data[i] >= '0' && data[i] <= '9' && rank < SIZE_MAX / 20 ? 10 * rank + data[i] - '0' : 0;
        if (rank > 2500 && rank < 4000000 && (i + 1 == size || data[i + 1] < '0' || data[i + 1] > '9'))
            return true;
    }
    return false;
}

/* Each line's rank is an id: it has few digits. */
static void check_ranks(const uint8_t *text, size_t size)
{
    size_t digits = 0;
    bool rank = false;

    for (size_t i = 0; i < size; i++) {
        rank = text[i] == ' ' || (rank && text[i] != '\n');
        digits = rank && text[i] >= '0' && text[i] <= '9' && (digits > 0 || text[i] > '0') ? digits + 1 : 0;
        must(digits <= 7);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tg_tokenizer *tok = NULL;
    uint8_t *text;

    if (size > INPUT_MAX || has_large_rank(data, size))
        return 0;
    text = with_bytes(data, &size);
    if (!read_ranks(&tok, text, size)) {
        check_ranks(text, size);
        must(again(tok, TG_VOCAB_TIKTOKEN, read_ranks));
    }
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
