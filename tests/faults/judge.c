#define _GNU_SOURCE /* memmem */
#include "tests/faults/judge.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/faults/calls.h"

#define REPORTS_MAX 10

const char *const kind_names[KINDS] = {"memory",  "error",  "late",   "short", "kill", "stop",
                                       "moments", "closed", "reader", "size",  "trace"};

static bool is_kill(const sweep *s)
{
    return s->kind == KILL || s->kind == MOMENTS;
}

/* The signal that is the fault, and ends the run; 0: a fault of another kind. */
static int ending_signal(const sweep *s)
{
    return is_kill(s) ? SIGKILL : s->kind == STOP ? s->trial.plan->error : 0;
}

/* ---- what went wrong */

static void show(const char *what, const bytes *b)
{
    fprintf(stderr, "    %s: %zu bytes%s", what, b->n, b->n > 0 ? ": " : "");
    for (size_t i = 0; i < b->n && i < 600; i++) {
        const unsigned char c = (unsigned char)b->data[i];

        if (c == '\n')
            fprintf(stderr, i + 1 < b->n ? "\n        " : "");
        else
            fprintf(stderr, isprint(c) ? "%c" : "\\x%02x", c);
    }
    fprintf(stderr, "\n");
}

void judge_wrong(sweep *s, const outcome *o, const char *format, ...)
{
    const plan *p = s->trial.plan;
    va_list ap;

    if (s->failed++ >= REPORTS_MAX)
        return;
    fprintf(stderr, "%s %llu, %s%s:", kind_names[s->kind], s->n,
            p->fired_call >= 0 ? calls_name(p->fired_call) : "-", s->for_good ? ", for good" : "");
    for (char **word = s->trial.command; *word; word++)
        fprintf(stderr, " %s", *word);
    fprintf(stderr, "\n    ");
    va_start(ap, format);
    vfprintf(stderr, format, ap);
    va_end(ap);
    fprintf(stderr, "\n    status %d\n", o->status);
    show("standard error", &o->err);
}

/* ---- standard error */

/* A line of text, with each number as #; the caller frees it. */
static char *line_shape(const char *line, size_t n)
{
    char *shape = calloc(1, n + 1);
    size_t m = 0;

    if (!shape)
        fatal("out of memory");
    for (size_t i = 0; i < n; i++) {
        const bool digit = isdigit((unsigned char)line[i]) != 0;

        if (digit && m > 0 && shape[m - 1] == '#')
            continue;
        if ((line[i] == '.' || line[i] == ',') && m > 0 && shape[m - 1] == '#' &&
            isdigit((unsigned char)line[i + 1]))
            continue;
        shape[m++] = digit ? '#' : line[i];
    }
    return shape;
}

/* Whether the run without a fault also says this, except its numbers. */
static bool usual_line(const sweep *s, const char *line, size_t n)
{
    char *shape = line_shape(line, n);
    bool found = false;

    for (const char *other = s->good.err.data; !found && *other != '\0';) {
        const size_t m = strcspn(other, "\n");
        char *other_shape = line_shape(other, m);

        found = strcmp(shape, other_shape) == 0;
        free(other_shape);
        other += m + (other[m] == '\n');
    }
    free(shape);
    return found;
}

/* Whether a message names the fault. */
static bool names_fault(const sweep *s, const char *line, size_t n)
{
    const char *what = "";

    if (s->kind == MEMORY)
        what = "memory";
    if (s->kind == ERROR || s->kind == LATE)
        what = strerror(s->trial.plan->error);
    if (s->kind == SIZE)
        what = strerror(EFBIG);
    if (s->kind == CLOSED)
        what = strerror(EBADF);
    return memmem(line, n, what, strlen(what)) != NULL;
}

/* Whether tg-train says that a save in the course of a run has failed, and why.  What the last one does
 * decides about the status. */
static bool is_tried_again(const sweep *s, const char *line, size_t n)
{
    static const char *const ends[] = {", and the next save tries again",
                                       "; the run continues, and this step does not count as the best"};

    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const size_t m = strlen(ends[i]);

        if (n > m && strncmp(line + n - m, ends[i], m) == 0)
            return strcmp(s->tool, "tg-train") == 0 && names_fault(s, line, n);
    }
    return false;
}

