/*
 * preload: makes the nth allocation or the nth system call of a program fail, as a plan (plan.h) says, or
 * holds the program after that call, until the driver has sent it a signal.
 *
 * Allocations are counted by functions of libc that this library replaces; libc's own also go through them.
 * System calls are counted by a seccomp filter, which turns those of the plan into SIGSYS: so none escapes,
 * neither stdio's nor realpath()'s.  The handler makes the call itself, from the one address that the filter
 * lets pass, or leaves it out.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include "tests/faults/plan.h"

#define EXPORT __attribute__((visibility("default")))

static plan *the_plan; /* NULL: none, or not yet */

/* Count a call; whether it is one to fail. */
static bool is_hit(void)
{
    const uint64_t n = atomic_fetch_add(&the_plan->count, 1) + 1;

    if (the_plan->kind == PLAN_COUNT || n < the_plan->nth ||
        (n > the_plan->nth && (!the_plan->period || (n - the_plan->nth) % the_plan->period)))
        return false;
    atomic_fetch_add(&the_plan->fired, 1);
    return true;
}

/* ---- blocks that are held, by address: open addressing, in a table that is large enough for tests */

#define BLOCKS ((size_t)1 << 14) /* read at the end of each run */
#define GONE ((void *)1)

static struct block {
    void *at;
    const void *caller;
} blocks[BLOCKS];
static atomic_flag blocks_used = ATOMIC_FLAG_INIT;
static uintptr_t program_from;

/* Where libc and the loader are, which keep what they need until the end. */
static struct range {
    uintptr_t from, to;
} system_ranges[2];
static size_t n_ranges;

static size_t first_slot(const void *at)
{
    return (size_t)((uintptr_t)at / 16 * 0x9E3779B97F4A7C15u >> 50) % BLOCKS;
}

static void *held(void *at, const void *caller)
{
    size_t i = first_slot(at);

    if (!at || !the_plan)
        return at;
    while (atomic_flag_test_and_set(&blocks_used))
        ;
    for (size_t tries = 0; blocks[i].at && blocks[i].at != GONE; tries++) {
        if (tries == BLOCKS)
            _exit(96);
        i = (i + 1) % BLOCKS;
    }
    blocks[i] = (struct block){at, caller};
    atomic_flag_clear(&blocks_used);
    return at;
}

static void released(const void *at)
{
    size_t i = first_slot(at);

    if (!at || !the_plan)
        return;
    while (atomic_flag_test_and_set(&blocks_used))
        ;
    for (size_t tries = 0; blocks[i].at && blocks[i].at != at && tries < BLOCKS; tries++)
        i = (i + 1) % BLOCKS;
    if (blocks[i].at == at)
        blocks[i].at = GONE;
    atomic_flag_clear(&blocks_used);
}

static bool is_system(uintptr_t address)
{
    for (size_t i = 0; i < n_ranges; i++)
        if (address >= system_ranges[i].from && address < system_ranges[i].to)
            return true;
    return false;
}

static bool is_buffer(const void *at)
{
    return at == stdin->_IO_buf_base || at == stdout->_IO_buf_base;
}

__attribute__((destructor)) static void report_blocks(void)
{
    if (!the_plan)
        return;
    for (size_t i = 0; i < BLOCKS; i++) {
        const uintptr_t caller = (uintptr_t)blocks[i].caller;

        if (!blocks[i].at || blocks[i].at == GONE || is_buffer(blocks[i].at))
            continue;
        if (is_system(caller)) {
            the_plan->live_in_libc++;
            continue;
        }
        the_plan->live++;
        the_plan->leak = caller - program_from;
    }
    the_plan->ended = true;
}

static int find_ranges(struct dl_phdr_info *info, size_t size, void *context)
{
    struct range r = {info->dlpi_addr, info->dlpi_addr};

    (void)size, (void)context;
    if (info->dlpi_name[0] == '\0')
        program_from = info->dlpi_addr;
    if (n_ranges == 2 || (!strstr(info->dlpi_name, "/libc.so") && !strstr(info->dlpi_name, "/ld-linux")))
        return 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD)
            r.to = r.from + info->dlpi_phdr[i].p_vaddr + info->dlpi_phdr[i].p_memsz;
    system_ranges[n_ranges++] = r;
    return 0;
}

/* ---- allocations */

/* glibc's names for its own. */
void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t each);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t alignment, size_t n);
void __libc_free(void *p);

static bool no_memory(void)
{
    if (!the_plan || the_plan->kind != PLAN_MEMORY || !is_hit())
        return false;
    errno = ENOMEM;
    return true;
}

EXPORT void *malloc(size_t n)
{
    return no_memory() ? NULL : held(__libc_malloc(n), __builtin_return_address(0));
}

EXPORT void *calloc(size_t n, size_t each)
{
    return no_memory() ? NULL : held(__libc_calloc(n, each), __builtin_return_address(0));
}

EXPORT void *realloc(void *p, size_t n)
{
    void *moved;

    if (no_memory())
        return NULL;
    released(p);
    moved = __libc_realloc(p, n);
    if (moved || n == 0)
        return held(moved, __builtin_return_address(0));
    (void)held(p, __builtin_return_address(0));
    return NULL;
}

