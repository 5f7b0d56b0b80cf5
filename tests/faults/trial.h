/*
 * trial: one run of a command, with a fault.
 */
#ifndef TG_TESTS_FAULTS_TRIAL_H
#define TG_TESTS_FAULTS_TRIAL_H

#include <stdbool.h>

#include "tests/faults/plan.h"
#include "tests/faults/snapshot.h"

typedef struct trial {
    char **command;
    const char *input;    /* a file that is standard input; NULL: /dev/null */
    bool input_is_pipe;   /* with the file's bytes, which must fit into it */
    unsigned closed;      /* bits: the standard descriptors that are closed */
    long long size_limit; /* of files; negative: none */
    long long reader;     /* how many bytes the reader of standard output takes; negative: it is a file */
    double seconds;       /* after which the command is killed; 0: never */
    plan *plan;           /* shared with the command; trial_open() makes it */
    int plan_fd;
} trial;

typedef struct outcome {
    int status; /* as in a shell: 128 + the number of the signal */
    bytes out, err;
} outcome;

/* Fill in plan and plan_fd. */
void trial_open(trial *t);

/* Run the command once, with t->plan->kind and so on; what the plan reports begins at 0. */
outcome trial_run(const trial *t);
void outcome_free(outcome *o);

#endif
