/*
 * axis: a side of a plot: where numbers lie along it, and which of them are written.
 *
 * Any numbers are safe: also ones that are not finite, or whose difference is not.
 */
#ifndef TG_VIEW_AXIS_H
#define TG_VIEW_AXIS_H

#include <stdbool.h>
#include <stddef.h>

#define TG_AXIS_TICKS 16 /* numbers on an axis, at most */
#define TG_AXIS_TEXT 32  /* bytes of one, with NUL */

typedef struct tg_axis {
    bool log;
    double low, high; /* low < high; log: low > 0 */
    double step;      /* between ticks that are equally far apart; 0: they are not */
    double tick[TG_AXIS_TICKS];
    size_t n; /* of ticks */
} tg_axis;

/* Make an axis for numbers from low to high, with at most `ticks` numbers on it, 2 to TG_AXIS_TICKS.  It
 * is logarithmic if low is greater than 0 and `high` at least `factor` times as much. */
void tg_axis_make(tg_axis *axis, double low, double high, double factor, size_t ticks);

/* The place of a number, 0 to 1; 0 for NaN.  And the number at a place. */
double tg_axis_place(const tg_axis *axis, double x);
double tg_axis_number(const tg_axis *axis, double place);

/* The text of a tick: "2.50", "15k". */
void tg_axis_text(char out[TG_AXIS_TEXT], const tg_axis *axis, double tick);

/*
 * Thin out a curve: of the points (x, y) [n] whose x, which ascend, lie in the same of `parts` equal parts of
 * the axis, take the mean.  Points beyond its ends, and those whose y is not finite, are left out.
 *   out_x, out_y  [parts] written; the results' number is returned
 */
size_t tg_axis_means(double *out_x, double *out_y, size_t parts, const tg_axis *axis, const double *x,
                     const double *y, size_t n);

#endif
