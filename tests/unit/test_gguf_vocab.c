/* Vocabularies in GGUF files: what is written is read again; what llama.cpp cannot hold; files of others,
 * right and wrong. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/bpe/bpe.h"
#include "lib/models/gguf_vocab.h"
#include "lib/spm/spm.h"
#include "lib/text/chars.h"
#include "lib/text/chat.h"
#include "lib/text/encoder.h"
#include "lib/tokens/tokenizer_read.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"

#define FILE_MAX ((size_t)1 << 20)

/* ---- vocabularies */

/* Nine ids: 3 is made of 0 and 1, 5 of 7 and 8; 4 is no token, 6 special. */
struct vocab {
    tg_bpe_vocab view;
    uint32_t ends[9], merges[2][2], special[1];
    unsigned char tokens[64];
};

static void make_vocab(struct vocab *v, tg_split split)
{
    static const char *const texts[] = {"a", "b", "c", "ab", "", "\xC3\xA9", "<|endoftext|>", "\xC3", "\xA9"};
    uint32_t at = 0;

    *v = (struct vocab){.merges = {{7, 8}, {0, 1}}, .special = {6}};
    for (size_t i = 0; i < 9; i++) {
        memcpy(v->tokens + at, texts[i], strlen(texts[i]));
        at += (uint32_t)strlen(texts[i]);
        v->ends[i] = at;
    }
    v->view = (tg_bpe_vocab){.split = split,
                             .n = 9,
                             .ends = v->ends,
                             .tokens = v->tokens,
                             .n_merges = 2,
                             .merges = (const uint32_t(*)[2])v->merges,
                             .n_special = 1,
                             .special = v->special};
}

static const tg_tokenizer *bpe_of(const tg_bpe_vocab *view)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_bpe_create(&tok, view, &err), &err);
    return tok;
}

static const tg_tokenizer *bytes(void)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    return tok;
}

static const tg_tokenizer *chars_of(const char *text)
{
    const tg_tokenizer *tok;
    tg_chars *chars;
    tg_err err = {0};

    CHECK_OK(tg_chars_create(&chars, &err), &err);
    tg_chars_add(chars, text, strlen(text));
    CHECK_OK(tg_chars_finish(chars, &tok, &err), &err);
    tg_chars_free(chars);
    return tok;
}

/* All bytes that were written to fd, which is closed. */
static unsigned char *taken(int fd, size_t *n)
{
    unsigned char *p = malloc(FILE_MAX);
    const ssize_t got = pread(fd, p, FILE_MAX, 0);

    *n = got > 0 ? (size_t)got : 0;
    close(fd);
    return p;
}

/* Write a vocabulary for n rows, and read it: the file's other values stay readable until done(). */
struct back {
    tg_gguf_vocab written;
    unsigned char *file;
    tg_gguf g;
    tg_tensor_list list;
    const tg_tokenizer *tok;
    tg_notes notes;
};

static void write_back(struct back *b, const tg_tokenizer *tok, size_t n, bool lossy)
{
    const int fd = memfd_create("vocab", 0);
    tg_gguf_writer w;
    tg_err err = {0};
    size_t size;

    *b = (struct back){0};
    CHECK_OK(tg_gguf_vocab_make(&b->written, tok, n, lossy, &b->notes, &err), &err);
    tg_gguf_begin(&w, fd);
    tg_gguf_vocab_put(&w, &b->written);
    CHECK_OK(tg_gguf_finish(&w, &err), &err);
    b->file = taken(fd, &size);
    CHECK_OK(tg_gguf_read(&b->list, &b->g, b->file, size, &err), &err);
    CHECK_OK(tg_gguf_vocab_read(&b->tok, &b->g, false, &b->notes), &err);
    b->g.err = NULL;
}

static void done(struct back *b)
{
    tg_gguf_vocab_free(&b->written);
    tg_gguf_free(&b->g);
    tg_tensor_list_free(&b->list);
    tg_tokenizer_free(b->tok);
    tg_notes_free(&b->notes);
    free(b->file);
}

/* tok is freed. */
static void expect_same(const tg_tokenizer *tok, size_t n, const char *pre, size_t merges, size_t end)
{
    struct back b;
    tg_span text;
    const tg_gguf_value *v;
    tg_err err = {0};
    size_t got;

    write_back(&b, tok, n, false);
    CHECK(b.tok && tg_tokenizer_same(tok, b.tok, &err) == TG_OK);
    text = tg_gguf_get_text(&b.g, "tokenizer.ggml.pre");
    CHECK(tg_span_is(text, pre));
    v = tg_gguf_get_texts(&b.g, "tokenizer.ggml.tokens");
    CHECK_EQ(v->n, n);
    v = tg_gguf_get_texts(&b.g, "tokenizer.ggml.merges");
    CHECK_EQ(v->n, merges);
    got = tg_gguf_get_size(&b.g, "tokenizer.ggml.eos_token_id");
    CHECK_EQ(got, end);
    got = tg_gguf_get_size(&b.g, "tokenizer.ggml.bos_token_id");
    CHECK_EQ(got, end);
    done(&b);
    tg_tokenizer_free(tok);
}

