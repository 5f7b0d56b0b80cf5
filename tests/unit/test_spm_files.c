/* The readers of SentencePiece vocabularies: tokenizer.model, tokenizer.bin, tokenizer.json. */
#include <stdio.h>
#include <string.h>

#include "lib/spm/spm.h"
#include "lib/text/decoder.h"
#include "lib/text/encoder.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/spm_pieces.h"
#include "lib/vocab/vocab_file.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"

#define SPACE TG_SPM_SPACE

/* ---- files */

static unsigned char file[1 << 16];
static size_t n_file;

static void put(const void *bytes, size_t n)
{
    CHECK(n_file + n <= sizeof file);
    memcpy(file + n_file, bytes, n);
    n_file += n;
}

static void put_byte(unsigned byte)
{
    put(&(unsigned char){(unsigned char)byte}, 1);
}

static void put_float(float value)
{
    put(&value, sizeof value);
}

/* A field of n < 128 bytes. */
static void put_bytes(unsigned number, const void *bytes, size_t n)
{
    put_byte(number << 3 | 2);
    put_byte((unsigned)n);
    put(bytes, n);
}

static void put_piece(const char *text, float score, unsigned type)
{
    put_byte(1 << 3 | 2);
    put_byte((unsigned)strlen(text) + 9);
    put_bytes(1, text, strlen(text));
    put_byte(2 << 3 | 5);
    put_float(score);
    put_byte(3 << 3);
    put_byte(type);
}

/* The pieces of all files. */
static void put_pieces(bool bytes)
{
    char text[8];

    put_piece("<unk>", 0, TG_SPM_UNKNOWN);
    put_piece("<s>", 0, TG_SPM_CONTROL);
    put_piece("</s>", 0, TG_SPM_CONTROL);
    for (unsigned b = 0; bytes && b < 256; b++) {
        snprintf(text, sizeof text, "<0x%02X>", b);
        put_piece(text, 0, TG_SPM_BYTE);
    }
    put_piece(SPACE "a", -1, TG_SPM_NORMAL); /* 259 */
    put_piece("ab", -2, TG_SPM_NORMAL);      /* 260 */
    put_piece(SPACE, -3, TG_SPM_NORMAL);     /* 261 */
    put_piece("a", -4, TG_SPM_NORMAL);       /* 262 */
    put_piece("b", -5, TG_SPM_NORMAL);       /* 263 */
}

#define TRAINER_BPE "\x18\x02\x98\x02\x01"            /* model_type 2, byte_fallback */
#define NORMALIZER "\x0A\x08identity\x18\x01\x20\x00" /* add_dummy_prefix, no remove_extra_whitespaces */

static void put_settings(const char *trainer, size_t n_trainer, const char *normalizer, size_t n_normalizer)
{
    put_bytes(2, trainer, n_trainer);
    put_bytes(3, normalizer, n_normalizer);
}

#define PUT_SETTINGS(trainer, normalizer)                                                                    \
    put_settings(trainer, sizeof(trainer) - 1, normalizer, sizeof(normalizer) - 1)

static void begin_model(bool bytes)
{
    n_file = 0;
    put_pieces(bytes);
}

/* ---- checks */

