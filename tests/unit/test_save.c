/* Saving: whole or not at all. */
#define _DEFAULT_SOURCE 1 /* flock */
#define _XOPEN_SOURCE 700 /* mkdtemp is in 2008, RLIMIT_FSIZE in XSI */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/xattr.h>
#endif

#include "formats/archive.h"
#include "formats/crc.h"
#include "formats/lock.h"
#include "formats/path.h"
#include "formats/save.h"
#include "formats/sink.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/refusing.h"

static void must(bool ok)
{
    if (!ok) {
        perror("test_save");
        abort();
    }
}

static void write_file(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    must(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

static bool holds(const char *path, const char *text)
{
    char got[64] = "";
    FILE *f = fopen(path, "r");

    if (!f)
        return false;
    got[fread(got, 1, sizeof got - 1, f)] = '\0';
    fclose(f);
    return strcmp(got, text) == 0;
}

/* Files here whose names end in .tmp. */
static int leftovers(const char *directory)
{
    DIR *d = opendir(directory);
    int n = 0;

    must(d != NULL);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        size_t m = strlen(e->d_name);

        n += m > 4 && strcmp(e->d_name + m - 4, ".tmp") == 0;
    }
    closedir(d);
    return n;
}

static mode_t mode_of(const char *path)
{
    struct stat st;

    must(stat(path, &st) == 0);
    return st.st_mode & 07777;
}

static tg_status save_text(const char *path, const char *text, tg_err *err)
{
    tg_save save;
    tg_status status = tg_save_begin(&save, path, err);

    if (status != TG_OK)
        return status;
    must(write(save.fd, text, strlen(text)) == (ssize_t)strlen(text));
    status = tg_save_commit(&save, err);
    CHECK_EQ(save.fd, -1);
    return status;
}

static unsigned long own_host(void)
{
    struct utsname u;

    must(uname(&u) == 0);
    return tg_crc32(0, u.nodename, strlen(u.nodename));
}

/* The name of a temporary file, until the next call. */
static const char *temp_name(unsigned long host, long process, int number)
{
    static char name[80];

    snprintf(name, sizeof name, ".tg-%lx-%ld-%d.tmp", host, process, number);
    return name;
}

static void test_new_file(void)
{
    tg_err err = {0};

    umask(027);
    CHECK_OK(save_text("new", "one", &err), &err);
    CHECK(holds("new", "one"));
    CHECK_EQ(mode_of("new"), 0640);
    CHECK_EQ(leftovers("."), 0);
}

static void test_permissions_stay(void)
{
    tg_err err = {0};

    write_file("kept", "old");
    must(chmod("kept", 0604) == 0);
    CHECK_OK(save_text("./kept", "new", &err), &err);
    CHECK(holds("kept", "new"));
    CHECK_EQ(mode_of("kept"), 0604);
}

#ifdef __linux__

#define LIST_BYTES (4 + 5 * 8)

/* Rights in the system's form: the owner rw, one user `rights`, the group none, the mask r, others r.  False:
 * the file system has no lists. */
static bool give_list(const char *path, const char *which, unsigned char rights)
{
    const unsigned char tags[5] = {1, 2, 4, 0x10, 0x20}, all[5] = {6, rights, 0, 4, 4};
    const uint32_t user = geteuid();
    unsigned char list[LIST_BYTES] = {2};

    for (size_t i = 0; i < 5; i++) {
        unsigned char *entry = list + 4 + 8 * i;

        entry[0] = tags[i];
        entry[2] = all[i];
        memcpy(entry + 4, tags[i] == 2 ? (const void *)&user : "\xff\xff\xff\xff", 4);
    }
    return setxattr(path, which, list, sizeof list, 0) == 0;
}

static bool has_list(const char *path)
{
    return getxattr(path, "system.posix_acl_access", NULL, 0) == LIST_BYTES;
}

/* An access list is kept.  If it cannot be, the group and others get no rights.  A file without one does not
 * get the directory's default. */
static void test_access_list(void)
{
    tg_err err = {0};

    must(mkdir("listed", 0700) == 0);
    write_file("listed/a", "old");
    if (!give_list("listed/a", "system.posix_acl_access", 4)) {
        must(errno == ENOTSUP);
        printf("skipped: no access lists here\n");
        return;
    }
    CHECK_EQ(mode_of("listed/a"), 0644);
    CHECK_OK(save_text("listed/a", "new", &err), &err);
    CHECK(mode_of("listed/a") == 0644 && has_list("listed/a"));
    refuse("fstat", 2, EIO); /* the new group cannot be told */
    CHECK_OK(save_text("listed/a", "anew", &err), &err);
    CHECK(refused_all() && mode_of("listed/a") == 0600 && !has_list("listed/a"));
    must(give_list("listed/a", "system.posix_acl_access", 4));
    refuse("fsetxattr", 1, EPERM);
    CHECK_OK(save_text("listed/a", "newer", &err), &err);
    CHECK(refused_all() && mode_of("listed/a") == 0600 && !has_list("listed/a"));
    must(chmod("listed/a", 0664) == 0);
    refuse("getxattr", 1, EIO);
    CHECK_OK(save_text("listed/a", "newest", &err), &err);
    CHECK(refused_all() && mode_of("listed/a") == 0600);
    must(give_list("listed", "system.posix_acl_default", 4) && chmod("listed/a", 0660) == 0);
    CHECK_OK(save_text("listed/a", "last", &err), &err);
    CHECK(mode_of("listed/a") == 0660 && !has_list("listed/a"));
}

/* A file has no list, or its file system none: its rights are kept, unless a list of the directory's may have
 * come in. */
static void test_no_access_list(void)
{
    static const struct {
        const char *call;
        int error;
        mode_t want;
    } calls[] = {{"getxattr", ENOTSUP, 0664},     {"getxattr", ENOSYS, 0664},
                 {"getxattr", EIO, 0600},         {"fremovexattr", ENODATA, 0664},
                 {"fremovexattr", ENOTSUP, 0664}, {"fremovexattr", ENOSYS, 0664},
                 {"fremovexattr", EIO, 0600}};
    tg_err err = {0};

    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++) {
        write_file("unlisted", "old");
        must(chmod("unlisted", 0664) == 0);
        refuse(calls[i].call, 1, calls[i].error);
        CHECK_OK(save_text("unlisted", "new", &err), &err);
        CHECK(refused_all());
        CHECK_EQ(mode_of("unlisted"), calls[i].want);
    }
}

