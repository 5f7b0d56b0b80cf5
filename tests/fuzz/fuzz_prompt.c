/*
 * Prompts: a text or a token archive, from a stream, for models of several tokenizers, which then run.
 *
 * The ids are below the tokenizer's vocabulary; those of a text are its text.  The pass gives finite logits.
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/threads.h"
#include "lib/gpt/infer.h"
#include "lib/gpt/model.h"
#include "lib/gpt/presets.h"
#include "lib/tokens/stream.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens_write.h"
#include "tests/fuzz/input.h"
#include "tests/unit/ref_bpe.h"

enum { MODELS = 2, CONTEXT = 8 };

static const tg_tokenizer *make_tokenizer(int which)
{
    ref_vocab v;
    const tg_tokenizer *tok;

    if (which == 0) {
        must(tg_tokenizer_create(&tok, "bytes", NULL) == TG_OK);
        return tok;
    }
    ref_vocab_begin(&v, TG_SPLIT_GPT2);
    ref_vocab_add_bytes(&v);
    (void)ref_vocab_merge(&v, 'a', 'b');
    (void)ref_vocab_merge(&v, 256, 'c');
    (void)ref_vocab_merge(&v, ' ', 'a');
    (void)ref_vocab_add_special(&v, "<|endoftext|>");
    tok = ref_vocab_tokenizer(&v);
    ref_vocab_free(&v);
    return tok;
}

static const tg_model *get_model(int which)
{
    static tg_model models[MODELS];
    tg_config c = tg_config_preset(TG_PRESET_DEFAULT);
    const tg_tokenizer *tok;

    if (!models[which].params) {
        tg_threads_set(1);
        tok = make_tokenizer(which);
        c.n_layer = 1;
        c.n_head = 2;
        c.n_embd = 4;
        c.n_ctx = CONTEXT;
        c.vocab_size = tg_tokenizer_vocab_size(tok);
        must(tg_model_create(&models[which], &c, tok, 1, NULL) == TG_OK);
        tg_tokenizer_free(tok);
    }
    return &models[which];
}

/* One pass over the last ids, with a cache, as tg-sample makes it. */
static void run(const tg_model *m, const int32_t *ids, size_t n)
{
    static float logits[512];
    tg_arena arena = {0};
    tg_infer f;

    must(m->config.vocab_size <= 512);
    tg_infer_place(&arena, &f, m, n, 1, CONTEXT);
    must(tg_arena_alloc(&arena, NULL) == TG_OK);
    tg_infer_place(&arena, &f, m, n, 1, CONTEXT);
    tg_infer_run(&f, ids, n, logits);
    for (size_t i = 0; i < m->config.vocab_size; i++)
        must(isfinite(logits[i]));
    tg_arena_free(&arena);
}

static void read_prompt(const tg_model *m, const uint8_t *data, size_t size)
{
    const bool is_archive = size >= 4 && memcmp(data, "PK\3\4", 4) == 0;
    tg_tokens_prompt p;
    tg_err err = {0};
    size_t at = 0, n;
    const tg_status status = tg_tokens_prompt_read(&p, m->tokenizer, input_stream(data, size), &err);

    must(status == TG_OK || (is_archive && status == TG_EDATA && err.message[0] != '\0'));
    if (status)
        return;
    for (size_t i = 0; i < p.n; i++) {
        const unsigned char *token;

        must(p.ids[i] >= 0 && (size_t)p.ids[i] < m->config.vocab_size);
        token = tg_tokenizer_token(m->tokenizer, p.ids[i], &n);
        must(is_archive || (n <= size - at && memcmp(token, data + at, n) == 0));
        at += n;
    }
    must(is_archive || at == size);
    if (p.n > 0)
        run(m, p.ids + (p.n > CONTEXT ? p.n - CONTEXT : 0), p.n > CONTEXT ? CONTEXT : p.n);
    tg_tokens_prompt_free(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > INPUT_MAX)
        return 0;
    for (int i = 0; i < MODELS; i++)
        read_prompt(get_model(i), data, size);
    return 0;
}

/* A token archive of one of the tokenizers. */
static size_t make_seed(uint8_t *data, size_t max, unsigned seed)
{
    static const int32_t ids[] = {104, 255, 0, 97};
    const int fd = memfd_create("seed", 0);
    tg_tokens_writer *w;
    size_t n;

    must(tg_tokens_create(&w, fd, get_model(seed % MODELS)->tokenizer, NULL) == TG_OK);
    must(tg_tokens_write(w, ids, 4, NULL) == TG_OK && tg_tokens_finish(w, NULL) == TG_OK);
    tg_tokens_abandon(w);
    n = input_take(fd, data, max);
    close(fd);
    return n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    if (size < 5)
        size = seed % 4 == 0 ? input_seed(data, max, "To be or abc ab") : make_seed(data, max, seed / 4);
    return input_mutate(data, size, max, seed);
}