typedef tg_status reader(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

static void refuse(reader *read, const char *why)
{
    const tg_tokenizer *tok = NULL;
    tg_err err = {0};

    CHECK(read(&tok, &(tg_file_text){"file", file, n_file}, &err) == TG_EDATA);
    CHECK_HAS(err.message, "file: ");
    CHECK_HAS(err.message, why);
    CHECK(!tok);
}

/* The file is read, and its tokenizer gives these ids, and the text back. */
static void accept(reader *read, const char *text, const int32_t *want, size_t n)
{
    const tg_tokenizer *tok = NULL;
    char back[256] = "";
    int32_t ids[64];
    tg_encoder *e;
    tg_err err = {0};
    tg_text rest = {(const unsigned char *)text, strlen(text)};
    size_t got, last;

    CHECK_OK(read(&tok, &(tg_file_text){"file", file, n_file}, &err), &err);
    if (!tok)
        return;
    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    CHECK_OK(tg_encoder_encode(e, &rest, ids, 64, &got, &err), &err);
    CHECK_OK(tg_encoder_finish(e, ids + got, 64 - got, &last, &err), &err);
    tg_encoder_free(e);
    CHECK_EQ(got + last, n);
    for (tg_decoder d = {.tok = tok}; n > 0; n--, want++) {
        size_t length;
        const unsigned char *token = tg_decoder_next(&d, *want, &length);

        snprintf(back + strlen(back), sizeof back - strlen(back), "%.*s", (int)length, (const char *)token);
    }
    for (size_t i = 0; i < got + last; i++)
        CHECK_EQ(ids[i], (want - (got + last))[i]);
    CHECK(strcmp(back, text) == 0);
    tg_tokenizer_free(tok);
}

#define ACCEPT(read, text, ...)                                                                              \
    accept((read), (text), (const int32_t[]){__VA_ARGS__},                                                   \
           sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

/* A file that ends anywhere is refused, or is one of fewer pieces. */
static void check_ends(reader *read)
{
    const size_t all = n_file;

    for (n_file = 0; n_file < all; n_file += n_file < all - 400 ? 97 : 1) {
        const tg_tokenizer *tok = NULL;
        tg_err err = {0};
        const tg_status status = read(&tok, &(tg_file_text){"file", file, n_file}, &err);

        CHECK(status == TG_OK ? tok != NULL : status == TG_EDATA && !tok);
        tg_tokenizer_free(tok);
    }
    n_file = all;
}

/* ---- tokenizer.model */

static void model(void)
{
    begin_model(true);
    PUT_SETTINGS(TRAINER_BPE, NORMALIZER);
    ACCEPT(tg_spm_model_read, "a abc", 259, 259, 263, 3 + 'c');
    CHECK(tg_spm_model_recognize(file, n_file));
    CHECK(tg_spm_model_recognize(file, 64));
    CHECK(!tg_spm_model_recognize("\n\n\n\n\n\n\n\n", 8));
    check_ends(tg_spm_model_read);
    begin_model(false);
    PUT_SETTINGS("\x18\x02", "\x18\x00\x20\x00");
    ACCEPT(tg_spm_model_read, "ab a", 4, 3);
}

static void model_settings(void)
{
    static const struct {
        const char *trainer, *normalizer, *why;
        size_t n_trainer, n_normalizer;
    } cases[] = {
        {"\x18\x01", NORMALIZER, "model_type 1, UNIGRAM is not supported, expected 2, BPE", 2, 14},
        {"", NORMALIZER, "model_type 1, UNIGRAM", 0, 14},
        {"\x18\x04", NORMALIZER, "model_type 4, CHAR", 2, 14},
        {"\x18\x09", NORMALIZER, "model_type 9 is not", 2, 14},
        {"\x1D\x02\x00\x00\x00", NORMALIZER, "model_type at offset 4465 has wire type 5, expected 0", 5, 14},
        {"\x18\x02\xC0\x01\x01", NORMALIZER, "treat_whitespace_as_suffix is not supported", 5, 14},
        {"\x18\x02", NORMALIZER, "byte_fallback is not set, but 256 pieces are bytes", 2, 14},
        {TRAINER_BPE, "\x0A\x08nmt_nfkc\x12\x01x\x20\x00", "normalizer \"nmt_nfkc\" is not supported", 5, 15},
        {TRAINER_BPE, "\x0A\x08identity", "normalizer with remove_extra_whitespaces is not supported", 5, 10},
        {TRAINER_BPE, "\x20\x00\x28\x00", "normalizer without escape_whitespaces is not supported", 5, 4},
        {TRAINER_BPE, "\x20", "ends after its message", 5, 1},
        {TRAINER_BPE, "\x20\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF", "has more than 10 bytes", 5, 12},
        {TRAINER_BPE, "\x23", "has wire type 3, expected 0, 1, 2 or 5", 5, 1},
        {TRAINER_BPE, "\x21\x00", "has 8 bytes, its message ends after 1", 5, 2},
        {TRAINER_BPE, "\x0A\x09name", "has 9 bytes, its message ends after 4", 5, 6},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        begin_model(true);
        put_settings(cases[i].trainer, cases[i].n_trainer, cases[i].normalizer, cases[i].n_normalizer);
        refuse(tg_spm_model_read, cases[i].why);
    }
    begin_model(true);
    refuse(tg_spm_model_read, "the model has no trainer_spec");
    put_bytes(2, TRAINER_BPE, 5);
    refuse(tg_spm_model_read, "the model has no normalizer_spec");
    put_bytes(3, NORMALIZER, 14);
    put_bytes(5, "\x12\x01x", 3);
    refuse(tg_spm_model_read, "a denormalizer is not supported");
}

static void model_pieces(void)
{
    begin_model(true);
    put_piece("ab", 0, TG_SPM_NORMAL);
    PUT_SETTINGS(TRAINER_BPE, NORMALIZER);
    refuse(tg_spm_model_read, "token 264 has the text of token 260");
    begin_model(true);
    put_piece("c", 0, 7);
    refuse(tg_spm_model_read, "token 264 has type 7, expected 1 to 6");
    begin_model(true);
    put_bytes(1, "\x0A\x01x\x18\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01", 14);
    refuse(tg_spm_model_read, "token 264 has type -1, expected 1 to 6");
    begin_model(true);
    put_bytes(1, "\x0A\x01x\x18\x81\x80\x80\x80\x80\x80\x80\x80\x80\x01", 14);
    refuse(tg_spm_model_read, "token 264 has type -9223372036854775807, expected 1 to 6");
    begin_model(true);
    put_piece("<0xG0>", 0, TG_SPM_BYTE);
    refuse(tg_spm_model_read, "token 264 is \"<0xG0>\", expected a byte like \"<0x0A>\"");
    begin_model(true);
    put_byte(1 << 3);
    put_byte(0);
    refuse(tg_spm_model_read, "pieces at offset 4463 has wire type 0, expected 2");
    n_file = 0;
    PUT_SETTINGS("\x18\x02", NORMALIZER);
    refuse(tg_spm_model_read, "the vocabulary has no tokens");
}

/* ---- tokenizer.bin */

static void put_word(uint32_t word)
{
    for (size_t i = 0; i < 4; i++)
        put_byte(word >> 8 * i & 0xFF);
}

static void put_scored(const char *text, float score)
{
    put_float(score);
    put_word((uint32_t)strlen(text));
    put(text, strlen(text));
}

static void llama2c(void)
{
    char text[8];

    n_file = 0;
    put_word(6);
    put_scored("<unk>", 0);
    put_scored("\n<s>\n", 0);
    put_scored("\n</s>\n", 0);
    for (unsigned b = 0; b < 256; b++) {
        snprintf(text, sizeof text, "<0x%02X>", b);
        put_scored(text, 0);
    }
    put_scored(" a", -1);
    put_scored("ab", -2);
    put_scored(" ", -3);
    put_scored("a", -4);
    put_scored("b", -5);
    CHECK(tg_llama2c_vocab_recognize(file, n_file));
    CHECK(!tg_llama2c_vocab_recognize(file, 16));
    ACCEPT(tg_llama2c_vocab_read, "a abc", 259, 259, 263, 3 + 'c');
    check_ends(tg_llama2c_vocab_read);
    n_file -= 1;
    refuse(tg_llama2c_vocab_read, "the file ends in token 263, at offset");
}

/* ---- tokenizer.json */

#define REPLACE "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"" SPACE "\"}"
#define PREPEND                                                                                              \
    "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Prepend\", \"prepend\": \"" SPACE               \
    "\"}, " REPLACE "]}"
#define METASPACE(scheme)                                                                                    \
    "{\"type\": \"Metaspace\", \"replacement\": \"" SPACE "\", \"prepend_scheme\": \"" scheme                \
    "\", \"split\": false}"
#define MERGES "[[\"" SPACE "\", \"a\"], [\"a\", \"b\"]]"
#define ADDED                                                                                                \
    "[{\"id\": 0, \"content\": \"<unk>\", \"special\": true}, {\"id\": 1, \"content\": \"<s>\", "            \
    "\"special\": true}, {\"id\": 2, \"content\": \"</s>\", \"special\": true}]"

/* pieces: further ones, after the id 263 of "b". */
static void json_with(const char *pieces, const char *normalizer, const char *pre_tokenizer,
                      const char *added, const char *merges, const char *more)
{
    char text[2048];

    n_file = 0;
    snprintf(
        text, sizeof text,
        "{\"normalizer\": %s, \"pre_tokenizer\": %s, \"added_tokens\": %s, \"model\": {\"type\": \"BPE\", "
        "\"unk_token\": \"<unk>\", \"byte_fallback\": true, %s \"merges\": %s, \"vocab\": {",
        normalizer, pre_tokenizer, added, more, merges);
    put(text, strlen(text));
    snprintf(text, sizeof text, "\"<unk>\": 0, \"<s>\": 1, \"</s>\": 2");
    put(text, strlen(text));
    for (unsigned b = 0; b < 256; b++) {
        snprintf(text, sizeof text, ", \"<0x%02X>\": %u", b, 3 + b);
        put(text, strlen(text));
    }
    snprintf(text, sizeof text,
             ", \"" SPACE "a\": 259, \"ab\": 260, \"" SPACE "\": 261, \"a\": 262, \"b\": 263%s}}}", pieces);
    put(text, strlen(text));
}

static void json(const char *normalizer, const char *pre_tokenizer, const char *added, const char *merges,
                 const char *more)
{
    json_with("", normalizer, pre_tokenizer, added, merges, more);
}

static void json_accepted(void)
{
    json(PREPEND, "null", ADDED, MERGES, "");
    ACCEPT(tg_tokenizer_json_read, "a abc", 259, 259, 263, 3 + 'c');
    json(REPLACE, "null", ADDED, "[\"" SPACE " a\", \"a b\"]", "");
    ACCEPT(tg_tokenizer_json_read, "ab a", 260, 259);
    json("null", METASPACE("first"), ADDED, MERGES, "\"dropout\": null, \"ignore_merges\": false,");
    ACCEPT(tg_tokenizer_json_read, "ab", 259, 263);
    json("null", METASPACE("never"), "[]", MERGES, "");
    ACCEPT(tg_tokenizer_json_read, "ab", 260);
    json(REPLACE, "null", "[{\"id\": 264, \"content\": \"ba\", \"special\": false}]", MERGES, "");
    ACCEPT(tg_tokenizer_json_read, "ba ab", 264, 259, 263);
    json(PREPEND, "null", "[{\"id\": 264, \"content\": \"ba\", \"special\": false}]", MERGES, "");
    ACCEPT(tg_tokenizer_json_read, "baabba", 264, 259, 263, 264);
}

static void json_ids(void)
{
    /* a space, which no text has once U+2581 replaces it */
    json_with(", \" \": 264, \" a\": 265", REPLACE, "null", ADDED,
              "[[\" \", \"a\"], [\"" SPACE "\", \"a\"], [\"a\", \"b\"]]", "");
    ACCEPT(tg_tokenizer_json_read, "a abc", 262, 259, 263, 3 + 'c');
    /* an added token that the model has too, with an id that is not below the number of pieces */
    json_with(", \"c\": 285", REPLACE, "null", "[{\"id\": 285, \"content\": \"c\"}]", MERGES, "");
    ACCEPT(tg_tokenizer_json_read, "acb", 262, 285, 263);
}

static void json_refused(void)
{
    static const struct {
        const char *normalizer, *pre_tokenizer, *added, *merges, *more, *why;
    } cases[] = {
        {"null", "null", ADDED, MERGES, "", "with byte_fallback, spaces must become U+2581"},
        {"{\"type\": \"NFKC\"}", "null", ADDED, MERGES, "", "component \"NFKC\" is not supported"},
        {PREPEND, METASPACE("first"), ADDED, MERGES, "", "after a normalizer that writes spaces"},
        {"null", METASPACE("often"), ADDED, MERGES, "", "prepend_scheme \"often\" is not supported"},
        {"null", "{\"type\": \"Metaspace\", \"replacement\": \"" SPACE "\"}", ADDED, MERGES, "",
         "\"Metaspace\" that splits is not supported"},
        {"null", "{\"type\": \"Metaspace\", \"replacement\": \"_\", \"split\": false}", ADDED, MERGES, "",
         "another replacement than U+2581"},
        {"{\"type\": \"Replace\", \"pattern\": {\"String\": \"x\"}, \"content\": \"y\"}", "null", ADDED,
         MERGES, "", "\"Replace\" of anything but spaces"},
        {"{\"type\": \"Sequence\"}", "null", ADDED, MERGES, "", "\"normalizers\" is missing"},
        {REPLACE, "{\"type\": \"Split\", \"pattern\": {\"String\": \"x\"}}", ADDED, MERGES, "",
         "\"Split\" is supported only at spaces"},
        {REPLACE, "null", ADDED, MERGES, "\"ignore_merges\": true,", "model with \"ignore_merges\""},
        {REPLACE, "null", ADDED, "[[\"a\", \"c\"]]", "", "a merge of texts that are no tokens, or make none"},
        {REPLACE, "null", ADDED, "[[\"a\", \"b\", \"b\"]]", "", "expected two halves of a merge, got more"},
        {REPLACE, "null", ADDED, "[[\"a\"]]", "", "expected two halves of a merge, got 1"},
        {REPLACE, "null", ADDED, "[\"ab\"]", "", "expected two halves of a merge separated by a space"},
        {REPLACE, "null", ADDED, "[[\"a\", \"b\"], [\"a\", \"b\"]]", "", "merge 1 is the same as merge 0"},
        {REPLACE, "null", ADDED, "[[\"a\", \"b\"]]", "", "no scores say what the merges say of token 259"},
        {REPLACE, "null", "[{\"id\": 262, \"content\": \"x\"}]", MERGES, "",
         "id 262 is given to \"a\" and to \"x\""},
        {REPLACE, "null", "[{\"id\": 264, \"content\": \"a\"}]", MERGES, "",
         "\"a\" has id 262, but 264 as an added token"},
        {REPLACE, "null", "[{\"id\": 262}]", MERGES, "", "an added token lacks \"content\""},
        {REPLACE, "null", "[{\"id\": 262, \"content\": \"a\", \"lstrip\": true}]", MERGES, "",
         "added token \"a\" with \"lstrip\" is not supported"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        json(cases[i].normalizer, cases[i].pre_tokenizer, cases[i].added, cases[i].merges, cases[i].more);
        refuse(tg_tokenizer_json_read, cases[i].why);
    }
}

/* ---- a tokenizer.json is written */

struct piece {
    const char *text;
    double score;
    unsigned type;
};

/* A tokenizer of <unk>, <s>, </s>, all bytes if `bytes`, and these pieces, ended by one without a text. */
static const tg_tokenizer *made_of(const struct piece *piece, tg_spm_prefix prefix, bool bytes)
{
    const tg_tokenizer *tok;
    tg_spm_pieces p = {0};
    tg_err err = {0};
    char text[8];

    CHECK_OK(tg_spm_pieces_add(&p, "<unk>", 5, 0, TG_SPM_UNKNOWN, &err), &err);
    CHECK_OK(tg_spm_pieces_add(&p, "<s>", 3, 0, TG_SPM_CONTROL, &err), &err);
    CHECK_OK(tg_spm_pieces_add(&p, "</s>", 4, 0, TG_SPM_CONTROL, &err), &err);
    for (unsigned b = 0; bytes && b < 256; b++) {
        snprintf(text, sizeof text, "<0x%02X>", b);
        CHECK_OK(tg_spm_pieces_add(&p, text, 6, 0, TG_SPM_BYTE, &err), &err);
    }
    for (; piece->text; piece++)
        CHECK_OK(tg_spm_pieces_add(&p, piece->text, strlen(piece->text), piece->score, piece->type, &err),
                 &err);
    CHECK_OK(tg_spm_pieces_build(&tok, &p, prefix, &err), &err);
    tg_spm_pieces_free(&p);
    return tok;
}

/* Write a tokenizer.json into `file`. */
static tg_status write_json(const tg_tokenizer *tok, size_t first, tg_err *err)
{
    FILE *f = tmpfile();
    tg_status status = TG_EIO;

    CHECK(f != NULL);
    if (f) {
        status = tg_vocab_file_write_json(fileno(f), tok, first, err);
        rewind(f);
        n_file = fread(file, 1, sizeof file - 1, f);
        file[n_file] = '\0';
        fclose(f);
    }
    return status;
}

static bool written(const char *text)
{
    return strstr((const char *)file, text) != NULL;
}

#define NORMAL TG_SPM_NORMAL
#define USER TG_SPM_USER_DEFINED
#define COMMON                                                                                               \
    {SPACE "a", -1, NORMAL}, {"ab", -2, NORMAL}, {SPACE, -3, NORMAL}, {"a", -4, NORMAL},                     \
    {                                                                                                        \
        "b", -5, NORMAL                                                                                      \
    }

/* Each way to put a space before a text, read again. */
static void json_written(void)
{
    static const struct piece plain[] = {COMMON, {NULL, 0, 0}},
                              user[] = {COMMON, {"ba", 0, USER}, {"\n\n", 0, USER}, {NULL, 0, 0}},
                              spaced[] = {{SPACE SPACE, 0, USER}, COMMON, {"b" SPACE, 0, USER}, {NULL, 0, 0}};
    const tg_tokenizer *tok;
    tg_err err = {0};

    tok = made_of(plain, TG_SPM_PREFIX_PARTS, true);
    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    tg_tokenizer_free(tok);
    CHECK(written("\"post_processor\": null"));
    ACCEPT(tg_tokenizer_json_read, "a abc", 259, 259, 263, 3 + 'c');
    tok = made_of(user, TG_SPM_PREFIX_DIVIDED, true);
    CHECK_OK(write_json(tok, 1, &err), &err);
    tg_tokenizer_free(tok);
    CHECK(written("{\"SpecialToken\": {\"id\": \"<s>\", \"type_id\": 0}}"));
    CHECK(written("{\"id\": 264, \"content\": \"ba\", \"single_word\": false, \"lstrip\": false, \"rstrip\": "
                  "false, \"normalized\": false, \"special\": false}"));
    ACCEPT(tg_tokenizer_json_read, "baabba\n\n", 264, 259, 263, 264, 265);
    tok = made_of(user, TG_SPM_PREFIX_METASPACE, true);
    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    tg_tokenizer_free(tok);
    CHECK(written("\"prepend_scheme\": \"always\""));
    ACCEPT(tg_tokenizer_json_read, "abbaab", 259, 263, 264, 259, 263);
    tok = made_of(user, TG_SPM_PREFIX_FIRST, true);
    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    tg_tokenizer_free(tok);
    ACCEPT(tg_tokenizer_json_read, "abbaab", 259, 263, 264, 260);
    tok = made_of(spaced, TG_SPM_PREFIX_NONE, true);
    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    tg_tokenizer_free(tok);
    ACCEPT(tg_tokenizer_json_read, "ab  b  a  ", 263, 265, 262, 265, 260, 259);
    tok = made_of(plain, TG_SPM_PREFIX_NONE, false);
    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    tg_tokenizer_free(tok);
    ACCEPT(tg_tokenizer_json_read, "ab a", 4, 3);
}

/* What has been read of such a file, and is written and read again, is the same. */
static void json_again(void)
{
    const tg_tokenizer *tok, *back;
    tg_err err = {0};

    /* (▁, ab) has a rank, but never happens */
    json_with(", \"" SPACE "ab\": 264, \"ba\": 265", PREPEND, "null", ADDED,
              "[[\"" SPACE "\", \"a\"], [\"" SPACE "\", \"ab\"], [\"" SPACE "a\", \"b\"], [\"b\", \"a\"], "
              "[\"a\", \"b\"]]",
              "");
    CHECK_OK(tg_tokenizer_json_read(&tok, &(tg_file_text){"file", file, n_file}, &err), &err);
    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    CHECK(!written("[\"" SPACE "\", \"ab\"]"));
    CHECK_OK(tg_tokenizer_json_read(&back, &(tg_file_text){"file", file, n_file}, &err), &err);
    CHECK_OK(tg_tokenizer_same(tok, back, &err), &err);
    tg_tokenizer_free(back);
    tg_tokenizer_free(tok);
}

static void refuse_to_write(const tg_tokenizer *tok, const char *why)
{
    tg_err err = {0};

    CHECK_EQ(tg_vocab_file_write_json(-1, tok, SIZE_MAX, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "a tokenizer.json cannot hold this vocabulary: ");
    CHECK_HAS(err.message, why);
    tg_tokenizer_free(tok);
}

static void json_cannot_hold(void)
{
    static const struct {
        tg_spm_prefix prefix;
        struct piece piece[8];
        const char *why;
    } cases[] = {
        {TG_SPM_PREFIX_PARTS, {COMMON, {"ba", 0, USER}}, "token 264, \"ba\", is user-defined, and a space"},
        {TG_SPM_PREFIX_FIRST,
         {COMMON, {"b a", 0, USER}},
         "token 264, \"b\\xE2\\x96\\x81a\", is user-defined and has"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"aba", -9, TG_SPM_UNUSED}}, "token 264, \"aba\", is divided again"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"<?>", 0, TG_SPM_UNKNOWN}}, "token 264, \"<?>\", is a second unknown"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"\xFF", 0, TG_SPM_CONTROL}}, "token 264, \"\\xFF\", is not UTF-8"},
        {TG_SPM_PREFIX_NONE,
         {COMMON, {"<0x41>", -9, NORMAL}},
         "token 264, \"<0x41>\", would be taken for a byte"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"<s>", -9, NORMAL}}, "tokens 1 and 264 are both \"<s>\""},
        {TG_SPM_PREFIX_NONE,
         {COMMON, {"xa", -9, NORMAL}},
         "token 264, \"xa\", is merged from a character that is no"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"ba", -2, NORMAL}}, "has the score of another"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"aa", -2, NORMAL}}, "has the score of another"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"bb", -2, NORMAL}}, "token 260, \"ab\", has the score of another"},
        {TG_SPM_PREFIX_NONE,
         {COMMON, {SPACE "b", -1, NORMAL}, {SPACE "bb", -1, NORMAL}},
         "is merged from one whose"},
        {TG_SPM_PREFIX_NONE, {COMMON, {"aab", -9, NORMAL}, {"baab", -9, NORMAL}}, "is merged from one whose"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        refuse_to_write(made_of(cases[i].piece, cases[i].prefix, true), cases[i].why);
}

