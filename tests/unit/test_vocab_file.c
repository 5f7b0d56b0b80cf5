/*
 * Vocabularies from other projects' files and back: good ones, ones that ask for what there is not,
 * damaged and hostile ones, and with memory failing.
 */
#include "lib/tokens/tokenizer_read.h"
#include "lib/vocab/vocab_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/base64.h"
#include "lib/base/size.h"
#include "lib/base/utf8.h"
#include "lib/bpe/bpe.h"
#include "lib/models/model_archive.h"
#include "lib/vocab/byte_map.h"
#include "lib/text/bare_ids.h"
#include "lib/text/encoder.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/tokenizer_json.h"
#include "lib/tokens/tokens_write.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/refusing.h"
#include "tests/unit/small_model.h"

/* ---- files in a directory of their own */

static char folder[64];

static char *path_of(const char *name)
{
    static char path[4][256];
    static unsigned turn;
    char *p = path[turn++ % 4];

    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void write_file(const char *name, const void *text, size_t n)
{
    FILE *f = fopen(path_of(name), "w");

    CHECK(f && fwrite(text, 1, n, f) == n && fclose(f) == 0);
}

static void put(const char *name, const char *text)
{
    write_file(name, text, strlen(text));
}

static void drop(const char *name)
{
    unlink(path_of(name));
}

/* Open a file that must be good. */
static const tg_tokenizer *open_good(const char *name, const tg_split *split)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_vocab_file_open(&tok, path_of(name), split, &err), &err);
    return tok;
}

/* Open one that must fail with this code, a message that contains `message`, and the file's name. */
static void open_bad(const char *name, const tg_split *split, tg_status want, const char *message)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_EQ(tg_vocab_file_open(&tok, path_of(name), split, &err), want);
    CHECK(!tok);
    CHECK_HAS(err.message, message);
    CHECK_HAS(err.message, folder);
    CHECK(!strchr(err.message, '\n'));
}

static void expect_token(const tg_tokenizer *tok, int32_t id, const char *text)
{
    size_t n;
    const unsigned char *token = tg_tokenizer_token(tok, id, &n);

    CHECK(n == strlen(text) && memcmp(token, text, n) == 0);
}

/* The ids of a text, fewer than max, into ids [max]. */
static size_t encode(const tg_tokenizer *tok, int32_t *ids, size_t max, const void *bytes, size_t length)
{
    tg_text text = {bytes, length};
    tg_encoder *e;
    size_t count = 0, n;
    tg_err err = {0};

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    while (text.n > 0) {
        CHECK_OK(tg_encoder_encode(e, &text, ids + count, max - count, &n, &err), &err);
        count += n;
    }
    CHECK_OK(tg_encoder_finish(e, ids + count, max - count, &n, &err), &err);
    tg_encoder_free(e);
    return count + n;
}

static void expect_ids(const tg_tokenizer *tok, const char *text, size_t n, const int32_t *want)
{
    int32_t ids[256];

    CHECK_EQ(encode(tok, ids, 256, text, strlen(text)), n);
    CHECK(memcmp(ids, want, n * sizeof *want) == 0);
}

#define IDS(...)                                                                                             \
    sizeof((int32_t[]){__VA_ARGS__}) / sizeof(int32_t), (int32_t[])                                          \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }

static void expect_same(const tg_tokenizer *a, const tg_tokenizer *b)
{
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_same(a, b, &err), &err);
}

/* ---- GPT-2's characters for bytes */

static void byte_map(void)
{
    unsigned code[256], next = 256, order = 0;

    for (unsigned b = 0; b < 256; b++) { /* the definition */
        const bool itself = (b >= '!' && b <= '~') || (b >= 0xA1 && b <= 0xAC) || b >= 0xAE;

        code[b] = itself ? b : next++;
        if (itself)
            CHECK_EQ(tg_byte_map_order(order++), b);
    }
    for (unsigned b = 0; b < 256; b++)
        if (code[b] >= 256)
            CHECK_EQ(tg_byte_map_order(order++), b);
    for (unsigned b = 0; b < 256; b++) {
        char text[TG_BYTE_MAP_MAX];
        unsigned char back;
        uint32_t got;
        const size_t n = tg_byte_map_put(text, (unsigned char)b);
        size_t bytes;

        CHECK(tg_utf8_decode(&got, text, n) == n && got == code[b]);
        CHECK(tg_byte_map_read(&back, &bytes, text, n) && bytes == 1 && back == b);
    }
    for (uint32_t c = 0; c < 0x3000; c++) {
        char text[TG_UTF8_MAX];
        unsigned char out[TG_UTF8_MAX];
        const size_t n = tg_utf8_encode(text, c);
        size_t bytes;
        bool known = false;

        for (unsigned b = 0; b < 256; b++)
            known |= code[b] == c;
        CHECK_EQ(tg_byte_map_read(out, &bytes, text, n), known);
    }
}

/* ---- GPT-2's files */

#define SPACE "\xC4\xA0" /* U+0120 */

static const char merges[] = "#version: 0.2\nh e\nl l\nhe ll\n" SPACE " he\nhell o\n";

static void merges_alone(void)
{
    const tg_tokenizer *tok, *again;

    put("merges.txt", merges);
    tok = open_good("merges.txt", NULL);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), 256 + 5 + 1);
    expect_token(tok, 0, "!");
    expect_token(tok, 220, " ");
    expect_token(tok, 259, " he");
    expect_token(tok, 260, "hello");
    expect_token(tok, 261, "<|endoftext|>");
    expect_ids(tok, "hello he", IDS(260, 259));
    expect_ids(tok, " hello", IDS(220, 260)); /* "hell" has a lower rank than " he" */
    CHECK_EQ(tg_tokenizer_end_of_text(tok), 261);
    CHECK(tg_bpe_vocab_of(tok)->split == TG_SPLIT_GPT2 && !tg_bpe_vocab_of(tok)->whole_pieces);

    put("merges.txt", "h e\nl l\nhe ll\n" SPACE " he\nhell o"); /* without version and last newline */
    again = open_good("merges.txt", NULL);
    expect_same(tok, again);
    tg_tokenizer_free(again);
    put("merges.txt", "#version: 0.2\r\nh e\r\nl l\r\nhe ll\r\n" SPACE " he\r\nhell o\r\n");
    again = open_good("merges.txt", NULL);
    expect_same(tok, again);
    tg_tokenizer_free(again);
    tg_tokenizer_free(tok);
    drop("merges.txt");
}

/* Tokens "a" .. and merges that make "ab", "<|endoftext|>" as GPT-2 has it, in an order of its own. */
static const char vocab_json[] = "{\"ab\": 0, \"a\": 1, \"<|endoftext|>\": 5, \"b\": 2, \"\\u0120\": 3}";

static void vocab_and_merges(void)
{
    static const char *const pairs[][2] = {{"vocab.json", "merges.txt"},
                                           {"vocab.json", "vocab.bpe"},
                                           {"encoder.json", "merges.txt"},
                                           {"encoder.json", "vocab.bpe"}};
    const tg_tokenizer *first = NULL;

    for (size_t i = 0; i < 4; i++) {
        put(pairs[i][0], vocab_json);
        put(pairs[i][1], "a b\n");
        for (size_t by = 0; by < 3; by++) { /* by its vocabulary, its merges, its directory */
            const tg_tokenizer *tok = open_good(by < 2 ? pairs[i][by] : "", NULL);

            if (first)
                expect_same(first, tok);
            else
                first = tg_tokenizer_ref(tok);
            tg_tokenizer_free(tok);
        }
        drop(pairs[i][0]);
        drop(pairs[i][1]);
    }
    CHECK_EQ(tg_tokenizer_vocab_size(first), 6);
    expect_token(first, 0, "ab");
    expect_token(first, 3, " ");
    expect_token(first, 4, "");
    expect_ids(first, "aab ba", IDS(1, 0, 3, 2, 1));
    CHECK_EQ(tg_tokenizer_end_of_text(first), 5);
    tg_tokenizer_free(first);
}

/* Merges that are found next to the vocabulary and cannot be opened. */
static void merges_that_cannot_be_opened(void)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    put("vocab.json", vocab_json);
    put("merges.txt", "a b\n");
    refuse("open", 2, EACCES); /* the first is the vocabulary's */
    CHECK_EQ(tg_vocab_file_open(&tok, path_of("vocab.json"), NULL, &err), TG_EIO);
    CHECK(refused_all() && !tok && err.sys == EACCES);
    CHECK_HAS(err.message, "merges.txt: Permission denied");
    drop("vocab.json");
    drop("merges.txt");
}

/* A vocabulary where merges make "<|endoftext|>" has it as any other token. */
static void end_of_text_from_merges(void)
{
    const tg_tokenizer *tok;

    put("vocab.json", "{\"<|endo\": 0, \"ftext|>\": 1, \"<|endoftext|>\": 2}");
    put("merges.txt", "<|endo ftext|>\n");
    tok = open_good("vocab.json", NULL);
    CHECK_EQ(tg_tokenizer_end_of_text(tok), -1);
    tg_tokenizer_free(tok);
    drop("vocab.json");
    drop("merges.txt");
}

/* Merges whose halves are made later; and a special token that is longer than all others. */
static void merges_in_any_order(void)
{
    const tg_tokenizer *tok;

    put("merges.txt", "ab c\na b\nabc d\nb c\n");
    tok = open_good("merges.txt", NULL);
    expect_ids(tok, "abcd", IDS(258));
    expect_ids(tok, "bcd", IDS(259, 67));
    tg_tokenizer_free(tok);
    drop("merges.txt");
}

/* A socket of that name. */
static void must_bind(const char *name)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    CHECK(snprintf(address.sun_path, sizeof address.sun_path, "%s", path_of(name)) <
          (int)sizeof address.sun_path);
    CHECK(bind(fd, (const struct sockaddr *)&address, sizeof address) == 0 && close(fd) == 0);
}

