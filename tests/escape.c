/*
 * What an attacker tries who has taken over a tool: a library for LD_PRELOAD.  When the tool writes for the
 * first time (its inputs are then open and read), it attempts what a sandbox should refuse, and prints a line
 * for each: "NAME refused" for EPERM, EACCES or ENOSYS, otherwise "NAME allowed".  Nothing that is allowed
 * does harm: what could is called with arguments that fail later.
 *
 *   ESCAPE_TO     a directory that the command line does not name, for a new file
 *   ESCAPE_LOG    descriptor of the report
 *   LACKS         the number of a system call that the kernel does not have
 *   REPLACE_BY    a file that is renamed to REPLACE when Landlock has been told of that
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void report(const char *name, long result)
{
    const int sys = errno;
    const char *log = getenv("ESCAPE_LOG");
    char line[128];
    int n;

    n = snprintf(line, sizeof line, "%s %s\n", name,
                 result < 0 && (sys == EPERM || sys == EACCES || sys == ENOSYS) ? "refused" : "allowed");
    if (n > 0)
        (void)!syscall(SYS_write, log ? atoi(log) : 2, line, (size_t)n);
}

/* No process remains: the child ends at once. */
static void try_processes(void)
{
    static char *const arguments[] = {NULL};
    long child;

    report("execve", execve("", arguments, arguments));
    report("execveat", syscall(SYS_execveat, AT_FDCWD, "", arguments, arguments, 0));
    child = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
    if (child == 0)
        _exit(0);
    report("clone", child);
    report("clone3", syscall(435, NULL, 0)); /* else EINVAL */
#ifdef SYS_fork
    child = syscall(SYS_fork);
    if (child == 0)
        _exit(0);
    report("fork", child);
#endif
    report("ptrace", syscall(SYS_ptrace, 16, 0x7ffffff, 0, 0)); /* attach to nobody: ESRCH */
    report("kill", kill(getppid(), 0));
    report("process_vm_readv", syscall(SYS_process_vm_readv, getpid(), NULL, 0, NULL, 0, 0));
    report("unshare", syscall(SYS_unshare, 0));
    report("prlimit", syscall(SYS_prlimit64, getppid(), RLIM_NLIMITS, NULL, NULL)); /* else EINVAL */
    report("setown", fcntl(2, F_SETOWN, getppid()));
    report("setsig", fcntl(2, F_SETSIG, 0));
}

/* What slows another process; arguments that fail later where that would be done. */
static void try_priorities(void)
{
    enum { PROCESS = 1, USER = 3, NOBODY = 0x7ffffff }; /* of ioprio_set() */
    const pid_t parent = getppid();

    report("setpriority", setpriority(PRIO_PROCESS, NOBODY, 0)); /* else ESRCH */
    report("setpriority-group", setpriority(PRIO_PGRP, NOBODY, 0));
    report("setpriority-user", setpriority(PRIO_USER, NOBODY, 0));
    report("affinity", syscall(SYS_sched_setaffinity, parent, 0, NULL)); /* else EINVAL */
    report("scheduler", syscall(SYS_sched_setscheduler, parent, -1, NULL));
    report("schedparam", syscall(SYS_sched_setparam, parent, NULL));
    report("schedattr", syscall(SYS_sched_setattr, parent, NULL, 0));
    report("ioprio", syscall(SYS_ioprio_set, PROCESS, NOBODY, 0)); /* else ESRCH */
    report("ioprio-user", syscall(SYS_ioprio_set, USER, NOBODY, 0));
    report("migrate", syscall(SYS_migrate_pages, parent, 0, NULL, NULL));
    report("inotify", syscall(SYS_inotify_init1, -1)); /* else EINVAL */
}

/* The same calls on the process itself are no business of a sandbox. */
static void try_own(void)
{
    const int priority = getpriority(PRIO_PROCESS, 0);

    if (setpriority(PRIO_PROCESS, 0, priority) != 0 ||
        setpriority(PRIO_PROCESS, (id_t)getpid(), priority) != 0 ||
        (syscall(SYS_sched_setparam, 0, NULL) != 0 && errno != EINVAL) ||
        (syscall(SYS_sched_setparam, getpid(), NULL) != 0 && errno != EINVAL))
        abort();
}