/* Pieces with the same score that never meet, and unused ones that never occur, are no obstacle. */
static void json_can_hold(void)
{
    static const struct piece piece[] = {COMMON,
                                         {"aa", -7, NORMAL},
                                         {"bb", -7, NORMAL},
                                         {"", 0, TG_SPM_UNUSED},
                                         {"c", 0, TG_SPM_UNUSED},
                                         {"cab" SPACE, 0, TG_SPM_UNUSED},
                                         {NULL, 0, 0}};
    const tg_tokenizer *tok = made_of(piece, TG_SPM_PREFIX_NONE, true);
    tg_err err = {0};

    CHECK_OK(write_json(tok, SIZE_MAX, &err), &err);
    tg_tokenizer_free(tok);
    ACCEPT(tg_tokenizer_json_read, "aabbbcaaa", 262, 260, 265, 267, 264, 262);
}

static void json_not_special(void)
{
    static const uint32_t ends[] = {1, 4};
    static const float scores[] = {0, 0};
    static const unsigned char types[] = {TG_SPM_NORMAL, TG_SPM_CONTROL};
    const tg_spm_vocab v = {
        .n = 2, .ends = ends, .tokens = (const unsigned char *)"a<s>", .scores = scores, .types = types};
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_spm_create(&tok, &v, &err), &err);
    refuse_to_write(tok, "token 1, \"<s>\", is a control token, but not special");
}

