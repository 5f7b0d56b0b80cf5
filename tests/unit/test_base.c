/* lib/base and writing: messages, the arena, UTF-8, finite checks, conversions, lists of names. */
#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include <errno.h>
#include <fcntl.h>
#include <float.h>
#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/sink.h"
#include "lib/base/arena.h"
#include "lib/base/choice.h"
#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/base/status.h"
#include "lib/base/utf8.h"
#include "tests/unit/check.h"

/* ---- messages */

static void names_in_front(void)
{
    tg_err err;

    CHECK_EQ(tg_fail(&err, TG_EDATA, "got %d", 17), TG_EDATA);
    CHECK_EQ(tg_err_in(&err, "array \"x\""), TG_EDATA);
    CHECK_EQ(tg_err_in(&err, "a.npz"), TG_EDATA);
    CHECK(strcmp(err.message, "a.npz: array \"x\": got 17") == 0);
    CHECK_EQ(tg_err_in(NULL, "a.npz"), TG_EDATA);
    errno = ENOENT;
    CHECK_EQ(tg_fail_sys(&err, "cannot be read"), TG_EIO);
    CHECK_EQ(tg_err_in(&err, "a.npz"), TG_EIO);
    CHECK_EQ(err.sys, ENOENT);
}

/* A path of any length: the reason and the end of the path are kept. */
static void long_paths(void)
{
    static const char reason[] = "the config needs 5368 bytes, the file holds at most 17";
    char path[1200];

    for (size_t n = 400; n < sizeof path; n++) {
        tg_err err;
        size_t length;

        memset(path, 'd', n);
        memcpy(path + n - 10, "/model.npz", 11);
        (void)tg_fail(&err, TG_EDATA, "%s", reason);
        CHECK_EQ(tg_err_in(&err, path), TG_EDATA);
        length = strlen(err.message);
        CHECK_HAS(err.message, "ddd/model.npz: the config");
        CHECK(strcmp(err.message + length - strlen(reason), reason) == 0);
        if (n + 2 + strlen(reason) < TG_ERR_MAX - 3)
            CHECK_EQ(length, n + 2 + strlen(reason));
        else
            CHECK(strncmp(err.message, "...d", 4) == 0 && length == TG_ERR_MAX - 1);
    }
}

/* A shortened path does not begin in the middle of a character. */
static void long_paths_in_utf8(void)
{
    char path[1200];
    tg_err err;

    for (size_t n = 0; n < 3; n++) {
        memset(path, 'x', n);
        for (size_t i = n; i < 900; i += 3)
            memcpy(path + i, "\xE2\x82\xAC", 4);
        (void)tg_fail(&err, TG_EDATA, "reason");
        CHECK_EQ(tg_err_in(&err, path), TG_EDATA);
        CHECK(strncmp(err.message, "...\xE2\x82\xAC", 6) == 0);
        CHECK_HAS(err.message, "\xE2\x82\xAC: reason");
    }
}

/* Both too long: 64 bytes of the path are kept. */
static void long_reasons(void)
{
    char path[600], reason[600];
    tg_err err;

    memset(path, 'p', sizeof path - 1);
    memset(reason, 'r', sizeof reason - 1);
    path[sizeof path - 1] = reason[sizeof reason - 1] = '\0';
    (void)tg_fail(&err, TG_EDATA, "%s", reason);
    CHECK_EQ(strlen(err.message), TG_ERR_MAX - 1);
    CHECK_EQ(tg_err_in(&err, path), TG_EDATA);
    CHECK_EQ(strlen(err.message), TG_ERR_MAX - 1);
    CHECK_EQ(strspn(err.message + 3, "p"), 64);
    CHECK_HAS(err.message, "p: rrr");
}

/* ---- the arena */

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ASAN 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
#define ASAN 1
#endif

struct buffers {
    unsigned char *a;
    double *b;
    size_t n; /* doubles */
};

static void place(tg_arena *arena, void *context)
{
    struct buffers *x = context;

    x->a = tg_arena_take(arena, 100, 1);
    x->b = tg_arena_take(arena, x->n, sizeof *x->b);
}