#else

static void test_access_list(void)
{
}

static void test_no_access_list(void)
{
}

#endif

/* A user who is not in the old file's group saves it, with the rights `old`; returns the new ones. */
static mode_t saved_by_stranger(const char *path, mode_t old)
{
    const unsigned user = 12345, group = 54321;
    struct stat st;
    tg_err err = {0};

    write_file(path, "old");
    must(chown(path, user, group) == 0 && chmod(path, old) == 0);
    must(setegid(user) == 0 && seteuid(user) == 0);
    CHECK_OK(save_text(path, "new", &err), &err);
    must(seteuid(0) == 0 && setegid(0) == 0);
    must(stat(path, &st) == 0);
    CHECK(holds(path, "new") && st.st_uid == user && st.st_gid == user);
    return mode_of(path);
}

/* Where the group cannot be kept, the rights of the old one go to nobody else.  Only root can make such a
 * file. */
static void test_rights_of_a_lost_group(void)
{
    if (geteuid() != 0)
        return;
    must(chmod(".", 0755) == 0 && mkdir("shared", 0777) == 0 && chmod("shared", 0777) == 0);
    CHECK_EQ(saved_by_stranger("shared/a", 0640), 0600);
    CHECK_EQ(saved_by_stranger("shared/b", 0674), 0644);
    CHECK_EQ(saved_by_stranger("shared/c", 0604), 0640);
    refuse("fstat", 2, EIO); /* the new group cannot be told */
    CHECK_EQ(saved_by_stranger("shared/d", 0640), 0600);
    CHECK(refused_all());
}

static void test_abort(void)
{
    tg_save save;
    tg_err err = {0};

    write_file("old", "old");
    CHECK_OK(tg_save_begin(&save, "old", &err), &err);
    must(write(save.fd, "new", 3) == 3);
    CHECK_EQ(leftovers("."), 1);
    CHECK(holds("old", "old"));
    tg_save_abort(&save);
    CHECK(holds("old", "old"));
    CHECK_EQ(leftovers("."), 0);
    tg_save_abort(&save); /* harmless */
}

/* What killed processes have left is removed by the next save; other files and saves in progress are not. */
static void test_left_by_the_killed(void)
{
    static const char *const not_ours[] = {".tg-7-7.tmp", ".tg-7-7-x.tmp", ".tg-7-7-0.tmpx", "tg-7-7-0.tmp",
                                           ".tg-7-7-0.tmp~"};
    tg_save other;
    tg_err err = {0};
    int status;
    pid_t child;

    for (size_t i = 0; i < 5; i++)
        write_file(not_ours[i], "mine");
    CHECK_OK(tg_save_begin(&other, "other", &err), &err);
    if ((child = fork()) == 0) {
        tg_save save;

        must(close(other.fd) == 0 && tg_save_begin(&save, "model", &err) == TG_OK);
        kill(getpid(), SIGKILL);
    }
    must(waitpid(child, &status, 0) == child);
    CHECK_EQ(leftovers("."), 5); /* three are not ours */
    CHECK_OK(save_text("another", "new", &err), &err);
    CHECK_EQ(leftovers("."), 4);
    must(write(other.fd, "kept", 4) == 4);
    CHECK_OK(tg_save_commit(&other, &err), &err);
    CHECK(holds("other", "kept"));
    for (size_t i = 0; i < 5; i++) {
        CHECK(holds(not_ours[i], "mine"));
        must(unlink(not_ours[i]) == 0);
    }
    CHECK_EQ(leftovers("."), 0);
}

static void test_links_stay(void)
{
    char to[64] = "";
    tg_err err = {0};

    must(mkdir("dir", 0755) == 0);
    write_file("dir/real", "old");
    must(symlink("dir/real", "link") == 0 && symlink("link", "link2") == 0);
    must(symlink("missing", "dir/dangling") == 0 && symlink("dir/dangling", "dangling") == 0);
    CHECK_OK(save_text("link2", "new", &err), &err);
    CHECK(holds("dir/real", "new"));
    CHECK_OK(save_text("dangling", "made", &err), &err);
    CHECK(holds("dir/missing", "made"));
    CHECK_EQ(readlink("link2", to, sizeof to - 1), 4);
    CHECK_EQ(readlink("dangling", to, sizeof to - 1), 12);
    CHECK_EQ(leftovers("dir") + leftovers("."), 0);
    must(symlink("loop", "loop") == 0);
    CHECK_EQ(save_text("loop", "x", &err), TG_EIO);
    CHECK_EQ(err.sys, ELOOP);
}

static void test_targets(void)
{
    char *target, here[256], path[300];
    tg_err err = {0};

    CHECK_EQ(tg_save_target(&target, "loop", &err), TG_EIO); /* after 40 links */
    CHECK(!target && err.sys == ELOOP);
    CHECK_OK(tg_save_target(&target, "dir/real/below", &err), &err); /* which open() refuses */
    CHECK(strcmp(target, "dir/real/below") == 0);
    free(target);
    must(getcwd(here, sizeof here) != NULL);
    snprintf(path, sizeof path, "%s/dir/absolute", here);
    must(symlink(path, "far") == 0);
    CHECK_OK(save_text("far", "made", &err), &err);
    CHECK(holds("dir/absolute", "made"));
}

