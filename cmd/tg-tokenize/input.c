/* The FILEs of tg-tokenize, which -t char reads twice. */
#define _GNU_SOURCE /* O_TMPFILE */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/tg-tokenize/job.h"
#include "formats/path.h"
#include "formats/sink.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"

/* ---- one after another */

/* The bytes that a regular file has from the descriptor's position on; 0: unknown. */
static uint64_t size_left(int fd)
{
    const off_t from = lseek(fd, 0, SEEK_CUR);
    struct stat st;

    return from >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > from
               ? (uint64_t)(st.st_size - from)
               : 0;
}

static tg_status visit_descriptor(tokenize_job *job, int fd, const char *name, visitor *visit, tg_err *err)
{
    tg_source source;
    tg_status status;

    job->progress.of = job->o->files.n == 1 ? size_left(fd) : 0;
    if (tg_source_open_unmapped(&source, fd, err)) /* text files are often written to */
        return tg_err_in(err, name);
    status = visit(job, &source, name, err);
    tg_source_close(&source);
    return status;
}

static tg_status visit_file(tokenize_job *job, visitor *visit, tg_err *err)
{
    const char *path = job->o->files.path[job->file];
    tg_status status;
    int fd;

    if (job->spool && job->spool[job->file] >= 0 && !job->chars)
        return visit_descriptor(job, job->spool[job->file], cli_input_name(path), visit, err);
    if ((status = cli_open_input(&fd, path, err)))
        return status;
    status = visit_descriptor(job, fd, cli_input_name(path), visit, err);
    cli_close_input(fd);
    return status;
}

tg_status visit_files(tokenize_job *job, visitor *visit, tg_err *err)
{
    tg_status status = TG_OK;

    job->progress.bytes = 0;
    for (job->file = 0; !status && job->file < job->o->files.n; job->file++)
        status = visit_file(job, visit, err);
    return status;
}

/* ---- parts of a text */

#define GATHERED ((size_t)2 << 20) /* bytes at a time, if available */

/* Whether more can be read without waiting. */
static bool has_more(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};

    return poll(&p, 1, 0) > 0;
}

/* Copy the text that is available from the source. */
static tg_status gather(tokenize_job *job, tg_source *source, size_t *n, tg_err *err)
{
    size_t taken = 1;

    *n = 0;
    if (!job->gathered) {
        if (!(job->gathered = malloc(GATHERED)))
            return tg_fail_memory(err, GATHERED, "text");
        tg_pipe_grow(source->fd);
    }
    while (*n < GATHERED && taken > 0 && (*n == 0 || has_more(source->fd))) {
        const tg_status status = tg_source_peek(source, 1, err);

        if (status)
            return status;
        taken = tg_size_min(source->ready, GATHERED - *n);
        memcpy(job->gathered + *n, source->next, taken);
        tg_source_skip(source, taken);
        *n += taken;
    }
    return TG_OK;
}

tg_status read_part(tokenize_job *job, tg_source *source, const unsigned char **text, size_t *n, tg_err *err)
{
    tg_status status;

    if (tg_threads() > 1) {
        status = gather(job, source, n, err);
        *text = job->gathered;
        return status;
    }
    status = tg_source_peek(source, 1, err);
    *text = source->next;
    *n = source->ready;
    return status;
}

void read_part_end(tokenize_job *job, tg_source *source, size_t n)
{
    if (tg_threads() == 1)
        tg_source_skip(source, n);
    show_progress(job, n);
}

/* ---- characters: a pass over all text before encoding */

/* A temporary file without a name.  -1: it failed, or the system has none. */
static int open_nameless(const char *folder)
{
    int fd = -1;

#ifdef O_TMPFILE
    do
        fd = open(folder, O_TMPFILE | O_EXCL | O_RDWR | O_CLOEXEC, S_IRUSR | S_IWUSR);
    while (fd < 0 && errno == EINTR);
#else
    (void)folder;
#endif
    return fd;
}

#define SPOOL "/.tg-tokenize-XXXXXX"

/* The same for file systems without O_TMPFILE: make a file with a name, and remove the name at once. */
static tg_status open_unlinked(int *fd, const char *folder, tg_err *err)
{
    char path[4096];

    if (strlen(folder) + sizeof SPOOL > sizeof path)
        return tg_fail(err, TG_EUSAGE, "$TMPDIR has %zu bytes, expected at most %zu", strlen(folder),
                       sizeof path - sizeof SPOOL);
    do
        snprintf(path, sizeof path, "%s" SPOOL, folder);
    while ((*fd = mkstemp(path)) < 0 && errno == EINTR);
    if (*fd < 0) {
        (void)tg_fail_sys(err, "cannot create a temporary file");
        return tg_err_in(err, folder);
    }
    if (unlink(path) && errno != ENOENT) {
        (void)tg_fail_sys(err, "cannot remove the temporary file");
        return tg_err_in(err, path);
    }
    return TG_OK;
}