static void expect_buffers(const struct buffers *x)
{
    CHECK((uintptr_t)x->a % TG_ALIGN == 0 && (uintptr_t)x->b % TG_ALIGN == 0);
#ifndef ASAN
    CHECK((unsigned char *)x->b - x->a == 128);
#endif
    for (size_t i = 0; i < 100; i++)
        CHECK(x->a[i] == 0);
    for (size_t i = 0; i < x->n; i++)
        CHECK(x->b[i] == 0);
    memset(x->a, 0xff, 100);
    memset(x->b, 0xff, x->n * sizeof *x->b);
}

static void placement(void)
{
    tg_arena arena = {0};
    struct buffers x = {.n = 1000};
    tg_err err;

    place(&arena, &x);
    CHECK(!x.a && !x.b);
    CHECK_EQ(arena.used, 128 + 8000);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    place(&arena, &x);
    CHECK_EQ(arena.used, 128 + 8000);
    expect_buffers(&x);
    tg_arena_free(&arena);
    CHECK(!arena.base && arena.size == 0);
    tg_arena_free(&arena);
}

/* Both runs in one call. */
static void building(void)
{
    tg_arena arena;
    struct buffers x = {.n = 1000};
    tg_err err;

    CHECK_OK(tg_arena_build(&arena, place, &x, &err), &err);
    CHECK_EQ(arena.used, 128 + 8000);
    expect_buffers(&x);
    tg_arena_free(&arena);
    x.n = SIZE_MAX / 16;
    CHECK_EQ(tg_arena_build(&arena, place, &x, &err), TG_ENOMEM);
    CHECK(!x.a && !x.b && !arena.base && arena.used == 0);
}