/* Names of temporary files that are taken, by links that lead nowhere and by a directory, are left alone. */
static void test_taken_names(void)
{
    char name[96];
    tg_err err = {0};

    must(mkdir("full", 0700) == 0 && mkdir("full/.tg-1-1-0.tmp", 0700) == 0);
    for (int i = 0; i < 1000; i++) {
        snprintf(name, sizeof name, "full/%s", temp_name(own_host(), getpid(), i));
        must(symlink("nowhere", name) == 0);
    }
    CHECK_EQ(save_text("full/new", "x", &err), TG_EIO);
    CHECK_HAS(err.message, "cannot create a file in its directory: File exists");
    CHECK_EQ(leftovers("full"), 1001);
    must(unlink(name) == 0);
    CHECK_OK(save_text("full/new", "x", &err), &err);
    CHECK_EQ(leftovers("full"), 1000);
}

/* Without a descriptor for the lock of the temporary file, it is saved all the same. */
static void test_no_descriptor(void)
{
    struct rlimit few, old;
    tg_save save;
    tg_status status;
    tg_err err = {0};

    must(getrlimit(RLIMIT_NOFILE, &old) == 0);
    few = old;
    CHECK_OK(tg_save_begin(&save, "saved", &err), &err);
    few.rlim_cur = (rlim_t)save.fd + 1;
    must(write(save.fd, "new", 3) == 3 && setrlimit(RLIMIT_NOFILE, &few) == 0);
    status = tg_save_commit(&save, &err);
    must(setrlimit(RLIMIT_NOFILE, &old) == 0);
    CHECK_OK(status, &err);
    CHECK(holds("saved", "new"));
}

/* ---- calls that fail as they rarely do */

/* Saved although these calls fail. */
static void test_failures_that_do_no_harm(void)
{
    static const struct {
        const char *call;
        int nth, error;
    } calls[] = {{"readlink", 1, EINTR}, {"open", 1, EINTR},  {"flock", 1, EINTR},  {"flock", 1, ENOLCK},
                 {"fstat", 1, EIO},      {"fsync", 1, EINTR}, {"fsync", 1, EINVAL}, {"fsync", 1, ENOTSUP},
                 {"fsync", 1, EROFS},    {"close", 1, EINTR}, {"write", 1, EINTR}};

    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        tg_save save;
        tg_err err = {0};

        refuse(calls[i].call, calls[i].nth, calls[i].error);
        CHECK_OK(tg_save_begin(&save, "unharmed", &err), &err);
        CHECK_OK(tg_write_all(save.fd, "new", 3, &err), &err);
        CHECK_OK(tg_save_commit(&save, &err), &err);
        CHECK(refused_all());
        CHECK(holds("unharmed", "new"));
        CHECK_EQ(leftovers("."), 0);
        must(unlink("unharmed") == 0);
    }
}

/* The first of two failures is told. */
static void test_fails_at_the_end(void)
{
    static const char *const calls[][2] = {{"fsync", NULL}, {"close", NULL}, {"fsync", "close"}};
    tg_err err = {0};

    write_file("spared", "old");
    for (size_t i = 0; i < 3; i++) {
        tg_save save;

        CHECK_OK(tg_save_begin(&save, "spared", &err), &err);
        for (size_t c = 0; c < 2 && calls[i][c]; c++)
            refuse(calls[i][c], 1, EIO);
        CHECK_EQ(tg_save_commit(&save, &err), TG_EIO);
        CHECK(refused_all());
        CHECK_HAS(err.message, calls[i][0]);
        CHECK_HAS(err.message, "failed: ");
        CHECK(holds("spared", "old"));
        CHECK_EQ(leftovers("."), 0);
    }
}

/* The first temporary file of this process. */
static const char *first_temp(void)
{
    return temp_name(own_host(), getpid(), 0);
}

static void remove_temp(void)
{
    must(unlink(first_temp()) == 0);
}

/* Another process takes the new temporary file for a left one, before it has a lock; and removes it before,
 * or later. */
static void test_temp_is_taken(void)
{
    tg_save save;
    tg_err err = {0};

    refuse_meanwhile("flock", 1, remove_temp);
    CHECK_OK(save_text("retried", "one", &err), &err);
    CHECK(refused_all() && holds("retried", "one"));
    CHECK_EQ(leftovers("."), 0);
    refuse("flock", 1, EWOULDBLOCK);
    CHECK_OK(tg_save_begin(&save, "retried", &err), &err);
    CHECK(refused_all() && access(first_temp(), F_OK) == 0);
    remove_temp();
    must(write(save.fd, "two", 3) == 3);
    CHECK_OK(tg_save_commit(&save, &err), &err);
    CHECK(holds("retried", "two"));
    CHECK_EQ(leftovers("."), 0);
}

/* Another process removes a left file while this one locks it: then there is nothing to remove any more. */
static void test_left_is_removed(void)
{
    tg_err err = {0};

    write_file(first_temp(), "");
    refuse_meanwhile("flock", 1, remove_temp);
    CHECK_OK(save_text("saved", "new", &err), &err);
    CHECK(refused_all());
    CHECK_EQ(leftovers("."), 0);
}

/* What has been left stays if its owner is another user, or cannot be told. */
static void test_left_by_whom(void)
{
    const char *left = temp_name(own_host(), 1, 0);
    tg_err err = {0};

    write_file(left, "");
    if (geteuid() == 0) {
        must(chown(left, 12345, (gid_t)-1) == 0);
        CHECK_OK(save_text("saved", "new", &err), &err);
        CHECK_EQ(leftovers("."), 1);
        must(chown(left, 0, (gid_t)-1) == 0);
    }
    refuse("fstat", 1, EIO);
    CHECK_OK(save_text("saved", "new", &err), &err);
    CHECK(refused_all());
    CHECK_EQ(leftovers("."), 1);
    CHECK_OK(save_text("saved", "new", &err), &err);
    CHECK_EQ(leftovers("."), 0);
}

