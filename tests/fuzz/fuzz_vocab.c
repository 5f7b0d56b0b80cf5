/*
 * The reader of vocabularies in archives.
 *
 * What is accepted is written again, and must read back the same; and a text that it encodes
 * comes back.
 */
#define _XOPEN_SOURCE 700
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/bpe/bpe.h"
#include "lib/text/encoder.h"
#include "lib/vocab/vocab_file.h"
#include "tests/fuzz/input.h"

static tg_status open_fd(const tg_tokenizer **tok, int fd)
{
    char path[32];
    tg_err err = {0};
    tg_status status;

    snprintf(path, sizeof path, "/dev/fd/%d", fd);
    status = tg_vocab_file_open(tok, path, NULL, &err);
    must(status == TG_OK ? *tok != NULL : !*tok && err.message[0] != '\0');
    must(status != TG_EIO && status != TG_ENOMEM);
    return status;
}

/* Encode a text, in two parts, and compare the tokens' texts with it.  special: with special tokens in it. */
static void encode(const tg_tokenizer *tok, bool special)
{
    static const unsigned char bytes[] =
        "abcab cba ab  abc\n\n123 it's \xC3\xA9\xE4\xBD\xA0\xFF<|e|>aaaabababcc";
    const size_t size = sizeof bytes - 1;
    const tg_bpe_vocab *v = tg_bpe_vocab_of(tok);
    tg_text parts[] = {{bytes, size / 3}, {bytes + size / 3, size - size / 3}};
    int32_t ids[2 * sizeof bytes];
    size_t count = 0, at = 0, n;
    tg_encoder *e;
    tg_status status = TG_OK;

    must(tg_encoder_create(&e, tok, NULL) == TG_OK);
    if (special)
        (void)!tg_encoder_match_special(e, NULL);
    for (size_t i = 0; i < 2; i++)
        while (!status && parts[i].n > 0) {
            status = tg_encoder_encode(e, &parts[i], ids + count, 2 * sizeof bytes - count, &n, NULL);
            count += n;
        }
    if (!status) {
        status = tg_encoder_finish(e, ids + count, 2 * sizeof bytes - count, &n, NULL);
        count += n;
    }
    must(status == TG_OK || status == TG_EDATA);
    tg_encoder_free(e);
    if (status || (v && v->normalizer != TG_NORMALIZER_NONE))
        return;
    for (size_t i = 0; i < count; i++) {
        const unsigned char *text = tg_tokenizer_token(tok, ids[i], &n);

        must(n <= size - at && memcmp(text, bytes + at, n) == 0);
        at += n;
    }
    must(at == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tg_tokenizer *tok, *back;
    int fd;

    if (size < 4 || size > INPUT_MAX || memcmp(data, "PK", 2) != 0 || open_fd(&tok, input_file(data, size)))
        return 0;
    encode(tok, false);
    encode(tok, true);
    fd = input_file(NULL, 0);
    must(tg_vocab_file_write(fd, tok, TG_VOCAB_NPZ, NULL) == TG_OK && lseek(fd, 0, SEEK_SET) == 0);
    must(open_fd(&back, fd) == TG_OK && tg_tokenizer_same(tok, back, NULL) == TG_OK);
    tg_tokenizer_free(back);
    tg_tokenizer_free(tok);
    return 0;
}

/* ---- seeds */

static size_t make_seed(uint8_t *out, size_t max, unsigned seed)
{
    unsigned char tokens[256 + 16];
    uint32_t ends[256 + 6], special[] = {260};
    const uint32_t merges[][2] = {{'a', 'b'}, {256, 'c'}, {'a', 'a'}, {258, 258}};
    tg_bpe_vocab v = {.split = seed % TG_SPLITS,
                      .normalizer = seed >> 8 & 1,
                      .n = 261,
                      .ends = ends,
                      .tokens = tokens,
                      .n_merges = 4,
                      .merges = merges,
                      .n_special = 1,
                      .special = special,
                      .whole_pieces = seed >> 9 & 1};
    const int fd = input_file(NULL, 0);
    const tg_tokenizer *tok;

    for (uint32_t i = 0; i < 256; i++)
        tokens[i] = (unsigned char)i, ends[i] = i + 1;
    memcpy(tokens + 256, "ababcaaaaaa<|e|>", 16);
    ends[256] = 258, ends[257] = 261, ends[258] = 263, ends[259] = 267, ends[260] = 272;
    must(tg_bpe_create(&tok, &v, NULL) == TG_OK && tg_vocab_file_write(fd, tok, TG_VOCAB_NPZ, NULL) == TG_OK);
    tg_tokenizer_free(tok);
    return input_take(fd, out, max);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return input_mutate(data, size < 30 ? make_seed(data, max, seed) : size, max, seed);
}