static void vocabularies_stay_the_same(void)
{
    static const struct {
        tg_split split;
        bool whole_pieces;
        const char *pre;
    } rules[] = {{TG_SPLIT_GPT2, false, "gpt-2"},
                 {TG_SPLIT_GPT2_DIGITS, false, "smollm"},
                 {TG_SPLIT_LLAMA3, true, "llama-bpe"},
                 {TG_SPLIT_LLAMA3, false, "smaug-bpe"},
                 {TG_SPLIT_QWEN2, false, "qwen2"}};
    struct vocab v;

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        make_vocab(&v, rules[i].split);
        v.view.whole_pieces = rules[i].whole_pieces;
        expect_same(bpe_of(&v.view), 9, rules[i].pre, 2, 6);
        expect_same(bpe_of(&v.view), 64, rules[i].pre, 2, 6);
        v.view.n_added = 1;
        v.view.added = (const uint32_t[]){2};
        expect_same(bpe_of(&v.view), 9, rules[i].pre, 2, 6);
        v.view.n_special = 0;
        v.view.added = v.special;
        expect_same(bpe_of(&v.view), 9, rules[i].pre, 2, 6);
    }
    expect_same(bytes(), 256, "gpt-2", 0, 0);
    expect_same(bytes(), 300, "gpt-2", 0, 299);
    expect_same(chars_of("abc [\n"), 6, "gpt-2", 0, 5);
    /* two of two bytes that share the first, two of three that share two, one of four, single bytes */
    expect_same(chars_of("a\xC3\xA9\xC3\xA8\xE4\xBD\xA0\xE4\xBD\xA1\xF0\x9F\x98\x80\xC3\xFF"), 64, "gpt-2",
                2 + 3 + 3, 63);
}

static void merges_of_characters(void)
{
    static const char *const want[] = {"\xC3\x83 \xC2\xA8", "\xC3\x83 \xC2\xA9", "\xC3\xA4 \xC2\xBD",
                                       "\xC3\xA4\xC2\xBD \xC5\x82" /* E4 BD A0 */};
    const tg_tokenizer *tok = chars_of("\xC3\xA9\xC3\xA8\xE4\xBD\xA0");
    const tg_gguf_value *v;
    const unsigned char *at;
    struct back b;

    write_back(&b, tok, 3, false);
    v = tg_gguf_get_texts(&b.g, "tokenizer.ggml.merges");
    CHECK_EQ(v->n, 4);
    at = v->at;
    for (size_t i = 0; i < v->n; i++)
        CHECK(tg_span_is(tg_gguf_next_text(&at), want[i]));
    CHECK_EQ(b.notes.n, 1);
    CHECK_HAS(b.notes.line[0], "no token that ends a text");
    done(&b);
    tg_tokenizer_free(tok);
}

static void rows_without_tokens(void)
{
    struct vocab v;
    struct back b;
    const tg_tokenizer *tok;
    const tg_gguf_value *tokens, *types;
    const unsigned char *at;

    make_vocab(&v, TG_SPLIT_GPT2);
    tok = bpe_of(&v.view);
    write_back(&b, tok, 11, false);
    tokens = tg_gguf_get_texts(&b.g, "tokenizer.ggml.tokens");
    types = tg_gguf_get_integers(&b.g, "tokenizer.ggml.token_type");
    CHECK(types->type == TG_GGUF_I32 && types->n == 11);
    at = tokens->at;
    for (size_t i = 0; i < 11; i++) {
        const tg_span text = tg_gguf_next_text(&at);
        const bool padded = i == 4 || i > 8;

        CHECK_EQ(tg_gguf_integer(types, i), padded ? TG_GGUF_UNUSED : i == 6 ? TG_GGUF_CONTROL : 1);
        CHECK(i != 4 || tg_span_is(text, "[PAD4]"));
        CHECK(i != 10 || tg_span_is(text, "[PAD10]"));
        CHECK(i != 6 || tg_span_is(text, "<|endoftext|>"));
    }
    done(&b);
    tg_tokenizer_free(tok);
    write_back(&b, NULL, 11, false);
    CHECK(!b.tok && b.g.n_values == 1);
    done(&b);
}

