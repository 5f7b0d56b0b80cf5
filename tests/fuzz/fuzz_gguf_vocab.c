/*
 * Vocabularies in GGUF files.
 *
 * The first byte of the input chooses a rule, the second whether the file tells the types of its tokens;
 * the rest are lines: tokens, an empty line, merges.  What is accepted is written again, and must read back
 * the same, unless two of its tokens are written alike.
 */
#define _XOPEN_SOURCE 700
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/models/gguf_vocab.h"
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

static uint8_t *make_file(const uint8_t *data, size_t size, size_t *n)
{
    static const char *const rules[] = {"gpt-2", "llama-bpe", "smaug-bpe", "qwen2", "smollm", "gpt-4o"};
    static const char *const kinds[] = {"bytes", "char"};
    const int fd = input_file(NULL, 0);
    const char *rule = rules[data[0] % 6];
    int32_t *types = calloc(size + 1, sizeof *types);
    size_t at = 2, tokens, merges;
    tg_gguf_writer w;

    must(types != NULL);
    tg_gguf_begin(&w, fd);
    tg_gguf_put_text(&w, "tokenizer.ggml.model", "gpt2", 4);
    tg_gguf_put_text(&w, "tokenizer.ggml.pre", rule, strlen(rule));
    if (data[0] > 0xF0)
        tg_gguf_put_text(&w, TG_GGUF_KIND_KEY, kinds[data[0] % 2], strlen(kinds[data[0] % 2]));
    at += put_lines(&w, "tokenizer.ggml.tokens", data + at, size - at, &tokens);
    for (size_t i = 0; i < tokens; i++)
        types[i] = data[1] >> i % 8 & 1 ? data[1] % 7 : 1;
    if (data[1] > 0)
        tg_gguf_put_i32s(&w, "tokenizer.ggml.token_type", types, tokens);
    (void)put_lines(&w, "tokenizer.ggml.merges", data + at, size - at, &merges);
    must(tg_gguf_finish(&w, NULL) == TG_OK);
    free(types);
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
    static const char text[] = "ggg\na\nb\nab\n\xC4\xA0\n<|e|>\nabab\n[PAD7]\n\na b\nab ab\n";

    (void)seed;
    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, text) : size, max);
}