static void json_write_memory(void)
{
    static const struct piece plain[] = {COMMON, {NULL, 0, 0}};
    const tg_tokenizer *tok = made_of(plain, TG_SPM_PREFIX_PARTS, true);
    tg_status status = TG_ENOMEM;
    tg_err err = {0};
    long n;

    for (n = 0; status; n++) {
        failing_after(n);
        status = tg_vocab_file_write_json(-1, tok, SIZE_MAX, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
    }
    CHECK(n > 4);
    tg_tokenizer_free(tok);
}

/* ---- memory */

/* Every allocation fails once. */
static void memory(void)
{
    const tg_tokenizer *tok = NULL;
    tg_encoder *e = NULL;
    tg_status status = TG_ENOMEM;
    tg_err err = {0};
    long n;

    begin_model(true);
    put_piece("aba", -9, TG_SPM_UNUSED);
    PUT_SETTINGS(TRAINER_BPE, NORMALIZER);
    for (n = 0; status; n++) {
        failing_after(n);
        status = tg_spm_model_read(&tok, &(tg_file_text){"file", file, n_file}, &err);
        if (!status)
            status = tg_encoder_create(&e, tok, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        tg_encoder_free(e);
        tg_tokenizer_free(tok);
    }
    CHECK(n > 20);
}

static void json_memory(void)
{
    const tg_tokenizer *tok = NULL;
    tg_status status = TG_ENOMEM;
    tg_err err = {0};
    long n;

    json(PREPEND, "null", ADDED, MERGES, "");
    for (n = 0; status; n++) {
        failing_after(n);
        status = tg_tokenizer_json_read(&tok, &(tg_file_text){"file", file, n_file}, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        tg_tokenizer_free(tok);
    }
    CHECK(n > 20);
}

int main(void)
{
    RUN(memory);
    RUN(json_memory);
    RUN(model);
    RUN(model_settings);
    RUN(model_pieces);
    RUN(llama2c);
    RUN(json_accepted);
    RUN(json_ids);
    RUN(json_refused);
    RUN(json_written);
    RUN(json_again);
    RUN(json_cannot_hold);
    RUN(json_can_hold);
    RUN(json_not_special);
    RUN(json_write_memory);
    return check_done();
}
