/* cli: a filter of system calls (seccomp), which refuses what no tool needs. */
#if defined(__linux__) && !defined(_GNU_SOURCE)
#define _GNU_SOURCE /* syscall, CLONE_THREAD */
#endif
#include <errno.h>
#include <fcntl.h>

#include "cmd/cli/private.h"

#if defined(__linux__) &&                                                                                    \
    (defined(__x86_64__) || defined(__aarch64__) || (defined(__riscv) && __riscv_xlen == 64))

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#define OWN_ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define OWN_ARCH AUDIT_ARCH_AARCH64
#else
#define OWN_ARCH AUDIT_ARCH_RISCV64
#endif

#ifndef SECCOMP_FILTER_FLAG_SPEC_ALLOW
#define SECCOMP_FILTER_FLAG_SPEC_ALLOW (1UL << 2)
#endif

/*
 * Calls that are refused with EPERM.  A list of those that are allowed would have to know every C library,
 * and a tool that is killed for a harmless call is a defect: what is not here stays allowed.  Changes of
 * files by their paths are here because Landlock leaves them out.
 */
static const uint32_t refused[] = {
    /* programs and processes */
    SYS_execve,
    SYS_execveat,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_kill,
    SYS_rt_sigqueueinfo,
    SYS_rt_tgsigqueueinfo,
    SYS_setns,
    SYS_unshare,
    SYS_kcmp,
    SYS_migrate_pages,
    SYS_move_pages,
    SYS_personality,
    /* sockets, shared memory and queues */
    SYS_socket,
    SYS_socketpair,
    SYS_connect,
    SYS_bind,
    SYS_listen,
    SYS_accept,
    SYS_accept4,
    SYS_shmget,
    SYS_shmat,
    SYS_shmctl,
    SYS_semget,
    SYS_semctl,
    SYS_semop,
    SYS_semtimedop,
    SYS_msgget,
    SYS_msgctl,
    SYS_msgsnd,
    SYS_msgrcv,
    SYS_mq_open,
    SYS_mq_unlink,
    /* files */
    SYS_truncate,
    SYS_fchmodat,
    SYS_fchownat,
    SYS_utimensat,
    SYS_setxattr,
    SYS_lsetxattr,
    SYS_removexattr,
    SYS_lremovexattr,
    SYS_mknodat,
    SYS_open_by_handle_at,
    SYS_fanotify_init,
    SYS_inotify_init1, /* who opens what, in any directory */
    SYS_quotactl,
    /* the system */
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_chroot,
    SYS_swapon,
    SYS_swapoff,
    SYS_reboot,
    SYS_kexec_load,
    SYS_vhangup,
    SYS_acct,
    SYS_syslog,
    SYS_sethostname,
    SYS_setdomainname,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_adjtimex,
    SYS_clock_adjtime,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
#ifdef __x86_64__ /* older forms of these */
    SYS_fork,
    SYS_vfork,
    SYS_chmod,
    SYS_chown,
    SYS_lchown,
    SYS_inotify_init,
    SYS_utime,
    SYS_utimes,
    SYS_futimesat,
    SYS_mknod,
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
#endif
#ifdef __GLIBC__ /* whose raise() is tgkill() */
    SYS_tkill,
#endif
};

/*
 * Calls that are newer than Linux 5.0 have the same numbers everywhere.  C libraries do without them, so all
 * but these do not exist: no io_uring, which passes by the filter; no clone3 and openat2, whose flags and
 * modes it cannot see; none that is still to come.
 */
#define FIRST_NEW 424
static const uint32_t new_calls[] = {
    436, 439, 441, 444, /* close_range, faccessat2, epoll_pwait2, Landlock */
    445, 446, 449, 451, /* Landlock, Landlock, futex_waitv, cachestat */
    453, 454, 455, 456, /* map_shadow_stack, futex_wake, futex_wait, futex_requeue */
    462,                /* mseal */
};

/* Calls that are refused with EPERM if their arguments, of which all are in the low half, fulfil two
 * conditions, or one. */
#define OWN UINT32_MAX /* as a value: this process, which 0 also is */
#define SET_ID 06000u  /* bits of a mode: whoever runs the file gets its user's or group's rights */
#ifdef O_TMPFILE
#define CREATES (O_CREAT | (O_TMPFILE & ~O_DIRECTORY)) /* flags with which the mode counts */
#else
#define CREATES O_CREAT
#endif