static void bad_gpt2_files(void)
{
    static char spaces[8193];
    const tg_tokenizer *tok;
    tg_err err = {0};
    static const struct {
        const char *merges, *vocab, *message; /* vocab NULL: there is none */
    } cases[] = {
        {"a b\nab\n", NULL,
         "merges.txt: line 2: expected two halves of a merge separated by a space, got \"ab\""},
        {"a b c\n", NULL, "line 1: expected two halves"},
        {"a b\n\nb c\n", NULL, "line 2: expected two halves"},
        {"#version: 0.2\n b\n", NULL, "line 2: a token has 0 bytes, expected 1 to 65536"},
        {"a \n", NULL, "line 1: a token has 0 bytes"},
        {"a b\na b\n", NULL, "merges.txt: tokens 256 and 257 are both \"ab\""},
        {"a b\nb c\nab c\na bc\n", NULL, "merges.txt: tokens 258 and 259 are both \"abc\""},
        {"a b\nabc d\n", NULL, "line 2: \"abc\", half of a merge, is not in the vocabulary"},
        {"a b\nd abc\n", NULL, "line 2: \"abc\", half of a merge, is not in the vocabulary"},
        {"\xE2\x96\x81 a\n", NULL, "line 1: \"\\xE2\\x96\\x81\" is not a byte-level token"},
        {"a \xC3\n", NULL, "line 1: \"\\xC3\" is not a byte-level token"},
        {"a b\nab b\n", "{\"a\": 0, \"b\": 1, \"ab\": 2}",
         "merges.txt: line 2: \"abb\", which a merge of \"ab\" makes, is not in the vocabulary"},
        {"a c\n", "{\"a\": 0, \"b\": 1}",
         "merges.txt: line 1: \"c\", half of a merge, is not in the vocabulary"},
        {"a b\n", "{\"a\": 0, \"b\": 0, \"ab\": 2}", "vocab.json: id 0 is given to \"a\" and to \"b\""},
        {"a b\n", "{\"a\": 0, \"b\": 1, \"a\": 2}", "vocab.json: tokens 0 and 2 are both \"a\""},
        {"a b\n", "{\"a\": -1}", "vocab.json: line 1, column 7 (byte 6): expected an integer from 0 to"},
        {"a b\n", "{\"a\": 1.0}", "vocab.json: line 1, column 7 (byte 6): expected an integer"},
        {"a b\n", "{\"a\": 2147483648}", "token \"a\" has id 2147483648, expected one below 4194304"},
        {"a b\n", "{\"a\": 4194304}", "token \"a\" has id 4194304, expected one below 4194304"},
        {"a b\n", "{\"a\": 18446744073709551616}", "expected an integer from 0 to"},
        {"a b\n", "{\"\": 0}", "a token has 0 bytes"},
        {"a b\n", "{\"a b\": 0}", "\"a b\" is not a byte-level token"},
        {"a b\n", "{}", "vocab.json: the vocabulary has no tokens"},
        {"a b\n", "{\"a\": 0", "vocab.json: line 1, column 8 (byte 7): expected ',' or '}', the text ends"},
        {"a b\n", "{\"a\": 0} {}", "column 10 (byte 9): expected the end of the text, got '{'"},
        {"a b\n#version c\n", NULL, "line 2: \"#version\", half of a merge, is not in the vocabulary"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put("merges.txt", cases[i].merges);
        if (cases[i].vocab)
            put("vocab.json", cases[i].vocab);
        open_bad("merges.txt", NULL, TG_EDATA, cases[i].message);
        drop("vocab.json");
    }
    drop("merges.txt");
    put("vocab.json", vocab_json);
    open_bad("vocab.json", NULL, TG_EDATA,
             "a vocabulary needs merges.txt or vocab.bpe in the same directory");
    drop("vocab.json");
    open_bad("", NULL, TG_EDATA, "a directory without tokenizer.json, tokenizer.model or vocab.json");
    open_bad("nothing", NULL, TG_EIO, "No such file");
    put("vocab.json", vocab_json);
    must_bind("merges.txt"); /* exists, and is no regular file */
    open_bad("vocab.json", NULL, TG_EDATA, "merges.txt: not a regular file");
    drop("merges.txt");
    CHECK(mkdir(path_of("merges.txt"), 0700) == 0); /* can be opened, and not read */
    open_bad("vocab.json", NULL, TG_EIO, "merges.txt: cannot read at offset 0: Is a directory");
    CHECK(rmdir(path_of("merges.txt")) == 0);
    drop("vocab.json");
    memset(spaces, ' ', sizeof spaces - 1);
    write_file("spaces", spaces, sizeof spaces - 1);
    open_bad("spaces", NULL, TG_EDATA, "line 1: expected two halves");
    write_file("spaces", spaces, sizeof spaces); /* and a NUL */
    open_bad("spaces", NULL, TG_EDATA, "line 1: expected two halves");
    drop("spaces");
    CHECK_EQ(tg_vocab_file_open(&tok, "/proc/self/mem", NULL, &err), TG_EIO);
    CHECK_HAS(err.message, "/proc/self/mem: cannot read at offset 0: Input/output error");
    memset(spaces, 'a', sizeof spaces - 1);
    CHECK_EQ(tg_vocab_file_open(&tok, spaces, NULL, &err), TG_EIO);
    CHECK_EQ(err.sys, ENAMETOOLONG);
    put("empty", "");
    open_bad("empty", NULL, TG_EDATA, "the file is empty, expected a tokenizer");
    write_file("empty", "\x1F\x8B\x08", 3);
    open_bad("empty", NULL, TG_EDATA, "expected a tokenizer, this is gzip data");
    write_file("empty", "\0\1\2", 3);
    open_bad("empty", NULL, TG_EDATA, "not a tokenizer");
    drop("empty");
}

/* ---- nanoGPT's meta.pkl */

static void meta_pickles(void)
{
#define ITOS(value) "\x80\2}X\4\0\0\0itos" value "s."
#define CASE(text, message)                                                                                  \
    {                                                                                                        \
        text, sizeof(text) - 1, message                                                                      \
    }
    static const struct {
        const char *pickle;
        size_t n;
        const char *message;
    } cases[] = {
        CASE("\x80\2}.", "a pickle without a dict \"itos\""),
        CASE(ITOS("K\5"), "a pickle without a dict \"itos\""),
        CASE(ITOS("}X\1\0\0\0aX\1\0\0\0bs"), "itos: entry 0 is not id 0"),
        CASE(ITOS("}K\1X\1\0\0\0bs"), "itos: entry 0 is not id 0"),
        CASE(ITOS("}K\0K\5s"), "itos: id 0 is not one character"),
        CASE(ITOS("}K\0X\0\0\0\0s"), "itos: id 0 is not one character"),
        CASE(ITOS("}K\0X\2\0\0\0abs"), "itos: id 0 is not one character"),
    };
    static const char good[] = ITOS("}(K\0X\1\0\0\0aK\1X\1\0\0\0bu");
    const tg_tokenizer *tok;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_file("meta.pkl", cases[i].pickle, cases[i].n);
        open_bad("meta.pkl", NULL, TG_EDATA, cases[i].message);
    }
    write_file("meta.pkl", good, sizeof good - 1);
    tok = open_good("meta.pkl", NULL);
    expect_ids(tok, "bab", IDS(1, 0, 1));
    tg_tokenizer_free(tok);
    drop("meta.pkl");
}

/* ---- tokenizer.json */

#define BYTE_LEVEL "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"trim_offsets\": true}"
#define NO_REGEX "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": false}"
#define SPLIT_ALIKE(pattern, behavior)                                                                       \
    "{\"type\": \"Split\", \"pattern\": {\"Regex\": \"" pattern "\"}, \"behavior\": " behavior "}"
#define SPLIT(pattern) SPLIT_ALIKE(pattern, "\"Isolated\", \"invert\": false")
#define SEQUENCE(...) "{\"type\": \"Sequence\", \"pretokenizers\": [" __VA_ARGS__ "]}"
#define LLAMA3                                                                                               \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}{1,3}|"                    \
    " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define CL100K                                                                                               \
    "'(?i:[sdmt]|ll|ve|re)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?+\\\\p{L}++|\\\\p{N}{1,3}|"                         \
    " ?[^\\\\s\\\\p{L}\\\\p{N}]++[\\\\r\\\\n]*+|\\\\s++$|\\\\s*[\\\\r\\\\n]|\\\\s+(?!\\\\S)|\\\\s"
#define QWEN2                                                                                                \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}|"                         \
    " ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+"
#define DIGITS "{\"type\": \"Digits\", \"individual_digits\": true}"

/* A file of these parts; NULL: the part that a good file has. */
struct parts {
    const char *added, *normalizer, *pre, *decoder, *settings, *vocab, *merges;
};

static void put_parts(const struct parts *p)
{
    char text[8192];

    snprintf(text, sizeof text,
             "{\"version\": \"1.0\", \"truncation\": null, \"added_tokens\": [%s],\n \"normalizer\": %s,\n"
             " \"pre_tokenizer\": %s,\n \"post_processor\": {\"type\": \"TemplateProcessing\"},\n"
             " \"decoder\": %s,\n \"model\": {%s\"vocab\": %s, \"merges\": %s}}",
             p->added ? p->added : "", p->normalizer ? p->normalizer : "null", p->pre ? p->pre : BYTE_LEVEL,
             p->decoder ? p->decoder : BYTE_LEVEL, p->settings ? p->settings : "",
             p->vocab ? p->vocab : "{\"a\": 0, \"b\": 1, \"ab\": 2, \"\\u0120\": 3}",
             p->merges ? p->merges : "[\"a b\"]");
    put("tokenizer.json", text);
}

static const tg_tokenizer *open_parts(struct parts p)
{
    put_parts(&p);
    return open_good("tokenizer.json", NULL);
}

static void rules_of_json(void)
{
    static const struct {
        tg_split split;
        const char *pre;
    } cases[] = {
        {TG_SPLIT_GPT2, BYTE_LEVEL},
        {TG_SPLIT_GPT2, SEQUENCE(BYTE_LEVEL)},
        {TG_SPLIT_NONE, NO_REGEX},
        {TG_SPLIT_GPT2_DIGITS, SEQUENCE(DIGITS "," BYTE_LEVEL)},
        {TG_SPLIT_CL100K, SEQUENCE(SPLIT(CL100K) "," NO_REGEX)},
        {TG_SPLIT_LLAMA3, SEQUENCE(SPLIT(LLAMA3) "," NO_REGEX)},
        {TG_SPLIT_LLAMA3, SEQUENCE(SPLIT_ALIKE(LLAMA3, "\"Removed\", \"invert\": true") "," NO_REGEX)},
        {TG_SPLIT_QWEN2, SEQUENCE(SPLIT(QWEN2) "," NO_REGEX)},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_tokenizer *tok = open_parts((struct parts){.pre = cases[i].pre});

        CHECK(tok && tg_bpe_vocab_of(tok)->split == cases[i].split);
        tg_tokenizer_free(tok);
    }
}

