/*
 * plan: what the library that is preloaded into a tool (preload.c) has to do, and what it reports.  Both lie
 * in memory that it shares with the driver (sweep.c): a file without a name, whose descriptor is in
 * $TG_FAULT_FD.
 */
#ifndef TG_TESTS_FAULTS_PLAN_H
#define TG_TESTS_FAULTS_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#define PLAN_FD_VARIABLE "TG_FAULT_FD"
#define PLAN_CALLS_MAX 512 /* system calls have smaller numbers */
#define PLAN_LOG_MAX 8192

typedef enum plan_kind {
    PLAN_COUNT,  /* change nothing */
    PLAN_MEMORY, /* an allocation fails */
    PLAN_ERROR,  /* a system call is not made, and fails */
    PLAN_LATE,   /* a system call is made, and then reported as failed */
    PLAN_SHORT,  /* a read or a write transfers one byte */
    PLAN_KILL,   /* SIGKILL before a system call */
    PLAN_STOP    /* a signal to the process after a system call: the driver sends it */
} plan_kind;

/* A system call that was made, with its first path, or its descriptor; what went to standard error. */
typedef struct plan_call {
    int32_t number, fd;
    int64_t result;
    char subject[120]; /* the end of a long path */
} plan_call;

typedef struct plan {
    /* what to do: written by the driver */
    plan_kind kind;
    uint64_t nth;               /* of the calls that count, from 1 */
    uint64_t period;            /* 0: once; otherwise also every period-th call after it */
    int32_t error;              /* errno of the calls that fail; the number of the signal */
    bool calls[PLAN_CALLS_MAX]; /* the system calls that count, except writes to standard error */
    bool maps_files;            /* mappings of files are not allocations */
    _Atomic bool sent;          /* the signal, which the library waits for */
    /* what happened: written by the library */
    _Atomic uint64_t count, fired;
    _Atomic bool waits;           /* for the signal */
    _Atomic uint32_t threads;     /* that were created */
    _Atomic int32_t fired_call;   /* number of the last system call that failed */
    bool failed[PLAN_CALLS_MAX];  /* the system calls of which one failed */
    _Atomic int64_t live;         /* blocks that the tool and its libraries, libc excepted, hold */
    _Atomic int64_t live_in_libc; /* those that libc allocated: its own, and what strdup() or fopen() give */
    _Atomic bool ended;           /* these two are those of the end: exit() was called */
    _Atomic uint64_t leak;        /* where one of them was allocated: an address relative to the program's */
    _Atomic uint32_t logged;
    plan_call log[PLAN_LOG_MAX];
} plan;

#endif
