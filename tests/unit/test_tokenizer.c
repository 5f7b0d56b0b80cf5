/* Tokenizers: what holds for every kind, shown with bytes and with a second one (grams.h).  The
 * reference is that kind's definition, applied to a text that is in memory as a whole. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/sha256.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/gpt/model.h"
#include "lib/gpt/sample.h"
#include "lib/models/model_archive.h"
#include "lib/text/encoder.h"
#include "lib/text/ids.h"
#include "lib/text/kind.h"
#include "lib/tokens/chunk.h"
#include "lib/tokens/stream.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens.h"
#include "lib/tokens/tokens_write.h"
#include "tests/unit/check.h"
#include "tests/unit/files.h"
#include "tests/unit/grams.h"
#include "tests/unit/read_tokenizer.h"
#include "tests/unit/small_model.h"

#define VOCABS 4 /* ids of 1, 2, 2 and 4 bytes */

static const tg_tokenizer *create(const char *kind)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_create(&tok, kind, &err), &err);
    return tok;
}

/* One of each: all widths. */
static const tg_tokenizer *vocabulary(size_t i)
{
    const size_t sizes[VOCABS] = {0, 300, 2020, 70000};

    return i == 0 ? create("bytes") : grams_create(sizes[i]);
}

/* The definition; ids [n]; returns how many. */
static size_t reference(const tg_tokenizer *tok, int32_t *ids, const unsigned char *text, size_t n)
{
    if (strcmp(tg_tokenizer_kind_name(tok), "grams") == 0)
        return grams_encode(tok, ids, text, n);
    for (size_t i = 0; i < n; i++)
        ids[i] = text[i];
    return n;
}

static int32_t *new_ids(size_t n)
{
    return calloc(tg_size_max(n, 1), sizeof(int32_t));
}

/* ---- kinds */

static void bytes_are_ids(void)
{
    const tg_tokenizer *tok = create("bytes");

    CHECK_EQ(tg_tokenizer_vocab_size(tok), 256);
    CHECK(tg_tokenizer_ids_are_bytes(tok));
    for (int32_t id = 0; id < 256; id++) {
        size_t n;
        const unsigned char *text = tg_tokenizer_token(tok, id, &n);

        CHECK(n == 1 && text[0] == id);
    }
    tg_tokenizer_free(tok);
}

static void kinds_have_names(void)
{
    const tg_tokenizer *tok = create(NULL);
    tg_err err = {0};

    CHECK(strcmp(tg_tokenizer_kind_name(tok), "grams") == 0); /* the first of the table */
    CHECK_EQ(tg_tokenizer_vocab_size(tok), 2020);
    CHECK(!tg_tokenizer_ids_are_bytes(tok));
    tg_tokenizer_free(tok);
    CHECK_EQ(tg_tokenizer_create(&tok, "words", &err), TG_EUSAGE);
    CHECK(tok == NULL);
    CHECK_HAS(err.message, "tokenizer/kind is \"words\": this version knows \"grams\", \"bytes\"");
}

static void an_id_outside_has_no_text(void)
{
    const int32_t outside[] = {-1, 300, INT32_MAX, INT32_MIN};
    const tg_tokenizer *tok = grams_create(300);
    size_t n;

    CHECK(memcmp(tg_tokenizer_token(tok, 299, &n), ",,", 2) == 0);
    CHECK_EQ(n, 2);
    for (size_t i = 0; i < 4; i++) {
        n = 7;
        CHECK(tg_tokenizer_token(tok, outside[i], &n) != NULL);
        CHECK_EQ(n, 0);
    }
    tg_tokenizer_free(tok);
}

struct sharing {
    const tg_tokenizer *tok;
    atomic_size_t sum; /* of the vocabularies' sizes */
};

static void take_share(void *context, size_t begin, size_t end)
{
    struct sharing *s = context;

    for (size_t i = begin; i < end; i++) {
        const tg_tokenizer *mine = tg_tokenizer_ref(s->tok);

        s->sum += tg_tokenizer_vocab_size(mine);
        tg_tokenizer_free(mine);
    }
}

