/* cli: tell an archive from plain text, over pipes too. */
#include "cmd/cli_sniff.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli.h"
#include "formats/archive.h"

#define MAGIC 4 /* bytes that tg_archive_magic() asks for */
#define RELAY_BYTES ((size_t)64 << 10)

/* What has been read of `from` comes first, then the rest of it. */
struct relay {
    int from, to;
    const char *name;
    size_t n;
    unsigned char data[RELAY_BYTES];
};

/* Up to MAGIC bytes at the start of fd; *n is how many there are. */
static tg_status read_first(int fd, bool seekable, unsigned char first[MAGIC], size_t *n, tg_err *err)
{
    const off_t start = seekable ? lseek(fd, 0, SEEK_CUR) : 0;

    for (*n = 0; *n < MAGIC;) {
        ssize_t got = seekable ? pread(fd, first + *n, MAGIC - *n, start + (off_t)*n)
                               : read(fd, first + *n, MAGIC - *n);

        if (got == 0)
            break;
        if (got > 0)
            *n += (size_t)got;
        else if (errno != EINTR)
            return tg_fail_sys(err, "cannot read");
    }
    return TG_OK;
}

/* Send all of it; false when nobody listens any more. */
static bool send_all(int to, const unsigned char *data, size_t n)
{
    while (n > 0) {
        ssize_t sent = send(to, data, n, MSG_NOSIGNAL);

        if (sent < 0 && errno != EINTR)
            return false;
        if (sent > 0) {
            data += sent;
            n -= (size_t)sent;
        }
    }
    return true;
}

static void *run_relay(void *context)
{
    struct relay *r = context;
    ssize_t got = (ssize_t)r->n;

    while (got != 0 && send_all(r->to, r->data, (size_t)got)) {
        do
            got = read(r->from, r->data, sizeof r->data);
        while (got < 0 && errno == EINTR);
        if (got < 0) {
            cli_say("%s: cannot read: %s", r->name, strerror(errno));
            _exit(CLI_IO);
        }
    }
    close(r->to);
    free(r);
    return NULL;
}

static tg_status start_relay(int fd, const char *name, const unsigned char *first, size_t n, int *again,
                             tg_err *err)
{
    struct relay *r = malloc(sizeof *r);
    pthread_t thread;
    int ends[2], failed;

    if (!r)
        return tg_fail_memory(err, sizeof *r, "reading ahead");
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) {
        free(r);
        return tg_fail_sys(err, "cannot make a socket");
    }
    *r = (struct relay){.from = fd, .to = ends[1], .name = name, .n = n};
    memcpy(r->data, first, n);
    failed = pthread_create(&thread, NULL, run_relay, r);
    if (failed) {
        close(ends[0]);
        close(ends[1]);
        free(r);
        errno = failed;
        return tg_fail_sys(err, "cannot start a thread");
    }
    pthread_detach(thread);
    *again = ends[0];
    return TG_OK;
}

tg_status cli_sniff(int fd, const char *name, bool *archive, int *again, tg_err *err)
{
    unsigned char first[MAGIC];
    struct stat st;
    const bool seekable = fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
    size_t n;
    tg_status status = read_first(fd, seekable, first, &n, err);

    *again = fd;
    if (status)
        return status;
    *archive = n == MAGIC && tg_archive_magic(first, n);
    return seekable ? TG_OK : start_relay(fd, name, first, n, again, err);
}