/* A temporary file of another host, whose locks may not be seen here, stays for a day. */
static void test_left_by_another_host(void)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = time(NULL) - 23 * 3600}};
    const char *left = temp_name(own_host() + 1, 1, 0);
    tg_err err = {0};

    write_file(left, "");
    must(utimensat(AT_FDCWD, left, times, 0) == 0);
    CHECK_OK(save_text("saved", "new", &err), &err);
    CHECK_EQ(leftovers("."), 1);
    times[1].tv_sec -= 2 * 3600;
    must(utimensat(AT_FDCWD, left, times, 0) == 0);
    CHECK_OK(save_text("saved", "new", &err), &err);
    CHECK_EQ(leftovers("."), 0);
}

/* While a temporary file that seems to be left is being locked, its process makes the next one, with the same
 * name. */
static int next;

static void make_next(void)
{
    write_file("next", "next");
    must((next = open("next", O_RDONLY)) >= 0 && flock(next, LOCK_EX) == 0);
    must(rename("next", temp_name(own_host(), 1, 0)) == 0);
}

static void test_next_is_not_left(void)
{
    const char *name = temp_name(own_host(), 1, 0);
    tg_err err = {0};

    write_file(name, "first");
    refuse_meanwhile("flock", 1, make_next);
    CHECK_OK(save_text("saved", "new", &err), &err);
    CHECK(refused_all() && holds(temp_name(own_host(), 1, 0), "next"));
    must(close(next) == 0 && unlink(temp_name(own_host(), 1, 0)) == 0);
}

/* A directory that may not be read is not synced; any other failure to open it is reported. */
static void test_directory_is_not_synced(void)
{
    static const int errors[] = {EACCES, EIO, EMFILE};
    tg_err err = {0};

    for (size_t i = 0; i < 3; i++) {
        tg_save save;

        CHECK_OK(tg_save_begin(&save, "synced", &err), &err);
        must(write(save.fd, "new", 3) == 3);
        refuse("open", 1, errors[i]);
        CHECK_EQ(tg_save_commit(&save, &err), errors[i] == EACCES ? TG_OK : TG_EIO);
        CHECK(refused_all() && holds("synced", "new"));
        if (errors[i] != EACCES)
            CHECK_HAS(err.message, "saved, but cannot sync its directory");
        must(unlink("synced") == 0);
    }
}

/* The target cannot be replaced: its new content is kept under another name. */
static void test_fallback(void)
{
    tg_save save;
    tg_err err = {0};

    must(mkdir("busy", 0755) == 0);
    write_file("busy.spare", "taken");
    CHECK_OK(tg_save_begin(&save, "busy/file", &err), &err);
    must(write(save.fd, "new", 3) == 3);
    save.fallback = ".spare";
    must(mkdir("busy/file", 0755) == 0);
    CHECK_EQ(tg_save_commit(&save, &err), TG_EIO);
    CHECK_HAS(err.message, "cannot be replaced: Is a directory; the new content is in ");
    CHECK_HAS(err.message, "busy/file.spare");
    CHECK(err.sys == EISDIR && holds("busy/file.spare", "new"));
    CHECK_EQ(leftovers("busy"), 0);
    /* the spare cannot be written either */
    CHECK_OK(tg_save_begin(&save, "busy/other", &err), &err);
    save.fallback = ".spare";
    must(unlink(save.temp) == 0 && mkdir("busy/other", 0755) == 0);
    CHECK_EQ(tg_save_commit(&save, &err), TG_EIO);
    CHECK_HAS(err.message, "cannot be replaced: ");
    CHECK(access("busy/other.spare", F_OK) != 0);
    /* there is no memory for its name; and err is NULL */
    CHECK_OK(tg_save_begin(&save, "busy/third", &err), &err);
    save.fallback = ".spare";
    must(mkdir("busy/third", 0755) == 0);
    failing_after(0);
    CHECK_EQ(tg_save_commit(&save, NULL), TG_EIO);
    failing_after(-1);
    CHECK_EQ(leftovers("busy"), 0);
    CHECK(access("busy/third.spare", F_OK) != 0);
}

/* A rename that fails is not taken for one whose reply got lost. */
static void test_no_lost_reply(void)
{
    static const struct {
        const char *to;
        int error;
    } targets[] = {{"/proc/self/status", EXDEV}, {"nowhere/lost", ENOENT}};
    tg_save save;
    tg_err err = {0};

    for (size_t i = 0; i < 2; i++) {
        CHECK_OK(tg_save_begin(&save, "lost", &err), &err);
        free(save.target);
        must((save.target = strdup(targets[i].to)) != NULL);
        CHECK_EQ(tg_save_commit(&save, &err), TG_EIO);
        CHECK_EQ(err.sys, targets[i].error);
    }
    CHECK_OK(tg_save_begin(&save, "lost", &err), &err);
    must(mkdir("lost", 0700) == 0);
    refuse("stat", 1, EIO); /* of the temporary file */
    CHECK_EQ(tg_save_commit(&save, &err), TG_EIO);
    CHECK(refused_all());
    CHECK_HAS(err.message, "cannot be replaced");
    CHECK_EQ(leftovers("."), 0);
    must(rmdir("lost") == 0);
}

static void test_writes_nothing(void)
{
    const int fd = open("/dev/null", O_WRONLY);
    tg_err err = {0};

    must(fd >= 0);
    refuse("write", 1, 0);
    CHECK_EQ(tg_write_all(fd, "x", 1, &err), TG_EIO);
    CHECK(refused_all() && err.sys == ENOSPC);
    must(close(fd) == 0);
}

/* ---- calls that wait, and are interrupted */

