/*
 * threads: loops whose iterations are shared among threads.
 *
 *     tg_threads_run(n, grain, body, context)
 *
 * calls body(context, begin, end) once for each part of 0 .. n-1: grain indices, fewer in the last
 * part.  The caller takes parts as the other threads do.  Each thread begins with a stretch of
 * neighbouring parts, the same in every loop of that length, so that its cache holds their data;
 * then it takes over parts from slower threads.  A loop waits only for parts that have
 * begun: on a busy machine, where the other threads get no processor, the caller does all the work.
 *
 * A loop of one part is a call.  For more, at least ten microseconds of work are worth sharing.
 * Between loops the threads wait actively for some microseconds, then asleep.
 *
 * Threads are created when a loop first needs them, and kept.  If the system refuses, there are
 * fewer.  They block all signals except those that a thread causes itself, such as SIGBUS and SIGPIPE, and of
 * these they block what their creator blocks.  A loop inside a loop, or during another thread's loop, runs in
 * its caller's thread alone.  After fork() the child creates its own.
 */
#ifndef TG_BASE_THREADS_H
#define TG_BASE_THREADS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/tg/machine.h"

/* Array elements of a part that is worth sharing, in loops that do little with each. */
#ifndef TG_THREADS_ELEMENTS
#define TG_THREADS_ELEMENTS ((size_t)8192)
#endif

/* The first number in the environment variable OMP_NUM_THREADS.  0: it is not set, or empty;
 * SIZE_MAX: it does not begin with a number above 0. */
size_t tg_threads_asked(void);

/* The number of the calling thread in its loop, below tg_threads(); 0 outside loops. */
size_t tg_threads_self(void);

typedef void tg_threads_body(void *context, size_t begin, size_t end);

void tg_threads_run(size_t n, size_t grain, tg_threads_body *body, void *context);

/* The same with at most so many threads, for a context that has scratch for no more. */
void tg_threads_run_on(size_t threads, size_t n, size_t grain, tg_threads_body *body, void *context);

/* The grain for indices of `each` elements: a multiple of `unit`. */
size_t tg_threads_grain(size_t each, size_t unit);

/*
 * Call step(context, i) for 0 .. n-1 on several threads, begun in that order, and after each step
 * turn(context, i) in the same thread, one at a time and in that order.  When a turn returns false,
 * no further step begins and no further turn is taken.  Returns whether all turns returned true.
 */
typedef void tg_threads_step(void *context, size_t i);
typedef bool tg_threads_turn(void *context, size_t i);

bool tg_threads_run_in_turn(size_t threads, size_t n, tg_threads_step *step, tg_threads_turn *turn,
                            void *context);

#endif