static void parts_of_json(void)
{
    const tg_tokenizer *tok = open_parts((struct parts){0}), *other;

    CHECK_EQ(tg_tokenizer_vocab_size(tok), 4);
    CHECK_EQ(tg_bpe_vocab_of(tok)->normalizer, TG_NORMALIZER_NONE);
    expect_ids(tok, "ab ba", IDS(2, 3, 1, 0));
    other = open_parts((struct parts){.merges = "[[\"a\", \"b\"]]"});
    expect_same(tok, other);
    tg_tokenizer_free(other);
    other = open_parts((struct parts){
        .decoder = "null",
        .settings =
            "\"type\": \"BPE\", \"dropout\": null, \"unk_token\": null, \"byte_fallback\": false,"
            " \"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": null, \"fuse_unk\": true,"});
    expect_same(tok, other);
    tg_tokenizer_free(other);
    tg_tokenizer_free(tok);

    tok = open_parts((struct parts){.normalizer = "{\"type\": \"NFC\"}"});
    CHECK_EQ(tg_bpe_vocab_of(tok)->normalizer, TG_NORMALIZER_NFC);
    other = open_parts(
        (struct parts){.normalizer = "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}"});
    expect_same(tok, other);
    tg_tokenizer_free(other);
    tg_tokenizer_free(tok);

    tok = open_parts((struct parts){.settings = "\"ignore_merges\": true,", .merges = "[]"});
    CHECK(tg_bpe_vocab_of(tok)->whole_pieces);
    expect_ids(tok, "ab", IDS(2));
    tg_tokenizer_free(tok);
    tok = open_parts((struct parts){.merges = "[]"});
    expect_ids(tok, "ab", IDS(0, 1)); /* "ab" is a token that no merge reaches */
    tg_tokenizer_free(tok);
}

/* Merges before the vocabulary, escapes in them, the model before everything. */
static void json_in_any_order(void)
{
    const tg_tokenizer *tok;

    put("tokenizer.json", "{\"model\": {\"merges\": [[\"\\u0061\", \"\\u0062\"], [\"ab\", \"\\u0120\"]],"
                          " \"vocab\": {\"ab\\u0120\": 9, \"ab\": 4, \"b\": 1, \"a\": 0, \"\\u0120\": 3}},"
                          " \"unknown\": [{}], \"pre_tokenizer\": " NO_REGEX "}");
    tok = open_good("tokenizer.json", NULL);
    expect_ids(tok, "ab ab", IDS(9, 4));
    tg_tokenizer_free(tok);
}

static void added_tokens(void)
{
    const tg_tokenizer *tok = open_parts((struct parts){
        .added = "{\"id\": 5, \"content\": \"<|x y|>\", \"special\": false, \"lstrip\": false},"
                 "{\"id\": 2, \"content\": \"ab\", \"special\": true},"
                 "{\"id\": 4, \"content\": \"\\u4f60\"}",
        .vocab = "{\"a\": 0, \"b\": 1, \"ab\": 2, \"\xE4\xBD\xA0\": 4}",
        .merges = "[]"});
    const uint32_t *ids;

    CHECK_EQ(tg_tokenizer_vocab_size(tok), 6);
    CHECK(tg_tokenizer_specials(tok, &ids) == 1 && ids[0] == 2);
    CHECK(tg_tokenizer_added(tok, &ids) == 2 && ids[0] == 4 && ids[1] == 5);
    expect_token(tok, 5, "<|x y|>");
    expect_token(tok, 4, "\xE4\xBD\xA0");
    expect_ids(tok, "ab", IDS(0, 1));
    expect_ids(tok,
               "a<|x y|>\xE4\xBD\xA0"
               "ab",
               IDS(0, 5, 4, 0, 1));
    CHECK_EQ(tg_tokenizer_special_id(tok, "<|x y|>", 7), 5);
    tg_tokenizer_free(tok);
}

#define ADDED(id, text, special, normalized)                                                                 \
    "{\"id\": " #id ", \"content\": \"" text "\", \"special\": " #special ", \"normalized\": " #normalized "}"
#define NFC "{\"type\": \"NFC\"}"
#define UNSTABLE "\" with \"normalized\" is not supported with normalizer \"NFC\""
#define OVERLAP "\" with \"normalized\" is not supported: it may overlap one without"