static tg_status open_spool(int *fd, tg_err *err)
{
    const char *folder = getenv("TMPDIR");

    if (!folder || *folder == '\0')
        folder = "/tmp";
    *fd = open_nameless(folder);
    return *fd >= 0 ? TG_OK : open_unlinked(fd, folder, err);
}

/* Make a temporary file for a FILE that can be read only once, such as a pipe. */
static tg_status open_spool_for(int *fd, const char *path, tg_err *err)
{
    struct stat st;
    bool exists = true;
    tg_status status = TG_OK;

    if (!cli_is_dash(path))
        status = tg_path_examine(path, &st, &exists, err);
    else if (fstat(STDIN_FILENO, &st) != 0)
        status = tg_fail_sys(err, "standard input cannot be examined");
    if (status || !exists || S_ISREG(st.st_mode))
        return status;
    return open_spool(fd, err) ? tg_err_in(err, cli_input_name(path)) : TG_OK;
}

tg_status open_spools(tokenize_job *job, tg_err *err)
{
    const cli_files *files = &job->o->files;
    tg_status status = TG_OK;

    if (!(job->spool = malloc(files->n * sizeof *job->spool)))
        return tg_fail_memory(err, files->n * sizeof *job->spool, "the files");
    for (size_t i = 0; i < files->n; i++)
        job->spool[i] = -1;
    for (size_t i = 0; i < files->n && !status; i++)
        status = open_spool_for(&job->spool[i], files->path[i], err);
    return status;
}

/* Take the text's characters.  It is read again: from its copy, or from where it begins if it has none. */
static tg_status collect_text(tokenize_job *job, tg_source *source, tg_err *err)
{
    const int spool = job->spool[job->file], again = spool >= 0 ? spool : source->fd;
    const off_t begin = spool >= 0 ? 0 : lseek(source->fd, 0, SEEK_CUR);
    tg_status status;

    if (begin < 0)
        return tg_fail_sys(err, "cannot be read twice");
    while (!(status = tg_source_peek(source, 1, err)) && source->ready > 0) {
        const size_t n = tg_size_min(source->ready, TG_SOURCE_PEEK);

        tg_chars_add(job->chars, source->next, n);
        if (spool >= 0 && tg_write_all(spool, source->next, n, err))
            return tg_err_in(err, "temporary copy");
        tg_source_skip(source, n);
        show_progress(job, n);
    }
    if (!status && lseek(again, begin, SEEK_SET) != begin)
        status = tg_fail_sys(err, "cannot reread");
    return status;
}

static tg_status collect_file(tokenize_job *job, tg_source *source, const char *name, tg_err *err)
{
    return collect_text(job, source, err) ? tg_err_in(err, name) : TG_OK;
}

tg_status collect_characters(tokenize_job *job, tg_err *err)
{
    tg_status status;

    if ((status = tg_chars_create(&job->chars, err)))
        return status;
    if (!(status = visit_files(job, collect_file, err)) &&
        (status = tg_chars_finish(job->chars, &job->tok, err)))
        (void)tg_err_in(err, cli_files_name(&job->o->files));
    tg_chars_free(job->chars);
    job->chars = NULL;
    return status;
}

void input_free(tokenize_job *job)
{
    for (size_t i = 0; job->spool && i < job->o->files.n; i++)
        if (job->spool[i] >= 0)
            close(job->spool[i]);
    free(job->spool);
    free(job->gathered);
}

/* ---- progress */

void show_progress(tokenize_job *job, size_t read)
{
    tokenize_progress *p = &job->progress;
    char line[256], of[64] = "";
    double seconds;

    p->bytes += read;
    if (!cli_progress_wanted(p->begun, &p->shown))
        return;
    seconds = p->shown - p->begun;
    if (p->of > 0 && !job->chars)
        snprintf(of, sizeof of, " of %s", cli_bytes(p->of));
    snprintf(line, sizeof line, "%s%s%s, %s", job->chars ? "characters: " : "", cli_bytes(p->bytes), of,
             cli_duration(seconds));
    cli_progress(line);
}