/* Whether a child process survives writing one byte at p[at]. */
static bool survives(unsigned char *p, ptrdiff_t at)
{
    int status;
    pid_t child = fork();

    if (child == 0) {
        close(STDERR_FILENO); /* no report */
        ((volatile unsigned char *)p)[at] = 1;
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status == 0;
}

/* Blocks can be written to their last byte, and the addresses can be used again after the
 * arena is freed.  Under AddressSanitizer a write beyond a block is fatal. */
static void overruns(void)
{
    const ptrdiff_t end = 999 * sizeof(double);
    tg_arena arena;
    struct buffers x = {.n = 999};
    unsigned char *freed;
    size_t size;
    tg_err err;

    CHECK_OK(tg_arena_build(&arena, place, &x, &err), &err);
    CHECK(survives(x.a, 0) && survives(x.a, 99) && survives((unsigned char *)x.b, end - 1));
#ifdef ASAN
    CHECK(!survives(x.a, 100) && !survives(x.a, 127) && !survives(x.a, 128));
    CHECK(!survives((unsigned char *)x.b, -1) && !survives((unsigned char *)x.b, end));
#endif
    freed = arena.base;
    size = arena.size;
    tg_arena_free(&arena);
    freed = mmap(freed, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(freed != MAP_FAILED && survives(freed, 100) && survives(freed, (ptrdiff_t)size - 1));
    munmap(freed, size);
}

static void too_large(void)
{
    const size_t sizes[][2] = {{SIZE_MAX, 2}, {SIZE_MAX, 1}, {SIZE_MAX - 70, 1}, {SIZE_MAX / 4, 1}};

    for (size_t i = 0; i < 4; i++) {
        tg_arena arena = {0};
        tg_err err;

        CHECK(tg_arena_take(&arena, sizes[i][0], sizes[i][1]) == NULL);
        CHECK_EQ(tg_arena_alloc(&arena, &err), TG_ENOMEM);
        CHECK_HAS(err.message, "out of memory");
        CHECK(!arena.base && arena.size == 0 && arena.used == 0);
        tg_arena_free(&arena);
    }
}

static void rows_of_a_width(void)
{
    tg_arena arena = {0};
    tg_err err;

    CHECK(tg_arena_take_rows(&arena, 10, 100, 8) == NULL);
    CHECK_EQ(arena.used, 8000);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    CHECK(tg_arena_take_rows(&arena, 10, 100, 8) == arena.base);
    tg_arena_free(&arena);
    /* the product wraps around to 0 */
    CHECK(tg_arena_take_rows(&arena, SIZE_MAX / 2 + 1, 2, 1) == NULL);
    CHECK_EQ(tg_arena_alloc(&arena, &err), TG_ENOMEM);
}

/* One element at a time: no element is lost, and few of the calls move the array. */
static void growing(void)
{
    enum { N = 100000 };
    uint32_t *x = NULL;
    size_t capacity = 0, before, grew = 0;
    tg_err err = {0};

    for (uint32_t i = 0; i < N; i++) {
        before = capacity;
        CHECK_OK(tg_grow(&x, &capacity, i + 1, sizeof *x, "numbers", &err), &err);
        CHECK(capacity > i && (capacity == before || capacity >= 2 * before));
        grew += capacity > before;
        x[i] = i;
    }
    CHECK(grew <= 17);
    for (uint32_t i = 0; i < N; i++)
        CHECK(x[i] == i);
    before = capacity;
    CHECK_OK(tg_grow(&x, &capacity, 5 * before, sizeof *x, "numbers", &err), &err);
    CHECK_EQ(capacity, 5 * before);
    CHECK_EQ(tg_grow(&x, &capacity, SIZE_MAX / 4, sizeof *x, "numbers", &err), TG_ENOMEM);
    CHECK_HAS(err.message, "out of memory: ");
    CHECK_HAS(err.message, "for numbers");
    CHECK_EQ(tg_grow(&x, &capacity, SIZE_MAX, sizeof *x, "numbers", &err), TG_ENOMEM);
    CHECK(capacity == 5 * before && x[N - 1] == N - 1);
    free(x);
}

static void saturating(void)
{
    tg_arena arena = {0};
    tg_err err;

    CHECK_EQ(tg_size_mul_sat(6, 7), 42);
    CHECK_EQ(tg_size_add_sat(6, 7), 13);
    CHECK(tg_size_mul_sat(SIZE_MAX / 2 + 1, 2) == SIZE_MAX && tg_size_add_sat(SIZE_MAX, 1) == SIZE_MAX);
    (void)tg_arena_take(&arena, tg_size_mul_sat(SIZE_MAX, SIZE_MAX), 1);
    CHECK_EQ(tg_arena_alloc(&arena, &err), TG_ENOMEM);
}

/* ---- UTF-8 */

/* Whether more bytes can make it a valid character: try them all. */
static bool can_go_on(const unsigned char *text, size_t n)
{
    static const unsigned char more[] = {0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF};
    unsigned char whole[TG_UTF8_MAX];
    uint32_t code;
    bool can = false;

    if (n == 0 || n >= TG_UTF8_MAX)
        return false;
    memcpy(whole, text, n);
    for (size_t i = 0; i < sizeof more && !can; i++) {
        whole[n] = more[i];
        can = tg_utf8_decode(&code, whole, n + 1) == n + 1 || can_go_on(whole, n + 1);
    }
    return can;
}

static void utf8_cut_characters(void)
{
    static const unsigned char bytes[] = {0x00, 'a',  0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF,
                                          0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE,
                                          0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF};
    const size_t n = sizeof bytes;

    CHECK(!tg_utf8_is_cut("", 0));
    for (size_t i = 0; i < n * n * n; i++) {
        const unsigned char text[3] = {bytes[i / n / n], bytes[i / n % n], bytes[i % n]};

        for (size_t length = 1; length <= 3; length++)
            CHECK_EQ(tg_utf8_is_cut(text, length), can_go_on(text, length));
    }
}

static void utf8_decoding(void)
{
    static const struct {
        const char *text;
        size_t length;
        uint32_t code;
    } good[] = {{"a", 1, 'a'},
                {"\x7F", 1, 0x7F},
                {"\xC2\x80", 2, 0x80},
                {"\xDF\xBF", 2, 0x7FF},
                {"\xE0\xA0\x80", 3, 0x800},
                {"\xED\x9F\xBF", 3, 0xD7FF},
                {"\xEE\x80\x80", 3, 0xE000},
                {"\xF0\x90\x80\x80", 4, 0x10000},
                {"\xF4\x8F\xBF\xBF", 4, 0x10FFFF}};
    static const char *const bad[] = {"\x80",
                                      "\xBF",
                                      "\xC3(",
                                      "\xC0\x80",
                                      "\xC1\xBF",
                                      "\xE0\x9F\xBF",
                                      "\xED\xA0\x80",
                                      "\xED\xBF\xBF",
                                      "\xE2\x82(",
                                      "\xF0\x8F\xBF\xBF",
                                      "\xF4\x90\x80\x80",
                                      "\xF8\x88\x80\x80\x80",
                                      "\xFF",
                                      "\xFE"};
    uint32_t code;

    for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
        CHECK_EQ(tg_utf8_decode(&code, good[i].text, strlen(good[i].text)), good[i].length);
        CHECK_EQ(code, good[i].code);
        CHECK_EQ(tg_utf8_length((unsigned char)good[i].text[0]), good[i].length);
        CHECK_EQ(tg_utf8_decode(&code, good[i].text, good[i].length - 1), 0); /* cut */
        code = 0;
        CHECK_EQ(tg_utf8_decode_last(&code, good[i].text, good[i].length), good[i].length);
        CHECK_EQ(code, good[i].code);
        CHECK(good[i].length == 1 || tg_utf8_decode_last(&code, good[i].text, good[i].length - 1) == 0);
        CHECK(good[i].length == 1 || tg_utf8_decode_last(&code, good[i].text + 1, good[i].length - 1) == 0);
        code = 0;
        if (good[i].code < 0x80)
            continue;
        CHECK_EQ(tg_utf8_decode_high(&code, (const unsigned char *)good[i].text, 9), good[i].length);
        CHECK_EQ(code, good[i].code);
        CHECK_EQ(tg_utf8_decode_high(&code, (const unsigned char *)good[i].text, good[i].length - 1), 0);
    }
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK_EQ(tg_utf8_decode(&code, bad[i], strlen(bad[i])), 0);
        CHECK_EQ(tg_utf8_decode_high(&code, (const unsigned char *)bad[i], strlen(bad[i])), 0);
    }
    CHECK_EQ(tg_utf8_decode_last(&code, "", 0), 0);
    CHECK_EQ(tg_utf8_decode_last(&code, "a\xFF", 2), 0);
    CHECK_EQ(tg_utf8_decode(&code, "", 1), 1); /* NUL is a character */
    CHECK(tg_utf8_continues(0x80) && tg_utf8_continues(0xBF));
    CHECK(!tg_utf8_continues('a') && !tg_utf8_continues(0xC3));
}