/* Those that readers of the file look for in normalised text only, after the others. */
static void normalized_added_tokens(void)
{
    static const struct {
        struct parts parts;
        const char *message; /* NULL: it is read */
    } cases[] = {
        {{.added = ADDED(8, "  ", false, true) "," ADDED(9, "<|a|>", true, false), .normalizer = NFC}, NULL},
        {{.added = ADDED(8, "cd", false, true)}, NULL},
        {{.added = ADDED(8, "cd", false, true), .normalizer = NFC}, "\"cd" UNSTABLE},
        {{.added = ADDED(8, "<t>", false, true), .normalizer = NFC}, "\"<t>" UNSTABLE},
        {{.added = ADDED(8, "K.", false, true), .normalizer = NFC}, "\"K." UNSTABLE},
        {{.added = ADDED(8, "\xC3\xA9.", false, true), .normalizer = NFC}, UNSTABLE},
        {{.added = ADDED(8, "cd", false, false), .normalizer = NFC}, NULL},
        {{.added = ADDED(8, "cd", true, true), .normalizer = NFC}, NULL},
        {{.added = "{\"id\": 8, \"content\": \"cd\"}", .normalizer = NFC}, "\"cd" UNSTABLE},
        {{.added = ADDED(8, "cde", false, true) "," ADDED(9, "ef", false, false)}, "\"cde" OVERLAP},
        {{.added = ADDED(8, "cde", false, true) "," ADDED(9, "d", false, false)}, "\"cde" OVERLAP},
        {{.added = ADDED(8, "cde", false, true) "," ADDED(9, "cd", true, false)}, "\"cde" OVERLAP},
        {{.added = ADDED(8, "cd", false, true) "," ADDED(9, "cde", false, false)}, NULL},
        {{.added = ADDED(8, "de", false, true) "," ADDED(9, "cd", false, false)}, NULL},
        {{.added = ADDED(8, "cde", false, true) "," ADDED(9, "ef", false, true)}, NULL},
        {{.added = ADDED(8, "cde", false, false) "," ADDED(9, "ef", false, false)}, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        if (cases[i].message) {
            put_parts(&cases[i].parts);
            open_bad("tokenizer.json", NULL, TG_EDATA, cases[i].message);
        } else {
            tg_tokenizer_free(open_parts(cases[i].parts));
        }
    }
    drop("tokenizer.json");
}

static void bad_json(void)
{
    static const struct {
        struct parts parts;
        const char *message;
    } cases[] = {
        {{.pre = "null"}, "tokenizer.json: pre_tokenizer null is not supported, expected ByteLevel"},
        {{.pre = "{\"type\": \"Metaspace\"}"}, "pre_tokenizer \"Metaspace\" is not supported"},
        {{.pre = "{\"type\": \"Whitespace\"}"}, "pre_tokenizer \"Whitespace\" is not supported"},
        {{.pre = SEQUENCE("{\"type\": \"Punctuation\"}," BYTE_LEVEL)},
         "pre_tokenizer \"Punctuation\" is not"},
        {{.pre = SEQUENCE(BYTE_LEVEL "," BYTE_LEVEL)}, "at this position pre_tokenizer \"ByteLevel\""},
        {{.pre = SEQUENCE(BYTE_LEVEL "," DIGITS)}, "at this position pre_tokenizer \"Digits\""},
        {{.pre = SEQUENCE(DIGITS "," DIGITS "," BYTE_LEVEL)}, "at this position pre_tokenizer \"Digits\""},
        {{.pre = SEQUENCE(SPLIT(LLAMA3) "," SPLIT(LLAMA3) "," NO_REGEX)},
         "at this position pre_tokenizer \"Split\""},
        {{.pre = SEQUENCE(SEQUENCE(BYTE_LEVEL))}, "pre_tokenizer \"Sequence\" is not supported"},
        {{.pre = SEQUENCE("")}, "a pre_tokenizer without ByteLevel is not supported"},
        {{.pre = SEQUENCE(SPLIT(LLAMA3))}, "a pre_tokenizer without ByteLevel is not supported"},
        {{.pre = "{\"type\": \"Sequence\"}"}, "\"pretokenizers\" is missing"},
        {{.pre = "{\"type\": \"ByteLevel\"}"}, "\"ByteLevel\" with \"add_prefix_space\" is not supported"},
        {{.pre = "{\"type\": \"ByteLevel\", \"add_prefix_space\": true}"},
         "with \"add_prefix_space\" is not"},
        {{.pre = "{\"type\": \"ByteLevel\", \"add_prefix_space\": 1}"},
         "expected true or false, got a number"},
        {{.pre = SEQUENCE(SPLIT(LLAMA3) "," BYTE_LEVEL)},
         "with \"use_regex\" after \"Split\" is not supported"},
        {{.pre = SEQUENCE(SPLIT("a+b") "," NO_REGEX)}, "\"Split\" with the pattern \"a+b\" is not supported"},
        {{.pre = SEQUENCE(SPLIT_ALIKE(LLAMA3, "\"Removed\"") "," NO_REGEX)},
         "with the behavior \"Removed\" is not"},
        {{.pre = SEQUENCE(SPLIT_ALIKE(LLAMA3, "\"MergedWithNext\"") "," NO_REGEX)},
         "\"MergedWithNext\" is not"},
        {{.pre = SEQUENCE(
              "{\"type\": \"Split\", \"pattern\": {\"String\": \" \"}, \"behavior\": \"Isolated\"}")},
         "the pattern of \"Split\" is not a \"Regex\""},
        {{.pre = SEQUENCE("{\"type\": \"Split\", \"pattern\": {\"Regex\": \" \"}}")},
         "\"behavior\" is missing"},
        {{.pre = SEQUENCE("{\"type\": \"Split\", \"behavior\": \"Isolated\"}")}, "\"pattern\" is missing"},
        {{.pre = SEQUENCE("{\"type\": \"Digits\", \"individual_digits\": false}," BYTE_LEVEL)},
         "\"Digits\" without \"individual_digits\" is not supported"},
        {{.pre = SEQUENCE(DIGITS "," NO_REGEX)}, "\"Digits\" is supported only before GPT-2's pattern"},
        {{.pre = SEQUENCE(NO_REGEX "," SPLIT(LLAMA3))}, "at this position pre_tokenizer \"Split\""},
        {{.pre = SEQUENCE(SPLIT_ALIKE(LLAMA3, "5") "," NO_REGEX)}, "expected a string, got a number"},
        {{.pre = SEQUENCE(SPLIT_ALIKE(LLAMA3, "\"Isolated\", \"invert\": 5") "," NO_REGEX)},
         "expected true or false, got a number"},
        {{.pre = SEQUENCE(SPLIT_ALIKE(LLAMA3, "\"MergedWithNext\", \"invert\": true") "," NO_REGEX)},
         "\"Split\", inverted, with the behavior \"MergedWithNext\" is not"},
        {{.pre = SEQUENCE("{\"type\": \"Split\", \"pattern\": 5, \"behavior\": \"Isolated\"}")},
         "expected an object, got a number"},
        {{.pre = SEQUENCE("{\"type\": \"Split\", \"pattern\": {\"Regex\": 5}, \"behavior\": \"Isolated\"}")},
         "expected a string, got a number"},
        {{.pre = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, \"use_regex\": 1}"},
         "expected true or false, got a number"},
        {{.pre = "{}"}, "line 3, column 19 (byte 98): \"type\" is missing"},
        {{.pre = "[]"}, "expected an object, got an array"},
        {{.normalizer = "{\"type\": \"NFKC\"}"}, "normalizer \"NFKC\" is not supported"},
        {{.normalizer =
              "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}, {\"type\": \"Lowercase\"}]}"},
         "normalizer \"Lowercase\" is not supported"},
        {{.decoder = "{\"type\": \"Metaspace\"}"}, "decoder \"Metaspace\" is not supported"},
        {{.settings = "\"type\": \"Unigram\","}, "model \"Unigram\" is not supported"},
        {{.settings = "\"type\": \"WordPiece\","}, "model \"WordPiece\" is not supported"},
        {{.settings = "\"type\": 5,"}, "expected a string, got a number"},
        /* before their other components, which are not supported either */
        {{.normalizer = "{\"type\": \"Precompiled\"}", .settings = "\"type\": \"Unigram\","},
         "model \"Unigram\" is not supported"},
        {{.pre = "null", .settings = "\"type\": \"Unigram\", \"byte_fallback\": true,"},
         "model \"Unigram\" is not supported"},
        {{.normalizer = "{\"type\": \"BertNormalizer\"}", .settings = "\"type\": \"WordPiece\","},
         "model \"WordPiece\" is not supported"},
        {{.pre = "{\"type\": \"Whitespace\"}", .settings = "\"type\": \"WordLevel\","},
         "model \"WordLevel\" is not supported"},
        {{.settings = "\"dropout\": 0.1,"}, "model with \"dropout\" is not supported"},
        {{.settings = "\"byte_fallback\": true,"},
         "with byte_fallback, component \"ByteLevel\" is not supported"},
        {{.settings = "\"end_of_word_suffix\": \"</w>\","},
         "model with \"end_of_word_suffix\" is not supported"},
        {{.settings = "\"continuing_subword_prefix\": \"##\","},
         "\"continuing_subword_prefix\" is not supported"},
        {{.settings = "\"unk_token\": \"<unk>\","}, "model with \"unk_token\": byte 0x00 has no token"},
        {{.settings = "\"merges\": [],"}, "\"merges\" occurs twice"},
        {{.added = "{\"id\": 9, \"content\": \"<m>\", \"lstrip\": true}"},
         "added token \"<m>\" with \"lstrip\" is not"},
        {{.added = "{\"id\": 9, \"content\": \"<m>\", \"rstrip\": true}"},
         "added token \"<m>\" with \"rstrip\" is not"},
        {{.added = "{\"id\": 9, \"content\": \"<m>\", \"single_word\": true}"},
         "with \"single_word\" is not"},
        {{.settings = "\"ignore_merges\": 1,"}, "expected true or false, got a number"},
        {{.added = "5"}, "expected an object, got a number"},
        {{.added = "{\"id\": 9, \"content\": 5}"}, "expected a string, got a number"},
        {{.added = "{\"id\": 9, \"content\": \"<m>\", \"lstrip\": 5}"},
         "expected true or false, got a number"},
        {{.added = "{\"content\": \"<m>\"}"}, "an added token lacks \"id\""},
        {{.added = "{\"id\": 9}"}, "an added token lacks \"content\""},
        {{.added = "{\"id\": 9, \"content\": \"\"}"}, "is empty"},
        {{.added = "{\"id\": -9, \"content\": \"x\"}"}, "expected an integer from 0"},
        {{.added = "{\"id\": 9999999, \"content\": \"x\"}"}, "has id 9999999, expected one below 4194304"},
        {{.added = "{\"id\": 1, \"content\": \"x\"}"}, "id 1 is given to \"b\" and to \"x\""},
        {{.added = "{\"id\": 9, \"content\": \"a\"}"}, "\"a\" has id 0, but 9 as an added token"},
        {{.added = "{\"id\": 8, \"content\": \"x\"}, {\"id\": 9, \"content\": \"x\"}"},
         "added_tokens: tokens 0 and 1 are both \"x\""},
        {{.added = "{\"id\": 2, \"content\": \"ab\"}"},
         "\"ab\", which a merge of \"a\" makes, is not in the"},
        {{.vocab = "[]"}, "expected an object, got an array"},
        {{.vocab = "{\"a\": 0, \"\xE4\xBD\xA0\": 1}"}, "\"\\xE4\\xBD\\xA0\" is not a byte-level token"},
        {{.vocab = "{\"a\": \"0\"}"}, "expected a number, got a string"},
        {{.merges = "{}"}, "expected an array, got an object"},
        {{.merges = "[\"a\"]"}, "expected two halves of a merge separated by a space, got \"a\""},
        {{.merges = "[\"a b a\"]"}, "expected two halves"},
        {{.merges = "[[\"a\"]]"}, "expected two halves of a merge, got 1"},
        {{.merges = "[[]]"}, "expected two halves of a merge, got 0"},
        {{.merges = "[[\"a\", \"b\", \"c\"]]"}, "expected two halves of a merge, got more"},
        {{.merges = "[[\"a\", 1]]"}, "expected a string, got a number"},
        {{.merges = "[\"a b\", \"a b\"]"}, "merge"},
        {{.merges = "[\"a c\"]"}, "\"c\", half of a merge, is not in the vocabulary"},
        {{.merges = "[\"b a\"]"}, "\"ba\", which a merge of \"b\" makes, is not in the vocabulary"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_parts(&cases[i].parts);
        open_bad("tokenizer.json", NULL, TG_EDATA, cases[i].message);
    }
    put("tokenizer.json", "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}}");
    open_bad("tokenizer.json", NULL, TG_EDATA, "pre_tokenizer null is not supported");
    put("tokenizer.json",
        "{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}}}");
    open_bad("tokenizer.json", NULL, TG_EDATA, "the model has no \"merges\"");
    put("tokenizer.json", "{\"model\": {}, \"model\": {}}");
    open_bad("tokenizer.json", NULL, TG_EDATA, "\"model\" occurs twice");
    put("tokenizer.json", "{\"pre_tokenizer\": " BYTE_LEVEL
                          ", \"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0}, \"merges\": []}} x");
    open_bad("tokenizer.json", NULL, TG_EDATA, "expected the end of the text, got 'x'");
}

/* 256 ids: the kind "bytes" only if they are the bytes, in their order, and nothing else. */
static void bytes_of_json(void)
{
    static const struct {
        const char *settings, *normalizer, *last, *merges, *added; /* last: instead of byte 255 */
        unsigned flip;
        bool are_bytes;
    } cases[] = {
        {.are_bytes = true},
        {.settings = "\"unk_token\": \"<unk>\",", .are_bytes = true}, /* never used */
        {.flip = 1},
        {.normalizer = "{\"type\": \"NFC\"}"},
        {.last = ", \"!!\": 255"},
        {.last = ", \"!!\": 255", .merges = "\"! !\""},
        {.last = "", .added = "{\"id\": 255, \"content\": \"<x>\"}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char vocab[4096] = "{", merged[32];
        const tg_tokenizer *tok;
        size_t n = 1;

        for (unsigned id = 0; id < (cases[i].last ? 255 : 256); id++) {
            const unsigned char byte = (unsigned char)(id ^ cases[i].flip);
            char mapped[TG_BYTE_MAP_MAX + 1] = "";

            mapped[tg_byte_map_put(mapped, byte)] = '\0';
            n += (size_t)sprintf(vocab + n, "%s\"%s%s\": %u", id > 0 ? ", " : "",
                                 byte == '"' || byte == '\\' ? "\\" : "", mapped, id);
        }
        sprintf(vocab + n, "%s}", cases[i].last ? cases[i].last : "");
        snprintf(merged, sizeof merged, "[%s]", cases[i].merges ? cases[i].merges : "");
        tok = open_parts((struct parts){.added = cases[i].added,
                                        .settings = cases[i].settings,
                                        .normalizer = cases[i].normalizer,
                                        .vocab = vocab,
                                        .merges = merged});
        CHECK(tok && strcmp(tg_tokenizer_kind_name(tok), cases[i].are_bytes ? "bytes" : "bpe") == 0);
        tg_tokenizer_free(tok);
    }
    drop("tokenizer.json");
}

/* ---- .tiktoken */

enum { WORDS = 40, TEXT = 60 };

/* A vocabulary of all bytes, and of words of a, b and c with ranks in any order. */
struct words {
    char text[256 + WORDS][8];
    size_t n[256 + WORDS];
};

static void make_words(struct words *w, uint64_t seed)
{
    size_t order[256 + WORDS], made = 256;

    for (size_t i = 0; i < 256 + WORDS; i++)
        order[i] = i;
    for (size_t i = 255 + WORDS; i > 0; i--) { /* bytes too have any rank */
        const size_t k = (size_t)((check_random(seed, i) + 1) / 2 * (double)(i + 1)), swap = order[i];

        order[i] = order[k];
        order[k] = swap;
    }
    for (size_t i = 0; i < 256; i++)
        w->text[order[i]][0] = (char)i, w->n[order[i]] = 1;
    for (uint64_t draw = 1000; made < 256 + WORDS; draw++) {
        char word[8] = "";
        const size_t n = 2 + (size_t)((check_random(seed, 8 * draw) + 1) * 2.5);
        bool known = false;

        for (size_t i = 0; i < n; i++)
            word[i] = "abc"[(size_t)((check_random(seed, 8 * draw + 1 + i) + 1) * 1.5)];
        for (size_t i = 0; i < made; i++)
            known |= w->n[order[i]] == n && memcmp(w->text[order[i]], word, n) == 0;
        if (known)
            continue;
        memcpy(w->text[order[made]], word, n);
        w->n[order[made++]] = n;
    }
}

static size_t rank_of(const struct words *w, const char *text, size_t n)
{
    for (size_t i = 0; i < 256 + WORDS; i++)
        if (w->n[i] == n && memcmp(w->text[i], text, n) == 0)
            return i;
    return SIZE_MAX;
}

/* tiktoken's definition: the whole, else merge the neighbours of the lowest rank, the leftmost first. */
static size_t naive_tiktoken(const struct words *w, int32_t *ids, const char *text, size_t n)
{
    size_t border[TEXT + 1], parts = n;

    for (size_t i = 0; i <= n; i++)
        border[i] = i;
    if (rank_of(w, text, n) != SIZE_MAX) {
        ids[0] = (int32_t)rank_of(w, text, n);
        return 1;
    }
    for (;;) {
        size_t best = SIZE_MAX, where = 0;

        for (size_t i = 0; i + 1 < parts; i++) {
            const size_t rank = rank_of(w, text + border[i], border[i + 2] - border[i]);

            if (rank < best)
                best = rank, where = i;
        }
        if (best == SIZE_MAX)
            break;
        memmove(border + where + 1, border + where + 2, (parts - where - 1) * sizeof *border);
        parts--;
    }
    for (size_t i = 0; i < parts; i++)
        ids[i] = (int32_t)rank_of(w, text + border[i], border[i + 1] - border[i]);
    return parts;
}

static void put_words(const char *name, const struct words *w)
{
    char text[(256 + WORDS) * 24];
    size_t n = 0;

    for (size_t i = 256 + WORDS; i-- > 0;) { /* lines in any order */
        n += tg_base64_encode(text + n, w->text[i], w->n[i]);
        n += (size_t)sprintf(text + n, " %zu\n", i);
    }
    write_file(name, text, n);
}

/* Vocabularies whose ranks no merging made: tokens whose parts come later, or never come. */
static void merges_from_ranks(void)
{
    const tg_split none = TG_SPLIT_NONE;
    size_t unmade = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        struct words w = {0};
        const tg_tokenizer *tok;

        make_words(&w, seed);
        put_words("words.tiktoken", &w);
        tok = open_good("words.tiktoken", &none);
        CHECK_EQ(tg_tokenizer_vocab_size(tok), 256 + WORDS);
        unmade += WORDS - tg_bpe_vocab_of(tok)->n_merges;
        for (uint64_t t = 0; t < 200; t++) {
            char text[TEXT];
            int32_t want[TEXT], got[TEXT];
            const size_t n = 1 + t % (TEXT - 1);
            size_t count;

            for (size_t i = 0; i < n; i++)
                text[i] = "abc"[(size_t)((check_random(seed ^ (t + 1) << 20, i) + 1) * 1.5)];
            count = naive_tiktoken(&w, want, text, n);
            CHECK_EQ(encode(tok, got, TEXT, text, n), count);
            CHECK(memcmp(got, want, count * sizeof *got) == 0);
        }
        tg_tokenizer_free(tok);
    }
    CHECK(unmade > 0 && unmade < 40 * WORDS);
    drop("words.tiktoken");
}

/* Many pairs, which meet in tables: tokens of two bytes in any order, then of three.  A token of three is
 * made of its first or of its last two bytes, whichever has the lower rank. */
static void merges_of_many_ranks(void)
{
    enum { PAIRS = 8000, TRIPLES = 8000 };
    static uint32_t pair[65536]; /* ranks; 0: no token */
    const tg_split none = TG_SPLIT_NONE;
    FILE *f = fopen(path_of("t.tiktoken"), "w");
    uint32_t want[PAIRS + TRIPLES][2];
    const tg_bpe_vocab *v;
    const tg_tokenizer *tok;
    size_t id = 256, n = 0;
    char text[8];

    for (unsigned i = 0; i < 256; i++)
        fprintf(f, "%.*s %u\n", (int)tg_base64_encode(text, &(unsigned char){(unsigned char)i}, 1), text, i);
    for (uint32_t k = 0; id < 256 + PAIRS; k += 40503) { /* odd: any 65536 in a row differ */
        const unsigned char bytes[] = {(unsigned char)(k >> 8), (unsigned char)k};

        pair[k % 65536] = (uint32_t)id;
        want[n][0] = bytes[0], want[n++][1] = bytes[1];
        fprintf(f, "%.*s %zu\n", (int)tg_base64_encode(text, bytes, 2), text, id++);
    }
    for (uint32_t k = 0; id < 256 + PAIRS + TRIPLES; k += 10368889) {
        const unsigned char bytes[] = {(unsigned char)(k >> 16), (unsigned char)(k >> 8), (unsigned char)k};
        const uint32_t left = pair[k >> 8 & 0xFFFF], right = pair[k & 0xFFFF];

        fprintf(f, "%.*s %zu\n", (int)tg_base64_encode(text, bytes, 3), text, id++);
        if (left == 0 && right == 0)
            continue;
        want[n][0] = left && (!right || left <= right) ? left : bytes[0];
        want[n][1] = want[n][0] == bytes[0] ? right : bytes[2];
        n++;
    }
    CHECK(fclose(f) == 0);
    tok = open_good("t.tiktoken", &none);
    v = tg_bpe_vocab_of(tok);
    CHECK_EQ(v->n_merges, n);
    CHECK(n > PAIRS + TRIPLES / 10 && v->n_merges == n && memcmp(v->merges, want, n * sizeof *want) == 0);
    tg_tokenizer_free(tok);
    drop("t.tiktoken");
}

/* `n` tokens: all bytes, then pairs and triples of bytes; id i has rank i, or, from `gap` on, i + 1. */
static void put_tokens(const char *name, size_t n, size_t gap)
{
    FILE *f = fopen(path_of(name), "w");

    for (size_t i = 0; i < n; i++) {
        const size_t k = i - 256;
        const unsigned char pair[3] = {(unsigned char)(i < 256 ? i : k), (unsigned char)(k >> 8),
                                       (unsigned char)(k >> 16)};
        char text[8] = "";

        tg_base64_encode(text, pair, i < 256 ? 1 : k < 65536 ? 2 : 3);
        fprintf(f, "%s %zu\n", text, i + (i >= gap));
    }
    CHECK(fclose(f) == 0);
}

static void special_of_tiktoken(void)
{
    static const struct {
        tg_split split;
        size_t n, gap, ids, n_special;
        int32_t end;
    } cases[] = {
        {TG_SPLIT_GPT2, 50256, SIZE_MAX, 50257, 1, 50256},
        {TG_SPLIT_GPT2, 50280, 50256, 50281, 1, 50256},
        {TG_SPLIT_GPT2, 50255, SIZE_MAX, 50255, 0, -1},
        {TG_SPLIT_CL100K, 50256, SIZE_MAX, 50256, 0, -1},
        {TG_SPLIT_CL100K, 100256, SIZE_MAX, 100277, 5, 100257},
        {TG_SPLIT_O200K, 199998, SIZE_MAX, 200019, 2, 199999},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        const tg_tokenizer *tok;
        const uint32_t *ids;

        put_tokens("t.tiktoken", cases[i].n, cases[i].gap);
        tok = open_good("t.tiktoken", &cases[i].split);
        CHECK_EQ(tg_tokenizer_vocab_size(tok), cases[i].ids);
        CHECK_EQ(tg_tokenizer_specials(tok, &ids), cases[i].n_special);
        CHECK_EQ(tg_tokenizer_end_of_text(tok), cases[i].end);
        CHECK(tg_bpe_vocab_of(tok)->whole_pieces);
        tg_tokenizer_free(tok);
    }
    put_tokens("t.tiktoken", 50280, SIZE_MAX); /* 50256 is taken */
    open_bad("t.tiktoken", &cases[0].split, TG_EDATA, "id 50256 is given to");
    drop("t.tiktoken");
}

static void bad_tiktoken(void)
{
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"YWI=", "line 257: expected a token in base64, a space and its rank, got \"YWI=\""},
        {"YWI= ", "line 257: expected a token in base64"},
        {"YWI= x", "line 257: expected a token in base64"},
        {"YWI= -1", "line 257: expected a token in base64"},
        {"YWI= 300 1", "line 257: expected a token in base64"},
        {"YWI= 18446744073709551616", "line 257: expected a token in base64"},
        {"YWI= 36893488147419104232", "line 257: expected a token in base64"}, /* 2^65 + 1000 */
        {"YWI 300", "line 257: \"YWI\" is not base64"},
        {"YW=I 300", "is not base64"},
        {"YWJ= 300", "\"YWJ=\" is not base64"}, /* bits where the padding is */
        {"Y!I= 300", "is not base64"},
        {"==== 300", "is not base64"},
        {" 300", "line 257: token 300 is empty"},
        {"YWI= 255", "id 255 is given to \"\\xFF\" and to \"ab\""},
        {"YWI= 2147483648", "line 257: token \"ab\" has id 2147483648, expected one below 4194304"},
        {"YQ== 300", "tokens 97 and 300 are both \"a\""},
    };
    const tg_split gpt2 = TG_SPLIT_GPT2;
    FILE *f;

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        put_tokens("t.tiktoken", 256, SIZE_MAX);
        f = fopen(path_of("t.tiktoken"), "a");
        fprintf(f, "%s\n", cases[i].line);
        fclose(f);
        open_bad("t.tiktoken", &gpt2, TG_EDATA, cases[i].message);
    }
    CHECK(!tg_tiktoken_recognize(&(tg_file_text){.name = "x", .text = (const unsigned char *)"", .n = 0}));
    put("t.tiktoken", " 5\n"); /* neither is recognized: they are read as merges */
    open_bad("t.tiktoken", NULL, TG_EDATA, "line 1: a token has 0 bytes");
    put("t.tiktoken", "!!!! 5\n");
    open_bad("t.tiktoken", NULL, TG_EDATA, "line 1: \"!!!!\", half of a merge, is not in the vocabulary");
    put_tokens("t.tiktoken", 255, SIZE_MAX);
    open_bad("t.tiktoken", &gpt2, TG_EDATA, "byte 0xFF has no token");
    open_bad("t.tiktoken", NULL, TG_EUSAGE, "a .tiktoken file needs a rule for splitting");
    put("merges.txt", merges);
    open_bad("merges.txt", &gpt2, TG_EUSAGE, "a rule for splitting is only for .tiktoken files");
    drop("merges.txt");
    drop("t.tiktoken");
}

