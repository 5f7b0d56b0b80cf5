#define _GNU_SOURCE /* SYS_ */
#include "tests/faults/calls.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

#include "tests/faults/snapshot.h"

/* What acts on files and may fail there. */
static const struct {
    const char *name;
    int number;
} table[] = {
    {"read", SYS_read},           {"write", SYS_write},
    {"pread", SYS_pread64},       {"pwrite", SYS_pwrite64},
    {"readv", SYS_readv},         {"writev", SYS_writev},
    {"open", SYS_openat},         {"open", SYS_open},
    {"close", SYS_close},         {"stat", SYS_newfstatat},
    {"stat", SYS_fstat},          {"stat", SYS_stat},
    {"stat", SYS_lstat},          {"lseek", SYS_lseek},
    {"fsync", SYS_fsync},         {"fdatasync", SYS_fdatasync},
    {"ftruncate", SYS_ftruncate}, {"rename", SYS_rename},
    {"rename", SYS_renameat},     {"rename", SYS_renameat2},
    {"link", SYS_link},           {"link", SYS_linkat},
    {"unlink", SYS_unlink},       {"unlink", SYS_unlinkat},
    {"mkdir", SYS_mkdir},         {"mkdir", SYS_mkdirat},
    {"rmdir", SYS_rmdir},         {"access", SYS_access},
    {"access", SYS_faccessat},    {"access", SYS_faccessat2},
    {"readlink", SYS_readlink},   {"readlink", SYS_readlinkat},
    {"getdents", SYS_getdents64}, {"fchmod", SYS_fchmod},
    {"fchown", SYS_fchown},       {"flock", SYS_flock},
    {"statfs", SYS_fstatfs},      {"sigaction", SYS_rt_sigaction}, /* not in the group */
};

#define N_CALLS (sizeof table / sizeof table[0])

void calls_choose(bool chosen[PLAN_CALLS_MAX], const char *list)
{
    const size_t all = strcmp(list, "file") == 0 ? N_CALLS - 1 : 0;
    size_t n = 0;

    memset(chosen, 0, PLAN_CALLS_MAX * sizeof *chosen);
    for (const char *name = list; *name != '\0'; name += n, name += *name == ',') {
        bool found = all > 0;

        n = strcspn(name, ",");
        for (size_t i = 0; i < N_CALLS; i++) {
            if (i >= all && (strlen(table[i].name) != n || strncmp(table[i].name, name, n) != 0))
                continue;
            chosen[table[i].number] = found = true;
        }
        if (!found)
            fatal("no such call: %s", name);
    }
}

const char *calls_name(int number)
{
    for (size_t i = 0; i < N_CALLS; i++)
        if (table[i].number == number)
            return table[i].name;
    return "none";
}

bool calls_removes(int number)
{
    const char *name = calls_name(number);

    return strcmp(name, "unlink") == 0 || strcmp(name, "rmdir") == 0;
}

int calls_error(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } errors[] = {
        {"EINTR", EINTR},         {"EIO", EIO},         {"ENOSPC", ENOSPC},   {"EDQUOT", EDQUOT},
        {"ESTALE", ESTALE},       {"EXDEV", EXDEV},     {"EACCES", EACCES},   {"EMFILE", EMFILE},
        {"EPIPE", EPIPE},         {"ENOENT", ENOENT},   {"EROFS", EROFS},     {"ENOLCK", ENOLCK},
        {"EFBIG", EFBIG},         {"EPERM", EPERM},     {"SIGPIPE", SIGPIPE}, {"SIGTERM", SIGTERM},
        {"SIGALRM", SIGALRM},     {"SIGUSR1", SIGUSR1}, {"SIGUSR2", SIGUSR2}, {"SIGPROF", SIGPROF},
        {"SIGVTALRM", SIGVTALRM}, {"SIGPOLL", SIGPOLL}, {"SIGPWR", SIGPWR},   {"SIGSTKFLT", SIGSTKFLT},
        {"SIGXCPU", SIGXCPU},     {"SIGQUIT", SIGQUIT}, {"SIGHUP", SIGHUP},   {"SIGINT", SIGINT},
    };

    for (size_t i = 0; i < sizeof errors / sizeof errors[0]; i++)
        if (strcmp(errors[i].name, name) == 0)
            return errors[i].number;
    fatal("no such error: %s", name);
}
