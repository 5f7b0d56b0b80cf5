/*
 * SentencePiece vocabularies: the readers of their files, the encoder against its definition, and against
 * that of a tokenizer.json that is written.
 *
 * The first byte of the input chooses.  The rest is a file; or pieces, each a type, a score, a length and as
 * many characters, until a length of 0, then a text.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/text/encoder.h"
#include "lib/vocab/foreign.h"
#include "lib/vocab/vocab_file.h"
#include "tests/fuzz/input.h"
#include "tests/unit/ref_spm.h"

#define TEXT_MAX ((size_t)400)
#define IDS_MAX (3 * (4 * TEXT_MAX + 1))

static const char *const characters[] = {
    "a", "b", "c", TG_SPM_SPACE, "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\x98\x80",
    "d", " ", "x", "\xE2",       "\x96\x81"};
enum { PIECES_HAVE = 8, TEXTS_HAVE = sizeof characters / sizeof characters[0] };

/* ---- files */

typedef tg_status reader(const tg_tokenizer **tok, const tg_file_text *file, tg_err *err);

/* Encode text [n] in parts of `part` bytes; returns the number of ids, -1 if the vocabulary lacks something.
 */
static long encode(int32_t *ids, const tg_tokenizer *tok, const uint8_t *text, size_t n, size_t part)
{
    tg_encoder *e;
    size_t count = 0, got;
    bool ok = true;

    must(tg_encoder_create(&e, tok, NULL) == TG_OK);
    for (size_t at = 0; ok && at < n; at += part) {
        tg_text rest = {text + at, n - at < part ? n - at : part};

        while (ok && rest.n > 0) {
            ok = tg_encoder_encode(e, &rest, ids + count, 1 + part % 9, &got, NULL) == TG_OK;
            count += ok ? got : 0;
        }
    }
    for (got = 7; ok && got == 7; count += ok ? got : 0)
        ok = tg_encoder_finish(e, ids + count, 7, &got, NULL) == TG_OK;
    tg_encoder_free(e);
    return ok ? (long)count : -1;
}

/* What is accepted encodes the file itself, however that is cut. */
static void read_file(reader *read, const uint8_t *data, size_t size)
{
    static int32_t whole[IDS_MAX], parts[IDS_MAX];
    const tg_file_text file = {"file", data, size};
    const size_t n = size < TEXT_MAX ? size : TEXT_MAX;
    const tg_tokenizer *tok;
    tg_err err = {0};
    const tg_status status = read(&tok, &file, &err);
    long count;

    must(status == TG_OK ? tok != NULL
                         : !tok && status == TG_EDATA && strncmp(err.message, "file: ", 6) == 0);
    if (status)
        return;
    count = encode(whole, tok, data, n, n + 1);
    must(encode(parts, tok, data, n, 1 + size % 5) == count);
    must(count <= 0 || memcmp(whole, parts, (size_t)count * sizeof *whole) == 0);
    tg_tokenizer_free(tok);
}

/* ---- a vocabulary and a text */

static bool has(const ref_spm *v, const char *text)
{
    for (size_t id = 0; id < v->view.n; id++) {
        const size_t from = id > 0 ? v->ends[id - 1] : 0, n = v->ends[id] - from;

        if (n == strlen(text) && v->types[id] != TG_SPM_BYTE && memcmp(v->tokens + from, text, n) == 0)
            return true;
    }
    return false;
}

/* Add the pieces of the input; returns what follows. */
static size_t add_pieces(ref_spm *v, const uint8_t *p, size_t n)
{
    static const tg_spm_type types[] = {TG_SPM_NORMAL, TG_SPM_NORMAL, TG_SPM_NORMAL,       TG_SPM_NORMAL,
                                        TG_SPM_UNUSED, TG_SPM_NORMAL, TG_SPM_USER_DEFINED, TG_SPM_CONTROL};
    size_t at = 0;

    while (n - at > 3 && v->view.n < REF_SPM_PIECES - 1 && p[at + 2] % 12 > 0) {
        const size_t length = p[at + 2] % 12 < n - at - 3 ? p[at + 2] % 12 : n - at - 3;
        char text[64] = "";

        for (size_t i = 0; i < length; i++)
            strcat(text, characters[p[at + 3 + i] % PIECES_HAVE]);
        if (length > 0 && !has(v, text))
            (void)ref_spm_add(v, text, types[p[at] % 8], -(double)p[at + 1]);
        at += 3 + length;
    }
    return n - at > 3 ? at + 3 : n;
}

