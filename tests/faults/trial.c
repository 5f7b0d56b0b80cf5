#define _GNU_SOURCE /* memfd_create */
#include "tests/faults/trial.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define HANGS 300            /* seconds: no command takes so long on any machine */
#define PIPE_BYTES (1 << 20) /* what a pipe holds at most */
#define HIGH 200             /* descriptors of ours in the command are above */

static int need_fd(int fd, const char *what)
{
    if (fd < 0)
        fatal("%s: %s", what, strerror(errno));
    return fd;
}

void trial_open(trial *t)
{
    const int fd = need_fd(memfd_create("plan", MFD_CLOEXEC), "memfd_create");

    t->plan_fd = need_fd(fcntl(fd, F_DUPFD, HIGH), "fcntl");
    close(fd);
    if (ftruncate(t->plan_fd, sizeof *t->plan) != 0)
        fatal("ftruncate: %s", strerror(errno));
    t->plan = mmap(NULL, sizeof *t->plan, PROT_READ | PROT_WRITE, MAP_SHARED, t->plan_fd, 0);
    if (t->plan == MAP_FAILED)
        fatal("mmap: %s", strerror(errno));
}

static void clear_report(plan *p)
{
    p->count = p->fired = p->leak = 0;
    p->sent = p->waits = false;
    p->threads = 0;
    p->live = p->live_in_libc = 0;
    p->fired_call = -1;
    p->ended = false;
    memset(p->failed, 0, sizeof p->failed);
    p->logged = 0;
}

/* ---- standard input */

/* A pipe that holds PIPE_BYTES. */
static void open_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0 || fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES) < 0)
        fatal("pipe: %s", strerror(errno));
}

/* A pipe for standard output, of which the reader may be gone before anything is written. */
static int open_output(int ends[2], bool no_reader)
{
    if (pipe2(ends, O_CLOEXEC) != 0)
        fatal("pipe: %s", strerror(errno));
    if (no_reader) {
        close(ends[0]);
        ends[0] = -1;
    }
    return ends[1];
}

static int open_input(const trial *t)
{
    const int fd = need_fd(open(t->input ? t->input : "/dev/null", O_RDONLY | O_CLOEXEC), t->input);
    int ends[2];
    bytes b;

    if (!t->input_is_pipe)
        return fd;
    b = bytes_of_file(fd);
    close(fd);
    open_pipe(ends);
    if (write(ends[1], b.data, b.n) != (ssize_t)b.n)
        fatal("a pipe of %zu bytes: %s", b.n, strerror(errno));
    close(ends[1]);
    free(b.data);
    return ends[0];
}

/* ---- the command's side */

static void set_library(int plan_fd)
{
    char self[PATH_MAX], library[PATH_MAX + 16], fd[16];
    const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);

    if (n < 0)
        fatal("/proc/self/exe: %s", strerror(errno));
    self[n] = '\0';
    snprintf(library, sizeof library, "%s/preload.so", dirname(self));
    snprintf(fd, sizeof fd, "%d", plan_fd);
    setenv("LD_PRELOAD", library, 1);
    setenv(PLAN_FD_VARIABLE, fd, 1);
}

__attribute__((noreturn)) static void become_command(const trial *t, int in, int out, int err)
{
    const struct rlimit limit = {(rlim_t)t->size_limit, (rlim_t)t->size_limit};

    set_library(t->plan_fd);
    setenv("TMPDIR", ".", 1); /* where a file that is left is seen */
    alarm(HANGS);
    for (int number = 1; number < SIGRTMIN; number++)
        signal(number, SIG_DFL); /* a shell in the background ignores some */
    dup2(in, STDIN_FILENO);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (int fd = 0; fd < 3; fd++)
        if (t->closed & 1u << fd)
            close(fd);
    if (t->size_limit >= 0 && setrlimit(RLIMIT_FSIZE, &limit) != 0)
        _exit(97);
    execvp(t->command[0], t->command);
    _exit(97);
}

/* ---- ours */

static void take_bytes(int fd, long long n, bytes *b)
{
    ssize_t got = 1;

    b->data = malloc((size_t)n + 1);
    if (!b->data)
        fatal("out of memory");
    while ((long long)b->n < n && (got = read(fd, b->data + b->n, (size_t)n - b->n)) > 0)
        b->n += (size_t)got;
    b->data[b->n] = '\0';
}

static void wait_seconds(double seconds)
{
    struct timespec t = {(time_t)seconds, (long)((seconds - floor(seconds)) * 1e9)};

    while (nanosleep(&t, &t) != 0)
        ;
}

/* Send the command the signal, once it waits for that, unless it ends before. */
static void send_signal(const trial *t, pid_t child)
{
    siginfo_t ended = {0};

    while (!t->plan->waits && waitid(P_PID, (id_t)child, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
           ended.si_pid == 0)
        wait_seconds(1e-4);
    if (t->plan->waits) {
        kill(child, t->plan->error);
        t->plan->sent = true;
    }
}

outcome trial_run(const trial *t)
{
    int ends[2] = {-1, -1}, err[2], status;
    outcome o = {0};
    int in, out;
    pid_t child;

    clear_report(t->plan);
    in = open_input(t);
    open_pipe(err);
    if (t->reader < 0)
        out = need_fd(memfd_create("out", MFD_CLOEXEC), "memfd_create");
    else
        out = open_output(ends, t->reader == 0);
    child = fork();
    if (child == 0)
        become_command(t, in, out, err[1]);
    if (child < 0)
        fatal("fork: %s", strerror(errno));
    close(in);
    close(err[1]);
    if (t->reader >= 0) {
        close(ends[1]);
        take_bytes(ends[0], t->reader, &o.out);
        if (ends[0] >= 0)
            close(ends[0]);
    }
    if (t->seconds > 0) {
        wait_seconds(t->seconds);
        kill(child, SIGKILL);
    }
    if (t->plan->kind == PLAN_STOP)
        send_signal(t, child);
    if (waitpid(child, &status, 0) != child)
        fatal("waitpid: %s", strerror(errno));
    o.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    take_bytes(err[0], PIPE_BYTES, &o.err);
    if (t->reader < 0) {
        o.out = bytes_of_file(out);
        close(out);
    }
    close(err[0]);
    return o;
}

void outcome_free(outcome *o)
{
    free(o->out.data);
    free(o->err.data);
    *o = (outcome){0};
}