/* Shares go to several threads and come back from them; sanitizers see what is freed when. */
static void shares(void)
{
    const tg_tokenizer *tok = grams_create(300);
    struct sharing s = {.tok = tok};

    tg_threads_run(1000, 1, take_share, &s);
    CHECK_EQ(s.sum, 300000);
    CHECK_EQ(tg_tokenizer_vocab_size(tok), 300);
    tg_tokenizer_free(tok);
    tg_tokenizer_free(NULL);
}

/* ---- encoding */

/* Encode text cut into two at `cut`, at most `max` ids at a time; the encoder is used again. */
static size_t encode(tg_encoder *e, int32_t *ids, const unsigned char *text, size_t n, size_t cut, size_t max)
{
    tg_text piece[2] = {{text, cut}, {text + cut, n - cut}};
    size_t count = 0, got;
    tg_err err = {0};

    tg_encoder_set_offset(e, cut); /* which changes only messages, if the kind has any */
    for (size_t i = 0; i < 2; i++) {
        do {
            CHECK_OK(tg_encoder_encode(e, &piece[i], ids + count, max, &got, &err), &err);
            CHECK(got <= max);
            count += got;
        } while (got == max);
        CHECK_EQ(piece[i].n, 0);
    }
    do {
        CHECK_OK(tg_encoder_finish(e, ids + count, max, &got, &err), &err);
        CHECK(got <= max);
        count += got;
    } while (got == max);
    return count;
}

static void cuts_do_not_matter(void)
{
    enum { N = 300 };
    const size_t most[] = {1, 2, 7, N + 8};
    unsigned char *text = grams_text(N);
    int32_t *want = new_ids(N), *got = new_ids(2 * N + 16);

    for (size_t v = 0; v < VOCABS; v++) {
        const tg_tokenizer *tok = vocabulary(v);
        const size_t count = reference(tok, want, text, N);
        tg_encoder *e;
        tg_err err = {0};

        CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
        tg_tokenizer_free(tok); /* the encoder has its own reference */
        for (size_t cut = 0; cut <= N; cut++) {
            for (size_t m = 0; m < 4; m++) {
                CHECK_EQ(encode(e, got, text, N, cut, most[m]), count);
                CHECK(memcmp(got, want, count * sizeof *want) == 0);
            }
        }
        CHECK_EQ(encode(e, got, text, 0, 0, 4), 0);
        tg_encoder_free(e);
    }
    tg_encoder_free(NULL);
    free(text);
    free(want);
    free(got);
}

/* A byte at a time, ids come as soon as they are certain: at most GRAM_MAX - 1 bytes late. */
static void ids_lag_by_the_lookahead(void)
{
    const tg_tokenizer *tok = grams_create(70000);
    unsigned char *text = grams_text(1000);
    size_t late = 0, n, length;
    tg_encoder *e;
    tg_err err = {0};

    CHECK_OK(tg_encoder_create(&e, tok, &err), &err);
    for (size_t at = 0; at < 1000; at++) {
        tg_text byte = {text + at, 1};
        int32_t ids[4];

        CHECK_OK(tg_encoder_encode(e, &byte, ids, 4, &n, &err), &err);
        late++;
        for (size_t i = 0; i < n; i++) {
            (void)tg_tokenizer_token(tok, ids[i], &length);
            late -= length;
        }
        CHECK(late < GRAM_MAX);
    }
    tg_encoder_free(e);
    tg_tokenizer_free(tok);
    free(text);
}

/* ---- archives */

/* Write ids as an archive, `step` of them in a call: packed, or not. */
static FILE *archive_of(const tg_tokenizer *tok, const int32_t *ids, size_t n, size_t step, bool packed)
{
    const size_t width = tg_ids_width(tg_tokenizer_vocab_size(tok));
    unsigned char *stored = malloc(tg_size_max(n, 1) * width);
    FILE *f = tmpfile();
    tg_tokens_writer *w;
    tg_err err = {0};

    tg_ids_pack(stored, width, ids, n);
    CHECK_OK(tg_tokens_create(&w, fileno(f), tok, &err), &err);
    for (size_t at = 0; at < n; at += step) {
        const size_t take = tg_size_min(step, n - at);

        if (!packed)
            CHECK_OK(tg_tokens_write(w, ids + at, take, &err), &err);
        else
            CHECK_OK(tg_tokens_write_packed(w, stored + at * width, take, &err), &err);
    }
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    free(stored);
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    return f;
}