static const struct rule {
    uint32_t number;
    struct condition {
        unsigned argument, op;
        uint32_t value;
        bool holds; /* or does not */
    } when[2];
} rules[] = {
    {SYS_clone, {{0, BPF_JSET, CLONE_THREAD, false}}}, /* no processes */
    {SYS_mmap, {{2, BPF_JSET, PROT_EXEC, true}}},
    {SYS_mprotect, {{2, BPF_JSET, PROT_EXEC, true}}},
    {SYS_pkey_mprotect, {{2, BPF_JSET, PROT_EXEC, true}}},
    {SYS_ioctl, {{1, BPF_JEQ, TIOCSTI, true}}}, /* input for the terminal's next reader */
    {SYS_ioctl, {{1, BPF_JEQ, 0x541C, true}}},  /* TIOCLINUX, the same for a console */
    {SYS_tgkill, {{0, BPF_JEQ, OWN, false}}},
    {SYS_prlimit64, {{0, BPF_JEQ, 0, false}}},   /* a lower limit can kill another process */
    {SYS_fcntl, {{1, BPF_JEQ, F_SETOWN, true}}}, /* which process gets the signals of a descriptor */
    {SYS_fcntl, {{1, BPF_JEQ, F_SETOWN_EX, true}}},
    {SYS_fcntl, {{1, BPF_JEQ, F_SETSIG, true}}},
    {SYS_ioctl, {{1, BPF_JEQ, 0x8901, true}}}, /* FIOSETOWN, the same for a socket */
    {SYS_ioctl, {{1, BPF_JEQ, 0x8902, true}}}, /* SIOCSPGRP */
    /* programs that would run with this user's rights, outside of the sandbox */
    {SYS_fchmod, {{1, BPF_JSET, SET_ID, true}}},
    {SYS_openat, {{2, BPF_JSET, CREATES, true}, {3, BPF_JSET, SET_ID, true}}},
#ifdef __x86_64__
    {SYS_open, {{1, BPF_JSET, CREATES, true}, {2, BPF_JSET, SET_ID, true}}},
    {SYS_creat, {{1, BPF_JSET, SET_ID, true}}},
#endif
    /* what slows other processes down */
    {SYS_sched_setaffinity, {{0, BPF_JEQ, 0, false}, {0, BPF_JEQ, OWN, false}}},
    {SYS_sched_setscheduler, {{0, BPF_JEQ, 0, false}, {0, BPF_JEQ, OWN, false}}},
    {SYS_sched_setparam, {{0, BPF_JEQ, 0, false}, {0, BPF_JEQ, OWN, false}}},
    {SYS_sched_setattr, {{0, BPF_JEQ, 0, false}, {0, BPF_JEQ, OWN, false}}},
    {SYS_setpriority, {{0, BPF_JEQ, PRIO_PROCESS, false}}}, /* a group's, a user's */
    {SYS_setpriority, {{1, BPF_JEQ, 0, false}, {1, BPF_JEQ, OWN, false}}},
    {SYS_ioprio_set, {{0, BPF_JEQ, 1, false}}}, /* IOPRIO_WHO_PROCESS */
    {SYS_ioprio_set, {{1, BPF_JEQ, 0, false}, {1, BPF_JEQ, OWN, false}}},
};

#define N(array) (sizeof(array) / sizeof(array)[0])

struct program {
    struct sock_filter code[2 * N(refused) + N(new_calls) + 8 * N(rules) + 16];
    unsigned short n;
};

static void emit(struct program *p, unsigned op, size_t value, unsigned yes, unsigned no)
{
    p->code[p->n++] = (struct sock_filter){(uint16_t)op, (uint8_t)yes, (uint8_t)no, (uint32_t)value};
}

static void load(struct program *p, size_t offset)
{
    emit(p, BPF_LD | BPF_W | BPF_ABS, offset, 0, 0);
}

static void end(struct program *p, size_t action)
{
    emit(p, BPF_RET | BPF_K, action, 0, 0);
}

/* Where a condition is not as the rule says, the next rule is looked at, with the call's number. */
static void write_rule(struct program *p, const struct rule *r)
{
    const unsigned n = r->when[1].op ? 2 : 1;

    emit(p, BPF_JMP | BPF_JEQ | BPF_K, r->number, 0, 2 * n + 2);
    for (unsigned i = 0; i < n; i++) {
        const struct condition *c = &r->when[i];
        const unsigned rest = 2 * (n - i) - 1;

        load(p, offsetof(struct seccomp_data, args) + 8 * c->argument); /* little-endian */
        emit(p, BPF_JMP | c->op | BPF_K, c->value == OWN ? (uint32_t)getpid() : c->value, c->holds ? 0 : rest,
             c->holds ? rest : 0);
    }
    end(p, SECCOMP_RET_ERRNO | EPERM);
    load(p, offsetof(struct seccomp_data, nr));
}

static void write_program(struct program *p)
{
    /* the calls of another architecture, as of 32 bits, have other numbers */
    load(p, offsetof(struct seccomp_data, arch));
    emit(p, BPF_JMP | BPF_JEQ | BPF_K, OWN_ARCH, 1, 0);
    end(p, SECCOMP_RET_ERRNO | ENOSYS);

    load(p, offsetof(struct seccomp_data, nr));
    emit(p, BPF_JMP | BPF_JGE | BPF_K, FIRST_NEW, 0, N(new_calls) + 2);
    for (size_t i = 0; i < N(new_calls); i++)
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, new_calls[i], (unsigned)(N(new_calls) - i), 0);
    end(p, SECCOMP_RET_ERRNO | ENOSYS);
    end(p, SECCOMP_RET_ALLOW);

    for (size_t i = 0; i < N(refused); i++) {
        emit(p, BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
        end(p, SECCOMP_RET_ERRNO | EPERM);
    }
    for (size_t i = 0; i < N(rules); i++)
        write_rule(p, &rules[i]);
    end(p, SECCOMP_RET_ALLOW);
}

/* Without SPEC_ALLOW kernels before 5.16 also slow the process down, against attacks that are not promised.
 */
int cli_filter_calls(void)
{
    struct program p = {.n = 0};
    struct sock_fprog program;

    write_program(&p);
    program = (struct sock_fprog){p.n, p.code};
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_SPEC_ALLOW, &program) == 0)
        return 0;
    if (errno != EINVAL)
        return -1;
    return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0 ? 0 : -1;
}

#else

int cli_filter_calls(void)
{
    errno = ENOSYS;
    return -1;
}

#endif
