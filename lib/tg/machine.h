/*
 * machine: the processor's instructions and threads that are used, and the types that it computes with.
 *
 * Results do not depend on the number of threads.  Another instruction set may round differently.
 */
#ifndef TG_TG_MACHINE_H
#define TG_TG_MACHINE_H

#include <stddef.h>

#include "lib/tg/api.h"
#include "lib/tg/status.h"

TG_API_BEGIN

/* The most that can be set. */
#define TG_THREADS_MAX 1024

/*
 * Threads that a loop uses at most, the caller among them: what tg_threads_set() says; by default
 * the number in the environment variable OMP_NUM_THREADS, or, without a usable one, tg_threads_processors().
 */
size_t tg_threads(void);

/* 1 <= n <= TG_THREADS_MAX.  Not during a loop. */
void tg_threads_set(size_t n);

/* Processors on which this process might run when it was first asked. */
size_t tg_threads_processors(void);

/*
 * Use the instruction set of that name from now on, or the best (isa NULL), after a test of it.  Call it
 * before other threads run: this and the number of threads are the library's only global state.
 * TG_EUSAGE: this program or this processor has no such set; the message lists those
 * that it has; nothing changes.  TG_EDATA: its kernels compute wrongly; the portable
 * ones are in use now.  TG_ENOMEM: they could not be tested; nothing changes.
 */
TG_MUST_CHECK tg_status tg_kernels_choose(const char *isa, tg_err *err);

/* The name of the set in use: "avx2". */
const char *tg_kernels_name(void);

/* The precision of the operands of products; sums are float32. */
typedef enum tg_precision {
    TG_PRECISION_FLOAT32,
    TG_PRECISION_BF16 /* rounded to bf16 */
} tg_precision;

#define TG_PRECISIONS "float32|bf16" /* their names, in that order */

/* How matrices are stored for generating text: rounded to nearest, ties to even. */
typedef enum tg_weight_type {
    TG_WEIGHT_FLOAT32,
    TG_WEIGHT_BF16,
    TG_WEIGHT_INT8 /* an integer from -127 to 127, times a scale of its column */
} tg_weight_type;

#define TG_WEIGHT_TYPES "float32|bf16|int8" /* their names, in that order */

TG_API_END

#endif
