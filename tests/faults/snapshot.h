/*
 * snapshot: the current directory and all below it, to compare and to restore.  Of a log of training, the
 * file `log`, what depends on the clock is left out.  What cannot be read ends the program: these are tests.
 */
#ifndef TG_TESTS_FAULTS_SNAPSHOT_H
#define TG_TESTS_FAULTS_SNAPSHOT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Bytes in memory that grows. */
typedef struct bytes {
    char *data; /* with a NUL after them */
    size_t n;
} bytes;

/* All of a file, from its beginning; the caller frees it. */
bytes bytes_of_file(int fd);
bool bytes_equal(const bytes *a, const bytes *b);

typedef struct snapshot_file {
    char *path; /* relative */
    mode_t mode;
    bytes content; /* of a file; the target of a symbolic link */
} snapshot_file;

typedef struct snapshot {
    snapshot_file *file; /* in no order, directories before what is in them */
    size_t n;
} snapshot;

snapshot snapshot_take(void);
void snapshot_free(snapshot *s);
const snapshot_file *snapshot_find(const snapshot *s, const char *path); /* NULL: not in it */
bool snapshot_file_equal(const snapshot_file *a, const snapshot_file *b);
bool snapshot_equal(const snapshot *a, const snapshot *b);

/* Make the current directory what it was. */
void snapshot_restore(const snapshot *s);

/* Print a message, as printf() does, and exit with 3. */
__attribute__((format(printf, 1, 2), noreturn)) void fatal(const char *format, ...);

#endif