/* Refused, or noted with the same words. */
static void expect_loss(const tg_tokenizer *tok, const char *what)
{
    tg_gguf_vocab v;
    tg_notes notes = {0};
    tg_err err = {0};

    CHECK_EQ(tg_gguf_vocab_make(&v, tok, 64, false, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, what);
    CHECK_EQ(notes.n, 0);
    tg_gguf_vocab_free(&v);
    CHECK_OK(tg_gguf_vocab_make(&v, tok, 64, true, &notes, &err), &err);
    CHECK(notes.n == 1 && strstr(notes.line[0], what));
    tg_gguf_vocab_free(&v);
    tg_notes_free(&notes);
    tg_tokenizer_free(tok);
}

static void what_llama_cannot_split(void)
{
    struct vocab v;
    tg_gguf_vocab out;
    const tg_tokenizer *tok;
    tg_notes notes = {0};
    tg_err err = {0};

    make_vocab(&v, TG_SPLIT_NONE);
    expect_loss(bpe_of(&v.view), "no rule like \"none\" to split texts");
    make_vocab(&v, TG_SPLIT_CL100K);
    expect_loss(bpe_of(&v.view), "it splits white space with a line end at the end of a text otherwise");
    make_vocab(&v, TG_SPLIT_O200K);
    expect_loss(bpe_of(&v.view), "it splits capitals beyond ASCII, and marks otherwise");
    make_vocab(&v, TG_SPLIT_QWEN2);
    v.view.normalizer = TG_NORMALIZER_NFC;
    expect_loss(bpe_of(&v.view), "it does not normalise texts (NFC)");
    make_vocab(&v, TG_SPLIT_GPT2);
    v.view.whole_pieces = true; /* makes no difference */
    tok = bpe_of(&v.view);
    CHECK_OK(tg_gguf_vocab_make(&out, tok, 9, false, &notes, &err), &err);
    CHECK_EQ(notes.n, 0);
    tg_gguf_vocab_free(&out);
    tg_tokenizer_free(tok);
    v.tokens[2] = 0xA9; /* nor with an added token within one that merges make */
    v.view.n_added = 1;
    v.view.added = (const uint32_t[]){2};
    tok = bpe_of(&v.view);
    CHECK_OK(tg_gguf_vocab_make(&out, tok, 9, false, &notes, &err), &err);
    CHECK_EQ(notes.n, 0);
    tg_gguf_vocab_free(&out);
    tg_tokenizer_free(tok);
    v.view.n_merges = 1; /* nothing makes "ab" */
    expect_loss(bpe_of(&v.view), "it does not reach tokens that no merges make");
    memcpy(v.tokens + 3, "ax", 2); /* nor "ax": there is no "x" */
    expect_loss(bpe_of(&v.view), "it does not reach tokens that no merges make");
    v.view = (tg_bpe_vocab){.split = TG_SPLIT_GPT2,
                            .n = 2,
                            .ends = (uint32_t[]){1, 7},
                            .tokens = (const unsigned char *)"aaaaaaa",
                            .whole_pieces = true};
    expect_loss(bpe_of(&v.view), "it does not reach tokens that no merges make");
}

static void two_tokens_that_look_alike(void)
{
    static const unsigned char tokens[] = "a\xC4\x80"; /* a special token that looks like byte 0 */
    static const uint32_t ends[] = {1, 1, 3}, special[] = {2};
    static const unsigned char with_zero[] = {'a', 0, 0xC4, 0x80};
    static const uint32_t zero_ends[] = {1, 2, 4};
    tg_bpe_vocab view = {
        .split = TG_SPLIT_GPT2, .n = 3, .ends = ends, .tokens = tokens, .n_special = 1, .special = special};
    const tg_tokenizer *tok = bpe_of(&view);
    tg_gguf_vocab v;
    tg_notes notes = {0};
    tg_err err = {0};

    CHECK_OK(tg_gguf_vocab_make(&v, tok, 3, false, &notes, &err), &err);
    tg_gguf_vocab_free(&v);
    tg_tokenizer_free(tok);
    view.tokens = with_zero;
    view.ends = zero_ends;
    tok = bpe_of(&view);
    CHECK_EQ(tg_gguf_vocab_make(&v, tok, 3, true, &notes, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "GGUF cannot hold two tokens that are written \"\\xC4\\x80\"");
    tg_gguf_vocab_free(&v);
    tg_tokenizer_free(tok);
    tg_notes_free(&notes);
}

/* ---- vocabularies of others */

struct foreign {
    const char *model, *pre, *kind; /* NULL: the file does not have it */
    const char *token[6];
    size_t n;
    int32_t type[6];
    bool types, more_types;
    const char *merge[3];
    bool no_tokens, no_merges;
    size_t end; /* 0: not told */
};

static void put_word(tg_gguf_writer *w, const char *key, const char *word)
{
    if (word)
        tg_gguf_put_text(w, key, word, strlen(word));
}

static void put_words(tg_gguf_writer *w, const char *key, const char *const *word, size_t n)
{
    tg_gguf_put_texts(w, key, n);
    for (size_t i = 0; i < n; i++)
        tg_gguf_put_element(w, word[i], strlen(word[i]));
}

static long allocations = -1; /* that succeed while a vocabulary is read; -1: all */

/* The status and message, or the tokenizer, of a vocabulary that another program wrote. */
static tg_status read_foreign(const tg_tokenizer **tok, const struct foreign *v, bool lossy, tg_notes *notes,
                              tg_err *err)
{
    const int fd = memfd_create("vocab", 0);
    tg_tensor_list list = {0};
    unsigned char *file;
    size_t size, merges = 0;
    tg_gguf_writer w;
    tg_gguf g;
    tg_status status;

    tg_gguf_begin(&w, fd);
    put_word(&w, "tokenizer.ggml.model", v->model);
    put_word(&w, "tokenizer.ggml.pre", v->pre);
    put_word(&w, TG_GGUF_KIND_KEY, v->kind);
    if (!v->no_tokens)
        put_words(&w, "tokenizer.ggml.tokens", v->token, v->n);
    if (v->types)
        tg_gguf_put_i32s(&w, "tokenizer.ggml.token_type", v->type, v->n + v->more_types);
    while (merges < 3 && v->merge[merges])
        merges++;
    if (!v->no_merges)
        put_words(&w, "tokenizer.ggml.merges", v->merge, merges);
    if (v->end > 0)
        tg_gguf_put_u32(&w, "tokenizer.ggml.eos_token_id", (uint32_t)v->end);
    CHECK_OK(tg_gguf_finish(&w, err), err);
    file = taken(fd, &size);
    CHECK_OK(tg_gguf_read(&list, &g, file, size, err), err);
    failing_after(allocations);
    status = tg_gguf_vocab_read(tok, &g, lossy, notes);
    failing_after(-1);
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    free(file);
    return status;
}

static void vocabularies_of_others(void)
{
    static const struct foreign good = {.model = "gpt2",
                                        .pre = "gpt-2",
                                        .token = {"a", "b", "ab", "<|e|>", "[PAD4]", "\xC4\xA0"},
                                        .n = 6,
                                        .type = {1, 0, 1, 4, 5, 1},
                                        .types = true,
                                        .merge = {"a b"}};
    struct foreign v = good;
    const tg_tokenizer *tok;
    const uint32_t *special;
    tg_notes notes = {0};
    tg_err err = {0};
    size_t n;

    CHECK_OK(read_foreign(&tok, &v, false, &notes, &err), &err);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), 6);
    CHECK_EQ(tg_tokenizer_specials(tok, &special), 0);
    CHECK(tg_tokenizer_added(tok, &special) == 1 && *special == 3);
    CHECK(*tg_tokenizer_token(tok, 5, &n) == ' ' && n == 1);
    CHECK(tg_tokenizer_token(tok, 4, &n) && n == 0);
    CHECK(tg_bpe_vocab_of(tok)->n_merges == 1 && tg_bpe_vocab_of(tok)->split == TG_SPLIT_GPT2);
    tg_tokenizer_free(tok);
    CHECK_EQ(notes.n, 0);

    v.types = false; /* the end of a text is then special */
    v.end = 3;
    v.pre = NULL;
    CHECK_OK(read_foreign(&tok, &v, false, &notes, &err), &err);
    CHECK(tg_tokenizer_specials(tok, &special) == 1 && *special == 3);
    CHECK(tg_bpe_vocab_of(tok)->split == TG_SPLIT_GPT2);
    CHECK(notes.n == 1 && strstr(notes.line[0], "does not say how text is split"));
    tg_tokenizer_free(tok);
    tg_notes_free(&notes);

    v = good;
    v.pre = "llama-bpe";
    CHECK_OK(read_foreign(&tok, &v, false, &notes, &err), &err);
    CHECK(tg_bpe_vocab_of(tok)->split == TG_SPLIT_LLAMA3 && tg_bpe_vocab_of(tok)->whole_pieces);
    tg_tokenizer_free(tok);
    v.pre = "tekken";
    CHECK_OK(read_foreign(&tok, &v, true, &notes, &err), &err);
    CHECK(!tok && notes.n == 1 &&
          strstr(notes.line[0], "the vocabulary is left out: its tokenizer.ggml.pre is \"tekken\""));
    tg_notes_free(&notes);
    v.model = NULL;
    CHECK_OK(read_foreign(&tok, &v, false, &notes, &err), &err);
    CHECK(!tok);
    v.model = "none";
    CHECK_OK(read_foreign(&tok, &v, false, &notes, &err), &err);
    CHECK(!tok && notes.n == 0);
}

