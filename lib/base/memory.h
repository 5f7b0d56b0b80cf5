/*
 * memory: how much of it there is for a program.
 */
#ifndef TG_BASE_MEMORY_H
#define TG_BASE_MEMORY_H

#include <stddef.h>

/*
 * Bytes that a program can still have without making others swap, about: what the system calls available, and
 * at most what tg_memory_groups() and tg_memory_addresses() leave.  SIZE_MAX: not known, as in a sandbox.
 * Source: proc(5), MemAvailable.
 */
size_t tg_memory_available(void);

/*
 * What the limits of the process's control groups leave, of a container or a systemd unit: of version 2 and
 * of version 1, and of all groups above it.  root: "", or a folder that has /proc and /sys.  SIZE_MAX: there
 * is no limit, or it is not known.
 * Source: the kernel's Documentation/admin-guide/cgroup-v2.rst, memory.max, and cgroup-v1/memory.rst.
 */
size_t tg_memory_groups(const char *root);

/* How many more bytes the limit of the address space (RLIMIT_AS, ulimit -v) allows in one mapping, also in a
 * sandbox; it is tried out.  SIZE_MAX: there is no limit. */
size_t tg_memory_addresses(void);

#endif
