#define _GNU_SOURCE /* sched_getaffinity */
#include "lib/base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/base/size.h"

#define SPINS 2000                    /* looks at a variable before sleep: some tens of microseconds */
#define STACK_BYTES ((size_t)1 << 20) /* of a thread; bodies keep their arrays elsewhere */

/* ---- waiting */

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/*
 * A place to sleep until a condition on atomic variables holds.  Whoever makes it true calls wake()
 * afterwards.  Both orders of events are safe: the sleeper counts itself before it looks at the
 * condition for the last time, and the waker changes the variables before it looks at the count.
 */
struct bed {
    pthread_mutex_t lock;
    pthread_cond_t woken;
    atomic_size_t sleepers;
};

#define BED_INITIALIZER                                                                                      \
    {                                                                                                        \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0                                               \
    }

typedef bool condition(const void *of);

static void wait_for(struct bed *bed, condition *holds, const void *of, size_t spins)
{
    for (size_t i = 0; i < spins; i++) {
        if (holds(of))
            return;
        relax();
    }
    pthread_mutex_lock(&bed->lock);
    atomic_fetch_add(&bed->sleepers, 1);
    while (!holds(of))
        pthread_cond_wait(&bed->woken, &bed->lock);
    atomic_fetch_sub(&bed->sleepers, 1);
    pthread_mutex_unlock(&bed->lock);
}

static void wake(struct bed *bed)
{
    if (atomic_load(&bed->sleepers) == 0)
        return;
    pthread_mutex_lock(&bed->lock);
    pthread_cond_broadcast(&bed->woken);
    pthread_mutex_unlock(&bed->lock);
}

/* ---- the loop that runs */

/* A thread's stretch: parts next .. end-1 are not yet taken.  In a separate cache line. */
struct stretch {
    _Alignas(64) atomic_size_t next;
    size_t end;
};

static struct {
    size_t n, grain, threads;
    tg_threads_body *body;
    void *context;
    struct stretch stretch[TG_THREADS_MAX];
} loop;

/*
 * Who may be in the loop, in one word: whether it is open, how many of the created threads are
 * inside, how many threads take part, and the loop's number.  `loop` is changed only while it is
 * closed and nobody is inside.
 */
static atomic_uint_least64_t gate;

#define GATE_OPEN ((uint64_t)1)
#define GATE_ONE ((uint64_t)2)

static size_t gate_inside(uint64_t g)
{
    return (g & 0xFFFF) >> 1;
}

static size_t gate_threads(uint64_t g)
{
    return g >> 16 & 0xFFFF;
}

static uint32_t gate_number(uint64_t g)
{
    return (uint32_t)(g >> 32);
}

static struct bed workers = BED_INITIALIZER; /* until a loop opens */
static struct bed caller = BED_INITIALIZER;  /* until nobody is inside */
static atomic_flag taken = ATOMIC_FLAG_INIT; /* a thread runs a loop */
static size_t created;                       /* threads; changed by who has `taken` */
static bool refused;                         /* the system refused a thread: never ask again */
static atomic_size_t limit;                  /* 0: not yet known */
static atomic_size_t processors;             /* the same */

static _Thread_local size_t self;
static _Thread_local bool inside;

static void run_part(const size_t part)
{
    const size_t begin = part * loop.grain;

    loop.body(loop.context, begin, tg_size_min(loop.n, begin + loop.grain));
}

/* Take parts until none is left: first of the own stretch, then of the others'. */
static void take_parts(void)
{
    inside = true;
    for (size_t k = 0; k < loop.threads; k++) {
        struct stretch *s = &loop.stretch[(self + k) % loop.threads];

        while (atomic_load_explicit(&s->next, memory_order_relaxed) < s->end) {
            const size_t part = atomic_fetch_add(&s->next, 1);

            if (part < s->end)
                run_part(part);
        }
    }
    inside = false;
}

/* ---- the threads */

/* Whether this thread may be in the loop, if it has not been: `last` is the number of the one that it was in.
 */
