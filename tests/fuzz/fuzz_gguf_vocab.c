/*
 * Vocabularies in GGUF files.
 *
 * The first byte of the input chooses a rule, or SentencePiece, the second whether the file tells the types
 * of its tokens; the rest are lines: tokens, an empty line, merges.  What is accepted is written again, and
 * must read back the same, unless two of its tokens are written alike.
 */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/models/gguf_vocab.h"
#include "lib/vocab/spm_pieces.h"
#include "tests/fuzz/input.h"

#define WRITTEN_MAX ((size_t)1 << 22) /* bytes of a file that is written of an input */

/* Read a file with a vocabulary. */
static tg_status read_file(const tg_tokenizer **tok, const uint8_t *file, size_t n)
{
    tg_tensor_list list = {0};
    tg_notes notes = {0};
    tg_gguf g;
    tg_err err = {0};
    tg_status status = tg_gguf_read(&list, &g, file, n, &err);

    must(status == TG_OK);
    status = tg_gguf_vocab_read(tok, &g, false, &notes);
    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0' && !*tok));
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    tg_notes_free(&notes);
    return status;
}

/* What was written to fd, to be freed. */
static uint8_t *take(int fd, size_t *n)
{
    static uint8_t written[WRITTEN_MAX];
    uint8_t *file = NULL;

    *n = input_take(fd, written, WRITTEN_MAX);
    must(*n < WRITTEN_MAX && (file = malloc(*n)) != NULL);
    return memcpy(file, written, *n);
}

/* Lines up to an empty one, or the end; returns what follows. */
static size_t put_lines(tg_gguf_writer *w, const char *key, const uint8_t *p, size_t n, size_t *count)
{
    size_t end = 0;

    *count = 0;
    while (end < n && p[end] != '\n')
        for (++*count; end < n && p[end++] != '\n';)
            ;
    tg_gguf_put_texts(w, key, *count);
    for (size_t at = 0, i = 0; i < *count; i++) {
        const size_t begin = at;

        while (at < n && p[at] != '\n')
            at++;
        tg_gguf_put_element(w, p + begin, at - begin);
        at++;
    }
    return end < n ? end + 1 : n;
}

static void put_bpe(tg_gguf_writer *w, uint8_t how)
{
    static const char *const rules[] = {"gpt-2", "llama-bpe", "smaug-bpe", "qwen2", "smollm", "gpt-4o"};
    static const char *const kinds[] = {"bytes", "char"};
    const char *const rule = rules[how % 6], *const kind = kinds[how % 2];

    tg_gguf_put_text(w, "tokenizer.ggml.model", "gpt2", 4);
    tg_gguf_put_text(w, "tokenizer.ggml.pre", rule, strlen(rule));
    if (how > 0xF0)
        tg_gguf_put_text(w, TG_GGUF_KIND_KEY, kind, strlen(kind));
}

/* SentencePiece's, with its scores. */
static void put_spm(tg_gguf_writer *w, uint8_t how, size_t tokens)
{
    float *scores = calloc(tokens + 1, sizeof *scores);

    must(scores != NULL);
    for (size_t i = 0; i < tokens; i++)
        scores[i] = -(float)(i * how % 16);
    tg_gguf_put_text(w, "tokenizer.ggml.model", "llama", 5);
    tg_gguf_put_f32s(w, "tokenizer.ggml.scores", scores, tokens);
    tg_gguf_put_bool(w, "tokenizer.ggml.add_space_prefix", how & 0x10);
    free(scores);
}

/* The types of tokens, whose lines are at p [size]; bytes: those of bytes are known by their texts. */
static void put_types(tg_gguf_writer *w, uint8_t how, bool bytes, const uint8_t *p, size_t size,
                      size_t tokens)
{
    int32_t *types = calloc(tokens + 1, sizeof *types);
    size_t at = 0;
    unsigned char byte;

    must(types != NULL);
    for (size_t i = 0; i < tokens; i++) {
        const size_t begin = at;

        while (at < size && p[at] != '\n')
            at++;
        types[i] = how >> i % 8 & 1 ? how % 7 : 1;
        if (bytes && tg_spm_is_byte(p + begin, at - begin, &byte))
            types[i] = TG_GGUF_BYTE;
        at++;
    }
    if (how > 0)
        tg_gguf_put_i32s(w, "tokenizer.ggml.token_type", types, tokens);
    free(types);
}

static uint8_t *make_file(const uint8_t *data, size_t size, size_t *n)
{
    const int fd = input_file(NULL, 0);
    const bool spm = data[0] >= 0xC0 && data[0] < 0xF0;
    size_t at = 2, tokens, merges;
    tg_gguf_writer w;

    tg_gguf_begin(&w, fd);
    at += put_lines(&w, "tokenizer.ggml.tokens", data + at, size - at, &tokens);
    if (spm)
        put_spm(&w, data[0], tokens);
    else
        put_bpe(&w, data[0]);
    put_types(&w, data[1], spm, data + 2, size - 2, tokens);
    if (!spm)
        (void)put_lines(&w, "tokenizer.ggml.merges", data + at, size - at, &merges);
    must(tg_gguf_finish(&w, NULL) == TG_OK);
    return take(fd, n);
}

static void write_again(const tg_tokenizer *tok)
{
    const int fd = input_file(NULL, 0);
    const tg_tokenizer *back;
    tg_notes notes = {0};
    tg_gguf_vocab v;
    tg_gguf_writer w;
    uint8_t *file;
    size_t n;
    const size_t vocab_size = tg_tokenizer_vocab_size(tok);
    tg_status status = tg_gguf_vocab_make(&v, tok, vocab_size, false, &notes, NULL);

    must(status == TG_OK || status == TG_EUSAGE);
    tg_gguf_vocab_free(&v);
    status = tg_gguf_vocab_make(&v, tok, vocab_size + 3, true, &notes, NULL);
    must(status == TG_OK || status == TG_EUSAGE);
    tg_gguf_begin(&w, fd);
    if (!status)
        tg_gguf_vocab_put(&w, &v);
    must(tg_gguf_finish(&w, NULL) == TG_OK);
    file = take(fd, &n);
    if (!status) {
        must(read_file(&back, file, n) == TG_OK);
        must(tg_tokenizer_same(tok, back, NULL) == TG_OK);
        tg_tokenizer_free(back);
    }
    tg_gguf_vocab_free(&v);
    tg_notes_free(&notes);
    free(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const tg_tokenizer *tok;
    uint8_t *file;
    tg_status status;
    size_t n;

    if (size < 2 || size > INPUT_MAX)
        return 0;
    file = make_file(data, size, &n);
    status = read_file(&tok, file, n);
    free(file);
    if (status)
        return 0;
    write_again(tok);
    tg_tokenizer_free(tok);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char *const texts[] = {"ggg\na\nb\nab\n\xC4\xA0\n<|e|>\nabab\n[PAD7]\n\na b\nab ab\n",
                                        "\xD3\1<unk>\n<0x0A>\na\nb\nab\n\xE2\x96\x81\n[PAD6]\n"};

    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, texts[seed % 2]) : size, max);
}