/* ---- writing */

static tg_status write_as(const char *name, const tg_tokenizer *tok, tg_vocab_format format, tg_err *err)
{
    const int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const tg_status status = tg_vocab_file_write(fd, tok, format, err);

    CHECK(fd >= 0 && close(fd) == 0);
    return status;
}

/* Written and read back, a tokenizer is the same. */
static void there_and_back(void)
{
    const tg_split split = TG_SPLIT_GPT2;
    const tg_tokenizer *tok, *back;
    tg_err err = {0};

    put("merges.txt", merges);
    tok = open_good("merges.txt", NULL);
    CHECK_OK(write_as("x.npz", tok, TG_VOCAB_NPZ, &err), &err);
    CHECK_OK(write_as("x.json", tok, TG_VOCAB_TOKENIZER_JSON, &err), &err);
    CHECK_OK(write_as("x.tiktoken", tok, TG_VOCAB_TIKTOKEN, &err), &err);
    back = open_good("x.npz", NULL);
    expect_same(tok, back);
    tg_tokenizer_free(back);
    back = open_good("x.json", NULL);
    expect_same(tok, back);
    tg_tokenizer_free(back);
    back = open_good("x.tiktoken", &split);
    CHECK_EQ(tg_tokenizer_vocab_size(back), 261); /* without the special token */
    expect_ids(back, "hello he", IDS(260, 259));
    tg_tokenizer_free(back);
    tg_tokenizer_free(tok);
    drop("merges.txt");
}