static void wrong_vocabularies(void)
{
#define GOOD .model = "gpt2", .pre = "gpt-2", .token = {"a", "b", "ab", "c", "d", "e"}, .n = 6
    static const struct {
        struct foreign v;
        const char *message;
    } cases[] = {
        {{.model = "t5"}, "tokenizer.ggml.model is \"t5\", which tg does not know (tg-convert --lossy"},
        {{.model = "llama"}, "tokenizer.ggml.scores is missing"},
        {{.model = "x\n"}, "\"x\\x0A\""},
        {{.model = "gpt2", .pre = "tekken", .token = {"a"}, .n = 1},
         "tokenizer.ggml.pre is \"tekken\", which tg does not know"},
        {{GOOD, .no_tokens = true}, "tokenizer.ggml.tokens is missing"},
        {{GOOD, .no_merges = true}, "tokenizer.ggml.merges is missing"},
        {{GOOD, .merge = {"ab"}},
         "tokenizer.ggml.merges: expected two halves separated by a space, got \"ab\""},
        {{GOOD, .merge = {""}}, "got \"\""},
        {{GOOD, .merge = {" b"}}, "got \" b\""},
        {{GOOD, .merge = {"a "}}, "tokenizer.ggml.merges: a token has 0 bytes"},
        {{GOOD, .merge = {"a b", "a b"}}, "merge"},
        {{GOOD, .merge = {"a z"}}, "tokenizer.ggml.merges: \"z\", half of a merge, is not in the vocabulary"},
        {{GOOD, .merge = {"a c"}}, "which a merge of \"a\" makes, is not in the vocabulary"},
        {{GOOD, .types = true, .more_types = true}, "tokenizer.ggml.token_type has 7 elements"},
        {{GOOD, .types = true, .type = {1, 1, 6}},
         "tokenizer.ggml.tokens: token 2 has type 6, expected 1 to 5"},
        {{GOOD, .types = true, .type = {1, 1, -1}}, "token 2 has type -1"},
        {{GOOD, .types = true, .type = {5, 5, 5, 5, 5, 5}}, "the vocabulary has no tokens"},
        {{.model = "gpt2", .pre = "gpt-2", .token = {"a", "a"}, .n = 2}, "tokens 0 and 1 are both \"a\""},
        {{.model = "gpt2", .pre = "gpt-2", .token = {"a", ""}, .n = 2}, "tokenizer.ggml.tokens: "},
        {{.model = "gpt2", .pre = "gpt-2", .token = {"a", "\xFF"}, .n = 2}, "is not a byte-level token"},
        {{.model = "gpt2", .pre = "gpt-2", .n = 0}, "the vocabulary has no tokens"},
        {{GOOD, .kind = "words"}, "tg.tokenizer.kind is \"words\", expected bytes, char or bpe"},
        {{GOOD, .kind = "bytes"}, "tokenizer.ggml.tokens are not those of tg.tokenizer.kind bytes"},
        {{GOOD, .kind = "char"}, "tokenizer.ggml.tokens are not those of tg.tokenizer.kind char"},
        {{.model = "gpt2", .token = {"[PAD0]"}, .n = 1, .kind = "char"}, "empty"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const tg_tokenizer *tok;
        tg_notes notes = {0};
        tg_err err = {0};

        CHECK_EQ(read_foreign(&tok, &cases[i].v, false, &notes, &err), TG_EDATA);
        CHECK_HAS(err.message, cases[i].message);
        CHECK(!tok);
        tg_notes_free(&notes);
    }
}

static void no_memory(void)
{
    static const struct foreign v = {GOOD, .merge = {"a b"}};
    const tg_tokenizer *tok = chars_of("ab\xC3\xA9"), *back;
    tg_status status = TG_ENOMEM;
    tg_gguf_vocab out;
    tg_notes notes = {0};
    tg_err err = {0};
    long n;

    for (n = 0; status == TG_ENOMEM; n++) {
        failing_after(n);
        status = tg_gguf_vocab_make(&out, tok, 4, false, &notes, &err);
        failing_after(-1);
        tg_gguf_vocab_free(&out);
    }
    CHECK_OK(status, &err);
    CHECK(n > 4);
    tg_tokenizer_free(tok);
    for (status = TG_ENOMEM, allocations = 0; status == TG_ENOMEM; allocations++)
        status = read_foreign(&back, &v, false, &notes, &err);
    CHECK_OK(status, &err);
    CHECK(allocations > 8);
    allocations = -1;
    tg_tokenizer_free(back);
    tg_notes_free(&notes);
}

/* ---- SentencePiece */

/* A file with a vocabulary of pieces; prefix: 0, 1 or, if the file does not say it, -1. */
static unsigned char *spm_file(size_t *n, int prefix, size_t n_scores, size_t n_types)
{
    static const char space_a[] = "\xE2\x96\x81" /* U+2581 */
                                  "a";
    static const char *const tokens[] = {"<unk>", "<s>", space_a, "a", "\xE2\x96\x81", "b", "  "};
    static const int32_t types[] = {TG_GGUF_UNKNOWN, TG_GGUF_CONTROL, TG_GGUF_NORMAL,      TG_GGUF_NORMAL,
                                    TG_GGUF_NORMAL,  TG_GGUF_NORMAL,  TG_GGUF_USER_DEFINED};
    const int fd = memfd_create("vocab", 0);
    float scores[7];
    tg_gguf_writer w;
    tg_err err = {0};

    for (size_t i = 0; i < 7; i++)
        scores[i] = -(float)i;
    tg_gguf_begin(&w, fd);
    tg_gguf_put_text(&w, "tokenizer.ggml.model", "llama", 5);
    tg_gguf_put_texts(&w, "tokenizer.ggml.tokens", 7);
    for (size_t i = 0; i < 7; i++)
        tg_gguf_put_element(&w, tokens[i], strlen(tokens[i]));
    tg_gguf_put_f32s(&w, "tokenizer.ggml.scores", scores, n_scores);
    tg_gguf_put_i32s(&w, "tokenizer.ggml.token_type", types, n_types);
    if (prefix >= 0)
        tg_gguf_put_bool(&w, "tokenizer.ggml.add_space_prefix", prefix);
    CHECK_OK(tg_gguf_finish(&w, &err), &err);
    return taken(fd, n);
}

static tg_status read_spm(const tg_tokenizer **tok, int prefix, size_t n_scores, size_t n_types, tg_err *err)
{
    tg_tensor_list list = {0};
    tg_notes notes = {0};
    tg_gguf g;
    size_t n;
    unsigned char *file = spm_file(&n, prefix, n_scores, n_types);
    tg_status status;

    *tok = NULL;
    CHECK_OK(tg_gguf_read(&list, &g, file, n, err), err);
    status = tg_gguf_vocab_read(tok, &g, false, &notes);
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    tg_notes_free(&notes);
    free(file);
    return status;
}

/* The ids of "a  b". */
static void expect_spm(int prefix, int32_t first)
{
    const tg_tokenizer *tok;
    tg_encoder *e;
    int32_t ids[8];
    tg_text text = {(const unsigned char *)"a  b", 4};
    tg_err err = {0};
    size_t n, last;

    CHECK_OK(read_spm(&tok, prefix, 7, 7, &err), &err);
    CHECK(strcmp(tg_tokenizer_kind_name(tok), "sentencepiece") == 0);
    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_OK(tg_encoder_encode(e, &text, ids, 8, &n, &err), &err);
    CHECK_OK(tg_encoder_finish(e, ids + n, 8 - n, &last, &err), &err);
    CHECK_EQ(n + last, prefix != 0 ? 4 : 3); /* as llama.cpp, another one after a user-defined token */
    CHECK(ids[0] == first && ids[1] == 6 && ids[2] == (prefix != 0 ? 4 : 5));
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
}

static void sentencepiece(void)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    expect_spm(-1, 2);
    expect_spm(1, 2);
    expect_spm(0, 3);
    CHECK(read_spm(&tok, 1, 6, 7, &err) == TG_EDATA);
    CHECK_HAS(err.message, "tokenizer.ggml.scores is missing, or not a float32 for each of the 7 tokens");
    CHECK(read_spm(&tok, 1, 7, 6, &err) == TG_EDATA);
    CHECK_HAS(err.message, "tokenizer.ggml.token_type has 6 elements, tokenizer.ggml.tokens has 7");
}

