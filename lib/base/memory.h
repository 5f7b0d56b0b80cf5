/*
 * memory: how much of it there is for a program.
 */
#ifndef TG_BASE_MEMORY_H
#define TG_BASE_MEMORY_H

#include <stddef.h>

/*
 * Bytes that a program can still have without making others swap, about: what the system calls available, at
 * most what the limit of its address space leaves, and the limit of a container's control group (the root of
 * a namespace of these, version 2).  SIZE_MAX: not known, as in a sandbox.
 * Source: proc(5), MemAvailable; the kernel's Documentation/admin-guide/cgroup-v2.rst, memory.max.
 */
size_t tg_memory_available(void);

#endif
