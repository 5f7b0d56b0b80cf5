/*
 * calls: system calls by name.
 */
#ifndef TG_TESTS_FAULTS_CALLS_H
#define TG_TESTS_FAULTS_CALLS_H

#include <stdbool.h>

#include "tests/faults/plan.h"

/* Let the calls in a list, "read,write", count; or a group of them: "file", all on files and directories. */
void calls_choose(bool chosen[PLAN_CALLS_MAX], const char *list);

const char *calls_name(int number);
bool calls_removes(int number); /* files or directories */

/* The number of an error or a signal, as "EIO" or "SIGTERM". */
int calls_error(const char *name);

#endif
