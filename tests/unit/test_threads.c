/* Loops shared among threads: each part once, in any circumstances. */
#define _DEFAULT_SOURCE /* usleep */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/base/threads.h"
#include "lib/base/atomic_min.h"

#include "lib/base/size.h"
#include "tests/unit/check.h"

#define N_MAX ((size_t)5000)

/* How often each index was visited, and what was wrong with the calls. */
struct visits {
    size_t n, grain, threads;
    atomic_size_t wrong;
    atomic_uchar count[N_MAX];
};

static void visit(void *context, size_t begin, size_t end)
{
    struct visits *v = context;

    if (begin % v->grain != 0 || end != tg_size_min(v->n, begin + v->grain) ||
        tg_threads_self() >= v->threads)
        v->wrong++;
    for (size_t i = begin; i < end; i++)
        v->count[i]++;
}

/* Wrong calls, and indices not visited once. */
static size_t wrong_in_loop(size_t n, size_t grain, size_t threads)
{
    static struct visits v;

    memset(&v, 0, sizeof v);
    v.n = n;
    v.grain = grain;
    v.threads = threads;
    tg_threads_run_on(threads, n, grain, visit, &v);
    for (size_t i = 0; i < N_MAX; i++)
        v.wrong += v.count[i] != (i < n);
    return v.wrong;
}

static void check_loop(size_t n, size_t grain, size_t threads)
{
    CHECK_EQ(wrong_in_loop(n, grain, threads), 0);
}

/* Workers block signals from outside, so that the caller's thread gets them, but none that a thread causes
 * itself. */
static void look_at_mask(void *context, size_t begin, size_t end)
{
    atomic_size_t *wrong = context;
    sigset_t blocked;
    const bool asked = pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0, is_worker = tg_threads_self() > 0;

    (void)begin, (void)end;
    if (!asked || sigismember(&blocked, SIGPIPE) || sigismember(&blocked, SIGXFSZ) ||
        sigismember(&blocked, SIGBUS) || sigismember(&blocked, SIGTERM) != is_worker)
        ++*wrong;
    usleep(1000); /* the others also take a part */
}

static void signals_of_a_thread(void)
{
    atomic_size_t wrong = 0;

    tg_threads_run_on(3, 30, 1, look_at_mask, &wrong);
    CHECK_EQ(wrong, 0);
}

/* They block what their creator blocks. */
struct looks {
    atomic_size_t wrong, by_workers;
};

static void look_at_inherited_mask(void *context, size_t begin, size_t end)
{
    struct looks *looks = context;
    sigset_t blocked;

    (void)begin, (void)end;
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0 || !sigismember(&blocked, SIGPIPE) ||
        sigismember(&blocked, SIGBUS))
        looks->wrong++;
    looks->by_workers += tg_threads_self() > 0;
    usleep(1000);
}

static void every_part_once(void)
{
    static const size_t sizes[] = {0, 1, 2, 3, 7, 8, 64, 1000, N_MAX};
    static const size_t grains[] = {1, 2, 3, 64, 999, N_MAX, SIZE_MAX / 2};

    for (size_t threads = 1; threads <= 9; threads++) {
        tg_threads_set(threads);
        CHECK_EQ(tg_threads(), threads);
        for (size_t n = 0; n < sizeof sizes / sizeof sizes[0]; n++)
            for (size_t g = 0; g < sizeof grains / sizeof grains[0]; g++) {
                check_loop(sizes[n], grains[g], threads);
                check_loop(sizes[n], grains[g], tg_size_min(2, threads));
            }
    }
}

/* Loops follow each other faster than threads fall asleep, and slower, with other numbers of threads. */
static void many_loops(void)
{
    for (size_t i = 0; i < 3000; i++) {
        tg_threads_set(1 + i % 5);
        check_loop(i % 40, 1 + i % 3, 1 + i % 5);
        if (i % 500 == 0)
            usleep(2000);
    }
}

/* ---- loops during and inside loops */

static void visit_inside(void *context, size_t begin, size_t end)
{
    struct visits *outer = context;
    const size_t self = tg_threads_self();
    struct visits *inner = calloc(1, sizeof *inner);

    CHECK(inner != NULL);
    inner->n = 100;
    inner->grain = 7;
    inner->threads = outer->threads;
    tg_threads_run(100, 7, visit, inner);
    outer->wrong += inner->wrong + (tg_threads_self() != self);
    for (size_t i = 0; i < 100; i++)
        outer->wrong += inner->count[i] != 1;
    free(inner);
    visit(context, begin, end);
}

static void a_loop_inside_a_loop(void)
{
    static struct visits v;

    tg_threads_set(4);
    v = (struct visits){.n = 50, .grain = 1, .threads = 4};
    tg_threads_run(50, 1, visit_inside, &v);
    CHECK_EQ(v.wrong, 0);
    for (size_t i = 0; i < 50; i++)
        CHECK_EQ(v.count[i], 1);
}

static void *loops(void *context)
{
    struct visits *v = context;

    for (size_t i = 0; i < 200; i++)
        tg_threads_run(v->n, v->grain, visit, v);
    return NULL;
}

