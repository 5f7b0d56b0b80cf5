#define _GNU_SOURCE /* F_SETPIPE_SZ */
#include "tests/damage/ways.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/damage/readings.h"

#define PIPE_HOLDS ((size_t)65536)

void must(bool ok, const char *what)
{
    if (!ok) {
        perror(what);
        exit(3);
    }
}

int as_pipe(const unsigned char *p, size_t n)
{
    int ends[2];

    must(pipe(ends) == 0, "pipe");
#ifdef F_SETPIPE_SZ
    must(n <= PIPE_HOLDS || fcntl(ends[1], F_SETPIPE_SZ, (int)n) >= (int)n, "a pipe of that size");
#endif
    must(write(ends[1], p, n) == (ssize_t)n, "write to a pipe");
    close(ends[1]);
    return ends[0];
}

/* ---- cases from standard input */

static const reading *reading_named(const char *name)
{
    for (size_t i = 0; name && i < n_readings; i++)
        if (strcmp(readings[i].name, name) == 0)
            return &readings[i];
    fprintf(stderr, "no such reader\n");
    exit(2);
}

static tg_status read_one(const reading *r, int fd, uint32_t *digest)
{
    tg_err err = {0};
    tg_status status;

    *digest = 0;
    status = r->read(fd, digest, &err);
    must(!status || err.message[0] != '\0', "an error has no message");
    return status;
}

static void try_case(const reading *r, FILE *file, const unsigned char *bytes, size_t n)
{
    const int fd = as_pipe(bytes, n);
    uint32_t one, two;
    tg_status mapped, piped;

    must(ftruncate(fileno(file), 0) == 0 && pwrite(fileno(file), bytes, n, 0) == (ssize_t)n &&
             lseek(fileno(file), 0, SEEK_SET) == 0,
         "a temporary file");
    mapped = read_one(r, fileno(file), &one);
    piped = read_one(r, fd, &two);
    close(fd);
    printf("%d %d %d\n", (int)mapped, (int)piped, one == two);
}

int try_cases(const char *name)
{
    static unsigned char bytes[1 << 20];
    const reading *const r = reading_named(name);
    FILE *file = tmpfile();
    unsigned char length[4];

    must(file != NULL, "a temporary file");
    while (fread(length, 1, 4, stdin) == 4) {
        const size_t n =
            (size_t)length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;

        must(n <= sizeof bytes && fread(bytes, 1, n, stdin) == n, "a case");
        try_case(r, file, bytes, n);
    }
    fclose(file);
    return 0;
}