EXPORT void *memalign(size_t alignment, size_t n)
{
    return no_memory() ? NULL : held(__libc_memalign(alignment, n), __builtin_return_address(0));
}

EXPORT void *aligned_alloc(size_t alignment, size_t n)
{
    return no_memory() ? NULL : held(__libc_memalign(alignment, n), __builtin_return_address(0));
}

EXPORT int posix_memalign(void **p, size_t alignment, size_t n)
{
    void *at = no_memory() ? NULL : held(__libc_memalign(alignment, n), __builtin_return_address(0));

    if (at)
        *p = at;
    return at ? 0 : ENOMEM;
}

EXPORT void free(void *p)
{
    released(p);
    __libc_free(p);
}

/* Also of files: the tools then read them. */
static void *map(void *at, size_t n, int protection, int flags, int fd, long from)
{
    if ((fd < 0 || !the_plan || !the_plan->maps_files) && no_memory())
        return MAP_FAILED;
    return (void *)syscall(SYS_mmap, at, n, protection, flags, fd, from);
}

EXPORT void *mmap(void *at, size_t n, int protection, int flags, int fd, off_t from)
{
    return map(at, n, protection, flags, fd, from);
}

EXPORT void *mmap64(void *at, size_t n, int protection, int flags, int fd, off64_t from)
{
    return map(at, n, protection, flags, fd, from);
}

typedef int creator(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static creator *create_thread;

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
                          void *argument)
{
    if (the_plan)
        atomic_fetch_add(&the_plan->threads, 1);
    return no_memory() ? EAGAIN : create_thread(thread, attributes, run, argument);
}

/* ---- system calls */

/* Make a system call, from the address that the filter lets pass: `passed`. */
long fault_syscall(long number, long a, long b, long c, long d, long e, long f);
extern const char fault_passed[];
__asm__(".text\n"
        ".type fault_syscall, @function\n"
        ".hidden fault_syscall\n"
        ".hidden fault_passed\n"
        "fault_syscall:\n"
        "    mov %rdi, %rax\n"
        "    mov %rsi, %rdi\n"
        "    mov %rdx, %rsi\n"
        "    mov %rcx, %rdx\n"
        "    mov %r8, %r10\n"
        "    mov %r9, %r8\n"
        "    mov 8(%rsp), %r9\n"
        "    syscall\n"
        "fault_passed:\n"
        "    ret\n"
        ".size fault_syscall, .-fault_syscall\n");

static long call(long number, const long a[6])
{
    return fault_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* What becomes of a signal. */
static const char *action_of(const long a[6])
{
    struct {
        void (*handler)(int);
        unsigned long flags;
    } action;

    if (a[1] == 0)
        return "asked";
    memcpy(&action, (const void *)a[1], sizeof action); /* the system's struct sigaction begins so */
    if (action.handler == SIG_DFL || action.handler == SIG_IGN)
        return action.handler == SIG_DFL ? "default" : "ignored";
    return action.flags & SA_RESTART ? "restarts" : "interrupts";
}

/* What a call is about: its path, the text that goes to standard error, an action; NULL: nothing. */
static const char *subject_of(long number, const long a[6], size_t *length)
{
    *length = SIZE_MAX;
    switch (number) {
    case SYS_open:
    case SYS_stat:
    case SYS_lstat:
    case SYS_rename:
    case SYS_link:
    case SYS_unlink:
    case SYS_mkdir:
    case SYS_rmdir:
    case SYS_access:
    case SYS_readlink:
        return (const char *)a[0];
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_renameat:
    case SYS_renameat2:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_faccessat:
    case SYS_faccessat2:
        return (const char *)a[1];
    case SYS_rt_sigaction:
        return action_of(a);
    case SYS_write:
        *length = (size_t)a[2];
        return a[0] == STDERR_FILENO ? (const char *)a[1] : NULL;
    default:
        return NULL;
    }
}

static void note(long number, const long a[6], long result)
{
    const uint32_t n = atomic_fetch_add(&the_plan->logged, 1);
    plan_call *entry = &the_plan->log[n];
    size_t length;
    const char *subject = subject_of(number, a, &length);
    const bool numbered = !subject || number == SYS_write || number == SYS_rt_sigaction;

    if (n >= PLAN_LOG_MAX)
        return;
    *entry = (plan_call){.number = (int32_t)number, .fd = numbered ? (int32_t)a[0] : -1, .result = result};
    if (!subject)
        return;
    length = strnlen(subject, length);
    if (length >= sizeof entry->subject && !numbered)
        subject += length - (sizeof entry->subject - 1);
    memcpy(entry->subject, subject, length < sizeof entry->subject ? length : sizeof entry->subject - 1);
}

static bool transfers(long number)
{
    return number == SYS_read || number == SYS_write || number == SYS_pread64 || number == SYS_pwrite64;
}

/* Wait for the signal of the driver: the tool's sandbox may not let the process send it to itself.  Then give
 * the other threads time to take it, if this one blocks it. */
static void wait_for_signal(void)
{
    const struct timespec nap = {.tv_nsec = 100 * 1000};

    atomic_store(&the_plan->waits, true);
    while (!atomic_load(&the_plan->sent))
        (void)call(SYS_nanosleep, (long[6]){(long)&nap});
    for (int i = 0; i < 10; i++)
        (void)call(SYS_nanosleep, (long[6]){(long)&nap});
}

/* A system call that is to fail, or at which the process gets a signal. */
static long fail(long number, long a[6])
{
    long result;

    atomic_store(&the_plan->fired_call, (int32_t)number);
    the_plan->failed[number] = the_plan->kind != PLAN_STOP;
    switch (the_plan->kind) {
    case PLAN_KILL:
        (void)call(SYS_kill, (long[6]){getpid(), SIGKILL});
        (void)call(SYS_exit_group, (long[6]){128 + SIGKILL}); /* if it may not send signals */
        return 0;
    case PLAN_STOP:
        result = call(number, a);
        wait_for_signal();
        return result;
    case PLAN_SHORT:
        if (transfers(number) && a[2] > 1)
            a[2] = 1;
        return call(number, a);
    case PLAN_LATE:
        result = call(number, a);
        return result < 0 ? result : -the_plan->error;
    default:
        if (number == SYS_close) /* the descriptor is closed in any case */
            (void)call(number, a);
        return -the_plan->error;
    }
}

static void on_trap(int signal_number, siginfo_t *info, void *context)
{
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    long a[6] = {r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10], r[REG_R8], r[REG_R9]};
    const long number = info->si_syscall;
    long result;

    (void)signal_number;
    if ((number == SYS_write || number == SYS_close) && a[0] == STDERR_FILENO) {
        result = call(number, a);
    } else {
        result = is_hit() ? fail(number, a) : call(number, a);
    }
    note(number, a, result);
    r[REG_RAX] = result;
}