static int waits[2]; /* a pipe that is full, or in waits[0] a reader to be opened */
static volatile sig_atomic_t alarms;

/* The call returns EINTR a few times, before the handler lets it go on. */
static void drain(int number)
{
    char bytes[4096];

    (void)number;
    if (++alarms > 3)
        while (read(waits[0], bytes, sizeof bytes) > 0)
            ;
}

static void open_reader(int number)
{
    (void)number;
    if (++alarms == 4)
        waits[0] = open("fifo", O_RDONLY | O_NONBLOCK);
}

static void each_millisecond(void (*handler)(int))
{
    const struct itimerval every = {{0, 1000}, {0, 1000}}, never = {0};
    const struct sigaction action = {.sa_handler = handler}, ignored = {.sa_handler = SIG_IGN};

    if (handler)
        alarms = 0;
    if (handler)
        must(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &every, NULL) == 0);
    else
        must(setitimer(ITIMER_REAL, &never, NULL) == 0 && sigaction(SIGALRM, &ignored, NULL) == 0);
}

static void test_interrupted(void)
{
    static const char bytes[4096];
    tg_save save;
    tg_err err = {0};

    must(pipe(waits) == 0 && fcntl(waits[0], F_SETFL, O_NONBLOCK) == 0 &&
         fcntl(waits[1], F_SETFL, O_NONBLOCK) == 0);
    while (write(waits[1], bytes, sizeof bytes) > 0)
        ;
    must(fcntl(waits[1], F_SETFL, 0) == 0);
    each_millisecond(drain);
    CHECK_OK(tg_write_all(waits[1], "x", 1, &err), &err);
    each_millisecond(NULL);
    must(close(waits[0]) == 0 && close(waits[1]) == 0 && mkfifo("fifo", 0600) == 0);
    each_millisecond(open_reader);
    CHECK_OK(tg_save_begin(&save, "fifo", &err), &err);
    each_millisecond(NULL);
    CHECK(save.fd >= 0);
    tg_save_abort(&save);
    must(close(waits[0]) == 0);
}

static void test_sinks(void)
{
    tg_sink sink = {.fd = -1};

    CHECK_OK(tg_sink_flush(&sink, NULL), NULL); /* nothing to write */
    tg_sink_puts(&sink, "x");
    CHECK_EQ(tg_sink_flush(&sink, NULL), TG_EIO);
}

static void test_bad_targets(void)
{
    static const char *const paths[] = {"", "dir", "dir/", "nowhere/file", "nofile/"};

    for (size_t i = 0; i < 5; i++) {
        tg_err err = {0};

        CHECK_EQ(save_text(paths[i], "x", &err), TG_EIO);
        CHECK(err.sys != 0);
    }
    CHECK_EQ(leftovers("."), 0);
}

/* The disk is full halfway, simulated by a limit on file sizes. */
static void test_failed_write(void)
{
    static float numbers[100000];
    struct rlimit small, old;
    tg_archive_writer *w = NULL;
    tg_save save;
    tg_err err = {0};
    tg_status status;

    write_file("model", "the old model");
    must(getrlimit(RLIMIT_FSIZE, &old) == 0);
    small = old;
    small.rlim_cur = 100000;
    signal(SIGXFSZ, SIG_IGN);
    must(setrlimit(RLIMIT_FSIZE, &small) == 0);
    CHECK_OK(tg_save_begin(&save, "model", &err), &err);
    CHECK_OK(tg_archive_create(&w, save.fd, &err), &err);
    status = tg_archive_put(w, "w", TG_F32, 1, (size_t[]){100000}, numbers, &err);
    CHECK_EQ(status, TG_EIO);
    CHECK_EQ(err.sys, EFBIG);
    CHECK_HAS(err.message, "at offset 192: write failed after 99808 of 400000 bytes: File too large");
    CHECK_EQ(tg_archive_finish(w, &err), TG_EUSAGE);
    tg_archive_abandon(w);
    tg_save_abort(&save);
    must(setrlimit(RLIMIT_FSIZE, &old) == 0);
    CHECK(holds("model", "the old model"));
    CHECK_EQ(leftovers("."), 0);
}

/* The rename fails: something else took the name meanwhile. */
static void test_failed_commit(void)
{
    tg_save save;
    tg_err err = {0};

    CHECK_OK(tg_save_begin(&save, "taken", &err), &err);
    must(mkdir("taken", 0755) == 0);
    write_file("taken/inside", "x");
    CHECK_EQ(tg_save_commit(&save, &err), TG_EIO);
    CHECK_HAS(err.message, "cannot be replaced");
    CHECK(holds("taken/inside", "x"));
    CHECK_EQ(leftovers("."), 0);
}

static void test_devices(void)
{
    struct stat st;
    tg_save save;
    tg_err err = {0};

    CHECK_OK(save_text("/dev/null", "x", &err), &err);
    must(stat("/dev/null", &st) == 0);
    CHECK(S_ISCHR(st.st_mode));
    if (access("/dev/full", W_OK) == 0) {
        CHECK_OK(tg_save_begin(&save, "/dev/full", &err), &err);
        CHECK_EQ(write(save.fd, "x", 1), -1);
        tg_save_abort(&save);
        CHECK_EQ(access("/dev/full", W_OK), 0);
    }
}

/* Not as root, who may write anything. */
static void test_read_only(void)
{
    tg_err err = {0};

    if (geteuid() == 0)
        return;
    write_file("locked", "old");
    must(chmod("locked", 0444) == 0);
    CHECK_EQ(save_text("locked", "new", &err), TG_EIO);
    CHECK(holds("locked", "old"));
    must(unlink("locked") == 0);
}

/* ---- what is there */