static bool admits(uint64_t g, uint32_t last)
{
    return (g & GATE_OPEN) && gate_number(g) != last && self < gate_threads(g);
}

static bool may_enter(const void *last)
{
    return admits(atomic_load(&gate), *(const uint32_t *)last);
}

static bool enter(uint32_t *last)
{
    uint64_t g = atomic_load(&gate);

    if (!admits(g, *last) || !atomic_compare_exchange_strong(&gate, &g, g + GATE_ONE))
        return false;
    *last = gate_number(g);
    return true;
}

static size_t spins(void)
{
    return tg_threads() <= tg_threads_processors() ? SPINS : 0;
}

static void leave(void)
{
    const uint64_t g = atomic_fetch_sub(&gate, GATE_ONE);

    if (gate_inside(g) == 1 && !(g & GATE_OPEN))
        wake(&caller);
}

static void *work(void *stretch)
{
    uint32_t last = 0;

    self = (size_t)((struct stretch *)stretch - loop.stretch);
    for (;;) {
        wait_for(&workers, may_enter, &last, spins());
        if (enter(&last)) {
            take_parts();
            leave();
        }
    }
    return NULL;
}

/* In the child of fork() no thread but the caller exists. */
static void forget_threads(void)
{
    const struct bed fresh = BED_INITIALIZER;

    workers = caller = fresh;
    atomic_store(&gate, 0);
    atomic_flag_clear(&taken);
    created = 0;
    self = 0;
    inside = false;
}

/* Signals that a thread causes itself.  A worker blocks those that its creator blocks: if it also blocked the
 * others, no handler would get its SIGBUS, and its write to a pipe without a reader would fail instead
 * of ending the program. */
static const int own_signals[] = {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGPIPE, SIGXFSZ};

static bool create_thread(size_t number)
{
    sigset_t blocked, before;
    pthread_attr_t attributes;
    pthread_t thread;
    bool ok;

    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_attr_setstacksize(&attributes, STACK_BYTES);
    pthread_sigmask(SIG_BLOCK, NULL, &before);
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof own_signals / sizeof own_signals[0]; i++)
        if (!sigismember(&before, own_signals[i]))
            sigdelset(&blocked, own_signals[i]);
    pthread_sigmask(SIG_SETMASK, &blocked, NULL);
    ok = pthread_create(&thread, &attributes, work, &loop.stretch[number]) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return ok;
}

/* Create what is missing of `threads`, and return how many there are, with the caller. */
static size_t create_threads(size_t threads)
{
    static bool registered;

    if (!registered && !refused)
        registered = pthread_atfork(NULL, NULL, forget_threads) == 0;
    refused |= !registered;
    while (created + 1 < threads && !refused) {
        if (create_thread(created + 1))
            created++;
        else
            refused = true;
    }
    return tg_size_min(threads, created + 1);
}

/* ---- loops */

static void run_alone(size_t n, size_t grain, tg_threads_body *body, void *context)
{
    for (size_t begin = 0; begin < n; begin += grain)
        body(context, begin, tg_size_min(n, begin + grain));
}

static void open_loop(size_t threads, size_t n, size_t grain, tg_threads_body *body, void *context)
{
    const size_t parts = tg_ceil_div(n, grain);
    const uint64_t number = gate_number(atomic_load(&gate)) + 1;

    loop.n = n;
    loop.grain = grain;
    loop.threads = threads;
    loop.body = body;
    loop.context = context;
    for (size_t t = 0; t < threads; t++) {
        atomic_store_explicit(&loop.stretch[t].next, parts * t / threads, memory_order_relaxed);
        loop.stretch[t].end = parts * (t + 1) / threads;
    }
    atomic_store(&gate, number << 32 | (uint64_t)threads << 16 | GATE_OPEN);
    wake(&workers);
}

static bool nobody_inside(const void *of)
{
    (void)of;
    return gate_inside(atomic_load(&gate)) == 0;
}