/* Whether a file with these values, NULL or add < 0: none, has a token that begins each text. */
static bool adds_bos(const char *model, const char *pre, int add, bool wrong_type)
{
    static const char add_key[] = "tokenizer.ggml.add_bos_token";
    const int fd = memfd_create("vocab", 0);
    tg_tensor_list list = {0};
    tg_gguf_writer w;
    tg_gguf g;
    tg_err err = {0};
    size_t n;
    unsigned char *file;
    bool adds;

    tg_gguf_begin(&w, fd);
    if (model)
        tg_gguf_put_text(&w, "tokenizer.ggml.model", model, strlen(model));
    if (pre)
        tg_gguf_put_text(&w, "tokenizer.ggml.pre", pre, strlen(pre));
    if (wrong_type)
        tg_gguf_put_u32(&w, add_key, 1);
    else if (add >= 0)
        tg_gguf_put_bool(&w, add_key, add);
    CHECK_OK(tg_gguf_finish(&w, &err), &err);
    file = taken(fd, &n);
    CHECK_OK(tg_gguf_read(&list, &g, file, n, &err), &err);
    if (wrong_type) {
        CHECK_EQ(tg_gguf_vocab_adds_bos(&adds, &g), TG_EDATA);
        CHECK_HAS(err.message, "tokenizer.ggml.add_bos_token is u32, expected a truth value");
    } else {
        CHECK_OK(tg_gguf_vocab_adds_bos(&adds, &g), &err);
    }
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    free(file);
    return adds;
}