#define STATEMENT(code, value) (struct sock_filter) BPF_STMT(code, value)
#define LOAD(field, more)                                                                                    \
    STATEMENT(BPF_LD | BPF_W | BPF_ABS, (uint32_t)offsetof(struct seccomp_data, field) + more)
#define RETURN(action) STATEMENT(BPF_RET | BPF_K, action)
#define SKIP_UNLESS(value, n) (struct sock_filter) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, n)

static bool trap_calls(void)
{
    struct sock_filter filter[PLAN_CALLS_MAX + 16];
    const uint64_t passed = (uintptr_t)fault_passed;
    unsigned short n = 0;

    filter[n++] = LOAD(instruction_pointer, 0);
    filter[n++] = SKIP_UNLESS((uint32_t)passed, 3);
    filter[n++] = LOAD(instruction_pointer, 4);
    filter[n++] = SKIP_UNLESS((uint32_t)(passed >> 32), 1);
    filter[n++] = RETURN(SECCOMP_RET_ALLOW);
    filter[n++] = LOAD(nr, 0);
    for (unsigned number = 0; number < PLAN_CALLS_MAX; number++) {
        if (!the_plan->calls[number])
            continue;
        filter[n++] = SKIP_UNLESS(number, 1);
        filter[n++] = RETURN(SECCOMP_RET_TRAP);
    }
    filter[n++] = RETURN(SECCOMP_RET_ALLOW);
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &(struct sock_fprog){n, filter}) == 0;
}

/* The signal of the trap is never blocked: the system would end the process. */
static int set_mask(int how, const sigset_t *set, sigset_t *old)
{
    sigset_t open;

    if (set) {
        open = *set;
        if (how != SIG_UNBLOCK)
            sigdelset(&open, SIGSYS);
    }
    return syscall(SYS_rt_sigprocmask, how, set ? &open : NULL, old, 8) == 0 ? 0 : errno;
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
    return set_mask(how, set, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    return set_mask(how, set, old) ? -1 : 0;
}

/* ---- the beginning */

static bool counts_calls(const plan *p)
{
    for (size_t i = 0; i < PLAN_CALLS_MAX; i++)
        if (p->calls[i])
            return true;
    return false;
}

__attribute__((constructor)) static void begin(void)
{
    const char *fd = getenv(PLAN_FD_VARIABLE);
    struct sigaction action = {.sa_flags = SA_SIGINFO | SA_NODEFER};
    plan *p;

    if (!fd)
        return;
    p = (plan *)syscall(SYS_mmap, NULL, sizeof *p, PROT_READ | PROT_WRITE, MAP_SHARED, atoi(fd), (off_t)0);
    if (p == MAP_FAILED)
        _exit(99);
    (void)close(atoi(fd));
    (void)dl_iterate_phdr(find_ranges, NULL);
    *(void **)&create_thread = dlsym(RTLD_NEXT, "pthread_create");
    unsetenv("LD_PRELOAD");
    the_plan = p;
    action.sa_sigaction = on_trap;
    sigemptyset(&action.sa_mask);
    if (counts_calls(p) && (sigaction(SIGSYS, &action, NULL) != 0 || !trap_calls()))
        _exit(98);
}