/* Every rule and normaliser, gaps, special and added tokens in the middle, whole pieces. */
static void all_rules_in_json(void)
{
    for (tg_split split = 0; split < TG_SPLITS; split++) {
        const uint32_t ends[] = {1, 2, 5, 7, 7, 8, 10}, special[] = {2, 5}, added[] = {6},
                       pairs[][2] = {{0, 1}};
        tg_bpe_vocab v = {.split = split,
                          .normalizer = split % 2 ? TG_NORMALIZER_NFC : TG_NORMALIZER_NONE,
                          .n = 7,
                          .ends = ends,
                          .tokens = (const unsigned char *)"ab<\n\"ab   ",
                          .n_merges = 1,
                          .merges = pairs,
                          .n_special = 2,
                          .special = special,
                          .n_added = split % 4 < 2,
                          .added = added,
                          .whole_pieces = split % 3 == 0};
        const tg_tokenizer *tok, *back;
        tg_err err = {0};

        CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
        CHECK_OK(write_as("x.json", tok, TG_VOCAB_TOKENIZER_JSON, &err), &err);
        back = open_good("x.json", NULL);
        expect_same(tok, back);
        tg_tokenizer_free(back);
        tg_tokenizer_free(tok);
    }
    CHECK(!tg_split_pattern(TG_SPLITS));
    drop("x.json");
}

/* The kind "bytes" in other formats gives the same ids. */
static void bytes_in_other_formats(void)
{
    const tg_split none = TG_SPLIT_NONE;
    const tg_tokenizer *bytes, *back;
    unsigned char text[512];
    int32_t ids[600];
    tg_err err = {0};

    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)(i * 7 + i / 256);
    CHECK_OK(tg_tokenizer_create(&bytes, "bytes", &err), &err);
    CHECK_OK(write_as("x.npz", bytes, TG_VOCAB_NPZ, &err), &err);
    CHECK_OK(write_as("x.json", bytes, TG_VOCAB_TOKENIZER_JSON, &err), &err);
    CHECK_OK(write_as("x.tiktoken", bytes, TG_VOCAB_TIKTOKEN, &err), &err);
    for (size_t i = 0; i < 3; i++) {
        static const char *const names[] = {"x.npz", "x.json", "x.tiktoken"};

        back = open_good(names[i], i == 2 ? &none : NULL);
        CHECK_EQ(tg_tokenizer_vocab_size(back), 256);
        CHECK_EQ(encode(back, ids, 600, text, sizeof text), sizeof text);
        for (size_t k = 0; k < sizeof text; k++)
            CHECK_EQ(ids[k], text[k]);
        tg_tokenizer_free(back);
        drop(names[i]);
    }
    tg_tokenizer_free(bytes);
}

/* A vocabulary of a, b and c, "ab", "bc", "abc" and these merges and special token. */
static void expect_refusal(tg_vocab_format format, const tg_bpe_vocab *v, const char *message)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_bpe_create(&tok, v, &err), &err);
    CHECK_EQ(write_as("x", tok, format, &err), TG_EUSAGE);
    CHECK_HAS(err.message, message);
    tg_tokenizer_free(tok);
    drop("x");
}

static void what_formats_cannot_hold(void)
{
    unsigned char tokens[256 + 7];
    uint32_t ends[256 + 3], special[] = {258};
    const uint32_t good[][2] = {{'a', 'b'}, {256, 'c'}}, other[][2] = {{'a', 'b'}, {'c', 256}},
                   late[][2] = {{256, 'c'}, {'a', 'b'}};
    tg_bpe_vocab v = {
        .split = TG_SPLIT_GPT2, .n = 258, .ends = ends, .tokens = tokens, .n_merges = 2, .merges = good};
    tg_err err = {0};
    const tg_tokenizer *tok;

    for (size_t i = 0; i < 256; i++)
        tokens[i] = (unsigned char)i, ends[i] = (uint32_t)i + 1;
    memcpy(tokens + 256, "ababc\xFF!", 7);
    ends[256] = 258, ends[257] = 261, ends[258] = 262;
    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
    CHECK_OK(write_as("x", tok, TG_VOCAB_TIKTOKEN, &err), &err);
    tg_tokenizer_free(tok);

    v.normalizer = TG_NORMALIZER_NFC;
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "a .tiktoken file cannot hold this vocabulary: it normalises text");
    v.normalizer = TG_NORMALIZER_NONE;
    v.merges = late;
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "merge 0 does not follow from the tokens' ids");
    v.merges = good;
    v.n_merges = 1;
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "merge 1 does not follow from the tokens' ids");
    tokens[258] = 'c', tokens[259] = 'a', tokens[260] = 'b'; /* "cab": ca is no token, so c and ab */
    v.merges = other;
    v.n_merges = 2;
    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
    CHECK_OK(write_as("x", tok, TG_VOCAB_TIKTOKEN, &err), &err);
    tg_tokenizer_free(tok);
    tokens[258] = 'x', tokens[259] = 'y', tokens[260] = 'z'; /* no merge can make it */
    v.n_merges = 1;
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "no merges make 1 of its tokens, and tiktoken would use them");
    v.whole_pieces = true;
    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
    CHECK_OK(write_as("x", tok, TG_VOCAB_TIKTOKEN, &err), &err);
    tg_tokenizer_free(tok);
    v.n = 259;
    v.n_special = 1;
    v.special = special;
    expect_refusal(
        TG_VOCAB_TOKENIZER_JSON, &v,
        "a tokenizer.json cannot hold this vocabulary: special token 258, \"\\xFF\", is not UTF-8");
    tokens[261] = '!';
    expect_refusal(TG_VOCAB_TOKENIZER_JSON, &v, "token 33 and special token 258 would both be \"!\" there");
    v.n_special = 0;
    v.n_added = 1;
    v.added = special;
    expect_refusal(TG_VOCAB_TOKENIZER_JSON, &v, "token 33 and added token 258 would both be \"!\" there");
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "added token 258, \"!\", is found before texts are split");
    v = (tg_bpe_vocab){.split = TG_SPLIT_GPT2, .n = 255, .ends = ends, .tokens = tokens};
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "byte 0xFF has no token");
    memcpy(tokens + 256, "abbcabc", 7);
    ends[256] = 258, ends[257] = 260, ends[258] = 263;
    v.n = 259;
    v.n_merges = 4; /* the last one never happens: a and b come first */
    v.merges = (const uint32_t[][2]){{'a', 'b'}, {'b', 'c'}, {256, 'c'}, {'a', 257}};
    expect_refusal(TG_VOCAB_TIKTOKEN, &v, "merge 3 does not follow from the tokens' ids");
    drop("x");
    CHECK_OK(tg_bare_ids_create(&tok, 10, &err), &err);
    CHECK_EQ(write_as("x", tok, TG_VOCAB_LLMC, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "an llm.c tokenizer cannot hold this vocabulary: its tokens have no text");
    tg_tokenizer_free(tok);
    drop("x");
}

static void long_tokens(void)
{
    static unsigned char tokens[13 + TG_BPE_TOKEN_MAX] = "<|endoftext|>";
    static const uint32_t ends[] = {13, 13 + 256, 13 + 256 + 65280}, special[] = {0};
    const tg_bpe_vocab v = {.n = 3, .ends = ends, .tokens = tokens, .n_special = 1, .special = special};
    const int fd = open("/dev/null", O_RDONLY);
    const tg_tokenizer *tok;
    tg_err err = {0};

    memset(tokens + 13, 'a', TG_BPE_TOKEN_MAX);
    expect_refusal(TG_VOCAB_LLMC, &v, "token 1 has 256 bytes, more than 255");
    CHECK_OK(tg_bpe_create(&tok, &v, &err), &err);
    CHECK_EQ(tg_vocab_file_write(fd, tok, TG_VOCAB_NPZ, &err), TG_EIO);
    tg_tokenizer_free(tok);
    close(fd);
}

static void full_device(void)
{
    const int fd = open("/dev/full", O_WRONLY);
    const tg_tokenizer *tok;
    tg_err err = {0};

    if (fd < 0)
        return;
    put("merges.txt", merges);
    tok = open_good("merges.txt", NULL);
    for (tg_vocab_format f = TG_VOCAB_NPZ; f <= TG_VOCAB_TIKTOKEN; f++)
        CHECK_EQ(tg_vocab_file_write(fd, tok, f, &err), TG_EIO);
    tg_tokenizer_free(tok);
    close(fd);
    drop("merges.txt");
}

/* ---- archives */

