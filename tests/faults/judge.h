/*
 * judge: whether a run with a fault ended as it must; messages on standard error say which did not.
 */
#ifndef TG_TESTS_FAULTS_JUDGE_H
#define TG_TESTS_FAULTS_JUDGE_H

#include "tests/faults/snapshot.h"
#include "tests/faults/trial.h"

typedef enum kind {
    MEMORY,
    ERROR,
    LATE,
    SHORT,
    KILL,
    STOP,
    MOMENTS,
    CLOSED,
    READER,
    SIZE,
    TRACE,
    KINDS
} kind;

extern const char *const kind_names[KINDS];

typedef struct sweep {
    kind kind;
    bool for_good, must_succeed, resumes;
    unsigned long max; /* cases; 0: all */
    uint32_t threads;  /* that an undisturbed run must create, at least */
    int expected;      /* status of an undisturbed run */
    uint64_t seed;
    bool near[PLAN_CALLS_MAX];    /* by their numbers: what -b names */
    bool is_beside[PLAN_LOG_MAX]; /* the nth call of the run is one, or follows one */
    trial trial;
    const char *after_each; /* a shell command; NULL: none */
    const char *tool;       /* its name, as messages have it */
    snapshot before, after; /* the directory, without a fault */
    outcome good;           /* the run without a fault */
    int64_t good_in_libc;   /* blocks that libc holds at its end */
    double seconds;         /* how long it took */
    uint64_t calls;         /* how many it made */
    unsigned long long n;   /* the case: which call, or how many bytes */
    unsigned long cases, failed;
} sweep;

/* Report a run as wrong: a message, as printf() makes it. */
__attribute__((format(printf, 3, 4))) void judge_wrong(sweep *s, const outcome *o, const char *format, ...);

/* Judge a run: its status, what it printed, the files that it left. */
void judge(sweep *s, const outcome *o);

/* Only whether it has freed its memory. */
void judge_blocks(sweep *s, const outcome *o);

/* Print how many more runs were wrong than are reported. */
void judge_end(const sweep *s);

#endif
