/*
 * cli: what a tool gives up before it reads files that others have made.  Landlock leaves it the files that
 * its command line names; a filter of system calls (syscalls.c) keeps it from programs, processes and
 * sockets.
 */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* O_PATH, syscall */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/model.h"
#include "cmd/cli/private.h"
#include "formats/format.h"
#include "formats/path.h"
#include "lib/base/choice.h"

/* ---- the mode */

#define MODES "auto|require|off"
enum { AUTO, REQUIRE, OFF };

static size_t mode = AUTO;
static bool mode_given;

const cli_option cli_sandbox_option = {
    .name = "sandbox",
    .type = CLI_CHOICE,
    .value = &mode,
    .metavar = MODES,
    .help =
        "confine the tool to the files that it is given, where the kernel can; or insist on that; or do not",
    .given = &mode_given,
};

/* Sanitizers read and start what a sandbox denies. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED true
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED true
#endif
#endif
#ifndef SANITIZED
#define SANITIZED false
#endif

static tg_status choose_mode(tg_err *err)
{
    const char *text = getenv("TG_SANDBOX");

    if (!mode_given && text && *text != '\0' && !tg_choice_find(&mode, MODES, text))
        return tg_fail(err, TG_EUSAGE, "TG_SANDBOX is %s, expected one of " MODES, text);
    if (mode == AUTO && SANITIZED)
        mode = OFF;
    return TG_OK;
}

/* ---- the files that the command line names */

#define NOTED_MAX 32

static struct {
    const char *path;
    cli_type use;
} noted[NOTED_MAX];
static size_t n_noted;
static bool lost; /* there were more: the sandbox would deny them */

static void note(const char *path, cli_type use)
{
    if (!path || cli_is_dash(path))
        return;
    if (n_noted < NOTED_MAX) {
        noted[n_noted].path = path;
        noted[n_noted++].use = use;
    } else {
        lost = true;
    }
}

static cli_files operands;
static cli_type operands_use;

void cli_note_files(const cli_tool *tool, char **argv, int n)
{
    for (const cli_option *o = tool->options; o->name; o++)
        if (o->type == CLI_MODEL)
            note(cli_model_path(*(const char **)o->value), o->type);
        else if (o->type == CLI_ADAPTERS)
            for (size_t i = 0; i < cli_adapters.n; i++)
                note(cli_adapters.file[i].path, CLI_MODEL);
        else if (o->type == CLI_INPUT || o->type == CLI_OUTPUT || o->type == CLI_APPEND)
            note(*(const char **)o->value, o->type);
    operands_use = tool->models ? CLI_MODEL : CLI_INPUT;
    if (tool->files)
        operands = (cli_files){argv + 1, (size_t)n};
    if (tool->models && n == 0)
        note(cli_model_path(NULL), CLI_MODEL);
}

void cli_may_write(const char *path)
{
    note(path, CLI_OUTPUT);
}

void cli_may_read(const char *path)
{
    note(path, CLI_INPUT);
}

/* ---- Landlock */

/* Whether memory, descriptors or a disk failed: neither is the sandbox missing then, nor would the tool find
 * the same when it opens the path. */
static bool is_fault(int sys)
{
    return sys == ENOMEM || sys == EMFILE || sys == ENFILE || sys == EIO || sys == ESTALE || sys == ENOSPC ||
           sys == EDQUOT;
}

static tg_status fails(const char *what, tg_err *err)
{
    const int sys = errno;

    if (is_fault(sys))
        return tg_fail(err, TG_EIO, "cannot set up the sandbox: %s: %s", what, strerror(sys));
    if (mode != REQUIRE)
        return TG_OK;
    return tg_fail(err, TG_EIO, "there is no sandbox, which --sandbox=require asks for: %s: %s", what,
                   strerror(sys));
}

#ifdef __linux__

#include <sys/prctl.h>
#include <sys/syscall.h>

/* What linux/landlock.h has; older systems' headers have less, or nothing. */
enum { CREATE_RULESET = 444, ADD_RULE = 445, RESTRICT_SELF = 446 }; /* the same everywhere */
enum { ASK_VERSION = 1, RULE_PATH_BENEATH = 1 };

#define WRITE_FILE ((uint64_t)1 << 1)
#define READ_FILE ((uint64_t)1 << 2)
#define READ_DIR ((uint64_t)1 << 3)
#define REMOVE_DIR ((uint64_t)1 << 4)
#define REMOVE_FILE ((uint64_t)1 << 5)
#define MAKE_DIR ((uint64_t)1 << 7)
#define MAKE_REG ((uint64_t)1 << 8)
#define TRUNCATE ((uint64_t)1 << 14)