static void archives(void)
{
    const int32_t ids[] = {260, 259};
    const tg_tokenizer *tok, *back;
    tg_config config = small_config(1, 2, 8, 16);
    tg_tokens_writer *tokens;
    tg_archive_writer *w;
    tg_model m;
    int fd;
    tg_err err = {0};

    put("merges.txt", merges);
    tok = open_good("merges.txt", NULL);
    fd = open(path_of("x.npz"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    for (int times = 0; times < 2; times++) { /* two archives: the first counts */
        CHECK_OK(tg_tokens_create(&tokens, fd, tok, &err), &err);
        CHECK_OK(tg_tokens_write(tokens, ids, 2, &err), &err);
        CHECK_OK(tg_tokens_finish(tokens, &err), &err);
        tg_tokens_abandon(tokens);
    }
    close(fd);
    back = open_good("x.npz", NULL);
    expect_same(tok, back);
    tg_tokenizer_free(back);

    config.vocab_size = 320;
    CHECK_OK(tg_model_create(&m, &config, tok, 1, &err), &err);
    fd = open(path_of("x.npz"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    close(fd);
    tg_model_free(&m);
    back = open_good("x.npz", NULL);
    expect_same(tok, back);
    tg_tokenizer_free(back);

    fd = open(path_of("x.npz"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(tg_vocab_file_write(fd, tok, TG_VOCAB_NPZ, &err), &err);
    CHECK_OK(tg_vocab_file_write(fd, tok, TG_VOCAB_NPZ, &err), &err);
    close(fd);
    open_bad("x.npz", NULL, TG_EDATA, "another archive follows the tokenizer's");
    fd = open(path_of("x.npz"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(tg_vocab_file_write(fd, tok, TG_VOCAB_NPZ, &err), &err);
    CHECK_EQ(write(fd, "more", 4), 4);
    close(fd);
    open_bad("x.npz", NULL, TG_EDATA, "trailing data after the archive");
    fd = open(path_of("x.npz"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", "tokenizer", &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    close(fd);
    open_bad("x.npz", NULL, TG_EDATA, "archive ends after \"kind\": \"version\" is missing");
    for (int way = 0; way < 5; way++) {
        static const char *const messages[] = {
            "x.npz: the archive has kind \"attention\", expected \"tokenizer\", \"tokens\" or \"model\"",
            "tokenizer/kind is missing", "the archive has version 2, expected 1",
            "other does not belong in an archive of kind \"tokenizer\"",
            "not an archive of tg: \"kind\" is missing"};

        fd = open(path_of("x.npz"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        CHECK_OK(tg_archive_create(&w, fd, &err), &err);
        CHECK_OK(
            tg_archive_put_text(w, way == 4 ? "sort" : "kind", way == 0 ? "attention" : "tokenizer", &err),
            &err);
        CHECK_OK(tg_archive_put_i64(w, "version", way == 2 ? 2 : 1, &err), &err);
        if (way == 3) {
            CHECK_OK(tg_tokenizer_put(tok, w, &err), &err);
            CHECK_OK(tg_archive_put_i64(w, "other", 1, &err), &err);
        }
        CHECK_OK(tg_archive_finish(w, &err), &err);
        tg_archive_abandon(w);
        close(fd);
        open_bad("x.npz", NULL, TG_EDATA, messages[way]);
    }
    open_bad("x.npz", &(tg_split){TG_SPLIT_GPT2}, TG_EUSAGE,
             "a rule for splitting is only for .tiktoken files");
    tg_tokenizer_free(tok);
    drop("x.npz");
    drop("merges.txt");
}

/* ---- damaged files */

static const struct parts example = {
    .added = "{\"id\": 4, \"content\": \"<|e|>\", \"special\": true}",
    .normalizer = "{\"type\": \"NFC\"}",
    .pre = SEQUENCE(DIGITS "," BYTE_LEVEL),
    .settings = "\"type\": \"BPE\", \"unk_token\": null, \"ignore_merges\": false,",
    .vocab = "{\"a\": 0, \"\\u0062\": 1, \"ab\": 2, \"\\u0120\": 3, \"<|e|>\": 4}",
    .merges = "[[\"\\u0061\", \"b\"]]",
};

/* The example's bytes, to be freed. */
static unsigned char *example_text(size_t *n)
{
    unsigned char *text = malloc(8192);
    FILE *f;

    put_parts(&example);
    f = fopen(path_of("tokenizer.json"), "r");
    *n = fread(text, 1, 8192, f);
    fclose(f);
    return text;
}

/* In memory, so that thousands of cases take no time. */
static tg_status read_json(const unsigned char *text, size_t n, tg_err *err)
{
    const tg_file_text file = {"file", text, n};
    const tg_tokenizer *tok;
    bool whole = false;
    tg_status status = tg_tokenizer_json_recognize(&file, &whole, err);

    if (!status)
        status = tg_tokenizer_json_read(&tok, &file, err);
    if (!status)
        tg_tokenizer_free(tok);
    return status;
}

static void json_cut_anywhere(void)
{
    size_t n;
    unsigned char *whole = example_text(&n);
    tg_err err = {0};

    CHECK_OK(read_json(whole, n, &err), &err);
    for (size_t cut = 0; cut < n; cut++) {
        unsigned char *text = malloc(cut + (cut == 0)); /* to the byte, for the sanitizer */

        memcpy(text, whole, cut);
        CHECK_EQ(read_json(text, cut, &err), TG_EDATA);
        free(text);
    }
    free(whole);
}

static void json_damaged_anywhere(void)
{
    size_t n;
    unsigned char *text = example_text(&n);
    const size_t step = check_soak(7, 1) * check_step(9); /* another byte at every place */
    size_t good = 0;

    for (size_t at = 0; at < n; at++) {
        const unsigned char was = text[at];

        for (size_t byte = at % step; byte < 256; byte += step) {
            tg_err err = {0};
            tg_status status;

            text[at] = (unsigned char)byte;
            status = read_json(text, n, &err);
            good += status == TG_OK;
            CHECK(status == TG_OK || (status == TG_EDATA && strncmp(err.message, "file: ", 6) == 0));
        }
        text[at] = was;
    }
    CHECK(good > n / step); /* at least every byte as it was */
    free(text);
}

/* A file that is opened, or refused, unless there is no memory to do that. */
static void without_memory(const char *name, const tg_split *split, tg_status want)
{
    tg_status status = TG_ENOMEM;
    const tg_tokenizer *tok;
    tg_err err = {0};

    for (long n = 0; n < 1000 && status == TG_ENOMEM; n++) {
        failing_after(n);
        status = tg_vocab_file_open(&tok, path_of(name), split, &err);
        failing_after(-1);
    }
    CHECK_EQ(status, want);
    tg_tokenizer_free(tok);
}

static void no_memory(void)
{
    static const char *const names[] = {"tokenizer.json", "merges.txt", "words.tiktoken", "x.npz", ""};
    const tg_split none = TG_SPLIT_NONE;
    const tg_tokenizer *tok;
    struct words w = {0};
    tg_err err = {0};

    put_parts(&example);
    put("merges.txt", merges);
    make_words(&w, 7);
    put_words("words.tiktoken", &w);
    tok = open_good("merges.txt", NULL);
    CHECK_OK(write_as("x.npz", tok, TG_VOCAB_NPZ, &err), &err);
    tg_tokenizer_free(tok);
    for (size_t i = 0; i < 5; i++) {
        tg_status status = TG_ENOMEM;
        size_t n = 0;

        for (; n < 1000 && status == TG_ENOMEM; n++) {
            failing_after((long)n);
            status = tg_vocab_file_open(&tok, path_of(names[i]), i == 2 ? &none : NULL, &err);
            failing_after(-1);
            CHECK(!status || !tok);
        }
        CHECK_OK(status, &err);
        CHECK(n > 5);
        tg_tokenizer_free(tok);
    }
    put_parts(&(struct parts){.settings = "\"end_of_word_suffix\": \"\\u0041\","});
    without_memory("tokenizer.json", NULL, TG_EDATA);
    put_parts(&(struct parts){.added = "{\"\\u0069d\": 9, \"content\": \"\"}"});
    without_memory("tokenizer.json", NULL, TG_EDATA);
    put("vocab.json", vocab_json);
    CHECK(rename(path_of("merges.txt"), path_of("kept")) == 0 && mkdir(path_of("merges.txt"), 0700) == 0);
    without_memory("vocab.json", NULL, TG_EIO);
    CHECK(rmdir(path_of("merges.txt")) == 0 && rename(path_of("kept"), path_of("merges.txt")) == 0);
    drop("vocab.json");
    put_tokens("t.tiktoken", 50256, SIZE_MAX);
    without_memory("t.tiktoken", &(tg_split){TG_SPLIT_GPT2}, TG_OK);
    drop("t.tiktoken");
    for (tg_vocab_format f = TG_VOCAB_NPZ; f <= TG_VOCAB_TIKTOKEN; f++) {
        tg_status status = TG_ENOMEM;

        tok = open_good("merges.txt", NULL);
        for (size_t n = 0; n < 1000 && status == TG_ENOMEM; n++) {
            failing_after((long)n);
            status = write_as("x", tok, f, &err);
            failing_after(-1);
        }
        CHECK_OK(status, &err);
        tg_tokenizer_free(tok);
    }
    drop("tokenizer.json");
    drop("merges.txt");
    drop("words.tiktoken");
    drop("x.npz");
    drop("x");
}

/* ---- hostile files */

/* A text that goes on with 1 GB of nothing. */
static void sparse_file(void)
{
    char text[1024];

    memset(text, 'a', sizeof text);
    write_file("sparse", text, sizeof text);
    CHECK(truncate(path_of("sparse"), (off_t)1 << 30) == 0);
    open_bad("sparse", NULL, TG_EDATA, "the input has 1073741824 bytes, expected at most 268435456");
    drop("sparse");
}

/* A line of 1 GB through a named pipe: refused after TG_VOCAB_FILE_MAX bytes. */
static void endless_line(void)
{
    pid_t child;
    int status;

    CHECK(mkfifo(path_of("pipe"), 0600) == 0);
    child = fork();
    if (child == 0) {
        static unsigned char line[1 << 20];
        FILE *f = fopen(path_of("pipe"), "w");

        memset(line, 'a', sizeof line);
        for (int i = 0; i < 1024; i++)
            fwrite(line, 1, sizeof line, f);
        _exit(0);
    }
    open_bad("pipe", NULL, TG_EDATA, "the input has more than 268435456 bytes, expected at most 268435456");
    waitpid(child, &status, 0); /* the pipe's end killed it */
    drop("pipe");
}

static void long_lines(void)
{
    const tg_split gpt2 = TG_SPLIT_GPT2;
    const size_t n = (size_t)4 << 20;
    char *text = malloc(n + 3);

    memset(text, 'a', n);
    memcpy(text + n, " b\n", 3);
    write_file("merges.txt", text, n + 3);
    open_bad("merges.txt", NULL, TG_EDATA, "line 1: \"aaaaaaaa");
    memset(text, 'A', n);
    memcpy(text, "QUE= 1\n", 7);
    memcpy(text + n, " 2\n", 3);
    write_file("t.tiktoken", text, n + 3);
    open_bad("t.tiktoken", &gpt2, TG_EDATA,
             "line 2: a token has 4194297 characters in base64, expected at most 87384");
    memset(text, 'a', n);
    memcpy(text, "{\"model\": {}, \"", 15);
    memcpy(text + n, "\":1", 3);
    write_file("tokenizer.json", text, n + 3);
    open_bad("tokenizer.json", NULL, TG_EDATA, "expected ',' or '}', the text ends");
    free(text);
    drop("merges.txt");
    drop("t.tiktoken");
    drop("tokenizer.json");
}

/* A file of `times` lines after its beginning. */
static void put_lines(const char *name, const char *begin, const char *line, size_t times)
{
    FILE *f = fopen(path_of(name), "w");

    fputs(begin, f);
    for (size_t i = 0; i < times; i++)
        fputs(line, f);
    CHECK(fclose(f) == 0);
}

/* Each limit, and what exceeds it by one. */
static void limits(void)
{
    enum { TEXT_MAX = 200000 };
    const tg_split none = TG_SPLIT_NONE;
    char *text = malloc(TEXT_MAX), *as = malloc(TG_BPE_TOKEN_MAX + 1);
    const tg_tokenizer *tok;
    FILE *f;

    memset(as, 'a', TG_BPE_TOKEN_MAX + 1);
    for (size_t more = 0; more < 2; more++) {
        put_tokens("t.tiktoken", 256, SIZE_MAX);
        f = fopen(path_of("t.tiktoken"), "a");
        fprintf(f, "%.*s 300\n", (int)tg_base64_encode(text, as, TG_BPE_TOKEN_MAX + more), text);
        CHECK(fclose(f) == 0);
        if (more) {
            open_bad("t.tiktoken", &none, TG_EDATA,
                     "line 257: token 300 has 65537 bytes, expected at most 65536");
        } else {
            tok = open_good("t.tiktoken", &none);
            tg_tokenizer_free(tok);
        }
    }
    put_lines("t.tiktoken", "", "YQ== 1\n", TG_BPE_TOKENS_MAX + 1);
    open_bad("t.tiktoken", &none, TG_EDATA, "line 4194305: more than 4194304 tokens");
    put("vocab.json", "{\"a\": 0, \"b\": 1, \"ab\": 2}");
    put_lines("merges.txt", "", "a b\n", TG_BPE_MERGES_MAX + 1);
    open_bad("merges.txt", NULL, TG_EDATA, "line 4194304: more than 4194303 merges");
    snprintf(text, TEXT_MAX, "%.*s b\n", (int)TG_BPE_TOKEN_MAX + 1, as);
    put("merges.txt", text);
    open_bad("merges.txt", NULL, TG_EDATA, "line 1: a token has 65537 bytes, expected 1 to 65536");
    memset(text, 'a', TEXT_MAX);
    memcpy(text, "[[\"", 3);
    memcpy(text + 3 + 2 * TG_BPE_TOKEN_MAX + 1, "\", \"b\"]]", 9);
    f = fopen(path_of("tokenizer.json"), "w");
    fprintf(f, "{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": %s}}",
            text);
    CHECK(fclose(f) == 0);
    open_bad("tokenizer.json", NULL, TG_EDATA, "half of a merge has 131073 bytes, expected at most 131072");
    free(text);
    free(as);
    drop("t.tiktoken");
    drop("vocab.json");
    drop("merges.txt");
    drop("tokenizer.json");
}

static void deep_json(void)
{
    const size_t n = 1000000;
    char *text = malloc(n);

    memset(text, '[', n);
    memcpy(text, "{\"a\":", 5);
    write_file("tokenizer.json", text, n);
    open_bad("tokenizer.json", NULL, TG_EDATA, "column 69 (byte 68): more than 64 nested arrays and objects");
    free(text);
    drop("tokenizer.json");
}

/* 10^6 added tokens are many, but not too many. */
static void many_added_tokens(void)
{
    const size_t many = check_rounds(check_soak(300000, 1000000));
    FILE *f = fopen(path_of("tokenizer.json"), "w");
    const tg_tokenizer *tok;
    const uint32_t *ids;

    fprintf(f, "{\"pre_tokenizer\": " BYTE_LEVEL ", \"model\": {\"vocab\": {\"a\": 0}, \"merges\": []},"
               " \"added_tokens\": [{\"id\": 1, \"content\": \"<0>\"}");
    for (size_t i = 1; i < many; i++)
        fprintf(f, ",{\"id\": %zu, \"content\": \"<%zu>\"}", i + 1, i);
    fprintf(f, "]}");
    fclose(f);
    tok = open_good("tokenizer.json", NULL);
    CHECK_EQ(tg_tokenizer_added(tok, &ids), many);
    tg_tokenizer_free(tok);
    drop("tokenizer.json");
}

/* a, aa, aaa, ... each with a lower rank than those before it: every token is made one byte at a time. */
static void long_chains(void)
{
    enum { LONG = 2000 };
    const tg_split none = TG_SPLIT_NONE;
    FILE *f = fopen(path_of("t.tiktoken"), "w");
    char *text = malloc(TG_BASE64_SIZE(LONG)), *as = malloc(LONG);
    const tg_tokenizer *tok;
    int32_t ids[4];

    memset(as, 'a', LONG);
    for (unsigned i = 0; i < 256; i++) {
        const unsigned char byte = (unsigned char)i;

        fprintf(f, "%.*s %u\n", (int)tg_base64_encode(text, &byte, 1), text, LONG + i);
    }
    for (size_t n = 2; n <= LONG; n++)
        fprintf(f, "%.*s %zu\n", (int)tg_base64_encode(text, as, n), text, LONG - n);
    fclose(f);
    tok = open_good("t.tiktoken", &none);
    CHECK_EQ(tg_bpe_vocab_of(tok)->n_merges, LONG - 1);
    CHECK_EQ(encode(tok, ids, 4, as, LONG), 1);
    CHECK_EQ(ids[0], 0);
    tg_tokenizer_free(tok);
    free(text);
    free(as);
    drop("t.tiktoken");
}

/* ---- GPT-2's own files */

static void gpt2(void)
{
    const char *data = getenv("TG_TEST_DATA");
    const tg_split split = TG_SPLIT_GPT2;
    const tg_tokenizer *tok, *other;
    char path[512];
    tg_err err = {0};

    snprintf(path, sizeof path, "%s/gpt2", data ? data : "");
    if (!data || access(path, R_OK) != 0) {
        printf("skip gpt2: TG_TEST_DATA does not name a directory with gpt2\n");
        return;
    }
    CHECK_OK(tg_vocab_file_open(&tok, path, NULL, &err), &err);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), 50257);
    CHECK_EQ(tg_tokenizer_end_of_text(tok), 50256);
    expect_ids(tok, "Hello world!\n\nIt's", IDS(15496, 995, 0, 198, 198, 1026, 338));
    CHECK_OK(write_as("x.json", tok, TG_VOCAB_TOKENIZER_JSON, &err), &err);
    CHECK_OK(write_as("x.tiktoken", tok, TG_VOCAB_TIKTOKEN, &err), &err);
    other = open_good("x.json", NULL);
    expect_same(tok, other);
    tg_tokenizer_free(other);
    other = open_good("x.tiktoken", &split);
    CHECK_EQ(tg_bpe_vocab_of(other)->n_merges, 50000);
    CHECK(memcmp(tg_bpe_vocab_of(other)->merges, tg_bpe_vocab_of(tok)->merges, 50000 * sizeof(uint32_t[2])) ==
          0);
    CHECK_EQ(tg_tokenizer_end_of_text(other), 50256);
    tg_tokenizer_free(other);
    snprintf(path, sizeof path, "cp '%s/gpt2/vocab.bpe' '%s/alone.bpe'", data, folder);
    CHECK(system(path) == 0);
    other = open_good("alone.bpe", NULL); /* without encoder.json */
    expect_same(tok, other);
    tg_tokenizer_free(other);
    tg_tokenizer_free(tok);
    drop("alone.bpe");
    drop("x.json");
    drop("x.tiktoken");
}

int main(void)
{
    const char *tmp = getenv("TMPDIR");

    snprintf(folder, sizeof folder, "%.40s/tg-test-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(folder))
        return 1;
    RUN(byte_map);
    RUN(merges_alone);
    RUN(vocab_and_merges);
    RUN(merges_that_cannot_be_opened);
    RUN(end_of_text_from_merges);
    RUN(merges_in_any_order);
    RUN(bad_gpt2_files);
    RUN(meta_pickles);
    RUN(rules_of_json);
    RUN(parts_of_json);
    RUN(json_in_any_order);
    RUN(added_tokens);
    RUN(normalized_added_tokens);
    RUN(bad_json);
    RUN(bytes_of_json);
    RUN(merges_from_ranks);
    RUN(merges_of_many_ranks);
    RUN(special_of_tiktoken);
    RUN(bad_tiktoken);
    RUN(there_and_back);
    RUN(all_rules_in_json);
    RUN(bytes_in_other_formats);
    RUN(what_formats_cannot_hold);
    RUN(long_tokens);
    RUN(full_device);
    RUN(archives);
    RUN(json_cut_anywhere);
    RUN(json_damaged_anywhere);
    RUN(no_memory);
    RUN(sparse_file);
    RUN(endless_line);
    RUN(long_lines);
    RUN(limits);
    RUN(deep_json);
    RUN(many_added_tokens);
    RUN(long_chains);
    RUN(gpt2);
    drop("x.npz");
    drop("x.json");
    drop("x.tiktoken");
    drop("tokenizer.json");
    CHECK(rmdir(folder) == 0);
    return check_done();
}
