/*
 * check: the few macros that the C tests share.  A test program is a list of
 * functions run with RUN(); it prints a line for each and exits 1 when a check
 * failed.
 */
#ifndef TG_TESTS_CHECK_H
#define TG_TESTS_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/arena.h"
#include "lib/base/status.h"

void check_run(const char *name, void (*test)(void));
int check_done(void);

/*
 * The main of a test of what depends on the instruction set: runs the tests with the
 * kernels of the set that the argument names ("best": of the best that this machine runs),
 * or, without one, with those of every set that this machine runs.  Returns the exit status: CHECK_SKIPPED if
 * the machine (or the program) lacks the named set, and prints why.
 */
enum { CHECK_SKIPPED = 77 };
int check_each_isa(int argc, char **argv, void (*tests)(void));

void check_true(const char *file, int line, bool ok, const char *what);
void check_equal(const char *file, int line, long long got, long long want, const char *what);
void check_near(const char *file, int line, double got, double want, double tolerance, const char *what);
void check_contains(const char *file, int line, const char *text, const char *part);
void check_ok(const char *file, int line, tg_status status, const tg_err *err);

#define RUN(test) check_run(#test, test)
#define CHECK(ok) check_true(__FILE__, __LINE__, (ok), #ok)
#define CHECK_EQ(got, want) check_equal(__FILE__, __LINE__, (long long)(got), (long long)(want), #got)
/* |got - want| <= tolerance; a NaN fails. */
#define CHECK_NEAR(got, want, tolerance) check_near(__FILE__, __LINE__, (got), (want), (tolerance), #got)
#define CHECK_HAS(text, part) check_contains(__FILE__, __LINE__, (text), (part))
#define CHECK_OK(status, err) check_ok(__FILE__, __LINE__, (status), (err))

/* What a test of many cases takes: the usual number, or the one of `make soak` ($TG_SOAK). */
size_t check_soak(size_t usual, size_t soak);

/* Defined with a sanitizer that needs more memory than any limit, of gcc or clang. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CHECK_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CHECK_SANITIZED 1
#endif
#endif

/* How often to repeat a random test: n times, or a tenth of that while one works ($TG_QUICK). */
size_t check_rounds(size_t n);

/* The step of a loop over all cases: 1, or n while one works, to take one case of n. */
size_t check_step(size_t n);

/* Numbers in [-1, 1), the same in every run. */
double check_random(uint64_t seed, uint64_t index);
void check_fill(float *x, size_t n, uint64_t seed, double scale);
void check_fill64(double *x, size_t n, uint64_t seed, double scale);

/* Make every float of an arena's memory NaN, the poisoned gaps between blocks included. */
void check_fill_arena(const tg_arena *arena);

/* The largest |a - b| / max(1, |b|). */
double check_distance(const float *a, const float *b, size_t n);
double check_distance64(const float *a, const double *b, size_t n);

#endif