/* All parts are taken: let nobody in, and wait for those that have not ended. */
static void close_loop(void)
{
    atomic_fetch_and(&gate, ~GATE_OPEN);
    wait_for(&caller, nobody_inside, NULL, spins());
}

void tg_threads_run_on(size_t threads, size_t n, size_t grain, tg_threads_body *body, void *context)
{
    threads = tg_size_min(tg_size_min(threads, tg_threads()), tg_ceil_div(n, grain));
    if (threads <= 1 || inside || atomic_flag_test_and_set(&taken)) {
        run_alone(n, grain, body, context);
        return;
    }
    open_loop(create_threads(threads), n, grain, body, context);
    take_parts();
    close_loop();
    atomic_flag_clear(&taken);
}

void tg_threads_run(size_t n, size_t grain, tg_threads_body *body, void *context)
{
    tg_threads_run_on(TG_THREADS_MAX, n, grain, body, context);
}

size_t tg_threads_grain(size_t each, size_t unit)
{
    return unit * tg_size_max(1, TG_THREADS_ELEMENTS / tg_size_max(1, each) / unit);
}

/* ---- loops in turn */

struct turns {
    size_t n;
    tg_threads_step *step;
    tg_threads_turn *turn;
    void *context;
    atomic_size_t next; /* step to begin */
    atomic_size_t now;  /* whose turn it is */
    atomic_bool stopped;
    struct bed bed;
};

struct place {
    const struct turns *turns;
    size_t i;
};

static bool is_turn(const void *of)
{
    const struct place *p = of;

    return atomic_load(&p->turns->now) == p->i;
}

/* A thread's share of the steps.  Who waits for a turn waits for steps that other threads have begun. */
static void take_steps(void *context, size_t begin, size_t end)
{
    struct turns *t = context;
    size_t i;

    (void)begin, (void)end;
    while (!atomic_load(&t->stopped) && (i = atomic_fetch_add(&t->next, 1)) < t->n) {
        t->step(t->context, i);
        wait_for(&t->bed, is_turn, &(struct place){t, i}, spins());
        if (!atomic_load(&t->stopped) && !t->turn(t->context, i))
            atomic_store(&t->stopped, true);
        atomic_store(&t->now, i + 1);
        wake(&t->bed);
    }
}

bool tg_threads_run_in_turn(size_t threads, size_t n, tg_threads_step *step, tg_threads_turn *turn,
                            void *context)
{
    struct turns t = {.n = n, .step = step, .turn = turn, .context = context, .bed = BED_INITIALIZER};

    tg_threads_run_on(threads, tg_size_min(tg_size_min(threads, tg_threads()), n), 1, take_steps, &t);
    pthread_cond_destroy(&t.bed.woken);
    pthread_mutex_destroy(&t.bed.lock);
    return !t.stopped;
}

/* ---- how many */

static size_t count_processors(void)
{
    long n = 0;
#ifdef CPU_COUNT
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) == 0)
        n = CPU_COUNT(&set);
#endif
    if (n < 1)
        n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : tg_size_min((size_t)n, TG_THREADS_MAX);
}

size_t tg_threads_processors(void)
{
    size_t n = atomic_load_explicit(&processors, memory_order_relaxed);

    if (n == 0)
        atomic_store(&processors, n = count_processors());
    return n;
}

size_t tg_threads_asked(void)
{
    const char *text = getenv("OMP_NUM_THREADS");
    char *end;
    unsigned long n;

    if (!text || *text == '\0')
        return 0;
    n = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || (*end != '\0' && *end != ',') || n < 1)
        return SIZE_MAX;
    return n;
}

static size_t default_limit(void)
{
    const size_t n = tg_threads_asked();

    return n == 0 || n > TG_THREADS_MAX ? tg_threads_processors() : n;
}

size_t tg_threads(void)
{
    size_t n = atomic_load_explicit(&limit, memory_order_relaxed);

    if (n == 0)
        atomic_store(&limit, n = default_limit());
    return n;
}

void tg_threads_set(size_t n)
{
    atomic_store(&limit, n);
}

size_t tg_threads_self(void)
{
    return self;
}
