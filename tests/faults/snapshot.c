#include "tests/faults/snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void fatal(const char *format, ...)
{
    va_list ap;

    va_start(ap, format);
    fprintf(stderr, "sweep: ");
    vfprintf(stderr, format, ap);
    fprintf(stderr, "\n");
    va_end(ap);
    exit(3);
}

static void *need(void *p)
{
    if (!p)
        fatal("out of memory");
    return p;
}

bytes bytes_of_file(int fd)
{
    struct stat st;
    bytes b = {0};
    ssize_t got = 1;

    if (fstat(fd, &st) != 0)
        fatal("fstat: %s", strerror(errno));
    b.data = need(malloc((size_t)st.st_size + 1));
    while (b.n < (size_t)st.st_size &&
           (got = pread(fd, b.data + b.n, (size_t)st.st_size - b.n, (off_t)b.n)) > 0)
        b.n += (size_t)got;
    if (got < 0)
        fatal("pread: %s", strerror(errno));
    b.data[b.n] = '\0';
    return b;
}

bool bytes_equal(const bytes *a, const bytes *b)
{
    return a->n == b->n && memcmp(a->data, b->data, a->n) == 0;
}

/* ---- taking one */

/* Reduce a log of training to what can be compared: of each step its last line, without the two columns that
 * depend on the clock, and without an incomplete last line. */
static void forget_times(bytes *log)
{
    struct {
        long step; /* 0: the titles */
        size_t begin;
    } lines[100];
    size_t kept = 0, n = 0;

    for (char *line = log->data, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        const long step = strtol(line, NULL, 10);
        char *tab = line;

        for (int i = 0; i < 5 && tab < end; i++)
            tab += strcspn(tab, "\t\n") + 1;
        while (n > 0 && lines[n - 1].step >= step)
            kept = lines[--n].begin;
        if (tab >= end || n == sizeof lines / sizeof lines[0])
            fatal("an unexpected line in the log: %s", line);
        lines[n].step = step;
        lines[n++].begin = kept;
        memmove(log->data + kept, line, (size_t)(tab - line));
        kept += (size_t)(tab - line);
        log->data[kept - 1] = '\n';
    }
    log->n = kept;
}

static bytes content_of(const char *path, mode_t mode)
{
    bytes b;
    int fd;

    if (S_ISLNK(mode)) {
        ssize_t n;

        b.data = need(calloc(1, 4096));
        n = readlink(path, b.data, 4095);
        b.n = n > 0 ? (size_t)n : 0;
        return b;
    }
    if (!S_ISREG(mode))
        return (bytes){need(calloc(1, 1)), 0};
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        fatal("%s: %s", path, strerror(errno));
    b = bytes_of_file(fd);
    close(fd);
    if (strcmp(path, "log") == 0)
        forget_times(&b);
    return b;
}

static void take_directory(snapshot *s, const char *directory)
{
    DIR *d = opendir(directory);
    const struct dirent *e;

    if (!d)
        fatal("%s: %s", directory, strerror(errno));
    while ((e = readdir(d)) != NULL) {
        char path[4096];
        struct stat st;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s%s%s", strcmp(directory, ".") == 0 ? "" : directory,
                 strcmp(directory, ".") == 0 ? "" : "/", e->d_name);
        if (lstat(path, &st) != 0)
            fatal("%s: %s", path, strerror(errno));
        s->file = need(realloc(s->file, (s->n + 1) * sizeof *s->file));
        s->file[s->n++] = (snapshot_file){need(strdup(path)), st.st_mode, content_of(path, st.st_mode)};
        if (S_ISDIR(st.st_mode))
            take_directory(s, path);
    }
    closedir(d);
}

snapshot snapshot_take(void)
{
    snapshot s = {0};

    take_directory(&s, ".");
    return s;
}

void snapshot_free(snapshot *s)
{
    for (size_t i = 0; i < s->n; i++) {
        free(s->file[i].path);
        free(s->file[i].content.data);
    }
    free(s->file);
    *s = (snapshot){0};
}

/* ---- comparing */

const snapshot_file *snapshot_find(const snapshot *s, const char *path)
{
    for (size_t i = 0; i < s->n; i++)
        if (strcmp(s->file[i].path, path) == 0)
            return &s->file[i];
    return NULL;
}

bool snapshot_file_equal(const snapshot_file *a, const snapshot_file *b)
{
    return a->mode == b->mode && bytes_equal(&a->content, &b->content);
}

bool snapshot_equal(const snapshot *a, const snapshot *b)
{
    if (a->n != b->n)
        return false;
    for (size_t i = 0; i < a->n; i++) {
        const snapshot_file *other = snapshot_find(b, a->file[i].path);

        if (!other || !snapshot_file_equal(&a->file[i], other))
            return false;
    }
    return true;
}

/* ---- restoring */

static void write_file(const snapshot_file *f)
{
    const int fd = open(f->path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

    if (fd < 0 || write(fd, f->content.data, f->content.n) != (ssize_t)f->content.n ||
        fchmod(fd, f->mode & 07777) != 0)
        fatal("%s: %s", f->path, strerror(errno));
    close(fd);
}

static void make(const snapshot_file *f)
{
    int r = 0;

    if (S_ISREG(f->mode))
        write_file(f);
    else if (S_ISDIR(f->mode))
        r = mkdir(f->path, f->mode & 07777);
    else if (S_ISLNK(f->mode))
        r = symlink(f->content.data, f->path);
    else
        r = mkfifo(f->path, f->mode & 07777);
    if (r != 0)
        fatal("%s: %s", f->path, strerror(errno));
}

void snapshot_restore(const snapshot *s)
{
    snapshot now = snapshot_take();

    for (size_t i = now.n; i-- > 0;) { /* what is in a directory before the directory */
        const snapshot_file *want = snapshot_find(s, now.file[i].path);

        if (want && (snapshot_file_equal(want, &now.file[i]) || S_ISDIR(want->mode)))
            continue;
        if ((S_ISDIR(now.file[i].mode) ? rmdir : unlink)(now.file[i].path) != 0)
            fatal("%s: %s", now.file[i].path, strerror(errno));
    }
    for (size_t i = 0; i < s->n; i++) {
        struct stat st;

        if (lstat(s->file[i].path, &st) != 0)
            make(&s->file[i]);
    }
    snapshot_free(&now);
}