#define EVERY_1 (((uint64_t)1 << 13) - 1) /* of version 1 */
#define REFER ((uint64_t)1 << 13)         /* from 2 on */
#define TCP ((uint64_t)3)                 /* bind and connect, from 4 on */
#define SCOPES ((uint64_t)3)              /* abstract Unix sockets and signals, from 6 on */

#define FILE_RIGHTS (WRITE_FILE | READ_FILE | TRUNCATE)
#define OUTPUT_RIGHTS (FILE_RIGHTS | READ_DIR | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG)

struct ruleset_attributes {
    uint64_t files, net, scopes;
};

struct path_beneath {
    uint64_t rights;
    int32_t fd;
} __attribute__((packed));

struct rules {
    int fd;
    uint64_t handled;
    int sys;          /* the first error; 0: none */
    const char *path; /* that of the error, or what is being allowed */
};

static void create_rules(struct rules *r)
{
    const long version = syscall(CREATE_RULESET, NULL, 0, ASK_VERSION);
    struct ruleset_attributes a = {.files = EVERY_1};

    if (version >= 2)
        a.files |= REFER;
    if (version >= 3)
        a.files |= TRUNCATE;
    if (version >= 4)
        a.net = TCP;
    if (version >= 6)
        a.scopes = SCOPES;
    *r = (struct rules){.fd = -1, .handled = a.files};
    if (version < 1 || (r->fd = (int)syscall(CREATE_RULESET, &a, sizeof a, 0)) < 0)
        r->sys = errno;
}

/* Record a system fault.  Other errors of a path are reported when the tool opens it. */
static void miss(struct rules *r)
{
    if (r->sys == 0 && is_fault(errno))
        r->sys = errno;
}

/* The type of a file, as in st_mode, at a path, or "" for what fd is open on; 0: there is none, or it cannot
 * be told. */
static mode_t type_of(struct rules *r, int fd, const char *path)
{
    struct stat st;

    if (fstatat(fd, path, &st, AT_EMPTY_PATH) == 0)
        return st.st_mode;
    miss(r);
    return 0;
}

/* Allow it for what fd is open on, and close that.  Pipes have no file system and are always allowed. */
static void allow(struct rules *r, int fd, uint64_t rights)
{
    struct path_beneath rule = {.rights = rights & r->handled, .fd = fd};

    if (fd < 0) {
        miss(r);
        return;
    }
    if (!S_ISDIR(type_of(r, fd, "")))
        rule.rights &= FILE_RIGHTS;
    if (rule.rights != 0 && syscall(ADD_RULE, r->fd, RULE_PATH_BENEATH, &rule, 0) != 0 && errno != EBADFD &&
        r->sys == 0)
        r->sys = errno;
    close(fd);
}

static int open_path_in(int directory, const char *path, int flags)
{
    int fd;

    do
        fd = openat(directory, path, flags | O_CLOEXEC);
    while (fd < 0 && errno == EINTR);
    return fd;
}

static int open_path(const char *path)
{
    return open_path_in(AT_FDCWD, path, O_PATH);
}

/* ---- inputs */

/* A directory is also opened, so that the tool can say what it is.  A file may be replaced by a new one
 * before the tool opens it, as a model that is being trained; so it is kept. */
static void allow_input(struct rules *r, const char *path)
{
    const int fd = open_path(path);
    const mode_t type = fd >= 0 ? type_of(r, fd, "") : 0;
    int again;

    if (S_ISREG(type) && (again = fcntl(fd, F_DUPFD_CLOEXEC, 3)) >= 0 && !tg_path_keep(path, again))
        close(again);
    allow(r, fd, S_ISDIR(type) ? READ_DIR : READ_FILE);
}

/* Whether it may be a part of a model or a tokenizer in several files, by its name. */
static bool is_part(const char *name)
{
    static const char *const endings[] = {"safetensors", "bin", "json", "jinja", "txt", "bpe", "model", NULL};
    const char *ending = cli_ending(name);

    return ending && cli_is_one_of(ending, endings);
}

/* The parts in a directory, which may be links to elsewhere. */
static void allow_parts(struct rules *r, const char *directory)
{
    const int fd = open_path_in(AT_FDCWD, directory, O_RDONLY | O_DIRECTORY);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;

    if (!d) {
        miss(r);
        if (fd >= 0)
            close(fd);
        return;
    }
    allow(r, open_path(directory), READ_DIR);
    for (errno = 0; (e = readdir(d)) != NULL; errno = 0)
        if (is_part(e->d_name))
            allow(r, open_path_in(fd, e->d_name, O_PATH), READ_FILE);
    miss(r); /* of a list that was cut short, the rest would be denied */
    closedir(d);
}

