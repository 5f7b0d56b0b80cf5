/*
 * damage [-a] [-b STEP] [-s STEP] FILE...: archives, with every bit inverted and cut at every byte, read as a
 * file and from a pipe.  A reader must refuse what is damaged (TG_EDATA, with a message), or have read the
 * same as from the whole file: that can be so where it stops before the end, as that of a model's tokenizer
 * does.
 *
 *   -a       by each reader of such an archive, not only by the one that takes all of it
 *   -b STEP  of the bits, only every STEPth
 *   -s STEP  from pipes, only every STEPth case
 *
 * damage -m READER < CASES: other files, each after its length (u32, little-endian), read both ways.  Prints
 * for each its two statuses, and whether what was read is the same.
 *
 * Prints a line for each reading: FILE READER, and the numbers of cases, of those refused, and of those that
 * make no difference.  Exits with 1 if there was another one; it is printed.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/damage/readings.h"
#include "tests/damage/ways.h"

#define WRONG_MAX 20 /* cases that are printed */

/* A file under test. */
typedef struct subject {
    const char *name;
    FILE *file; /* a copy, which is damaged */
    unsigned char *bytes;
    unsigned char *mapped; /* that file: a store is quicker than a call */
    size_t n;
    size_t bits;       /* one of so many is inverted */
    size_t step;       /* from pipes, one case of so many */
    uint32_t whole[2]; /* what is read of the undamaged file, and from a pipe */
} subject;

typedef struct counts {
    size_t cases, refused, same, wrong;
} counts;

/* ---- the two ways to read */

static tg_status read_file(const subject *s, const reading *r, uint32_t *digest, tg_err *err)
{
    must(lseek(fileno(s->file), 0, SEEK_SET) == 0, "lseek");
    *digest = 0;
    return r->read(fileno(s->file), digest, err);
}

static tg_status read_piped(const subject *s, size_t n, const reading *r, uint32_t *digest, tg_err *err)
{
    const int fd = as_pipe(s->bytes, n);
    tg_status status;

    *digest = 0;
    status = r->read(fd, digest, err);
    close(fd);
    return status;
}

/* ---- cases */

/* Count the outcome of one case, which is described by `what` and a number. */
static void judge(counts *c, tg_status status, const tg_err *err, bool same, const char *what, size_t at)
{
    c->cases++;
    if (status == TG_EDATA && err->message[0] != '\0' && !strchr(err->message, '\n')) {
        c->refused++;
    } else if (!status && same) {
        c->same++;
    } else {
        c->wrong++;
        if (c->wrong <= WRONG_MAX)
            printf("%s %zu.%zu: status %d, %s\n", what, at / 8, at % 8, (int)status,
                   status ? err->message : "read as something else");
    }
}

/* Both ways, now that the file and the bytes [n] are damaged. */
static void try_case(counts *c, const subject *s, size_t n, const reading *r, const char *what, size_t at)
{
    uint32_t digest;
    tg_err err = {0};
    tg_status status = read_file(s, r, &digest, &err);

    judge(c, status, &err, digest == s->whole[0], what, at);
    if (c->cases % s->step != 0)
        return;
    err = (tg_err){0};
    status = read_piped(s, n, r, &digest, &err);
    judge(c, status, &err, digest == s->whole[1], what, at);
}

static void flip_all(counts *c, const subject *s, const reading *r)
{
    for (size_t bit = 0; bit < 8 * s->n; bit += s->bits) {
        s->mapped[bit / 8] = s->bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
        try_case(c, s, s->n, r, "bit", bit);
        s->mapped[bit / 8] = s->bytes[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
}

static void cut_all(counts *c, const subject *s, const reading *r)
{
    for (size_t n = s->n; n-- > 0;) {
        must(ftruncate(fileno(s->file), (off_t)n) == 0, "ftruncate");
        try_case(c, s, n, r, "cut at", 8 * n);
    }
    must(pwrite(fileno(s->file), s->bytes, s->n, 0) == (ssize_t)s->n, "write");
}

/* ---- files */

static bool try_reading(subject *s, const reading *r)
{
    counts c = {0};
    tg_err err = {0};

    if (read_file(s, r, &s->whole[0], &err) || read_piped(s, s->n, r, &s->whole[1], &err)) {
        printf("%s: %s: %s\n", s->name, r->name, err.message);
        return false;
    }
    flip_all(&c, s, r);
    cut_all(&c, s, r);
    printf("%s %s: %zu cases, %zu refused, %zu no difference\n", s->name, r->name, c.cases, c.refused,
           c.same);
    return c.wrong == 0;
}

static void open_subject(subject *s, const char *name)
{
    FILE *f = fopen(name, "rb");

    must(f != NULL, name);
    must(fseek(f, 0, SEEK_END) == 0, name);
    s->name = name;
    s->n = (size_t)ftell(f);
    s->bytes = malloc(s->n + 1);
    rewind(f);
    must(s->bytes && fread(s->bytes, 1, s->n, f) == s->n, name);
    fclose(f);
    s->file = tmpfile();
    must(s->file && write(fileno(s->file), s->bytes, s->n) == (ssize_t)s->n, "a temporary file");
    s->mapped = mmap(NULL, s->n, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(s->file), 0);
    must(s->mapped != MAP_FAILED, "mmap");
}

static bool try_file(subject s, const char *name, bool all)
{
    char kind[32];
    bool ok = true;

    open_subject(&s, name);
    must(lseek(fileno(s.file), 0, SEEK_SET) == 0, "lseek");
    reading_kind(kind, fileno(s.file));
    for (size_t i = 0; i < n_readings; i++)
        if ((all || readings[i].first) && reading_is_for(&readings[i], kind))
            ok = try_reading(&s, &readings[i]) && ok;
    munmap(s.mapped, s.n);
    free(s.bytes);
    fclose(s.file);
    return ok;
}

/* A number from 1, the argument of an option. */
static size_t number(const char *text)
{
    const size_t n = text ? (size_t)strtoul(text, NULL, 10) : 0;

    if (n == 0)
        exit(2);
    return n;
}

int main(int argc, char **argv)
{
    subject options = {.step = 1, .bits = 1};
    bool all = false, ok = true;
    int i = 1;

    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "-a") == 0)
            all = true;
        else if (strcmp(argv[i], "-m") == 0)
            return try_cases(argv[i + 1]);
        else if (strcmp(argv[i], "-b") == 0)
            options.bits = number(argv[++i]);
        else if (strcmp(argv[i], "-s") == 0)
            options.step = number(argv[++i]);
        else
            return 2;
    }
    for (; i < argc; i++)
        ok = try_file(options, argv[i], all) && ok;
    return ok ? 0 : 1;
}