static void loops_beside_each_other(void)
{
    static struct visits v[3];
    pthread_t thread[3];

    tg_threads_set(3);
    for (size_t t = 0; t < 3; t++) {
        v[t] = (struct visits){.n = 1000, .grain = 10, .threads = 3};
        CHECK(pthread_create(&thread[t], NULL, loops, &v[t]) == 0);
    }
    for (size_t t = 0; t < 3; t++) {
        CHECK(pthread_join(thread[t], NULL) == 0);
        CHECK_EQ(v[t].wrong, 0);
        for (size_t i = 0; i < 1000; i++)
            CHECK_EQ(v[t].count[i], 200);
    }
}

/* ---- in turn */

struct turns {
    size_t n, stop_at;
    size_t turns, wrong; /* changed in turns only */
    atomic_size_t steps;
    size_t at[9]; /* each thread's step */
};

static void step(void *context, size_t i)
{
    struct turns *t = context;

    t->at[tg_threads_self()] = i;
    t->steps++;
    if (i % 7 == 3)
        usleep(200);
}

static bool turn(void *context, size_t i)
{
    struct turns *t = context;

    t->wrong += t->turns != i || t->at[tg_threads_self()] != i;
    t->turns++;
    return i != t->stop_at;
}

static void turns_are_in_order(void)
{
    for (size_t threads = 1; threads <= 9; threads += 2) {
        tg_threads_set(threads);
        for (size_t n = 0; n < 60; n++) {
            struct turns t = {.n = n, .stop_at = SIZE_MAX};

            CHECK(tg_threads_run_in_turn(threads, n, step, turn, &t));
            CHECK_EQ(t.turns, n);
            CHECK_EQ(t.steps, n);
            CHECK_EQ(t.wrong, 0);
        }
    }
}

static void a_turn_ends_the_loop(void)
{
    for (size_t threads = 1; threads <= 9; threads += 2) {
        tg_threads_set(threads);
        for (size_t stop_at = 0; stop_at < 20; stop_at++) {
            struct turns t = {.n = 1000, .stop_at = stop_at};

            CHECK(!tg_threads_run_in_turn(threads, 1000, step, turn, &t));
            CHECK_EQ(t.turns, stop_at + 1);
            CHECK_EQ(t.wrong, 0);
            CHECK(t.steps <= stop_at + 1 + threads);
        }
    }
}

/* ---- what the system does */

/* Run loops in a child; 0 bytes: no limit on its memory. */
static void check_child(rlim_t memory)
{
    const pid_t child = fork();
    size_t wrong = 0;
    int status = -1;

    CHECK(child >= 0);
    if (child == 0) {
        if (memory > 0 && setrlimit(RLIMIT_AS, &(struct rlimit){memory, memory}) != 0)
            _exit(9);
        tg_threads_set(8);
        for (size_t i = 0; i < 20 && wrong == 0; i++)
            wrong = wrong_in_loop(1000, 10, 8);
        _exit(wrong > 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

/* In a child, whose threads are new. */
static void a_blocked_signal_stays_blocked(void)
{
    const pid_t child = fork();
    struct looks looks = {0};
    sigset_t pipe;
    int status = -1;

    CHECK(child >= 0);
    if (child == 0) {
        sigemptyset(&pipe);
        sigaddset(&pipe, SIGPIPE);
        if (pthread_sigmask(SIG_BLOCK, &pipe, NULL) != 0)
            _exit(9);
        while (looks.by_workers == 0) /* a busy machine may not let them begin */
            tg_threads_run_on(3, 30, 1, look_at_inherited_mask, &looks);
        _exit(looks.wrong > 0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), 0);
}

static void a_child_has_threads_of_its_own(void)
{
    tg_threads_set(4);
    check_loop(1000, 10, 4);
    check_child(0);
    check_loop(1000, 10, 4);
}

/* No memory for a stack: the loop ends all the same. */
static void without_threads(void)
{
#ifndef CHECK_SANITIZED
    check_child(1);
#endif
}

static void the_least_of_several(void)
{
    atomic_size_t least = 50;

    tg_atomic_min(&least, 70);
    CHECK_EQ(least, 50);
    tg_atomic_min(&least, 20);
    CHECK_EQ(least, 20);
}

static void grains(void)
{
    CHECK_EQ(tg_threads_grain(1, 1), TG_THREADS_ELEMENTS);
    CHECK_EQ(tg_threads_grain(TG_THREADS_ELEMENTS / 2, 1), 2);
    CHECK_EQ(tg_threads_grain(TG_THREADS_ELEMENTS / 8, 4), 8);
    CHECK_EQ(tg_threads_grain(SIZE_MAX, 16), 16);
    CHECK_EQ(tg_threads_grain(0, 1), TG_THREADS_ELEMENTS);
}

/* qemu-user 7.2, with which make cross runs this, aborts where a child of fork() creates threads. */
static void in_children(void)
{
    if (getenv("TG_EMULATED")) {
        printf("# not in children of fork(): the emulator aborts\n");
        return;
    }
    RUN(a_blocked_signal_stays_blocked);
    RUN(a_child_has_threads_of_its_own);
    RUN(without_threads);
}

int main(void)
{
    RUN(every_part_once);
    RUN(signals_of_a_thread);
    in_children();
    RUN(many_loops);
    RUN(a_loop_inside_a_loop);
    RUN(loops_beside_each_other);
    RUN(turns_are_in_order);
    RUN(a_turn_ends_the_loop);
    RUN(the_least_of_several);
    RUN(grains);
    return check_done();
}