/* What llama.cpp does where the file says nothing. */
static void token_before_a_text(void)
{
    CHECK(adds_bos("llama", NULL, -1, false));
    CHECK(!adds_bos("llama", NULL, 0, false));
    CHECK(adds_bos("llama", NULL, 1, false));
    CHECK(!adds_bos("gpt2", "gpt-2", -1, false));
    CHECK(adds_bos("gpt2", "gpt-2", 1, false));
    CHECK(adds_bos("gpt2", "llama-bpe", -1, false));
    CHECK(adds_bos("gpt2", "llama3", -1, false));
    CHECK(adds_bos("gpt2", "llama-v3", -1, false));
    CHECK(!adds_bos("gpt2", "llama-bpe", 0, false));
    CHECK(!adds_bos("gpt2", "smaug-bpe", -1, false));
    CHECK(!adds_bos("gpt2", "qwen2", -1, false));
    CHECK(!adds_bos("gpt2", NULL, -1, false));
    CHECK(!adds_bos(NULL, NULL, -1, false));
    (void)adds_bos("llama", NULL, 1, true);
}

/* Pieces to be written: some texts of each type, and then all bytes, if there are any. */
struct pieces {
    tg_spm_vocab view;
    uint32_t ends[262], special[3];
    unsigned char tokens[300], types[262];
    float scores[262];
};

