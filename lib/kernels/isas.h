/*
 * isas: the instruction sets that kernels are compiled for: the Makefile's list, which is X(name) for each,
 * as TG_ISAS, best first for most processors.  Each table of kernels exists once for each of them; a set is
 * called by its place in the list.
 */
#ifndef TG_KERNELS_ISAS_H
#define TG_KERNELS_ISAS_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

#define TG_ISAS_MAX 8

/* Whether products of bf16 are slower with this set than those of float32: Intel's processors without AMX do
 * half as many multiply-adds of bf16 a second as of float32.  Virtual machines often hide AMX. */
bool tg_isas_is_slow(const char *name);

/* Those that this processor runs, best first; returns their number. */
size_t tg_isas_list(size_t list[TG_ISAS_MAX]);

/* The one of that name, or the best (name NULL).  TG_EUSAGE: this program or this processor has no such set;
 * the message lists those that it has. */
TG_MUST_CHECK tg_status tg_isas_find(size_t *isa, const char *name, tg_err *err);

/* TG_EDATA: the kernels of the set of that name compute wrongly; the portable ones are used. */
TG_MUST_CHECK tg_status tg_isas_fail(const char *isa, tg_err *err);

#endif