/* The lines besides the usual ones and those of saves that are tried again: how many, and the last of them.
 */
static size_t own_lines(const sweep *s, const outcome *o, const char **last, size_t *length)
{
    size_t count = 0;

    for (const char *line = o->err.data; *line != '\0';) {
        const size_t n = strcspn(line, "\n");

        if (!usual_line(s, line, n) && !is_tried_again(s, line, n)) {
            count++;
            *last = line;
            *length = n;
        }
        line += n + (line[n] == '\n');
    }
    return count;
}

/* One line on standard error: TOOL: why. */
static void check_message(sweep *s, const outcome *o)
{
    const char *line = "";
    size_t n = 0;
    const size_t count = own_lines(s, o, &line, &n), prefix = strlen(s->tool);

    if (s->trial.closed & 1u << STDERR_FILENO)
        return;
    if (count != 1 &&
        !(count == 2 && snapshot_find(&s->after, "log"))) /* writing it failed, then saving the model */
        judge_wrong(s, o, "%zu lines of its own on standard error, expected 1", count);
    else if (strncmp(line, s->tool, prefix) != 0 || line[prefix] != ':')
        judge_wrong(s, o, "the message does not begin with the tool's name");
    else if (!names_fault(s, line, n))
        judge_wrong(s, o, "the message does not name the fault");
}

/* ---- files */

static bool is_temporary(const char *path)
{
    const char *slash = strrchr(path, '/');

    return strncmp(slash ? slash + 1 : path, ".tg-", 4) == 0;
}

/* Whether the fault itself has kept the tool from removing a file. */
static bool removal_failed(const sweep *s)
{
    for (int number = 0; number < PLAN_CALLS_MAX; number++)
        if (s->trial.plan->failed[number] && calls_removes(number))
            return true;
    return false;
}

static bool rename_failed(const sweep *s)
{
    for (int number = 0; number < PLAN_CALLS_MAX; number++)
        if (s->trial.plan->failed[number] && strcmp(calls_name(number), "rename") == 0)
            return true;
    return false;
}

/* A model that could not be put in its place is kept as NAME.step-N. */
static void remove_fallbacks(const sweep *s)
{
    snapshot now;

    if (!rename_failed(s))
        return;
    now = snapshot_take();
    for (size_t i = 0; i < now.n; i++)
        if (strstr(now.file[i].path, ".step-") && unlink(now.file[i].path) != 0)
            fatal("%s: %s", now.file[i].path, strerror(errno));
    snapshot_free(&now);
}

/* Each file is what it was before, or what it is after an undisturbed run; nothing else is there. */
static void check_files(sweep *s, const outcome *o)
{
    snapshot now = snapshot_take();

    for (size_t i = 0; i < now.n; i++) {
        const snapshot_file *f = &now.file[i], *old = snapshot_find(&s->before, f->path),
                            *new = snapshot_find(&s->after, f->path);

        if (!old && !new && !(is_temporary(f->path) && (is_kill(s) || removal_failed(s))))
            judge_wrong(s, o, "%s is left", f->path);
        if (!s->resumes && (old || new) && !(old && snapshot_file_equal(old, f)) &&
            !(new &&snapshot_file_equal(new, f)))
            judge_wrong(s, o, "%s is neither the old nor the new one", f->path);
    }
    for (size_t i = 0; i < s->before.n; i++)
        if (snapshot_find(&s->after, s->before.file[i].path) && !snapshot_find(&now, s->before.file[i].path))
            judge_wrong(s, o, "%s is gone", s->before.file[i].path);
    snapshot_free(&now);
}

static void check_result(sweep *s, const outcome *o)
{
    snapshot now = snapshot_take();

    if (!snapshot_equal(&now, &s->after) && !removal_failed(s))
        judge_wrong(s, o, "the files are not those of an undisturbed run");
    if (!(s->trial.closed & 1u << STDOUT_FILENO) && s->trial.reader < 0 &&
        !bytes_equal(&o->out, &s->good.out))
        judge_wrong(s, o, "standard output is not that of an undisturbed run");
    if (s->trial.closed & 1u << STDOUT_FILENO && s->good.out.n > 0)
        judge_wrong(s, o, "standard output is closed, and nobody was told");
    snapshot_free(&now);
}

/* ---- a case */

