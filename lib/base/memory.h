/*
 * memory: how much of it there is for a program.
 */
#ifndef TG_BASE_MEMORY_H
#define TG_BASE_MEMORY_H

#include <stddef.h>

/*
 * Bytes that a program can have without making others swap, about: what the system calls available, at most
 * the limit of the program's control group and of its address space.  SIZE_MAX: not known.
 * Source: proc(5), MemAvailable; the kernel's Documentation/admin-guide/cgroup-v2.rst, memory.max.
 */
size_t tg_memory_available(void);

#endif