/* Whether a file may be one of several: those of other projects, which are no archives of ours; and one
 * that cannot be read, which the tool will say. */
static bool has_parts(struct rules *r, const char *path)
{
    unsigned char first[TG_FORMAT_BYTES];
    struct stat st;
    size_t n = 0;
    bool exists, foreign;
    tg_err err = {0};

    if (tg_path_examine(path, &st, &exists, &err) ||
        (S_ISREG(st.st_mode) && tg_path_peek(path, first, sizeof first, &n, &err)) ||
        cli_model_is_foreign(path, &foreign, &err)) {
        errno = err.code == TG_ENOMEM ? ENOMEM : err.sys;
        miss(r);
        return true;
    }
    return foreign || (n > 0 && tg_format_recognize(first, n) != TG_FORMAT_ZIP);
}

static void allow_model(struct rules *r, const char *path)
{
    char *directory;

    if (S_ISDIR(type_of(r, AT_FDCWD, path))) {
        allow_parts(r, path);
        return;
    }
    allow_input(r, path);
    if (!has_parts(r, path))
        return;
    if ((directory = tg_path_sibling(path, ".")) != NULL)
        allow_parts(r, directory);
    else
        miss(r);
    free(directory);
}

/* ---- outputs */

/* A file is made anew in its directory; anything else is written as it is. */
static void allow_output(struct rules *r, const char *path)
{
    const mode_t type = type_of(r, AT_FDCWD, path);
    tg_err err;
    char *target, *directory;

    if (type != 0 && !S_ISREG(type)) {
        allow(r, open_path(path), OUTPUT_RIGHTS);
        return;
    }
    if (tg_save_target(&target, path, &err)) {
        errno = err.code == TG_ENOMEM ? ENOMEM : err.sys;
        miss(r);
        return;
    }
    if ((directory = tg_path_sibling(target, ".")) != NULL)
        allow(r, open_path(directory), OUTPUT_RIGHTS);
    else
        miss(r);
    free(directory);
    free(target);
}

static void allow_append(struct rules *r, const char *path)
{
    if (access(path, F_OK) == 0)
        allow(r, open_path(path), FILE_RIGHTS);
    else
        allow_output(r, path);
}

/* ---- all of them */

static void allow_use(struct rules *r, const char *path, cli_type use)
{
    if (cli_is_dash(path))
        return;
    if (r->sys == 0)
        r->path = path;
    if (use == CLI_MODEL)
        allow_model(r, path);
    else if (use == CLI_OUTPUT)
        allow_output(r, path);
    else if (use == CLI_APPEND)
        allow_append(r, path);
    else
        allow_input(r, path);
}

static void allow_all(struct rules *r)
{
    allow(r, open_path("/dev/null"), FILE_RIGHTS);
    for (size_t i = 0; i < n_noted; i++)
        allow_use(r, noted[i].path, noted[i].use);
    for (size_t i = 0; i < operands.n; i++)
        allow_use(r, operands.path[i], operands_use);
}

static tg_status restrict_files(tg_err *err)
{
    struct rules r;
    const char *what;

    create_rules(&r);
    if (r.sys == 0)
        allow_all(&r);
    what = r.sys != 0 && r.path ? r.path : "Landlock";
    if (r.sys == 0 && lost)
        r.sys = E2BIG;
    if (r.sys == 0 && syscall(RESTRICT_SELF, r.fd, 0) != 0)
        r.sys = errno;
    if (r.fd >= 0)
        close(r.fd);
    errno = r.sys;
    return r.sys == 0 ? TG_OK : fails(what, err);
}

static tg_status confine(tg_err *err)
{
    tg_status status;

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
        return fails("no_new_privs", err);
    if ((status = restrict_files(err)))
        return status;
    return cli_filter_calls() != 0 ? fails("seccomp", err) : TG_OK;
}

#else

static tg_status confine(tg_err *err)
{
    errno = ENOSYS;
    return fails("no_new_privs", err);
}

#endif

tg_status cli_confine(tg_err *err)
{
    const tg_status status = choose_mode(err);

    return status || mode == OFF ? status : confine(err);
}

tg_status cli_stay_free(const char *why, tg_err *err)
{
    const tg_status status = choose_mode(err);

    if (status || mode != REQUIRE)
        return status;
    return tg_fail(err, TG_EIO, "there is no sandbox, which --sandbox=require asks for: %s", why);
}