static void check_prefix(sweep *s, const outcome *o)
{
    if (o->out.n > s->good.out.n || memcmp(o->out.data, s->good.out.data, o->out.n) != 0)
        judge_wrong(s, o, "standard output is no beginning of an undisturbed run's");
}

void judge_blocks(sweep *s, const outcome *o)
{
    const plan *p = s->trial.plan;

    if (p->ended && p->live > 0)
        judge_wrong(s, o, "%lld blocks are not freed, one of them from %#llx", (long long)p->live,
                    (unsigned long long)p->leak);
    if (p->ended && p->live_in_libc > s->good_in_libc)
        judge_wrong(s, o, "libc holds %lld blocks, %lld after an undisturbed run", (long long)p->live_in_libc,
                    (long long)s->good_in_libc);
}

/* Writing the log failed: its model is saved, of a step whose line the log lacks. */
static bool log_failed(const outcome *o)
{
    return o->err.data && strstr(o->err.data, "cannot write the log");
}

/* Whether two snapshots are equal, but for the log. */
static bool equal_but_for_log(const snapshot *now, const snapshot *want)
{
    for (size_t i = 0; i < want->n; i++) {
        const snapshot_file *f = snapshot_find(now, want->file[i].path);

        if (!f || (strcmp(f->path, "log") != 0 && !snapshot_file_equal(f, &want->file[i])))
            return false;
    }
    return now->n == want->n;
}

/* Without the fault, the same command gives the result. */
static void check_again(sweep *s, const outcome *o)
{
    const plan_kind kept = s->trial.plan->kind;
    const double seconds = s->trial.seconds;
    const long long limit = s->trial.size_limit;
    snapshot now;
    outcome again;

    s->trial.plan->kind = PLAN_COUNT;
    s->trial.seconds = 0;
    s->trial.size_limit = -1;
    again = trial_run(&s->trial);
    s->trial.plan->kind = kept;
    s->trial.seconds = seconds;
    s->trial.size_limit = limit;
    now = snapshot_take();
    if (again.status != s->expected)
        judge_wrong(s, &again, "the same command then fails");
    else if (log_failed(o) ? !equal_but_for_log(&now, &s->after) : !snapshot_equal(&now, &s->after))
        judge_wrong(s, o, "the same command then does not reach the result of an undisturbed run");
    snapshot_free(&now);
    outcome_free(&again);
}

/* Whether a signal ends the tool at once, without a line: tg-train finishes its step, or ignores it. */
static bool is_ended_at_once(const sweep *s)
{
    return s->kind == STOP && strcmp(s->tool, "tg-train") != 0;
}

/* A run that did not end with 0. */
static void check_failure(sweep *s, const outcome *o)
{
    const int number = ending_signal(s), status = number ? 128 + number : 3;
    const char *line;
    size_t n;

    if (s->must_succeed)
        judge_wrong(s, o, "expected the result of an undisturbed run");
    else if (s->kind == READER && o->status == 128 + SIGPIPE && own_lines(s, o, &line, &n) == 0)
        return;
    else if (s->kind == READER)
        judge_wrong(s, o, "expected the end by SIGPIPE, and no line");
    else if (o->status != status)
        judge_wrong(s, o, "expected status %d", status);
    else if (!number)
        check_message(s, o);
    else if (is_ended_at_once(s) && own_lines(s, o, &line, &n) > 0)
        judge_wrong(s, o, "expected no line");
    if (number || s->resumes)
        check_again(s, o);
}

void judge(sweep *s, const outcome *o)
{
    check_prefix(s, o);
    judge_blocks(s, o);
    remove_fallbacks(s);
    check_files(s, o);
    if (o->status == s->expected &&
        s->trial.reader == 0) /* one that reads some bytes may leave a pipe that holds the rest */
        judge_wrong(s, o, "the pipe had no reader: expected the end by SIGPIPE");
    else if (o->status == s->expected && is_ended_at_once(s) && s->trial.plan->sent)
        judge_wrong(s, o, "expected the end by the signal");
    else if (o->status == s->expected)
        check_result(s, o);
    else
        check_failure(s, o);
}

void judge_end(const sweep *s)
{
    if (s->failed > REPORTS_MAX)
        fprintf(stderr, "and %lu more\n", s->failed - REPORTS_MAX);
}
