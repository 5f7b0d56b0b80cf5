/* Token streams: what is written is what is read, and what is wrong is refused. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "lib/base/size.h"
#include "lib/text/ids.h"
#include "lib/text/tokenizer.h"
#include "lib/tokens/chunk.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens.h"
#include "lib/tokens/tokens_read.h"
#include "lib/tokens/tokens_write.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"

/* An unnamed temporary file. */
static int temp_file(void)
{
    char path[] = "/tmp/test_tokens.XXXXXX";
    int fd = mkstemp(path);

    CHECK(fd >= 0);
    unlink(path);
    return fd;
}

static tg_status load(tg_tokens *tokens, int fd, tg_err *err)
{
    tg_source source;

    CHECK_OK(tg_source_open(&source, fd, err), err);
    return tg_tokens_load_source(tokens, &source, SIZE_MAX, err);
}

static void rewind_file(int fd)
{
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
}

static unsigned char byte_at(size_t i)
{
    return (unsigned char)((i * 2654435761u) >> 13);
}

/* A text of n bytes; the caller frees it. */
static unsigned char *make_text(size_t n)
{
    unsigned char *text = malloc(n > 0 ? n : 1);

    for (size_t i = 0; i < n; i++)
        text[i] = byte_at(i);
    return text;
}

/* Append an archive of text [n] to fd, given to the writer in pieces of `step`. */
static void write_text(int fd, const unsigned char *text, size_t n, size_t step)
{
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_err err;

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
    tg_tokenizer_free(tok);
    for (size_t at = 0; at < n; at += step)
        CHECK_OK(tg_tokens_write_packed(w, text + at, n - at < step ? n - at : step, &err), &err);
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
}

/* An archive with these header values and one array of ids, for a test to damage. */
struct forged {
    const char *kind;
    int64_t version;
    const char *tokenizer; /* NULL: left out */
    int64_t vocab_size;
    const char *name;
    tg_dtype dtype;
    size_t count;
    const void *ids;
};

static const struct forged good = {
    .kind = "tokens",
    .version = 1,
    .tokenizer = "bytes",
    .vocab_size = 256,
    .name = "tokens/00000000",
    .dtype = {'u', 1},
    .count = 3,
    .ids = "abc",
};

static tg_archive_writer *begin_forged(int fd, const struct forged *f)
{
    tg_archive_writer *w;
    tg_err err;

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", f->kind, &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "version", f->version, &err), &err);
    if (f->tokenizer)
        CHECK_OK(tg_archive_put_text(w, "tokenizer/kind", f->tokenizer, &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "tokenizer/vocab_size", f->vocab_size, &err), &err);
    CHECK_OK(tg_archive_put(w, f->name, f->dtype, 1, &f->count, f->ids, &err), &err);
    return w;
}

/* Finish the archive, and go back to its beginning. */
static void finish_forged(tg_archive_writer *w, int fd)
{
    tg_err err;

    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    rewind_file(fd);
}

/* Load a forged archive; *err has the message. */
static tg_status load_forged(const struct forged *f, tg_tokens *tokens, tg_err *err)
{
    int fd = temp_file();
    tg_status status;

    *tokens = (tg_tokens){0};
    *err = (tg_err){0};
    finish_forged(begin_forged(fd, f), fd);
    status = load(tokens, fd, err);
    close(fd);
    return status;
}