static tg_status load(tg_tokens *tokens, FILE *f, tg_err *err)
{
    tg_source source;

    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    CHECK_OK(tg_source_open(&source, fileno(f), err), err);
    return tg_tokens_load_source(tokens, &source, SIZE_MAX, err);
}

static void expect_same_bytes(FILE *a, FILE *b)
{
    int x, y;

    rewind(a);
    rewind(b);
    do {
        x = getc(a);
        y = getc(b);
    } while (x == y && x != EOF);
    CHECK_EQ(x, y);
}

static void tokens_round_trip(void)
{
    for (size_t v = 0; v < VOCABS; v++) {
        const tg_tokenizer *tok = vocabulary(v);
        const size_t width = tg_ids_width(tg_tokenizer_vocab_size(tok)), full = TG_TOKENS_CHUNK / width;
        const size_t counts[] = {0, 1, full - 1, full, 2 * full + 3};
        int32_t *ids = new_ids(2 * full + 3), *back = new_ids(2 * full + 3);

        CHECK_EQ(width, v == 0 ? 1 : v == 3 ? 4 : 2);
        for (size_t i = 0; i < 2 * full + 3; i++)
            ids[i] = (int32_t)(i * 2654435761u % tg_tokenizer_vocab_size(tok));
        for (size_t c = 0; c < 5; c++) {
            FILE *whole = archive_of(tok, ids, counts[c], 3 * full, false);
            FILE *pieces = archive_of(tok, ids, counts[c], 99991, false);
            FILE *packed = archive_of(tok, ids, counts[c], 99991, true);
            tg_tokens tokens = {0};
            tg_err err = {0};

            expect_same_bytes(whole, pieces);
            expect_same_bytes(whole, packed);
            CHECK_OK(load(&tokens, whole, &err), &err);
            CHECK_OK(tg_tokenizer_same(tok, tokens.tokenizer, &err), &err);
            CHECK(tokens.count == counts[c] && tokens.width == width);
            tg_tokens_get(&tokens, back, 0, counts[c]);
            CHECK(memcmp(back, ids, counts[c] * sizeof *ids) == 0);
            tg_tokens_free(&tokens);
            fclose(whole);
            fclose(pieces);
            fclose(packed);
        }
        tg_tokenizer_free(tok);
        free(ids);
        free(back);
    }
}

static void ids_outside_are_not_written(void)
{
    const int32_t ids[] = {0, 299, 300, -1};
    const tg_tokenizer *tok = grams_create(300);
    FILE *f = tmpfile();
    tg_tokens_writer *w;
    tg_err err = {0};

    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(tg_tokens_create(&w, fileno(f), tok, &err), &err);
        CHECK_OK(tg_tokens_write(w, ids, 2, &err), &err);
        CHECK_EQ(tg_tokens_write(w, ids + 2 + i, 1, &err), TG_EUSAGE);
        CHECK_HAS(err.message, i == 0 ? "token 2 is 300: the vocabulary has 300 ids"
                                      : "token 2 is -1: the vocabulary has 300 ids");
        tg_tokens_abandon(w);
    }
    tg_tokenizer_free(tok);
    fclose(f);
}