/* A tokenizer.json, if it can hold the vocabulary, is read as one that gives a text the same ids. */
static void read_json(const tg_tokenizer *tok, const char *text, size_t n, const int32_t *want, long count)
{
    static uint8_t file[1 << 16];
    static int32_t ids[IDS_MAX];
    const int fd = input_file(NULL, 0);
    const tg_tokenizer *back;
    const tg_status status = tg_vocab_file_write(fd, tok, TG_VOCAB_TOKENIZER_JSON, NULL);
    size_t size;

    must(status == TG_OK || status == TG_EUSAGE);
    if (status)
        return;
    size = input_take(fd, file, sizeof file);
    must(size < sizeof file);
    must(tg_tokenizer_json_read(&back, &(tg_file_text){"file", file, size}, NULL) == TG_OK);
    must(encode(ids, back, (const uint8_t *)text, n, n + 1) == count);
    must(count <= 0 || memcmp(ids, want, (size_t)count * sizeof *ids) == 0);
    tg_tokenizer_free(back);
}

static void compare(const uint8_t *data, size_t size)
{
    static ref_spm v;
    static int32_t want[IDS_MAX], got[IDS_MAX];
    char text[4 * TEXT_MAX + 1] = "";
    const tg_tokenizer *tok;
    size_t at, n = 0;
    long count;

    ref_spm_begin(&v, data[0] & 2 ? (tg_spm_prefix)(1 + (data[0] >> 4) % 4) : TG_SPM_PREFIX_NONE);
    if (data[0] & 4)
        (void)ref_spm_add(&v, "<unk>", TG_SPM_UNKNOWN, 0);
    if (data[0] & 8)
        ref_spm_add_bytes(&v);
    at = 1 + add_pieces(&v, data + 1, size - 1);
    if (v.view.n == 0)
        return;
    for (size_t i = at; i < size && i < at + TEXT_MAX; i++)
        n += strlen(strcpy(text + n, characters[data[i] % TEXTS_HAVE]));
    must(tg_spm_create(&tok, &v.view, NULL) == TG_OK);
    count = ref_spm_text(&v, data[0] & 2, want, (const unsigned char *)text, n);
    for (size_t part = 1; part < 4; part++) {
        must(encode(got, tok, (const uint8_t *)text, n, part < 3 ? part : n + 1) == count);
        must(count <= 0 || memcmp(got, want, (size_t)count * sizeof *got) == 0);
    }
    read_json(tok, text, n, want, count);
    tg_tokenizer_free(tok);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 2)
        return 0;
    (void)tg_spm_model_recognize(data + 1, size - 1);
    (void)tg_llama2c_vocab_recognize(data + 1, size - 1);
    if (data[0] & 1)
        compare(data, size);
    else
        read_file(data[0] & 2 ? tg_spm_model_read : tg_llama2c_vocab_read, data + 1, size - 1);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char model[] = "\2\x0A\x0E\x0A\5<unk>\x18\2\x15\0\0\0\0\x0A\x0A\x0A\1a\x15\0\0\x80\xBF\x18\1"
                                "\x0A\x0B\x0A\2ab\x15\0\0\0\xC0\x18\1\x12\2\x18\2\x1A\4\x18\1\x20\0",
                      pieces[] = "\7\0\1\1a\0\1\1b\0\5\2ab\0\0\0abab abab";

    if (size < 10) {
        const char *const from = seed % 2 ? model : pieces;

        size = seed % 2 ? sizeof model - 1 : sizeof pieces - 1;
        size = size < max ? size : max;
        memcpy(data, from, size);
    }
    return LLVMFuzzerMutate(data, size, max);
}
