/*
 * sweep: runs a command again and again in the current directory, each time with another fault, and checks
 * how it ends: with the result of an undisturbed run, or with an error, one line that says why, and files
 * that are whole.
 *
 *     sweep KIND [OPTION]... COMMAND [ARGUMENT]...
 *
 *     memory           the nth allocation fails
 *     error, late      the nth system call fails, without or after its effect: -c CALLS -e ERROR
 *     short            the nth read or write transfers one byte
 *     kill             SIGKILL before the nth system call; the same command then reaches the same result
 *     stop             a signal after the nth system call: -e SIGNAL; then, as after kill
 *     moments          SIGKILL at random moments, a few times in a row, and so on
 *     closed           standard descriptors are closed: all eight combinations
 *     reader           who reads standard output stops after some bytes
 *     size             files may have some bytes at most
 *     trace            no fault: print the system calls
 *
 *     -a COMMAND       a shell command that must succeed after each case, and after the undisturbed run
 *     -b CALLS         with -m: also the cases at each of these system calls, and at the one after it
 *     -c CALLS         the system calls that count: calls.c has their names (default: file, all of them)
 *     -e ERROR         how they fail: EIO and so on; the signal: SIGPIPE or SIGTERM
 *     -f               mappings of files do not fail: another result is right where they do
 *     -g               the nth call and all after it; every other one, if the error is EINTR
 *     -m MAX           at most so many cases, evenly spread (default: all)
 *     -i FILE, -I FILE standard input is this file; a pipe with its content
 *     -o               each run must succeed
 *     -r               the command saves several times: after an error, it continues from what there is
 *     -s SEED          of the random moments
 *     -t N             the undisturbed run must create N threads
 *     -x STATUS        how an undisturbed run ends (default: 0)
 *
 * Prints the number of cases.  Status 1: a case failed; it is described on standard error.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tests/faults/calls.h"
#include "tests/faults/judge.h"
#include "tests/faults/snapshot.h"
#include "tests/faults/trial.h"

static void check_after(sweep *s, const outcome *o)
{
    if (s->after_each && system(s->after_each) != 0)
        judge_wrong(s, o, "what must succeed afterwards fails: %s", s->after_each);
}

/* Run once with the fault, check, and restore the directory. */
static void run_case(sweep *s)
{
    outcome o = trial_run(&s->trial);

    s->cases++;
    judge(s, &o);
    check_after(s, &o);
    outcome_free(&o);
    snapshot_restore(&s->before);
}

/* ---- kinds of sweeps */

static const plan_kind plan_kinds[KINDS] = {[MEMORY] = PLAN_MEMORY, [ERROR] = PLAN_ERROR, [LATE] = PLAN_LATE,
                                            [SHORT] = PLAN_SHORT,   [KILL] = PLAN_KILL,   [STOP] = PLAN_STOP};

/* Run with the fault at the nth call; whether it happened. */
static bool run_nth(sweep *s, uint64_t n)
{
    s->trial.plan->nth = s->n = n;
    run_case(s);
    return s->trial.plan->fired != 0;
}

/* Beside the calls that -b names, of those of the undisturbed run. */
static void sweep_beside(sweep *s)
{
    for (uint64_t n = 1; n <= s->calls && n < PLAN_LOG_MAX; n++)
        if (s->is_beside[n])
            (void)run_nth(s, n);
}

/* Until the fault does not happen any more. */
static void sweep_calls(sweep *s)
{
    plan *p = s->trial.plan;
    const uint64_t cases = s->max > 0 && s->max < s->calls ? s->max : s->calls;

    p->kind = plan_kinds[s->kind];
    p->period = !s->for_good ? 0 : p->error == EINTR ? 2 : 1;
    if (cases < s->calls)
        sweep_beside(s);
    for (uint64_t i = 0;; i++) {
        const bool happened = run_nth(s, i < cases ? i * s->calls / cases + 1 : s->calls + 1 + i - cases);

        if (!happened && i >= cases)
            return;
    }
}

static void sweep_closed(sweep *s)
{
    s->must_succeed = s->good.out.n == 0 && !s->trial.input;
    for (s->trial.closed = 0; s->trial.closed < 8; s->trial.closed++) {
        s->n = s->trial.closed;
        run_case(s);
    }
}

/* Each number of bytes, or as many as are wanted. */
static void sweep_bytes(sweep *s, size_t n, long long *limit)
{
    const uint64_t cases = s->max > 0 && s->max < n ? s->max : n;

    for (uint64_t i = 0; i < cases; i++) {
        s->n = i * n / cases;
        *limit = (long long)s->n;
        run_case(s);
    }
}

/* The length of the longest file that the command writes, standard output included. */
static size_t longest_file(const sweep *s)
{
    size_t n = s->good.out.n;

    for (size_t i = 0; i < s->after.n; i++) {
        const snapshot_file *new = &s->after.file[i], *old = snapshot_find(&s->before, new->path);

        if (!old || !snapshot_file_equal(old, new))
            n = new->content.n > n ? new->content.n : n;
    }
    return n;
}

static double random_share(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) / 9007199254740992.0;
}

/* Kill runs at random moments, most of them where the one before has left the files.  The moments follow how
 * long a run takes just now: some runs end before theirs. */