static const tg_tokenizer *spm_of(struct pieces *p, tg_spm_prefix prefix, size_t n)
{
    static const char *const texts[] = {"<unk>", "<s>", "</s>", "\xE2\x96\x81", "a", "\xE2\x96\x81x"};
    static const unsigned char types[] = {TG_SPM_UNKNOWN, TG_SPM_CONTROL, TG_SPM_CONTROL,
                                          TG_SPM_NORMAL,  TG_SPM_UNUSED,  TG_SPM_USER_DEFINED};
    const tg_tokenizer *tok;
    tg_err err = {0};
    uint32_t at = 0;

    *p = (struct pieces){.special = {0, 1, 2}};
    for (uint32_t id = 0; id < n; id++) {
        const size_t length = id < 6 ? strlen(texts[id]) : 1;

        memcpy(p->tokens + at, id < 6 ? texts[id] : (const char[]){(char)(id - 6)}, length);
        p->ends[id] = at += (uint32_t)length;
        p->types[id] = id < 6 ? types[id] : TG_SPM_BYTE;
        p->scores[id] = -(float)id / 3;
    }
    p->view = (tg_spm_vocab){.prefix = prefix,
                             .n = n,
                             .ends = p->ends,
                             .tokens = p->tokens,
                             .scores = p->scores,
                             .types = p->types,
                             .n_special = 3,
                             .special = p->special};
    CHECK_OK(tg_spm_create(&tok, &p->view, &err), &err);
    return tok;
}

