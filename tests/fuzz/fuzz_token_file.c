/*
 * Files of tokens: our archives, llm.c's files, bare ids; from a file and from a stream.
 *
 * Both ways give the same ids, or are refused.  The ids of an archive are written again, and read.
 */
#define _GNU_SOURCE /* memfd_create */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/llmc.h"
#include "lib/models/token_file.h"
#include "lib/text/bare_ids.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens.h"
#include "lib/tokens/tokens_write.h"
#include "tests/fuzz/input.h"

#define OUT_MAX ((size_t)1 << 18)
#define VOCAB 600 /* ids, where a file does not say */

/* What is asked for, by the size. */
static const tg_tokenizer *tokenizer_for(size_t size)
{
    static const tg_tokenizer *bytes;

    if (!bytes)
        must(tg_tokenizer_create(&bytes, "bytes", NULL) == TG_OK);
    return size / 12 % 3 == 2 ? bytes : NULL;
}

/* Convert what fd has; returns the bytes in out [OUT_MAX], SIZE_MAX if it is refused. */
static size_t convert(uint8_t *out, int fd, tg_token_format to, bool raw, const tg_token_ask *ask)
{
    const int target = memfd_create("ids", 0);
    tg_source source;
    tg_token_copy copied;
    size_t n = SIZE_MAX;
    tg_err err = {0};

    must(tg_source_open(&source, fd, &err) == TG_OK);
    if (tg_token_file_convert(target, to, &source, raw, ask, &copied, &err))
        must(err.message[0] != '\0');
    else
        n = input_take(target, out, OUT_MAX);
    must(n == SIZE_MAX || to != TG_TOKENS_UINT16 || n == 2 * copied.count || n == OUT_MAX);
    close(target);
    return n;
}

/* An llm.c file cannot be written to a pipe. */
static void convert_to_pipe(int fd, bool raw)
{
    const tg_token_ask ask = {NULL, VOCAB};
    tg_source source;
    tg_token_copy copied;
    int ends[2];

    must(pipe(ends) == 0 && tg_source_open(&source, fd, NULL) == TG_OK);
    must(tg_token_file_convert(ends[1], TG_TOKENS_LLMC, &source, raw, &ask, &copied, NULL) != TG_OK);
    close(ends[0]);
    close(ends[1]);
}

/* Nothing is to be freed after a failure. */
static tg_status load(tg_tokens *tokens, int fd, size_t max)
{
    tg_source source;
    tg_status status;

    *tokens = (tg_tokens){0};
    must(tg_source_open(&source, fd, NULL) == TG_OK);
    if ((status = tg_tokens_load_source(tokens, &source, max, NULL)))
        tg_tokens_free(tokens);
    return status;
}

/* What is written of ids, one by one and together, is read again. */
static void write_again(const tg_tokens *tokens)
{
    const int fd = memfd_create("again", 0);
    tg_tokens again;
    tg_tokens_writer *w;
    int32_t id;

    must(tg_tokens_create(&w, fd, tokens->tokenizer, NULL) == TG_OK);
    for (size_t i = 0; i < tokens->count; i++) {
        tg_tokens_get(tokens, &id, i, 1);
        must(tg_tokens_write(w, &id, 1, NULL) == TG_OK);
    }
    id = (int32_t)tg_tokenizer_vocab_size(tokens->tokenizer);
    must(tg_tokens_write(w, &id, 1, NULL) == TG_EUSAGE);
    must(tg_tokens_finish(w, NULL) == TG_OK && lseek(fd, 0, SEEK_SET) == 0);
    tg_tokens_abandon(w);
    must(load(&again, fd, tokens->count) == TG_OK && again.count == tokens->count);
    must(tg_tokens_crc(&again) == tg_tokens_crc(tokens));
    tg_tokens_free(&again);
    if (tokens->count > 0)
        must(lseek(fd, 0, SEEK_SET) == 0 && load(&again, fd, tokens->count - 1) == TG_EDATA);
    close(fd);
}

/* The ids of an archive are below its vocabulary. */
static void check_ids(const uint8_t *data, size_t size)
{
    tg_tokens tokens;
    int32_t id;

    if (load(&tokens, input_file(data, size), OUT_MAX))
        return;
    for (size_t i = 0; i < tokens.count; i++) {
        tg_tokens_get(&tokens, &id, i, 1);
        must(id >= 0 && (size_t)id < tg_tokenizer_vocab_size(tokens.tokenizer));
    }
    if (tokens.count < 1000)
        write_again(&tokens);
    tg_tokens_free(&tokens);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t one[OUT_MAX], other[OUT_MAX];
    const tg_token_ask ask = {tokenizer_for(size), size / 12 % 3 == 1 ? 0 : VOCAB};
    tg_token_format to;
    bool raw, is;
    char path[32];
    size_t n, piped;
    tg_err err = {0};

    if (size > INPUT_MAX)
        return 0;
    /* one of the six ways, by the size: each takes megabytes */
    to = (tg_token_format)(size % TG_TOKEN_FORMATS);
    raw = size / TG_TOKEN_FORMATS % 2;
    must(tg_token_file_recognize(input_path(path, input_file(data, size)), &is, &err) == TG_OK);
    n = convert(one, input_file(data, size), to, raw, &ask);
    must(raw || is || n == SIZE_MAX);
    if (to == TG_TOKENS_LLMC && size % 4 == 0)
        convert_to_pipe(input_file(data, size), raw);
    piped = convert(other, input_stream(data, size), to, raw, &ask);
    if (piped == SIZE_MAX && to == TG_TOKENS_NPZ && ask.vocab_size == 0)
        return 0; /* how many ids there are is only known of a file */
    must(piped == n);
    must(n == SIZE_MAX || memcmp(one, other, n) == 0);
    if (n != SIZE_MAX && size > 4 && memcmp(data, "PK\3\4", 4) == 0)
        check_ids(data, size);
    return 0;
}

/* A few ids, in each of the formats. */
static size_t begin_with(uint8_t *data, size_t max, unsigned format)
{
    static const int32_t ids[] = {1, 2, 3, 500};
    const int fd = memfd_create("seed", 0);
    const tg_tokenizer *tok = NULL;
    tg_tokens_writer *w = NULL;
    size_t n;
    tg_err err = {0};

    if (format > 0) {
        n = format == 1 ? TG_LLMC_HEADER : 0;
        if (n + 8 > max)
            return 0;
        must(tg_llmc_tokens_header(data, 4, &err) == TG_OK);
        memcpy(data + n, "\1\0\2\0\3\0\4", 8);
        return n + 8;
    }
    must(tg_bare_ids_create(&tok, 600, &err) == TG_OK && tg_tokens_create(&w, fd, tok, &err) == TG_OK);
    must(tg_tokens_write(w, ids, 4, &err) == TG_OK && tg_tokens_finish(w, &err) == TG_OK);
    tg_tokens_abandon(w);
    tg_tokenizer_free(tok);
    n = input_take(fd, data, max);
    close(fd);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size < 8 && max >= 2048)
        size = begin_with(data, max, seed % 3);
    if (size > 4 && memcmp(data, "PK\3\4", 4) == 0)
        return input_mutate(data, size, max, seed);
    return LLVMFuzzerMutate(data, size, max);
}
