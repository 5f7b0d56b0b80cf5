/* cli: signals that ask a tool to stop or to report its progress. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/private.h"

#define N_STOPS 3        /* of them, requests to stop */
#define SAME_REQUEST 1.0 /* seconds within which another stop signal repeats the same request */

/* Signals from outside that end a process which does not handle them: of signal(7), all but SIGKILL, those of
 * defects and those for real-time programs. */
static const int ends[] = {
    SIGINT,    SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU, SIGUSR1, SIGUSR2, SIGALRM, SIGPROF, SIGVTALRM,
#ifdef SIGPOLL
    SIGPOLL,
#endif
#ifdef SIGPWR
    SIGPWR,
#endif
#ifdef SIGSTKFLT
    SIGSTKFLT,
#endif
};

#define N_ENDS (sizeof ends / sizeof ends[0])

static volatile sig_atomic_t stop_signal, can_abandon, abandon_asked;
static double stop_time; /* of the last request that counted; used with stop signals blocked */
static char finishing_line[256], abandoning_line[256]; /* what on_stop() answers */
static char bus_line[128];                             /* what on_bus() says */
static volatile sig_atomic_t status_asked;
static pthread_t main_thread;
/* Files to remove: paths, whether there is one, and whether they have been removed because the tool ends. */
static char kept[CLI_KEPT_FILES][8192];
static atomic_bool is_kept[CLI_KEPT_FILES], dropped;

static void end_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < N_ENDS; i++)
        sigaddset(set, ends[i]);
}

/* The other stop signals are blocked while one is handled. */
static void set_action(int number, void (*action)(int))
{
    struct sigaction sa = {.sa_handler = action, .sa_flags = SA_RESTART};

    end_set(&sa.sa_mask);
    sigaction(number, &sa, NULL);
}

void cli_drop_files(void)
{
    dropped = true;
    for (int kind = 0; kind < CLI_KEPT_FILES; kind++)
        if (is_kept[kind])
            unlink(kept[kind]);
}

/* Leave a signal to the main thread, which may have blocked it until a file is registered.  Return only if
 * that thread has begun to ignore it. */
static void pass_on(int number)
{
    struct sigaction now;

    pthread_kill(main_thread, number);
    while (sigaction(number, NULL, &now) == 0 && now.sa_handler != SIG_IGN)
        (void)poll(NULL, 0, 10); /* milliseconds */
}

/* In the main thread: remove the registered files, and let the signal end the tool when its handler returns.
 * Other threads pass it on. */
static void end_at_once(int number)
{
    const int sys = errno;

    if (pthread_equal(pthread_self(), main_thread)) {
        cli_drop_files();
        set_action(number, SIG_DFL);
        raise(number);
    } else {
        pass_on(number);
    }
    errno = sys;
}

static void on_stop(int number)
{
    const int sys = errno;
    const double t = cli_now();
    const bool same = stop_signal && t - stop_time <= SAME_REQUEST;

    if (!same)
        stop_time = t;
    if (!stop_signal) {
        stop_signal = number;
        cli_say_at_once(finishing_line);
    } else if (!same && can_abandon && !abandon_asked) {
        abandon_asked = 1;
        cli_say_at_once(abandoning_line);
    } else if (!same) {
        end_at_once(number);
    }
    errno = sys;
}

static void on_status(int number)
{
    (void)number;
    status_asked = 1;
}

/* Handle a signal, unless the parent ignores it (nohup, a script's background job), or, if `unless_caught`,
 * it is handled already. */
static void catch_signal(int number, void (*action)(int), bool unless_caught)
{
    struct sigaction old;

    if (sigaction(number, NULL, &old) == 0 && old.sa_handler != SIG_IGN &&
        !(unless_caught && old.sa_handler != SIG_DFL))
        set_action(number, action);
}

void cli_ignore_sigpipe(void)
{
    set_action(SIGPIPE, SIG_IGN);
}

/* SIGBUS: a mapped file was truncated, or the disk failed.  Any other cause is a bug. */
static void on_bus(int number, siginfo_t *info, void *context)
{
    static atomic_flag said = ATOMIC_FLAG_INIT;

    (void)context;
    if (info->si_code == BUS_ADRERR) {
        while (atomic_flag_test_and_set(&said)) /* several threads: the first one ends the tool */
            pause();
        cli_say_at_once(bus_line);
        cli_drop_files();
        _exit(CLI_IO);
    }
    end_at_once(number);
}

void cli_begin_signals(void)
{
    struct sigaction bus = {.sa_flags = SA_SIGINFO, .sa_sigaction = on_bus};

    main_thread = pthread_self();
    set_action(SIGXFSZ, SIG_IGN);
    snprintf(bus_line, sizeof bus_line, "%s: a file that is read has become shorter, or cannot be read\n",
             cli_stderr.tool);
    end_set(&bus.sa_mask);
    sigaction(SIGBUS, &bus, NULL);
}

/* ---- files to remove: a save's temporary file, a lock */

void cli_hold_ends(sigset_t *old)
{
    sigset_t set;

    for (size_t i = 0; i < N_ENDS; i++)
        catch_signal(ends[i], end_at_once, true);
    end_set(&set);
    pthread_sigmask(SIG_BLOCK, &set, old);
}

void cli_release_ends(const sigset_t *old)
{
    pthread_sigmask(SIG_SETMASK, old, NULL);
}

void cli_keep_file(cli_kept kind, const char *path)
{
    const size_t n = strlen(path) + 1;

    if (n > sizeof kept[kind])
        return;
    memcpy(kept[kind], path, n);
    is_kept[kind] = true;
    if (dropped)
        unlink(path);
}

void cli_forget_file(cli_kept kind)
{
    is_kept[kind] = false;
}

/* ---- requests */

void cli_catch_status(void)
{
    catch_signal(SIGUSR1, on_status, false);
}

void cli_catch_stop(const char *finishing, const char *abandoning)
{
    const bool in_line = finishing[0] == '\n';

    snprintf(finishing_line, sizeof finishing_line, "%s%s: %s\n", in_line ? "\n" : "", cli_stderr.tool,
             finishing + in_line);
    snprintf(abandoning_line, sizeof abandoning_line, "%s: %s\n", cli_stderr.tool, abandoning);
    for (size_t i = 0; i < N_STOPS; i++)
        catch_signal(ends[i], on_stop, false);
}

void cli_release_stop(void)
{
    struct sigaction now;
    sigset_t old;

    cli_hold_ends(&old);
    for (size_t i = 0; i < N_STOPS; i++)
        if (sigaction(ends[i], NULL, &now) == 0 && now.sa_handler == on_stop)
            set_action(ends[i], end_at_once);
    if (stop_signal == SIGINT)
        stop_signal = 0;
    cli_release_ends(&old);
}

int cli_stop_signal(void)
{
    return stop_signal;
}

void cli_note_stop(int number)
{
    sigset_t old;

    cli_hold_ends(&old);
    if (!stop_signal) {
        stop_signal = number;
        stop_time = cli_now();
    }
    cli_release_ends(&old);
}

void cli_let_abandon(bool can)
{
    can_abandon = can;
}

bool cli_abandon_asked(void)
{
    return abandon_asked;
}

bool cli_status_asked(void)
{
    const bool asked = status_asked != 0;

    status_asked = 0;
    return asked;
}

void cli_raise(int number)
{
    sigset_t set;

    cli_progress_end();
    set_action(number, SIG_DFL);
    sigemptyset(&set);
    sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number);
}