/* What a text's end may have cut. */
static void utf8_valid(void)
{
    CHECK(tg_utf8_valid("", 0));
    CHECK(tg_utf8_valid("a\0\xC3\xA9\xF0\x9F\x98\x80", 8));
    CHECK(!tg_utf8_valid("a\xC3", 2));
    CHECK(!tg_utf8_valid("\x80z", 2));
    CHECK(!tg_utf8_valid("\xED\xA0\x80", 3));
}

static void utf8_whole(void)
{
    static const struct {
        const char *text;
        size_t whole;
    } cases[] = {{"", 0},
                 {"ab", 2},
                 {"a\xC3", 1},
                 {"a\xC3\xA9", 3},
                 {"a\xE4", 1},
                 {"a\xE4\xB8", 1},
                 {"a\xE4\xB8\xAD", 4},
                 {"\xF0\x9F\x98", 0},
                 {"\xF0\x9F\x98\x80", 4},
                 {"\xC3\xA9\x80", 3}, /* stray continuation bytes */
                 {"\x80\x80\x80\x80", 4},
                 {"a\xFF", 2},
                 {"\xE4z", 2}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        CHECK_EQ(tg_utf8_whole(cases[i].text, strlen(cases[i].text)), cases[i].whole);
}

static void utf8_what_is_shown(void)
{
    uint32_t code;

    CHECK_EQ(tg_utf8_printable(&code, " ", 1), 1);
    CHECK_EQ(tg_utf8_printable(&code, "~", 1), 1);
    CHECK_EQ(tg_utf8_printable(&code, "\x1F", 1), 0);
    CHECK_EQ(tg_utf8_printable(&code, "\x7F", 1), 0);
    CHECK_EQ(tg_utf8_printable(&code, "\xC2\x9F", 2), 0);
    CHECK_EQ(tg_utf8_printable(&code, "\xC2\xA0", 2), 2);
}

/* ---- numbers that are not finite */

/* One bad value at any place, in few values (one thread) and in many. */
static void finding_what_is_not_finite(void)
{
    static float x[200000];
    static const size_t counts[] = {0, 1, 15, 16, 17, 100, 65535, 65536, 65537, 200000};
    static const float bad[] = {INFINITY, -INFINITY, NAN};

    for (size_t i = 0; i < 200000; i++)
        x[i] = i % 3 == 0 ? FLT_MAX : i % 3 == 1 ? -0.0f : 1e-45f;
    for (size_t c = 0; c < sizeof counts / sizeof counts[0]; c++) {
        const size_t n = counts[c];

        CHECK_EQ(tg_find_not_finite(x, n), n);
        for (size_t at = 0; at < n; at += at < 40 || at + 40 > n ? 1 : n / 7) {
            const float was = x[at], last = x[n - 1];

            x[at] = bad[at % 3];
            CHECK_EQ(tg_find_not_finite(x, n), at);
            CHECK_EQ(tg_find_not_finite(x, at), at);
            x[n - 1] = NAN; /* the first one counts */
            CHECK_EQ(tg_find_not_finite(x, n), at);
            x[n - 1] = last;
            x[at] = was;
        }
    }
}

static void not_finite_doubles(void)
{
    double x[5] = {1, -DBL_MAX, 0, 3, 4};

    CHECK_EQ(tg_find_not_finite64(x, 5), 5);
    CHECK_EQ(tg_find_not_finite_rounded(x, 5), 1); /* beyond float32 */
    x[1] = (double)FLT_MAX;
    CHECK_EQ(tg_find_not_finite_rounded(x, 5), 5);
    x[3] = (double)NAN;
    CHECK_EQ(tg_find_not_finite64(x, 5), 3);
    CHECK_EQ(tg_find_not_finite_rounded(x, 5), 3);
}

static void not_finite_message(void)
{
    float x[3] = {1, 2, -NAN};
    tg_err err;

    CHECK_OK(tg_check_finite("x", x, 2, &err), &err);
    CHECK_EQ(tg_check_finite("x", x, 3, &err), TG_EDATA);
    CHECK(strcmp(err.message, "x[2] is nan: it must be finite") == 0);
    CHECK_EQ(tg_fail_not_finite("y", 7, 1e300, &err), TG_EDATA);
    CHECK(strcmp(err.message, "y[7] is 1e+300: it must be finite as float32") == 0);
    x[0] = -INFINITY;
    CHECK_EQ(tg_check_finite("x", x, 3, &err), TG_EDATA);
    CHECK(strcmp(err.message, "x[0] is -inf: it must be finite") == 0);
}

/* ---- writing */

/* Everything written into a pipe arrives. */
static void expect_arrival(const unsigned char *out, size_t size)
{
    unsigned char *in = malloc(size + 1);
    int ends[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;
    tg_err err;

    CHECK(in && pipe(ends) == 0);
    if ((child = fork()) == 0)
        _exit(tg_write_all(ends[1], out, size, &err) == TG_OK ? 0 : 1);
    close(ends[1]);
    while ((got = read(ends[0], in + n, size + 1 - n)) > 0)
        n += (size_t)got;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(n == size && memcmp(in, out, n) == 0);
    close(ends[0]);
    free(in);
}

/* A pipe that nobody reads, and no descriptor at all. */
static void expect_no_reader(void)
{
    int ends[2];
    tg_err err;

    CHECK(pipe(ends) == 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(tg_write_all(ends[1], "x", 1, &err), TG_EIO);
    CHECK_EQ(err.sys, EPIPE);
    CHECK_OK(tg_write_all(ends[1], NULL, 0, &err), &err);
    close(ends[1]);
    CHECK_EQ(tg_write_all(-1, "x", 1, NULL), TG_EIO);
}

/* More than a pipe holds, so that several writes are needed. */
static void writing_through_a_pipe(void)
{
    static unsigned char out[300000];

    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i * 2654435761u >> 9);
    expect_arrival(out, sizeof out);
}

/* The message has the bytes written: here a pipe takes 4,096. */
static void writing_to_what_is_full(void)
{
    static const unsigned char out[5000];
    int ends[2];
    tg_err err;

    CHECK(pipe(ends) == 0 && fcntl(ends[1], F_SETPIPE_SZ, 4096) == 4096);
    CHECK(fcntl(ends[1], F_SETFL, O_NONBLOCK) == 0);
    CHECK_EQ(tg_write_all(ends[1], out, sizeof out, &err), TG_EIO);
    CHECK_HAS(err.message, "write failed after 4096 of 5000 bytes: ");
    CHECK_EQ(err.sys, EAGAIN);
    close(ends[0]);
    close(ends[1]);
    expect_no_reader();
}

/* ---- names in a list */

static void choices(void)
{
    static const char *const names[] = {"text", "tsv", "jsonl"};
    char name[TG_CHOICE_SIZE];
    size_t number = 7;

    for (size_t n = 0; n < 3; n++) {
        CHECK(tg_choice_find(&number, "text|tsv|jsonl", names[n]) && number == n);
        CHECK(strcmp(tg_choice_name(name, "text|tsv|jsonl", n), names[n]) == 0);
    }
    number = 7;
    CHECK(!tg_choice_find(&number, "text|tsv|jsonl", "t") && number == 7);
    CHECK(!tg_choice_find(&number, "text|tsv|jsonl", "text|tsv"));
    CHECK(!tg_choice_find(&number, "text|tsv|jsonl", ""));
    CHECK(strcmp(tg_choice_name(name, "text|tsv|jsonl", 3), "") == 0);
    CHECK(strcmp(tg_choice_name(name, "text|tsv|jsonl", SIZE_MAX), "") == 0);
}

/* ---- other types as float32 */

/* All 65,536 halves, against the definition. */
static void halves(void)
{
    for (uint32_t bits = 0; bits < 65536; bits++) {
        const int exponent = (int)(bits >> 10 & 0x1F), fraction = (int)(bits & 0x3FF);
        const double sign = bits & 0x8000 ? -1 : 1;
        const float got = tg_float_from_half((uint16_t)bits);

        if (exponent == 31 && fraction > 0)
            CHECK(isnan(got));
        else if (exponent == 31)
            CHECK((double)got == sign * (double)INFINITY);
        else
            CHECK((double)got ==
                  sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24)));
        CHECK(!signbit(got) == !(bits & 0x8000));
    }
}

static void bfloats(void)
{
    CHECK(tg_float_from_bf16(0x3F80) == 1.0f && tg_float_from_bf16(0xC040) == -3.0f);
    CHECK(tg_float_from_bf16(0x7F80) == INFINITY && isnan(tg_float_from_bf16(0x7FC0)));
    CHECK(tg_float_from_bf16(0x0001) == 0x1p-133f);
}

int main(void)
{
    RUN(choices);
    RUN(names_in_front);
    RUN(long_paths);
    RUN(long_paths_in_utf8);
    RUN(long_reasons);
    RUN(placement);
    RUN(building);
    RUN(overruns);
    RUN(growing);
    RUN(saturating);
    RUN(utf8_decoding);
    RUN(utf8_cut_characters);
    RUN(utf8_valid);
    RUN(utf8_whole);
    RUN(utf8_what_is_shown);
    RUN(halves);
    RUN(bfloats);
    RUN(finding_what_is_not_finite);
    RUN(not_finite_doubles);
    RUN(not_finite_message);
    RUN(too_large);
    RUN(rows_of_a_width);
    RUN(writing_through_a_pipe);
    RUN(writing_to_what_is_full);
    return check_done();
}