static void test_room(void)
{
    tg_save save;
    tg_err err;
    uint64_t room = 0;

    CHECK_OK(tg_save_begin(&save, "roomy", &err), &err);
    CHECK(tg_save_room(&save, &room) && room > 0);
    refuse("fstatvfs", 1, EINTR);
    CHECK(tg_save_room(&save, &room));
    CHECK(refused_all());
    refuse("fstatvfs", 1, ENOSYS); /* no room is no refusal where nobody can tell */
    CHECK(!tg_save_room(&save, &room));
    CHECK(refused_all());
    tg_save_abort(&save);
}

static void test_examine_found(void)
{
    bool exists;
    tg_err err = {0};

    must(symlink("ring", "ring") == 0);
    CHECK_EQ(tg_path_examine_found("ring", &exists, &err), TG_EIO);
    CHECK(err.sys == ELOOP && !exists);
    CHECK_HAS(err.message, "ring: ");
    CHECK_OK(tg_path_examine_found("nowhere", &exists, &err), &err);
    CHECK(!exists);
    CHECK_OK(tg_path_examine_found(".", &exists, &err), &err);
    CHECK(exists);
    CHECK_EQ(tg_path_examine_found("/dev/null", &exists, &err), TG_EDATA);
    must(unlink("ring") == 0);
}

/* ---- under another name */

static void test_no_memory_for_name(void)
{
    tg_save save;
    tg_err err = {0};

    CHECK_OK(tg_save_begin(&save, "saved", &err), &err);
    failing_after(0);
    CHECK_EQ(tg_save_beside(&save, ".new", &err), TG_ENOMEM);
    failing_after(-1);
    tg_save_abort(&save);
}

static void test_beside(void)
{
    tg_save save;
    tg_err err = {0};

    write_file("theirs", "theirs");
    write_file("theirs.mine", "taken");
    write_file("theirs.mine+", "taken");
    CHECK_OK(tg_save_begin(&save, "theirs", &err), &err);
    must(write(save.fd, "mine", 4) == 4);
    CHECK_OK(tg_save_beside(&save, ".mine", &err), &err);
    CHECK_HAS(save.target, "/theirs.mine++");
    CHECK_OK(tg_save_commit(&save, &err), &err);
    CHECK(holds("theirs", "theirs") && holds("theirs.mine", "taken") && holds("theirs.mine++", "mine"));
    CHECK_EQ(leftovers("."), 0);
}

/* ---- stamps */

static struct stat stamp_of(const char *path)
{
    struct stat stamp;
    bool exists;
    tg_err err;

    CHECK_OK(tg_path_examine(path, &stamp, &exists, &err), &err);
    return stamp;
}

static bool replaced_since(const struct stat *before, const char *path)
{
    const struct stat now = stamp_of(path);

    return tg_path_is_replaced(before, &now);
}

static void test_stamps(void)
{
    struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000, .tv_nsec = 7}};
    struct stat stamp = stamp_of("stamped");

    CHECK(stamp.st_mode == 0 && !replaced_since(&stamp, "stamped"));
    write_file("stamped", "one");
    CHECK(replaced_since(&stamp, "stamped")); /* made */
    stamp = stamp_of("stamped");
    must(chmod("stamped", 0600) == 0);
    CHECK(!replaced_since(&stamp, "stamped"));
    must(utimensat(AT_FDCWD, "stamped", times, 0) == 0);
    CHECK(replaced_since(&stamp, "stamped")); /* another time */
    stamp = stamp_of("stamped");
    times[1].tv_nsec = 8;
    must(utimensat(AT_FDCWD, "stamped", times, 0) == 0);
    CHECK(replaced_since(&stamp, "stamped"));
    stamp = stamp_of("stamped");
    write_file("stamped", "four");
    must(utimensat(AT_FDCWD, "stamped", times, 0) == 0);
    CHECK(replaced_since(&stamp, "stamped")); /* another size */
    stamp = stamp_of("stamped");
    write_file("other", "five");
    must(utimensat(AT_FDCWD, "other", times, 0) == 0 && rename("other", "stamped") == 0);
    CHECK(replaced_since(&stamp, "stamped")); /* another file */
    stamp = stamp_of("stamped");
    must(unlink("stamped") == 0);
    CHECK(!replaced_since(&stamp, "stamped"));
    CHECK(tg_path_is_replaced(&(struct stat){.st_mode = 1}, &(struct stat){.st_mode = 1, .st_dev = 1}));
}

/* ---- paths */