static void sweep_moments(sweep *s)
{
    uint64_t state = s->seed;

    while (s->cases < s->max) {
        outcome o;
        bool killed;

        s->n++;
        s->trial.seconds = s->seconds * random_share(&state);
        o = trial_run(&s->trial);
        killed = o.status == 128 + SIGKILL;
        s->cases += killed;
        s->seconds *= killed ? 1.1 : 0.8;
        if (!killed || random_share(&state) < 0.3) {
            judge(s, &o);
            check_after(s, &o);
            snapshot_restore(&s->before);
        }
        outcome_free(&o);
    }
}

static void print_trace(const plan *p)
{
    for (size_t i = 0; i < p->logged && i < PLAN_LOG_MAX; i++) {
        const plan_call *c = &p->log[i];

        printf("%s", calls_name(c->number));
        if (c->fd >= 0)
            printf(" %d", c->fd);
        printf(" %.*s = %lld\n", (int)strcspn(c->subject, "\n"), c->subject, (long long)c->result);
    }
}

static void sweep_all(sweep *s)
{
    switch (s->kind) {
    case CLOSED:
        sweep_closed(s);
        break;
    case READER:
        sweep_bytes(s, s->good.out.n, &s->trial.reader);
        break;
    case SIZE:
        sweep_bytes(s, longest_file(s), &s->trial.size_limit);
        break;
    case MOMENTS:
        sweep_moments(s);
        break;
    default:
        sweep_calls(s);
    }
}

/* ---- the beginning */

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Whether a call of the log is one of those that count. */
static bool counts(const plan_call *c)
{
    return c->fd != STDERR_FILENO || (c->number != SYS_write && c->number != SYS_close);
}

/* Note which calls are one that -b names, or the next. */
static void note_beside(sweep *s)
{
    const plan *p = s->trial.plan;
    uint64_t n = 0;

    for (uint32_t i = 0; i < p->logged && i + 2 < PLAN_LOG_MAX; i++) {
        if (!counts(&p->log[i]))
            continue;
        n++;
        if (s->near[p->log[i].number])
            s->is_beside[n] = s->is_beside[n + 1] = true;
    }
}

/* The run without a fault. */
static void run_good(sweep *s)
{
    double begun;

    s->before = snapshot_take();
    begun = now();
    s->good = trial_run(&s->trial);
    s->seconds = now() - begun;
    s->calls = s->trial.plan->count;
    note_beside(s);
    s->after = snapshot_take();
    if (s->good.status != s->expected)
        judge_wrong(s, &s->good, "an undisturbed run ends with another status");
    if (s->trial.plan->threads < s->threads)
        judge_wrong(s, &s->good, "an undisturbed run creates only %u threads", s->trial.plan->threads);
    s->good_in_libc = s->trial.plan->live_in_libc;
    judge_blocks(s, &s->good);
    check_after(s, &s->good);
    snapshot_restore(&s->before);
    if (s->kind == TRACE) /* now: standard output may be a file of the directory */
        print_trace(s->trial.plan);
}

static void usage(void)
{
    fatal("usage: sweep KIND [-a COMMAND] [-b CALLS] [-c CALLS] [-e ERROR] [-f] [-g] [-m MAX] "
          "[-i FILE | -I FILE] [-o] [-r] [-s SEED] [-t N] [-x STATUS] COMMAND...");
}

static void parse(sweep *s, int argc, char **argv)
{
    const char *calls = "file", *error = "EIO";
    int letter;

    while (argc > 1 && s->kind < KINDS && strcmp(kind_names[s->kind], argv[1]) != 0)
        s->kind++;
    if (argc < 3 || s->kind == KINDS)
        usage();
    optind = 2;
    while ((letter = getopt(argc, argv, "+a:b:c:e:fgm:i:I:ors:t:x:")) != -1)
        switch (letter) {
        case 'a':
            s->after_each = optarg;
            break;
        case 'b':
            calls_choose(s->near, optarg);
            break;
        case 'c':
            calls = optarg;
            break;
        case 'e':
            error = optarg;
            break;
        case 'f':
            s->trial.plan->maps_files = true;
            break;
        case 'g':
            s->for_good = true;
            break;
        case 'm':
            s->max = strtoul(optarg, NULL, 10);
            break;
        case 'I':
            s->trial.input_is_pipe = true;
            s->trial.input = optarg;
            break;
        case 'i':
            s->trial.input = optarg;
            break;
        case 'o':
            s->must_succeed = true;
            break;
        case 'r':
            s->resumes = true;
            break;
        case 'x':
            s->expected = atoi(optarg);
            break;
        case 's':
            s->seed = strtoul(optarg, NULL, 10);
            break;
        case 't':
            s->threads = (uint32_t)strtoul(optarg, NULL, 10);
            break;
        default:
            usage();
        }
    s->trial.command = argv + optind;
    s->tool = argv[optind];
    s->trial.plan->error = calls_error(error);
    if (plan_kinds[s->kind] > PLAN_MEMORY || s->kind == TRACE)
        calls_choose(s->trial.plan->calls, calls);
}

int main(int argc, char **argv)
{
    sweep s = {.trial = {.size_limit = -1, .reader = -1}};

    trial_open(&s.trial);
    parse(&s, argc, argv);
    s.trial.plan->kind = s.kind == MEMORY ? PLAN_MEMORY : PLAN_COUNT;
    s.trial.plan->nth = UINT64_MAX; /* count, but let all succeed */
    run_good(&s);
    if (s.kind != TRACE && s.failed == 0) {
        sweep_all(&s);
        printf("%lu\n", s.cases);
    }
    judge_end(&s);
    return s.failed > 0;
}