/* Finish an archive that cannot be loaded. */
static void finish_refused(tg_archive_writer *w, int fd, const char *message)
{
    tg_tokens tokens = {0};
    tg_err err = {0};

    finish_forged(w, fd);
    CHECK_EQ(load(&tokens, fd, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_tokens_free(&tokens);
}

static void expect_refusal(const struct forged *f, const char *message)
{
    int fd = temp_file();

    finish_refused(begin_forged(fd, f), fd, message);
    close(fd);
}

/* ---- tests */

static void widths(void)
{
    CHECK_EQ(tg_ids_width(1), 1);
    CHECK_EQ(tg_ids_width(256), 1);
    CHECK_EQ(tg_ids_width(257), 2);
    CHECK_EQ(tg_ids_width(50257), 2);
    CHECK_EQ(tg_ids_width(65536), 2);
    CHECK_EQ(tg_ids_width(65537), 4);
}

/* Packed, unpacked and converted between all widths that hold them. */
static void ids_are_packed(void)
{
    const int32_t small[] = {0, 1, 77, 255}, medium[] = {0, 256, 65535, 300},
                  large[] = {65536, 0, INT32_MAX, 5};
    const int32_t *const ids[] = {small, medium, large};
    unsigned char packed[16], other[16];
    int32_t back[4];

    for (size_t from = 0; from < 3; from++) {
        for (size_t i = 0; i <= from; i++) {
            const size_t width = (size_t)1 << from;

            tg_ids_pack(packed, width, ids[i], 4);
            tg_ids_unpack(back, packed, width, 4);
            CHECK(memcmp(back, ids[i], sizeof back) == 0);
            for (size_t to = i; to < 3; to++) {
                tg_ids_convert(other, (size_t)1 << to, packed, width, 4);
                for (size_t t = 0; t < 4; t++)
                    CHECK_EQ(tg_ids_load(other + (t << to), (size_t)1 << to), ids[i][t]);
            }
        }
    }
    tg_ids_pack(packed, 4, large, 4); /* little-endian, whatever the machine */
    CHECK(memcmp(packed, "\0\0\1\0\0\0\0\0\377\377\377\177\5\0\0\0", 16) == 0);
}

static void ids_are_checked(void)
{
    const int32_t ids[] = {3, 299, 300, -1};
    unsigned char packed[16];

    CHECK_EQ(tg_ids_check(ids, 0, 1), 0);
    CHECK_EQ(tg_ids_check(ids, 3, 301), 3);
    CHECK_EQ(tg_ids_check(ids, 4, 301), 3);
    CHECK_EQ(tg_ids_check(ids, 4, TG_VOCAB_MAX), 3);
    CHECK_EQ(tg_ids_check(ids, 4, 300), 2);
    CHECK_EQ(tg_ids_check(ids, 4, 1), 0);
    for (size_t width = 2; width <= 4; width += 2) {
        tg_ids_pack(packed, width, ids, 3);
        CHECK_EQ(tg_ids_check_packed(packed, width, 3, 301), 3);
        CHECK_EQ(tg_ids_check_packed(packed, width, 3, 300), 2);
        CHECK_EQ(tg_ids_check_packed(packed, width, 3, 4), 1);
        CHECK_EQ(tg_ids_check_packed(packed, width, 0, 4), 0);
    }
    CHECK_EQ(tg_ids_check_packed("\377\0", 1, 2, 256), 2);
    CHECK_EQ(tg_ids_check_packed("\377\0", 1, 2, 255), 0);
    CHECK_EQ(tg_ids_check_packed("\377\377\377\377", 4, 1, TG_VOCAB_MAX), 0);
}

/* Load from fd and compare with the text. */
static void expect_text(int fd, const unsigned char *text, size_t n)
{
    tg_tokens tokens = {0};
    tg_err err = {0};

    rewind_file(fd);
    CHECK_OK(load(&tokens, fd, &err), &err);
    CHECK_EQ(tokens.count, n);
    CHECK_EQ(tokens.width, 1);
    CHECK(tokens.count == n && (n == 0 || memcmp(tokens.data, text, n) == 0));
    tg_tokens_free(&tokens);
}

static void round_trips(void)
{
    const size_t sizes[] = {0,
                            1,
                            255,
                            TG_TOKENS_CHUNK - 1,
                            TG_TOKENS_CHUNK,
                            TG_TOKENS_CHUNK + 1,
                            2 * TG_TOKENS_CHUNK,
                            3 * TG_TOKENS_CHUNK + 17,
                            4033 *
                                TG_TOKENS_CHUNK}; /* more than an archive's; in the build with tiny blocks */
    const size_t n = sizeof sizes / sizeof sizes[0] - (TG_TOKENS_CHUNK > 1000 ? 1 : 0);
    unsigned char *text = make_text(sizes[n - 1]);

    for (size_t i = 0; i < n; i++) {
        int fd = temp_file();

        write_text(fd, text, sizes[i], 100000);
        expect_text(fd, text, sizes[i]);
        close(fd);
    }
    free(text);
}

static void pieces_do_not_matter(void)
{
    const size_t n = 2 * TG_TOKENS_CHUNK + 5;
    const size_t steps[] = {999, TG_TOKENS_CHUNK - 1, TG_TOKENS_CHUNK, TG_TOKENS_CHUNK + 1};
    unsigned char *text = make_text(n), *want = malloc(2 * n + 8192), *got = malloc(2 * n + 8192);
    int fd = temp_file();
    ssize_t size;

    write_text(fd, text, n, n);
    rewind_file(fd);
    size = read(fd, want, 2 * n + 8192);
    CHECK(size > (ssize_t)n);
    close(fd);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        fd = temp_file();
        write_text(fd, text, n, steps[i]);
        rewind_file(fd);
        CHECK_EQ(read(fd, got, 2 * n + 8192), size);
        CHECK(memcmp(got, want, (size_t)size) == 0);
        close(fd);
    }
    free(text);
    free(want);
    free(got);
}

/* Archives in a row, and loads one after another, add up. */
static void appending(void)
{
    unsigned char *text = make_text(3000);
    int fd = temp_file(), other = temp_file();
    tg_tokens tokens = {0};
    int32_t ids[4];
    tg_err err;

    write_text(fd, text, 1000, 1000);
    write_text(fd, text + 1000, 500, 500);
    write_text(other, text + 1500, 1500, 1500);
    expect_text(fd, text, 1500);
    rewind_file(fd);
    rewind_file(other);
    CHECK_OK(load(&tokens, fd, &err), &err);
    CHECK_OK(load(&tokens, other, &err), &err);
    CHECK_EQ(tokens.count, 3000);
    CHECK(memcmp(tokens.data, text, 3000) == 0);
    tg_tokens_get(&tokens, ids, 2996, 4);
    for (size_t i = 0; i < 4; i++)
        CHECK_EQ(ids[i], text[2996 + i]);
    tg_tokens_get(&tokens, ids, 3000, 0);
    tg_tokens_free(&tokens);
    close(fd);
    close(other);
    free(text);
}

/* A pipe cannot be mapped: another path through the reader. */
static void through_a_pipe(void)
{
    unsigned char *text = make_text(20000);
    tg_tokens tokens = {0};
    tg_err err;
    int ends[2];

    CHECK(pipe(ends) == 0);
    write_text(ends[1], text, 20000, 777); /* fits into a pipe's buffer */
    close(ends[1]);
    CHECK_OK(load(&tokens, ends[0], &err), &err);
    CHECK_EQ(tokens.count, 20000);
    CHECK(memcmp(tokens.data, text, 20000) == 0);
    tg_tokens_free(&tokens);
    close(ends[0]);
    free(text);
}

static void ids_of_every_width(void)
{
    const uint16_t two[] = {1, 255, 7};
    const uint32_t four[] = {1, 255, 7};
    struct forged f = good;
    tg_tokens tokens;
    tg_err err;

    f.dtype = TG_U16;
    f.ids = two;
    CHECK_OK(load_forged(&f, &tokens, &err), &err);
    CHECK(tokens.count == 3 && tokens.width == 1 && memcmp(tokens.data, "\1\377\7", 3) == 0);
    tg_tokens_free(&tokens);
    f.dtype = TG_U32;
    f.ids = four;
    CHECK_OK(load_forged(&f, &tokens, &err), &err);
    CHECK(tokens.count == 3 && tokens.width == 1 && memcmp(tokens.data, "\1\377\7", 3) == 0);
    tg_tokens_free(&tokens);
}

static void tokens_of_every_width(void)
{
    unsigned char data[] = {0x78, 0x56, 0x34, 0x12, 0xFF, 0xFF, 0x00, 0x00};
    tg_tokens tokens = {.count = 8, .width = 1, .data = data};
    int32_t ids[2];

    tg_tokens_get(&tokens, ids, 3, 2);
    CHECK(ids[0] == 0x12 && ids[1] == 0xFF);
    tokens = (tg_tokens){.count = 4, .width = 2, .data = data};
    tg_tokens_get(&tokens, ids, 1, 2);
    CHECK(ids[0] == 0x1234 && ids[1] == 0xFFFF);
    tokens = (tg_tokens){.count = 2, .width = 4, .data = data};
    tg_tokens_get(&tokens, ids, 0, 2);
    CHECK(ids[0] == 0x12345678 && ids[1] == 0xFFFF);
}

static void refusals(void)
{
    const uint16_t large[] = {1, 2, 256};
    struct forged f;

    f = good, f.kind = "model";
    expect_refusal(&f, "the archive has kind \"model\", expected \"tokens\"");
    f = good, f.version = 2;
    expect_refusal(&f, "the archive has version 2, expected 1");
    f = good, f.tokenizer = NULL;
    expect_refusal(&f, "tokenizer/kind is missing");
    f = good, f.tokenizer = "words";
    expect_refusal(&f, "tokenizer/kind is \"words\"");
    f = good, f.vocab_size = 255;
    expect_refusal(&f, "tokenizer/vocab_size must be 256 for \"bytes\", got 255");
    f = good, f.vocab_size = -1;
    expect_refusal(&f, "tokenizer/vocab_size");
    f = good, f.vocab_size = 0;
    expect_refusal(&f, "tokenizer/vocab_size is 0, expected 1 to 2147483647");
    f = good, f.vocab_size = (int64_t)1 << 31;
    expect_refusal(&f, "tokenizer/vocab_size is 2147483648, expected 1 to 2147483647");
    f = good, f.name = "tokens/00000001";
    expect_refusal(&f, "tokens/00000001 is out of place: expected tokens/00000000");
    f = good, f.name = "tokens/0";
    expect_refusal(&f, "tokens/0 is out of place");
    f = good, f.name = "tokenizer/merges";
    expect_refusal(&f, "tokenizer/merges is not an array of tokenizer \"bytes\"");
    f = good, f.name = "notes";
    expect_refusal(&f, "notes does not belong in a token archive");
    f = good, f.dtype = (tg_dtype){'i', 1};
    expect_refusal(&f, "tokens/00000000 has type i1, expected u1, u2 or u4");
    f = good, f.dtype = TG_U16, f.ids = large;
    expect_refusal(&f, "tokens/00000000[2] is 256: the vocabulary has 256 ids");
}

static void too_long_a_chunk(void)
{
    struct forged f = good;
    unsigned char *ids = make_text(TG_TOKENS_CHUNK_MAX + 1);

    f.count = TG_TOKENS_CHUNK_MAX + 1;
    f.ids = ids;
    expect_refusal(&f, "tokens/00000000 has 1048577 ids, expected at most 1048576");
    free(ids);
}

static void order_of_arrays(void)
{
    int fd = temp_file();
    tg_tokens_reader *r;
    tg_archive_writer *w;
    tg_source source;
    tg_err err;

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "version", 1, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", "tokens", &err), &err);
    finish_forged(w, fd);
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_EQ(tg_tokens_open_source(&r, &source, &err), TG_EDATA);
    CHECK(r == NULL);
    CHECK_HAS(err.message, "the first array is \"version\", expected \"kind\"");
    close(fd);
}

static void an_archive_that_ends_early(void)
{
    int fd = temp_file();
    tg_archive_writer *w;
    tg_err err;

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", "tokens", &err), &err);
    finish_refused(w, fd, "archive ends after \"kind\": \"version\" is missing");
    close(fd);
}

static void a_template_that_is_none(void)
{
    const int fd = temp_file();
    tg_archive_writer *w;
    tg_err err;

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", "tokens", &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "version", 1, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "chat_template", "none", &err), &err);
    finish_refused(w, fd, "chat_template is 'none', expected chatml|llama3|gemma|plain");
    close(fd);
}

/* An archive up to the mark that another one follows. */
static tg_archive_writer *begin_marked(int fd)
{
    tg_archive_writer *w = begin_forged(fd, &good);
    tg_err err;

    CHECK_OK(tg_archive_put_i64(w, "goes_on", 1, &err), &err);
    return w;
}

/* After the mark none follows, or one. */
static void the_mark(void)
{
    int fd = temp_file();

    finish_refused(begin_marked(fd), fd, "the next archive of this stream is missing");
    CHECK(lseek(fd, 0, SEEK_END) > 0);
    write_text(fd, (const unsigned char *)"de", 2, 2);
    expect_text(fd, (const unsigned char *)"abcde", 5);
    close(fd);
}

/* Nothing comes after the mark. */
static void more_after_the_mark(void)
{
    int fd = temp_file();
    tg_archive_writer *w = begin_marked(fd);
    tg_err err;

    CHECK_OK(tg_archive_put(w, "tokens/00000001", TG_U8, 1, (size_t[]){3}, "abc", &err), &err);
    finish_refused(w, fd, "tokens/00000001 does not belong after tokens");
    close(fd);
}

/* The file may become as long as the first archive, less a byte; or there is no memory for the second. */
static void second_archive_fails(const unsigned char *text, size_t n, size_t first)
{
    for (int way = 0; way < 2; way++) {
        const int fd = temp_file();
        const tg_tokenizer *tok;
        struct rlimit old, limit;
        tg_tokens_writer *w;
        tg_err err;

        CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
        CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
        tg_tokenizer_free(tok);
        CHECK_OK(tg_tokens_write_packed(w, text, n - 10, &err), &err);
        signal(SIGXFSZ, SIG_IGN);
        CHECK(getrlimit(RLIMIT_FSIZE, &old) == 0);
        limit = old;
        limit.rlim_cur = first - 1;
        if (way == 0)
            CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
        else
            failing_after(0);
        CHECK_EQ(tg_tokens_write_packed(w, text, TG_TOKENS_CHUNK, &err), way == 0 ? TG_EIO : TG_ENOMEM);
        failing_after(-1);
        CHECK(setrlimit(RLIMIT_FSIZE, &old) == 0);
        tg_tokens_abandon(w);
        close(fd);
    }
}

/* More chunks than an archive holds; where chunks are large, that is too much for a test. */
static void more_than_an_archive(void)
{
    const size_t n = 4032 * TG_TOKENS_CHUNK + 10;
    int fd;
    unsigned char *text, *stream;
    size_t size, end = 0;
    tg_tokens tokens = {0};
    tg_err err;

    if (TG_TOKENS_CHUNK > 64)
        return;
    fd = temp_file();
    text = make_text(n);
    write_text(fd, text, n, n);
    rewind_file(fd);
    expect_text(fd, text, n);
    size = (size_t)lseek(fd, 0, SEEK_END);
    stream = malloc(size);
    CHECK_EQ(pread(fd, stream, size, 0), (long)size);
    while (memcmp(stream + end, "PK\5\6", 4) != 0)
        end++;
    second_archive_fails(text, n, end + 22);
    CHECK(ftruncate(fd, (off_t)end + 22) == 0);
    rewind_file(fd);
    CHECK_EQ(load(&tokens, fd, &err), TG_EDATA);
    CHECK_HAS(err.message, "the next archive of this stream is missing");
    tg_tokens_free(&tokens);
    free(stream);
    free(text);
    close(fd);
}

/* The limit counts the tokens of both archives. */
static void no_more_than(void)
{
    static const char text[] = "abcdefghij";
    int fd = temp_file();
    tg_tokens none = {0};
    tg_source source;
    tg_err err = {0};

    write_text(fd, (const unsigned char *)text, 10, 10);
    for (size_t most = 18; most <= 21; most++) {
        tg_tokens tokens = {0};
        tg_status status = TG_OK;

        for (int i = 0; i < 2 && !status; i++) {
            rewind_file(fd);
            CHECK_OK(tg_source_open(&source, fd, &err), &err);
            status = tg_tokens_load_source(&tokens, &source, most, &err);
        }
        CHECK_EQ(status, most < 20 ? TG_EDATA : TG_OK);
        if (status)
            CHECK_HAS(err.message, most == 18 ? "more than 18 tokens" : "more than 19 tokens");
        CHECK_EQ(tokens.count, status ? 10 : 20);
        tg_tokens_free(&tokens);
    }
    rewind_file(fd);
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_EQ(tg_tokens_load_source(&none, &source, 9, &err), TG_EDATA);
    CHECK_HAS(err.message, "more than 9 tokens");
    tg_tokens_free(&none);
    close(fd);
}

/* Ids that are stored in fewer bytes than the vocabulary needs. */
static void no_memory(void)
{
    struct forged narrow = good;
    tg_status status = TG_ENOMEM;
    int fd = temp_file();
    long n;

    narrow.tokenizer = "ids";
    narrow.vocab_size = 1000;
    finish_forged(begin_forged(fd, &narrow), fd);
    for (n = 0; status == TG_ENOMEM; n++) {
        tg_tokens tokens = {0};
        tg_source source;
        tg_err err;

        rewind_file(fd);
        CHECK_OK(tg_source_open(&source, fd, &err), &err);
        failing_after(n);
        status = tg_tokens_load_source(&tokens, &source, SIZE_MAX, &err);
        failing_after(-1);
        CHECK(status || (tokens.count == 3 && tokens.width == 2));
        tg_tokens_free(&tokens);
    }
    CHECK(status == TG_OK && n > 4);
    close(fd);
}

/* Nothing can be written: that is noticed when the buffer is full, in the last chunk, or after it. */
static void read_only(void)
{
    const int fd = open("/dev/null", O_RDONLY);
    int32_t *ids = calloc(400 * TG_TOKENS_CHUNK, sizeof *ids);
    tg_status status = TG_OK;

    for (size_t chunks = 0; !status; chunks++) {
        const tg_tokenizer *tok;
        tg_tokens_writer *w;
        tg_err err;

        CHECK(chunks < 399);
        CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
        CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
        tg_tokenizer_free(tok);
        status = tg_tokens_write(w, ids, chunks * TG_TOKENS_CHUNK + 1, &err);
        if (!status)
            CHECK_EQ(tg_tokens_finish(w, &err), TG_EIO);
        tg_tokens_abandon(w);
    }
    CHECK_EQ(status, TG_EIO);
    free(ids);
    close(fd);
}

/* 0xCBF43926 is the check value of CRC-32, of the digits 1 to 9. */
static void crc(void)
{
    tg_tokens tokens = {0};
    int fd = temp_file();
    tg_err err;

    CHECK_EQ(tg_tokens_crc(&tokens), 0);
    write_text(fd, (const unsigned char *)"123456789", 9, 4);
    rewind_file(fd);
    CHECK_OK(load(&tokens, fd, &err), &err);
    CHECK_EQ(tg_tokens_crc(&tokens), 0xCBF43926);
    tg_tokens_free(&tokens);
    close(fd);
}

static void truncation(void)
{
    unsigned char *text = make_text(5000), *archive = malloc(10000);
    int fd = temp_file();
    ssize_t size;
    tg_err err;

    write_text(fd, text, 5000, 5000);
    rewind_file(fd);
    size = read(fd, archive, 10000);
    CHECK(size > 5000);
    for (ssize_t n = size - 1; n >= 0; n -= 61) {
        tg_tokens tokens = {0};

        CHECK(ftruncate(fd, n) == 0);
        rewind_file(fd);
        CHECK_EQ(load(&tokens, fd, &err), TG_EDATA);
        tg_tokens_free(&tokens);
    }
    close(fd);
    free(text);
    free(archive);
}

static void failed_writes(void)
{
    const size_t n = tg_size_max(TG_TOKENS_CHUNK, 1 << 17); /* beyond what is buffered */
    unsigned char *text = make_text(n);
    int fd = open("/dev/full", O_WRONLY);
    const tg_tokenizer *tok;
    tg_tokens_writer *w = NULL;
    tg_err err;
    tg_status status;

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    if (fd >= 0) {
        status = tg_tokens_create(&w, fd, tok, &err);
        if (!status)
            status = tg_tokens_write_packed(w, text, n, &err);
        CHECK_EQ(status, TG_EIO);
        CHECK_HAS(err.message, "No space left on device");
        tg_tokens_abandon(w);
        close(fd);
    }
    tg_tokenizer_free(tok);
    tg_tokens_abandon(NULL);
    tg_tokens_close(NULL);
    free(text);
}

int main(void)
{
    RUN(widths);
    RUN(ids_are_packed);
    RUN(ids_are_checked);
    RUN(round_trips);
    RUN(pieces_do_not_matter);
    RUN(appending);
    RUN(through_a_pipe);
    RUN(ids_of_every_width);
    RUN(tokens_of_every_width);
    RUN(refusals);
    RUN(too_long_a_chunk);
    RUN(order_of_arrays);
    RUN(an_archive_that_ends_early);
    RUN(a_template_that_is_none);
    RUN(the_mark);
    RUN(more_after_the_mark);
    RUN(more_than_an_archive);
    RUN(no_more_than);
    RUN(no_memory);
    RUN(read_only);
    RUN(crc);
    RUN(truncation);
    RUN(failed_writes);
    return check_done();
}