static void test_paths(void)
{
    static const char *const names[] = {"one", "two", NULL};
    char longer[8192];
    const char *name;
    struct stat st, other;
    bool exists;
    tg_err err = {0};

    memset(longer, 'a', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    CHECK_EQ(tg_path_examine(longer, &st, &exists, &err), TG_EIO);
    CHECK_EQ(tg_path_find(&name, longer, names, &err), TG_EIO);
    CHECK(!name);
    write_file("file", "one");
    CHECK_OK(tg_path_examine("file/one", &st, &exists, &err), &err);
    CHECK(!exists);
    must(stat("file", &st) == 0 && stat(".", &other) == 0);
    CHECK(tg_path_same_file(&st, &st) && !tg_path_same_file(&st, &other));
    other = st;
    other.st_dev++;
    CHECK(!tg_path_same_file(&st, &other));
    CHECK(strcmp(tg_path_name("file"), "file") == 0 && strcmp(tg_path_name("a/b/file"), "file") == 0);
    CHECK(strcmp(tg_path_name("/file"), "file") == 0 && strcmp(tg_path_name("directory/"), "") == 0);
}

/* A directory that may no longer be searched: a file in it can be opened if it is kept. */
static void test_kept(void)
{
    const uid_t user = geteuid();
    char text[4];
    int fd, kept;

    must(mkdir("closed", 0700) == 0);
    write_file("closed/kept", "one");
    write_file("closed/other", "two");
    must(chmod(".", 0755) == 0 && chmod("closed/kept", 0644) == 0);
    fd = open("closed/kept", O_RDONLY);
    must(chmod("closed", 0) == 0 && (user != 0 || seteuid(65534) == 0));
    CHECK(tg_path_open("closed/kept") < 0 && errno == EACCES);
    CHECK(tg_path_keep("closed/elsewhere", fd));
    CHECK(tg_path_keep("closed/kept", fd));
    for (size_t i = 2; i < TG_PATH_KEPT; i++)
        CHECK(tg_path_keep("closed/other", fd));
    CHECK(!tg_path_keep("closed/other", fd)); /* too many */
    CHECK(tg_path_open("closed/none") < 0 && errno == EACCES);
    kept = tg_path_open("closed/kept");
    CHECK(kept >= 0 && read(kept, text, 3) == 3 && memcmp(text, "one", 3) == 0);
    must(close(kept) == 0 && close(fd) == 0);
    CHECK(tg_path_open("closed/kept") < 0 && errno == EACCES);
    must(seteuid(user) == 0 && chmod("closed", 0700) == 0);
}

/* ---- locks */

/* A second descriptor of the same process is refused like another process. */
static void check_locked(const char *path)
{
    tg_lock lock;
    bool held;
    long holder;
    tg_err err = {0};

    CHECK_OK(tg_lock_examine(path, &held, &holder, &err), &err);
    CHECK(held && holder == getpid());

    CHECK_EQ(tg_lock_take(&lock, path, &err), TG_EIO);
    CHECK(err.sys == EWOULDBLOCK && lock.fd == -1 && !lock.path);
    CHECK_EQ(lock.holder, getpid());
}

/* To examine a lock makes no lock file, and takes none away. */
static void check_unlocked(const char *path)
{
    bool held;
    long holder;
    tg_err err = {0};
    const bool left = access(".tg-locked.lock", F_OK) == 0;

    CHECK_OK(tg_lock_examine(path, &held, &holder, &err), &err);
    CHECK(!held && holder == 0);
    CHECK_EQ(access(".tg-locked.lock", F_OK) == 0, left);
}

static void test_lock(void)
{
    tg_lock lock, again;
    tg_err err = {0};

    check_unlocked("locked");
    CHECK_OK(tg_lock_take(&lock, "locked", &err), &err); /* which need not exist */
    check_locked("./locked");
    CHECK_OK(save_text("locked", "saved", &err), &err);
    must(symlink("locked", "to-locked") == 0);
    check_locked("to-locked");
    CHECK_OK(tg_lock_take(&again, "unlocked", &err), &err);
    tg_lock_release(&again);
    tg_lock_release(&again);
    tg_lock_release(&lock);
    CHECK(access(".tg-locked.lock", F_OK) != 0);
    write_file(".tg-locked.lock", "1\n"); /* left by a process that was killed */
    check_unlocked("locked");
    CHECK_OK(tg_lock_take(&lock, "locked", &err), &err);
    check_locked("locked");
    tg_lock_release(&lock);
    check_unlocked("locked");
    CHECK(access(".tg-locked.lock", F_OK) != 0);
}

static void remove_lock(void)
{
    must(unlink(".tg-passed.lock") == 0);
}

static void replace_lock(void)
{
    write_file("another", "");
    must(rename("another", ".tg-passed.lock") == 0);
}

static void link_lock(void)
{
    must(symlink("/proc/self/status", "another") == 0 && rename("another", ".tg-passed.lock") == 0);
}

/* The holder removes the lock file between the calls that open and lock it, and perhaps another process makes
 * a new one. */
static void test_lock_is_passed(void)
{
    void (*const passed[])(void) = {remove_lock, replace_lock};
    tg_lock lock;
    tg_err err = {0};

    for (size_t i = 0; i < 2; i++) {
        refuse_meanwhile("flock", 1, passed[i]);
        CHECK_OK(tg_lock_take(&lock, "passed", &err), &err);
        CHECK(refused_all() && access(".tg-passed.lock", F_OK) == 0);
        check_locked("passed");
        tg_lock_release(&lock);
    }
    refuse_meanwhile("flock", 1, link_lock); /* to another device: links are not followed */
    CHECK_EQ(tg_lock_take(&lock, "passed", &err), TG_EIO);
    CHECK(refused_all() && err.sys == ELOOP);
    remove_lock();
}

/* The holder removes the lock file before it is opened. */
static void test_lock_is_removed(void)
{
    tg_lock lock;
    tg_err err = {0};

    write_file(".tg-passed.lock", "");
    refuse_meanwhile("open", 2, remove_lock);
    CHECK_OK(tg_lock_take(&lock, "passed", &err), &err);
    CHECK(refused_all());
    check_locked("passed");
    tg_lock_release(&lock);
}

static void test_lock_is_interrupted(void)
{
    static const char *const calls[] = {"open", "flock"};
    tg_lock lock;
    tg_err err = {0};

    for (size_t i = 0; i < 2; i++) {
        refuse(calls[i], 1, EINTR);
        CHECK_OK(tg_lock_take(&lock, "interrupted", &err), &err);
        CHECK(refused_all());
        check_locked("interrupted");
        tg_lock_release(&lock);
    }
}

/* A lock file that cannot be examined after it has been made is removed. */
static void test_lock_is_hidden(void)
{
    tg_lock lock;
    tg_err err = {0};

    refuse("stat", 2, EACCES); /* the first is of the file itself */
    CHECK_EQ(tg_lock_take(&lock, "hidden", &err), TG_EIO);
    CHECK(refused_all() && err.sys == EACCES);
    CHECK_HAS(err.message, "cannot examine .tg-hidden.lock");
    CHECK(access(".tg-hidden.lock", F_OK) != 0);
}

/* Of many that take turns, never two at once. */
static void test_lock_in_turns(void)
{
    enum { PROCESSES = 4, TURNS = 50 };
    int status, taken = 0;

    for (int i = 0; i < PROCESSES; i++) {
        const pid_t pid = fork();

        must(pid >= 0);
        if (pid > 0)
            continue;
        for (int turn = 0; turn < TURNS;) {
            tg_lock lock;
            tg_err err = {0};

            if (tg_lock_take(&lock, "turns", &err)) {
                if (err.sys != EWOULDBLOCK)
                    _exit(2);
                continue;
            }
            if (mkdir("inside", 0700) != 0 || rmdir("inside") != 0)
                _exit(1);
            tg_lock_release(&lock);
            turn++;
        }
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++)
        taken += wait(&status) > 0 && status == 0;
    CHECK_EQ(taken, PROCESSES);
}

/* The lock file of another user, who is gone or has the lock. */
static void test_lock_of_another_user(void)
{
    const unsigned user = 12345;
    struct stat st;
    tg_lock lock, again;
    tg_err err = {0};
    int fd = -1;

    if (geteuid() != 0)
        return;
    must(mkdir("common", 0777) == 0 && chmod("common", 0777) == 0);
    write_file("common/.tg-file.lock", "1\n");
    must(chmod("common/.tg-file.lock", 0644) == 0 && (fd = open("common/.tg-file.lock", O_RDONLY)) >= 0);
    must(flock(fd, LOCK_EX) == 0 && seteuid(user) == 0);
    CHECK_EQ(tg_lock_take(&lock, "common/file", &err), TG_EIO);
    CHECK(err.sys == EWOULDBLOCK && lock.holder == 1);
    must(close(fd) == 0);
    CHECK_OK(tg_lock_take(&lock, "common/file", &err), &err);
    must(stat("common/.tg-file.lock", &st) == 0);
    CHECK_EQ(st.st_uid, user);
    check_locked("common/file");
    tg_lock_release(&lock);
    must(seteuid(0) == 0);
    /* in a sticky directory: the file cannot be removed */
    write_file("common/.tg-file.lock", "1\n");
    must(chmod("common", 01777) == 0 && seteuid(user) == 0);
    CHECK_OK(tg_lock_take(&lock, "common/file", &err), &err);
    CHECK_EQ(tg_lock_take(&again, "common/file", &err), TG_EIO);
    CHECK_EQ(err.sys, EWOULDBLOCK);
    tg_lock_release(&lock);
    must(seteuid(0) == 0 && unlink("common/.tg-file.lock") == 0);
}

static void test_lock_fails(void)
{
    char name[256] = {0};
    tg_lock lock;
    tg_err err = {0};
    int fd;

    write_file(".tg-nobody.lock", ""); /* held by another program, which does not say which */
    must((fd = open(".tg-nobody.lock", O_RDONLY)) >= 0 && flock(fd, LOCK_EX) == 0);
    CHECK_EQ(tg_lock_take(&lock, "nobody", &err), TG_EIO);
    CHECK(err.sys == EWOULDBLOCK && lock.holder == 0);
    must(close(fd) == 0 && unlink(".tg-nobody.lock") == 0);
    CHECK_EQ(tg_lock_take(&lock, "missing/file", &err), TG_EIO);
    CHECK(err.sys == ENOENT && lock.fd == -1);
    tg_lock_release(&lock);
    must(mkdir(".tg-occupied.lock", 0700) == 0);
    CHECK_EQ(tg_lock_take(&lock, "occupied", &err), TG_EIO);
    CHECK_HAS(err.message, ".tg-occupied.lock: Is a directory");
    must(rmdir(".tg-occupied.lock") == 0);
    memset(name, 'n', sizeof name - 1);
    CHECK_OK(tg_lock_take(&lock, name, &err), &err); /* the longest name there can be */
    check_locked(name);
    tg_lock_release(&lock);
}

int main(void)
{
    char directory[] = "/tmp/tg-save-XXXXXX";
    char remove[64];
    int failed;

    must(mkdtemp(directory) != NULL && chdir(directory) == 0);
    RUN(test_new_file);
    RUN(test_permissions_stay);
    RUN(test_rights_of_a_lost_group);
    RUN(test_access_list);
    RUN(test_no_access_list);
    RUN(test_abort);
    RUN(test_left_by_the_killed);
    RUN(test_links_stay);
    RUN(test_targets);
    RUN(test_taken_names);
    RUN(test_no_descriptor);
    RUN(test_failures_that_do_no_harm);
    RUN(test_fails_at_the_end);
    RUN(test_temp_is_taken);
    RUN(test_left_is_removed);
    RUN(test_left_by_whom);
    RUN(test_left_by_another_host);
    RUN(test_next_is_not_left);
    RUN(test_directory_is_not_synced);
    RUN(test_fallback);
    RUN(test_no_lost_reply);
    RUN(test_writes_nothing);
    RUN(test_interrupted);
    RUN(test_sinks);
    RUN(test_bad_targets);
    RUN(test_failed_write);
    RUN(test_failed_commit);
    RUN(test_devices);
    RUN(test_read_only);
    RUN(test_beside);
    RUN(test_room);
    RUN(test_examine_found);
    RUN(test_no_memory_for_name);
    RUN(test_stamps);
    RUN(test_paths);
    RUN(test_kept);
    RUN(test_lock);
    RUN(test_lock_is_passed);
    RUN(test_lock_is_removed);
    RUN(test_lock_is_interrupted);
    RUN(test_lock_is_hidden);
    RUN(test_lock_in_turns);
    RUN(test_lock_of_another_user);
    RUN(test_lock_fails);
    failed = check_done();
    snprintf(remove, sizeof remove, "rm -rf %s", directory);
    must(system(remove) == 0);
    if (failed || geteuid() == 0)
        return failed;
    printf("not root: no files of other users; all else passed\n");
    return CHECK_SKIPPED;
}