/* Ids of every width are read, whatever the vocabulary's; and those outside it refused. */
static void stored_widths(void)
{
    const int32_t ids[] = {1, 2, 200}, outside[] = {1, 2, 300};
    const tg_tokenizer *tok = grams_create(300);
    unsigned char packed[12];
    const size_t three = 3;

    for (size_t width = 1; width <= 4; width *= 2) {
        for (size_t bad = 0; bad <= (width > 1); bad++) {
            FILE *f = tmpfile();
            tg_archive_writer *w;
            tg_tokens tokens = {0};
            int32_t back[3];
            tg_err err = {0};

            tg_ids_pack(packed, width, bad ? outside : ids, 3);
            CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
            CHECK_OK(tg_archive_put_text(w, "kind", "tokens", &err), &err);
            CHECK_OK(tg_archive_put_i64(w, "version", TG_TOKENS_VERSION, &err), &err);
            CHECK_OK(tg_tokenizer_put(tok, w, &err), &err);
            CHECK_OK(tg_archive_put(w, "tokens/00000000", (tg_dtype){'u', width}, 1, &three, packed, &err),
                     &err);
            CHECK_OK(tg_archive_finish(w, &err), &err);
            tg_archive_abandon(w);
            if (bad) {
                CHECK_EQ(load(&tokens, f, &err), TG_EDATA);
                CHECK_HAS(err.message, "tokens/00000000[2] is 300: the vocabulary has 300 ids");
            } else {
                CHECK_OK(load(&tokens, f, &err), &err);
                CHECK(tokens.count == 3 && tokens.width == 2);
                tg_tokens_get(&tokens, back, 0, 3);
                CHECK(memcmp(back, ids, sizeof ids) == 0);
            }
            tg_tokens_free(&tokens);
            fclose(f);
        }
    }
    tg_tokenizer_free(tok);
}

/* One after the other into a draft: arrays that a test chooses. */
static tg_status draft_of(const tg_array *arrays, size_t n, const tg_tokenizer **tok, tg_err *err)
{
    tg_archive_writer *w;
    FILE *f = tmpfile();
    tg_status status;

    CHECK_OK(tg_archive_create(&w, fileno(f), err), err);
    for (size_t i = 0; i < n; i++)
        CHECK_OK(tg_archive_put(w, arrays[i].name, arrays[i].dtype, arrays[i].ndim, arrays[i].shape,
                                arrays[i].data, err),
                 err);
    CHECK_OK(tg_archive_finish(w, err), err);
    tg_archive_abandon(w);
    status = read_tokenizer(tok, f, err);
    fclose(f);
    return status;
}

static void drafts_are_checked(void)
{
    static unsigned char rows[256][4];
    const int64_t sizes[] = {256, 257};
    const tg_array kind = {.name = "tokenizer/kind", .dtype = {'S', 5}, .data = "grams"};
    const tg_array vocab_size = {.name = "tokenizer/vocab_size", .dtype = {'i', 8}, .data = &sizes[0]};
    const tg_array wrong_size = {.name = "tokenizer/vocab_size", .dtype = {'i', 8}, .data = &sizes[1]};
    const tg_array grams = {
        .name = "tokenizer/grams", .dtype = {'u', 1}, .ndim = 2, .shape = {256, 4}, .data = rows};
    const tg_array merges = {
        .name = "tokenizer/merges", .dtype = {'u', 1}, .ndim = 1, .shape = {4}, .data = rows};
    const struct {
        const char *message; /* NULL: it is complete */
        size_t n;
        tg_array array[3];
    } cases[] = {
        {NULL, 3, {kind, vocab_size, grams}},
        {NULL, 3, {vocab_size, kind, grams}},
        {NULL, 3, {kind, grams, vocab_size}},
        {"tokenizer/kind is missing", 1, {vocab_size}},
        {"tokenizer/vocab_size is missing", 2, {kind, grams}},
        {"tokenizer/grams is missing", 2, {kind, vocab_size}},
        {"tokenizer/grams comes before tokenizer/kind", 3, {grams, kind, vocab_size}},
        {"tokenizer/merges is not an array of tokenizer \"grams\"", 2, {kind, merges}},
        {"tokenizer/vocab_size is 257, tokenizer/grams has 256", 3, {kind, wrong_size, grams}},
    };
    const tg_tokenizer *tok, *want = grams_create(256);

    for (size_t i = 0; i < 256; i++)
        rows[i][0] = 1, rows[i][1] = (unsigned char)i;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_err err = {0};

        CHECK_EQ(draft_of(cases[i].array, cases[i].n, &tok, &err), cases[i].message ? TG_EDATA : TG_OK);
        if (cases[i].message)
            CHECK_HAS(err.message, cases[i].message);
        else
            CHECK_OK(tg_tokenizer_same(want, tok, &err), &err);
        tg_tokenizer_free(tok);
    }
    tg_tokenizer_free(want);
}

