/*
 * scale: the place of a number on a colour scale.
 */
#ifndef TG_VIEW_SCALE_H
#define TG_VIEW_SCALE_H

#include <stddef.h>

typedef enum tg_scale_kind {
    TG_SCALE_AUTO,   /* as SQRT, with a `high` that follows the data: tg_scale_top() */
    TG_SCALE_SQRT,   /* 0 to high; spreads small numbers */
    TG_SCALE_LINEAR, /* low to high */
    TG_SCALE_LOG,    /* high/10^4 to high: four decades; anything lower gets place 0 */
    TG_SCALE_COUNT   /* 0 to high, by equal ratios of x + 1: for counts */
} tg_scale_kind;
#define TG_SCALE_KINDS "auto|sqrt|linear|log" /* the first of them, for an option */

#define TG_SCALE_DECADES 4

typedef struct tg_scale {
    tg_scale_kind kind;
    double low, high;
} tg_scale;

/* The place of a number, 0 to 1, and its inverse. */
double tg_scale_place(const tg_scale *scale, double x);
double tg_scale_number(const tg_scale *scale, double place);

/* Where an automatic scale ends: the smallest of the rows' maxima that at most a tenth of the rows exceed,
 * so that rows of many small probabilities are seen, and a few short rows, which are large, do not decide;
 * or 1 if that is near.  n >= 1; sorts `maxima`. */
double tg_scale_top(float *maxima, size_t n);

#endif
