/*
 * text_kernels: the inner loops of text, as one table per instruction set.
 *
 * As lib/kernels/kernels.h, whose tables compute with numbers: a program that only splits or
 * tokenizes has these alone.
 */
#ifndef TG_KERNELS_TEXT_KERNELS_H
#define TG_KERNELS_TEXT_KERNELS_H

#include <stddef.h>

#include "lib/base/status.h"
#include "lib/kernels/masks.h"

typedef struct tg_text_kernels {
    const char *isa;
    /* The masks of text [words * 64] into masks [words]. */
    void (*masks)(tg_masks *masks, const unsigned char *text, size_t words);
} tg_text_kernels;

/* Compare a table's kernels with the portable ones on a short text.  TG_EDATA: one computes wrongly. */
TG_MUST_CHECK tg_status tg_text_kernels_check(const tg_text_kernels *k, tg_err *err);

/* The table in use.  The first call chooses and checks the best one, as tg_kernels_get(). */
const tg_text_kernels *tg_text_kernels_get(void);

/* Use the instruction set of that name from now on, as tg_kernels_choose(), for text alone; TG_EUSAGE and
 * TG_EDATA as there. */
TG_MUST_CHECK tg_status tg_text_kernels_choose(const char *isa, tg_err *err);

#endif