static void sentencepiece_stays_the_same(void)
{
    static const tg_spm_prefix prefixes[] = {TG_SPM_PREFIX_NONE, TG_SPM_PREFIX_DIVIDED};
    struct pieces p;
    struct back b;
    const unsigned char *at;
    tg_span text = {0};
    tg_err err = {0};

    for (size_t i = 0; i < 2; i++) {
        const tg_tokenizer *tok = spm_of(&p, prefixes[i], 262);

        write_back(&b, tok, 262, false);
        CHECK(b.tok && tg_tokenizer_same(tok, b.tok, &err) == TG_OK);
        CHECK_EQ(tg_gguf_get_size(&b.g, "tokenizer.ggml.bos_token_id"), 1);
        CHECK_EQ(tg_gguf_get_size(&b.g, "tokenizer.ggml.eos_token_id"), 2);
        CHECK_EQ(tg_gguf_get_size(&b.g, "tokenizer.ggml.unknown_token_id"), 0);
        CHECK(tg_gguf_find(&b.g, "tokenizer.ggml.merges") == NULL);
        at = tg_gguf_get_texts(&b.g, "tokenizer.ggml.tokens")->at;
        for (size_t id = 0; id < 17; id++) {
            text = tg_gguf_next_text(&at);
            CHECK(id != 5 || tg_span_is(text, " x")); /* in the text itself a space is a space */
        }
        CHECK(tg_span_is(text, "<0x0A>"));
        done(&b);
        tg_tokenizer_free(tok);
    }
}

/* Rows without a piece. */
static void sentencepiece_is_padded(void)
{
    struct pieces p;
    const tg_tokenizer *tok = spm_of(&p, TG_SPM_PREFIX_NONE, 262);
    struct back b;
    const tg_gguf_value *tokens;
    const unsigned char *at;
    char name[32];

    write_back(&b, tok, 1002, false);
    tokens = tg_gguf_get_texts(&b.g, "tokenizer.ggml.tokens");
    CHECK_EQ(tokens->n, 1002);
    at = tokens->at;
    for (size_t id = 0; id < tokens->n; id++) {
        const tg_span text = tg_gguf_next_text(&at);

        snprintf(name, sizeof name, "[PAD%zu]", id);
        CHECK(id < 262 || tg_span_is(text, name));
    }
    CHECK_EQ(tg_tokenizer_vocab_size(b.tok), 262);
    CHECK_EQ(b.notes.n, 0);
    done(&b);
    tg_tokenizer_free(tok);
}

static void what_llama_cannot_merge(void)
{
    struct pieces p;

    expect_loss(spm_of(&p, TG_SPM_PREFIX_FIRST, 262), "it puts a space before each part of a text");
    expect_loss(spm_of(&p, TG_SPM_PREFIX_METASPACE, 262), "it puts a space before each part of a text");
    expect_loss(spm_of(&p, TG_SPM_PREFIX_PARTS, 262), "it puts a space before each part of a text");
    expect_loss(spm_of(&p, TG_SPM_PREFIX_NONE, 6), "it needs a piece for each byte");
}

/* The template in a file that has it, and nothing else; NULL: it has none. */
static tg_status read_template(tg_chat_template *kind, const char *text, tg_err *err)
{
    char path[] = "/tmp/test_gguf_vocab.XXXXXX";
    const int fd = mkstemp(path);
    tg_gguf_writer w;
    tg_status status;

    CHECK(fd >= 0);
    tg_gguf_begin(&w, fd);
    put_word(&w, "general.architecture", "llama");
    put_word(&w, "tokenizer.chat_template", text);
    CHECK_OK(tg_gguf_finish(&w, err), err);
    close(fd);
    status = tg_chat_template_of(kind, path, err);
    unlink(path);
    return status;
}

static void template_of_conversations(void)
{
    tg_chat_template kind;
    tg_err err = {0};

    CHECK_OK(read_template(&kind, "{{ bos }}<start_of_turn>user\n{{ m }}<end_of_turn>\n", &err), &err);
    CHECK_EQ(kind, TG_CHAT_GEMMA);
    CHECK_OK(read_template(&kind, "<|im_start|>{{ m }}<|im_end|>", &err), &err);
    CHECK_EQ(kind, TG_CHAT_CHATML);
    CHECK_OK(read_template(&kind, NULL, &err), &err);
    CHECK_EQ(kind, TG_CHAT_TEMPLATES);
    CHECK_EQ(read_template(&kind, "<|im_start|>{{ m }}", &err), TG_EDATA);
    CHECK_HAS(err.message, "the model's template of conversations is none of");
    CHECK_EQ(read_template(&kind, "", &err), TG_EDATA);
}

int main(void)
{
    RUN(token_before_a_text);
    RUN(template_of_conversations);
    RUN(sentencepiece);
    RUN(sentencepiece_stays_the_same);
    RUN(sentencepiece_is_padded);
    RUN(what_llama_cannot_merge);
    RUN(vocabularies_stay_the_same);
    RUN(merges_of_characters);
    RUN(rows_without_tokens);
    RUN(what_llama_cannot_split);
    RUN(two_tokens_that_look_alike);
    RUN(vocabularies_of_others);
    RUN(wrong_vocabularies);
    RUN(no_memory);
    return check_done();
}