/* ---- identity */

static void expect_other(const tg_tokenizer *want, const tg_tokenizer *got, const char *message)
{
    tg_err err = {0};

    CHECK_EQ(tg_tokenizer_same(want, got, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
}

static void same_and_other(void)
{
    const tg_tokenizer *bytes = create("bytes"), *small = grams_create(300), *again = grams_create(300);
    const tg_tokenizer *large = grams_create(70000), *other = grams_create_other(300);
    tg_err err = {0};

    CHECK_OK(tg_tokenizer_same(bytes, bytes, &err), &err);
    CHECK_OK(tg_tokenizer_same(small, again, &err), &err);
    expect_other(bytes, small,
                 "the tokens are of tokenizer \"grams\" with 300 ids, expected \"bytes\" with 256 ids");
    expect_other(small, large,
                 "the tokens are of tokenizer \"grams\" with 70000 ids, expected \"grams\" with 300 ids");
    expect_other(small, other, "the tokens are of tokenizer \"grams\" with 300 ids (");
    expect_other(small, other, "), expected \"grams\" with 300 ids (");
    tg_tokenizer_free(bytes);
    tg_tokenizer_free(small);
    tg_tokenizer_free(again);
    tg_tokenizer_free(large);
    tg_tokenizer_free(other);
}

/* The identity of "bytes" by its definition (lib/text/tokenizer.c), put together by hand. */
static void identity_is_defined(void)
{
    static const char kind[] = "tokenizer/kind", size[] = "tokenizer/vocab_size";
    unsigned char record[256] = {0}, identity[TG_SHA256_SIZE], *p = record + TG_SHA256_SIZE;
    const tg_tokenizer *tok = create("bytes"), *small = grams_create(256);
    char want[9];
    tg_err err = {0};

    memcpy(p, kind, sizeof kind), p += sizeof kind;
    *p++ = 'S', *p++ = 5, p += 7 + 8; /* dtype S5; no dimensions */
    tg_sha256(p, "bytes", 5), p += TG_SHA256_SIZE;
    tg_sha256(identity, record, (size_t)(p - record));
    memset(record, 0, sizeof record);
    memcpy(record, identity, sizeof identity), p = record + sizeof identity;
    memcpy(p, size, sizeof size), p += sizeof size;
    *p++ = 'i', *p++ = 8, p += 7 + 8;
    tg_sha256(p, "\0\1\0\0\0\0\0", 8), p += TG_SHA256_SIZE;
    tg_sha256(identity, record, (size_t)(p - record));
    snprintf(want, sizeof want, "%02x%02x%02x%02x", identity[0], identity[1], identity[2], identity[3]);
    CHECK(memcmp(tg_tokenizer_identity(tok), identity, sizeof identity) == 0);
    CHECK(tg_tokenizer_same(tok, small, &err) == TG_EDATA); /* as many ids, of another kind */
    CHECK_HAS(err.message, "\"grams\" with 256 ids, expected \"bytes\" with 256 ids");
    tg_tokenizer_free(tok);
    tg_tokenizer_free(small);
}

/* ---- models */

static void new_model(tg_model *m, const tg_tokenizer *tok, size_t vocab_size)
{
    tg_config config = small_config(1, 2, 8, 16);
    tg_err err = {0};

    config.vocab_size = vocab_size;
    CHECK_OK(tg_model_create(m, &config, tok, 1, &err), &err);
}

static void models_keep_their_tokenizer(void)
{
    for (size_t v = 0; v < VOCABS; v++) {
        const tg_tokenizer *tok = vocabulary(v);
        const size_t ids = tg_tokenizer_vocab_size(tok);
        FILE *f = tmpfile();
        tg_config config = small_config(1, 2, 8, 16);
        tg_model m, back;
        tg_err err = {0};

        new_model(&m, tok, ids + 64);
        CHECK_OK(tg_model_write(&m, fileno(f), &err), &err);
        CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
        CHECK_OK(tg_model_read(&back, fileno(f), false, NULL, NULL, &err), &err);
        CHECK_OK(tg_tokenizer_same(tok, back.tokenizer, &err), &err);
        tg_model_free(&back);
        tg_model_free(&m);
        config.vocab_size = ids - 1;
        CHECK_EQ(tg_model_create(&m, &config, tok, 1, &err), TG_EDATA);
        CHECK_HAS(err.message, v == 0 ? "vocab_size 255 is below the 256 ids of tokenizer \"bytes\""
                                      : "ids of tokenizer \"grams\"");
        CHECK(m.tokenizer == NULL);
        tg_tokenizer_free(tok);
        fclose(f);
    }
}

/* Text longer than a source's buffer, from a pipe: tokens span its reads. */
enum { LONG = 300001 };

static FILE *pipe_of(const unsigned char *text, size_t n)
{
    int ends[2];

    CHECK(pipe(ends) == 0);
    if (fork() == 0) {
        for (size_t at = 0; at < n;) {
            const ssize_t put = write(ends[1], text + at, tg_size_min(n - at, 4099));

            if (put < 0)
                _exit(1);
            at += (size_t)put;
        }
        _exit(0);
    }
    close(ends[1]);
    return fdopen(ends[0], "r");
}

static void drain(tg_tokens_stream *s, size_t max, const int32_t *want, size_t count)
{
    int32_t *ids = new_ids(max);
    size_t at = 0, n = 1;
    tg_err err = {0};

    while (n > 0) {
        CHECK_OK(tg_tokens_stream_next(s, ids, max, &n, &err), &err);
        CHECK(n <= count - at && memcmp(ids, want + at, n * sizeof *ids) == 0);
        CHECK(n == max || at + n == count);
        at += n;
    }
    CHECK_EQ(at, count);
    CHECK_EQ(s->count, count);
    CHECK_OK(tg_tokens_stream_next(s, ids, max, &n, &err), &err);
    CHECK_EQ(n, 0);
    tg_tokens_stream_close(s);
    free(ids);
}

static void streams(void)
{
    const size_t most[] = {999, 1 << 20};
    unsigned char *text = grams_text(LONG);
    int32_t *want = new_ids(LONG);

    for (size_t v = 0; v < VOCABS; v++) {
        const tg_tokenizer *tok = vocabulary(v);
        const size_t count = reference(tok, want, text, LONG);
        tg_model m;

        new_model(&m, tok, tg_tokenizer_vocab_size(tok));
        for (size_t i = 0; i < 2; i++) {
            FILE *f[] = {file_of(text, LONG), pipe_of(text, LONG),
                         archive_of(tok, want, count, count, false)};

            for (size_t k = 0; k < 3; k++) {
                tg_tokens_stream s;
                tg_err err = {0};

                CHECK_OK(tg_tokens_stream_open(&s, m.tokenizer, fileno(f[k]), &err), &err);
                drain(&s, most[i], want, count);
                fclose(f[k]);
            }
        }
        tg_model_free(&m);
        tg_tokenizer_free(tok);
    }
    free(text);
    free(want);
}

static void expect_prompt(tg_tokens_prompt *p, const int32_t *want, size_t count)
{
    CHECK_EQ(p->n, count);
    CHECK(p->n == count && memcmp(p->ids, want, count * sizeof *want) == 0);
    tg_tokens_prompt_free(p);
}

static void prompts(void)
{
    unsigned char *text = grams_text(LONG);
    int32_t *want = new_ids(LONG);

    for (size_t v = 0; v < VOCABS; v++) {
        const tg_tokenizer *tok = vocabulary(v);
        const size_t lengths[] = {0, 1, 2, 255, 256, 257, 5000, LONG};
        tg_tokens_prompt p;
        tg_model m;
        tg_err err = {0};

        new_model(&m, tok, tg_tokenizer_vocab_size(tok));
        for (size_t i = 0; i < 8; i++) {
            const size_t count = reference(tok, want, text, lengths[i]);

            CHECK_OK(tg_tokens_prompt_text(&p, m.tokenizer, text, lengths[i], &err), &err);
            expect_prompt(&p, want, count);
            if (i > 0) {
                FILE *f[] = {file_of(text, lengths[i]), pipe_of(text, lengths[i]),
                             archive_of(tok, want, count, count, false)};

                for (size_t k = 0; k < 3; k++) {
                    CHECK_OK(tg_tokens_prompt_read(&p, m.tokenizer, fileno(f[k]), &err), &err);
                    expect_prompt(&p, want, count);
                    fclose(f[k]);
                }
            }
        }
        tg_model_free(&m);
        tg_tokenizer_free(tok);
    }
    free(text);
    free(want);
}

/* Tokens of another tokenizer: one refusal, wherever they come in. */
static void others_are_refused(void)
{
    static const char message[] = "the tokens are of tokenizer \"grams\" with 300 ids (";
    const tg_tokenizer *tok = grams_create(300), *other = grams_create_other(300);
    const int32_t ids[] = {1, 2, 3};
    FILE *mine = archive_of(tok, ids, 3, 3, false), *theirs = archive_of(other, ids, 3, 3, false);
    tg_tokens tokens = {0};
    int32_t got[3];
    tg_tokens_prompt p;
    tg_tokens_stream s;
    tg_model m;
    size_t n;
    tg_err err = {0};

    new_model(&m, tok, 300);
    CHECK_OK(tg_tokens_stream_open(&s, m.tokenizer, fileno(theirs), &err), &err);
    CHECK_EQ(tg_tokens_stream_next(&s, got, 3, &n, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_tokens_stream_close(&s);
    CHECK(lseek(fileno(theirs), 0, SEEK_SET) == 0);
    err = (tg_err){0};
    CHECK_EQ(tg_tokens_prompt_read(&p, m.tokenizer, fileno(theirs), &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    err = (tg_err){0};
    CHECK_OK(load(&tokens, mine, &err), &err);
    CHECK_EQ(load(&tokens, theirs, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_tokens_free(&tokens);
    tg_model_free(&m);
    tg_tokenizer_free(tok);
    tg_tokenizer_free(other);
    fclose(mine);
    fclose(theirs);
}

/* The rows of a model's embedding that have no id in its tokenizer are never chosen. */
static void padding_is_not_chosen(void)
{
    const tg_tokenizer *tok = grams_create(300);
    const tg_sampling hot = {.temperature = 100, .top_p = 1};
    tg_generator g;
    tg_model m;
    tg_err err = {0};
    const int32_t id = 1;

    new_model(&m, tok, 2048);
    CHECK_OK(tg_generator_open(&g, &m, TG_WEIGHT_FLOAT32, 1, 65, &err), &err);
    tg_generator_begin(&g, &id, 1);
    for (size_t i = 0; i < 64; i++) {
        CHECK_OK(tg_generator_next(&g, true, &hot, &err), &err);
        CHECK(g.ids[0] >= 0 && g.ids[0] < 300);
    }
    tg_generator_close(&g);
    tg_model_free(&m);
    tg_tokenizer_free(tok);
}

int main(void)
{
    RUN(bytes_are_ids);
    RUN(kinds_have_names);
    RUN(an_id_outside_has_no_text);
    RUN(shares);
    RUN(cuts_do_not_matter);
    RUN(ids_lag_by_the_lookahead);
    RUN(tokens_round_trip);
    RUN(ids_outside_are_not_written);
    RUN(stored_widths);
    RUN(drafts_are_checked);
    RUN(same_and_other);
    RUN(identity_is_defined);
    RUN(models_keep_their_tokenizer);
    RUN(streams);
    RUN(prompts);
    RUN(others_are_refused);
    RUN(padding_is_not_chosen);
    return check_done();
}