static void try_sockets(void)
{
    int pair[2];

    report("socket", socket(AF_INET, SOCK_STREAM, 0));
    report("socket-unix", socket(AF_UNIX, SOCK_DGRAM, 0));
    report("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
    report("msgsnd", syscall(SYS_msgsnd, -1, NULL, 0, 0)); /* else EINVAL */
    report("semop", syscall(SYS_semop, -1, NULL, 0));
    report("io_uring", syscall(425, 1, NULL)); /* else EFAULT */
}

/* A program that would run with this user's rights.  A file in memory may have any other mode. */
static void try_set_id(const char *folder)
{
    const int fd = (int)syscall(SYS_memfd_create, "program", 0);
    char path[4096];
    int made;

    report("set-user-id", fchmod(fd, 04755));
    report("set-group-id", fchmod(fd, 02755));
    if (fchmod(fd, 0755) != 0)
        abort();
    close(fd);
    snprintf(path, sizeof path, "%s/program", folder);
    report("create-set-id", made = open(path, O_WRONLY | O_CREAT | O_EXCL, 06755));
    if (made >= 0)
        unlink(path);
    report("tmpfile-set-id", open(folder, O_TMPFILE | O_WRONLY, 04755));
    report("openat2", syscall(437, AT_FDCWD, "", NULL, 0)); /* else EINVAL */
}

static void try_files(void)
{
    const char *folder = getenv("ESCAPE_TO");
    char path[4096];

    report("read", open("/etc/passwd", O_RDONLY));
    report("list", open("/etc", O_RDONLY | O_DIRECTORY));
    snprintf(path, sizeof path, "%s/new", folder ? folder : ".");
    report("create", open(path, O_WRONLY | O_CREAT, 0600));
    snprintf(path, sizeof path, "%s/old", folder ? folder : ".");
    report("write", open(path, O_WRONLY));
    report("truncate", truncate(path, 1));
    report("chmod", chmod(path, 0600));
    report("rename", rename(path, path));
    report("utime", syscall(SYS_utimensat, AT_FDCWD, path, NULL, 0));
    report("unlink", unlink(path));
    try_set_id(folder ? folder : ".");
    snprintf(path, sizeof path, "%s/directory", folder ? folder : ".");
    report("mkdir", mkdir(path, 0700));
    (void)rmdir(path);
}

static void try_memory(void)
{
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    report("mprotect", mprotect(page, 4096, PROT_READ | PROT_EXEC));
    report("mmap", mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                       ? -1
                       : 0);
    report("terminal", syscall(SYS_ioctl, 2, 0x5412, NULL)); /* TIOCSTI; else ENOTTY or EFAULT */
}

static void try_all(void)
{
    static int tried;

    if (tried++)
        return;
    try_processes();
    try_priorities();
    try_own();
    try_sockets();
    try_memory();
    try_files();
}

/* What tools write with. */
ssize_t write(int fd, const void *data, size_t n)
{
    try_all();
    return syscall(SYS_write, fd, data, n);
}

int fflush(FILE *file)
{
    try_all();
    return fflush_unlocked(file);
}

/* ---- while the sandbox is made */

enum { RESTRICT_SELF = 446 };

long syscall(long number, ...)
{
    static long (*real)(long, ...);
    const char *lacks = getenv("LACKS");
    long a[6];
    va_list ap;

    va_start(ap, number);
    for (int i = 0; i < 6; i++)
        a[i] = va_arg(ap, long);
    va_end(ap);
    if (lacks && atol(lacks) == number) {
        errno = ENOSYS;
        return -1;
    }
    if (number == RESTRICT_SELF && getenv("REPLACE_BY") &&
        rename(getenv("REPLACE_BY"), getenv("REPLACE")) != 0)
        abort();
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "syscall");
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}
