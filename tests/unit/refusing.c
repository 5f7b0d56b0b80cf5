#include "tests/unit/refusing.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/types.h>

static struct waiting {
    const char *name; /* NULL: for nothing */
    int left, error;
    void (*meanwhile)(void);
} waiting[2];

static void wait_for(const struct waiting *w)
{
    struct waiting *const place = &waiting[waiting[0].name != NULL];

    if (place->name)
        abort();
    *place = *w;
}

void refuse(const char *name, int nth, int error)
{
    wait_for(&(struct waiting){.name = name, .left = nth, .error = error});
}

void refuse_meanwhile(const char *name, int nth, void (*meanwhile)(void))
{
    wait_for(&(struct waiting){.name = name, .left = nth, .meanwhile = meanwhile});
}

bool refused_all(void)
{
    const bool all = !waiting[0].name && !waiting[1].name;

    memset(waiting, 0, sizeof waiting);
    return all;
}

/* Count a call; whether it must fail, with errno set. */
static bool refused(const char *name)
{
    for (size_t i = 0; i < 2; i++) {
        const struct waiting w = waiting[i];

        if (!w.name || strcmp(w.name, name) != 0 || --waiting[i].left > 0)
            continue;
        waiting[i].name = NULL;
        if (w.meanwhile)
            w.meanwhile();
        errno = w.error;
        return !w.meanwhile;
    }
    return false;
}

/* The linker sends the calls here. */
int __real_open(const char *path, int flags, ...);
int __real_close(int fd);
int __real_stat(const char *path, struct stat *st);
int __real_fstat(int fd, struct stat *st);
ssize_t __real_readlink(const char *path, char *to, size_t n);
off_t __real_lseek(int fd, off_t offset, int whence);
int __real_fsync(int fd);
int __real_flock(int fd, int how);
ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __real_write(int fd, const void *bytes, size_t n);
ssize_t __real_pwrite(int fd, const void *bytes, size_t n, off_t offset);
void *__real_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t n);
long __real_sysconf(int name);
int __real_fstatvfs(int fd, struct statvfs *st);

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
int __wrap_stat(const char *path, struct stat *st);
int __wrap_fstat(int fd, struct stat *st);
ssize_t __wrap_readlink(const char *path, char *to, size_t n);
off_t __wrap_lseek(int fd, off_t offset, int whence);
int __wrap_fsync(int fd);
int __wrap_flock(int fd, int how);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_write(int fd, const void *bytes, size_t n);
ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t offset);
void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset);
int __wrap_munmap(void *at, size_t n);
long __wrap_sysconf(int name);
int __wrap_fstatvfs(int fd, struct statvfs *st);

int __wrap_open(const char *path, int flags, ...)
{
    mode_t mode = 0;

    if (flags & O_CREAT) {
        va_list args;

        va_start(args, flags);
        mode = va_arg(args, mode_t);
        va_end(args);
    }
    return refused("open") ? -1 : __real_open(path, flags, mode);
}

/* The descriptor is closed in any case, as on Linux. */
int __wrap_close(int fd)
{
    const bool fails = refused("close");
    const int sys = errno, r = __real_close(fd);

    if (fails)
        errno = sys;
    return fails ? -1 : r;
}

int __wrap_stat(const char *path, struct stat *st)
{
    return refused("stat") ? -1 : __real_stat(path, st);
}

int __wrap_fstat(int fd, struct stat *st)
{
    return refused("fstat") ? -1 : __real_fstat(fd, st);
}

ssize_t __wrap_readlink(const char *path, char *to, size_t n)
{
    return refused("readlink") ? -1 : __real_readlink(path, to, n);
}

off_t __wrap_lseek(int fd, off_t offset, int whence)
{
    return refused("lseek") ? -1 : __real_lseek(fd, offset, whence);
}

int __wrap_fsync(int fd)
{
    return refused("fsync") ? -1 : __real_fsync(fd);
}

int __wrap_flock(int fd, int how)
{
    return refused("flock") ? -1 : __real_flock(fd, how);
}

ssize_t __wrap_read(int fd, void *to, size_t n)
{
    return refused("read") ? -1 : __real_read(fd, to, n);
}

ssize_t __wrap_write(int fd, const void *bytes, size_t n)
{
    return !refused("write") ? __real_write(fd, bytes, n) : errno ? -1 : 0;
}

ssize_t __wrap_pwrite(int fd, const void *bytes, size_t n, off_t offset)
{
    return !refused("pwrite") ? __real_pwrite(fd, bytes, n, offset) : errno ? -1 : 0;
}

void *__wrap_mmap(void *at, size_t n, int protection, int flags, int fd, off_t offset)
{
    return refused("mmap") ? MAP_FAILED : __real_mmap(at, n, protection, flags, fd, offset);
}

int __wrap_munmap(void *at, size_t n)
{
    return refused("munmap") ? -1 : __real_munmap(at, n);
}

long __wrap_sysconf(int name)
{
    return refused("sysconf") ? -1 : __real_sysconf(name);
}

int __wrap_fstatvfs(int fd, struct statvfs *st)
{
    return refused("fstatvfs") ? -1 : __real_fstatvfs(fd, st);
}

#ifdef __linux__

ssize_t __real_getxattr(const char *path, const char *name, void *to, size_t n);
int __real_fsetxattr(int fd, const char *name, const void *from, size_t n, int flags);
int __real_fremovexattr(int fd, const char *name);
ssize_t __wrap_getxattr(const char *path, const char *name, void *to, size_t n);
int __wrap_fsetxattr(int fd, const char *name, const void *from, size_t n, int flags);
int __wrap_fremovexattr(int fd, const char *name);

ssize_t __wrap_getxattr(const char *path, const char *name, void *to, size_t n)
{
    return refused("getxattr") ? -1 : __real_getxattr(path, name, to, n);
}

int __wrap_fsetxattr(int fd, const char *name, const void *from, size_t n, int flags)
{
    return refused("fsetxattr") ? -1 : __real_fsetxattr(fd, name, from, n, flags);
}

int __wrap_fremovexattr(int fd, const char *name)
{
    return refused("fremovexattr") ? -1 : __real_fremovexattr(fd, name);
}

#endif
