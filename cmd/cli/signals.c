/* cli: signals that ask a tool to stop or to report its progress. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"

#define N_STOPS 3 /* of them, requests to stop */
#define N_ENDS 6
#define SAME_REQUEST 1.0 /* seconds within which another stop signal repeats the same request */

/* Signals that end a tool, from outside. */
static const int ends[N_ENDS] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE, SIGXCPU};
static volatile sig_atomic_t stop_signal;
static double stop_time; /* when stop_signal came; used by on_stop() only */
static volatile sig_atomic_t status_asked;
static char temporary[8192];                /* path of a save's temporary file ... */
static volatile sig_atomic_t has_temporary; /* ... while one exists */

static void stop_set(sigset_t *set)
{
    sigemptyset(set);
    for (size_t i = 0; i < N_ENDS; i++)
        sigaddset(set, ends[i]);
}

/* The other stop signals are blocked while one is handled. */
static void set_action(int number, void (*action)(int))
{
    struct sigaction sa = {.sa_handler = action, .sa_flags = SA_RESTART};

    stop_set(&sa.sa_mask);
    sigaction(number, &sa, NULL);
}

/* Remove the temporary file, and let the signal end the tool when its handler returns. */
static void end_at_once(int number)
{
    const int sys = errno;

    if (has_temporary)
        unlink(temporary);
    set_action(number, SIG_DFL);
    raise(number);
    errno = sys;
}

static void on_stop(int number)
{
    const int sys = errno;
    const double t = cli_now();

    if (!stop_signal) {
        stop_signal = number;
        stop_time = t;
    } else if (t - stop_time > SAME_REQUEST) {
        end_at_once(number);
    }
    errno = sys;
}

static void on_status(int number)
{
    (void)number;
    status_asked = 1;
}

/* A signal that the parent ignores (nohup, a script's background job) stays ignored. */
static bool current_action(int number, struct sigaction *old)
{
    return sigaction(number, NULL, old) == 0 && old->sa_handler != SIG_IGN;
}

static void catch_signal(int number, void (*action)(int))
{
    struct sigaction old;

    if (current_action(number, &old))
        set_action(number, action);
}

static void catch_unless_caught(int number, void (*action)(int))
{
    struct sigaction old;

    if (current_action(number, &old) && old.sa_handler == SIG_DFL)
        set_action(number, action);
}

void cli_ignore_file_limit(void)
{
    set_action(SIGXFSZ, SIG_IGN);
}

/* ---- the temporary file of a save */

void cli_hold_stops(sigset_t *old)
{
    sigset_t set;

    stop_set(&set);
    sigprocmask(SIG_BLOCK, &set, old);
}

void cli_release_stops(const sigset_t *old)
{
    sigprocmask(SIG_SETMASK, old, NULL);
}

void cli_keep_temporary(const char *path)
{
    const size_t n = strlen(path) + 1;

    if (n > sizeof temporary)
        return;
    memcpy(temporary, path, n);
    has_temporary = 1;
    for (size_t i = 0; i < N_ENDS; i++)
        catch_unless_caught(ends[i], end_at_once);
}

void cli_forget_temporary(void)
{
    has_temporary = 0;
}

/* ---- requests */

void cli_catch_status(void)
{
    catch_signal(SIGUSR1, on_status);
}

void cli_catch_stop(void)
{
    for (size_t i = 0; i < N_STOPS; i++)
        catch_signal(ends[i], on_stop);
}

int cli_stop_signal(void)
{
    return stop_signal;
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
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    raise(number);
    _exit(128 + number);
}
