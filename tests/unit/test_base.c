/* What everything stands on: messages, one block of memory, bytes written out. */
#define _GNU_SOURCE /* F_SETPIPE_SZ, memfd_create, vmsplice */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "formats/sink.h"
#include "lib/base/arena.h"
#include "lib/base/choice.h"
#include "lib/base/status.h"
#include "tests/unit/check.h"

/* ---- where it happened, and why */

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

/* A path of any length: the reason stays whole, and the end of the path. */
static void long_paths(void)
{
    static const char reason[] = "the config asks for 5368 bytes: the file cannot hold more than 17";
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

/* What is left of a path does not begin in the middle of a character. */
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

/* Both too long: something of the path is there all the same. */
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

static void place(tg_arena *arena, unsigned char **a, double **b)
{
    *a = tg_arena_take(arena, 100, 1);
    *b = tg_arena_take(arena, 1000, sizeof **b);
}

static void placement(void)
{
    tg_arena arena = {0};
    unsigned char *a;
    double *b;
    tg_err err;

    place(&arena, &a, &b);
    CHECK(!a && !b);
    CHECK_EQ(arena.used, 128 + 8000);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    place(&arena, &a, &b);
    CHECK((uintptr_t)a % TG_ALIGN == 0 && (uintptr_t)b % TG_ALIGN == 0);
    CHECK((unsigned char *)b - a == 128);
    for (size_t i = 0; i < 128 + 8000; i++)
        CHECK(a[i] == 0);
    memset(a, 0xff, 128 + 8000);
    tg_arena_free(&arena);
    CHECK(!arena.base && arena.size == 0);
    tg_arena_free(&arena);
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

/* ---- writing */

typedef tg_status (*write_function)(int fd, const void *data, size_t n, tg_err *err);

/* All that goes into a pipe comes out of it. */
static void expect_arrival(write_function write_to, const unsigned char *out, size_t size)
{
    unsigned char *in = malloc(size + 1);
    int ends[2], status;
    size_t n = 0;
    ssize_t got;
    pid_t child;
    tg_err err;

    CHECK(in && pipe(ends) == 0);
    if ((child = fork()) == 0)
        _exit(write_to(ends[1], out, size, &err) == TG_OK ? 0 : 1);
    close(ends[1]);
    while ((got = read(ends[0], in + n, size + 1 - n)) > 0)
        n += (size_t)got;
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    CHECK(n == size && memcmp(in, out, n) == 0);
    close(ends[0]);
    free(in);
}

/* A pipe that nobody reads, and no descriptor at all. */
static void expect_no_reader(write_function write_to)
{
    int ends[2];
    tg_err err;

    CHECK(pipe(ends) == 0);
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    CHECK_EQ(write_to(ends[1], "x", 1, &err), TG_EIO);
    CHECK_EQ(err.sys, EPIPE);
    CHECK_OK(write_to(ends[1], NULL, 0, &err), &err);
    close(ends[1]);
    CHECK_EQ(write_to(-1, "x", 1, NULL), TG_EIO);
}

/* Whether this system hands pages to pipes: elsewhere they are copied. */
static bool passes_pages(void)
{
    static char x[1];
    const struct iovec page = {.iov_base = x, .iov_len = 1};
    int ends[2];
    bool passes;

    CHECK(pipe(ends) == 0);
    passes = vmsplice(ends[1], &page, 1, 0) == 1;
    close(ends[0]);
    close(ends[1]);
    return passes;
}

/* More than a pipe holds, so that it takes several writes; and not from a page's start. */
static void writing_through_a_pipe(void)
{
    static unsigned char out[300000];

    for (size_t i = 0; i < sizeof out; i++)
        out[i] = (unsigned char)(i * 2654435761u >> 9);
    expect_arrival(tg_write_all, out, sizeof out);
    expect_arrival(tg_write_zero_copy, out, sizeof out);
    expect_arrival(tg_write_zero_copy, out + 5, sizeof out - 5);
    expect_arrival(tg_write_zero_copy, out + 5, 1);
}

/* A pipe has the pages, which stay when they are unmapped; a file has a copy. */
static void writing_what_lasts(void)
{
    enum { SIZE = 20000 };
    static unsigned char in[SIZE];
    unsigned char *out = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ends[2], file = memfd_create("copy", 0);
    tg_err err;

    CHECK(out != MAP_FAILED && pipe(ends) == 0 && file >= 0);
    memset(out, 'a', SIZE);
    CHECK_OK(tg_write_zero_copy(file, out, SIZE, &err), &err);
    CHECK_OK(tg_write_zero_copy(ends[1], out, SIZE, &err), &err);
    out[SIZE - 1] = 'b';
    CHECK(munmap(out, SIZE) == 0);
    CHECK(read(ends[0], in, SIZE) == SIZE && in[0] == 'a' && in[SIZE - 2] == 'a');
    CHECK_EQ(in[SIZE - 1], passes_pages() ? 'b' : 'a');
    CHECK(pread(file, in, SIZE, 0) == SIZE && in[SIZE - 1] == 'a');
    close(file);
    close(ends[0]);
    close(ends[1]);
    expect_no_reader(tg_write_zero_copy);
}

/* What went out is said: a pipe takes 4,096 bytes and then no more. */
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
    expect_no_reader(tg_write_all);
}

/* ---- names in a list */

static void choices(void)
{
    static const char *const names[] = {"text", "tsv", "jsonl"};
    char room[TG_CHOICE_ROOM];
    size_t number = 7;

    for (size_t n = 0; n < 3; n++) {
        CHECK(tg_choice_find(&number, "text|tsv|jsonl", names[n]) && number == n);
        CHECK(strcmp(tg_choice_name(room, "text|tsv|jsonl", n), names[n]) == 0);
    }
    number = 7;
    CHECK(!tg_choice_find(&number, "text|tsv|jsonl", "t") && number == 7);
    CHECK(!tg_choice_find(&number, "text|tsv|jsonl", "text|tsv"));
    CHECK(!tg_choice_find(&number, "text|tsv|jsonl", ""));
    CHECK(strcmp(tg_choice_name(room, "text|tsv|jsonl", 3), "") == 0);
    CHECK(strcmp(tg_choice_name(room, "text|tsv|jsonl", SIZE_MAX), "") == 0);
}

int main(void)
{
    RUN(choices);
    RUN(names_in_front);
    RUN(long_paths);
    RUN(long_paths_in_utf8);
    RUN(long_reasons);
    RUN(placement);
    RUN(too_large);
    RUN(rows_of_a_width);
    RUN(writing_through_a_pipe);
    RUN(writing_what_lasts);
    RUN(writing_to_what_is_full);
    return check_done();
}
