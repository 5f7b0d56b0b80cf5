/*
 * show: what the parts of tg-info share: its options, files, and the losses of runs of training, side by
 * side.
 *
 *     info_runs runs = {0}
 *     info_runs_add(&runs, &info, &err) ...
 *     info_show_ends(&runs); info_show_losses(&runs, &err); info_show_plot(&runs, rows, &err)
 *     info_runs_free(&runs)
 */
#ifndef TG_CMD_INFO_SHOW_H
#define TG_CMD_INFO_SHOW_H

#include <stdbool.h>

#include "formats/sink.h"
#include "lib/info/info.h"
#include "lib/view/axis.h"

typedef struct info_options {
    bool stats, check, all, json, tsv, no_header;
    bool losses, svg;
    const char *output; /* of the image; NULL: standard output */
} info_options;

/* ---- text.c, data.c: a file */

/* Print lines for the eye; a JSON object; a line of tab-separated values per array. */
TG_MUST_CHECK tg_status info_show_text(tg_info *info, const info_options *o, tg_err *err); /* TG_ENOMEM */
void info_show_json(const tg_info *info, const info_options *o);
void info_show_tsv(const tg_info *info, const info_options *o);
void info_print_titles(const info_options *o); /* of the latter */

/* "batch" of "train/batch", if the name begins with "train/"; otherwise NULL. */
const char *info_in_group(const char *name, const char *group);

/* ---- runs.c: losses of runs */

#define INFO_RUNS_MAX 26 /* a letter for each */

/* Losses that are finite, at ascending steps. */
typedef struct info_curve {
    double *step, *loss; /* [n] owned; one block, which begins with the steps */
    size_t n;
    size_t least; /* the index of the least loss */
} info_curve;

typedef struct info_run {
    const tg_info *info; /* the caller's */
    info_curve loss, val_loss;
    size_t repeated; /* steps that later ones have replaced */
} info_run;

typedef struct info_runs {
    info_run run[INFO_RUNS_MAX];
    size_t n;
    bool any, any_val;            /* whether there are any losses; of validation */
    double first, shortest, last; /* steps: the least first one, the least last one, the greatest */
} info_runs;

/* Add the history of a file, which may be empty; tg_info_history_latest() is applied to it.  There must be
 * room. TG_ENOMEM. */
TG_MUST_CHECK tg_status info_runs_add(info_runs *runs, tg_info *info, tg_err *err);
void info_runs_free(info_runs *runs);

/* Axes for all losses, with so many ticks at most.  A log axis of steps begins with a hundredth of the
 * shortest run. */
void info_runs_axes(const info_runs *runs, tg_axis *x, tg_axis *y, size_t x_ticks, size_t y_ticks);

/* What a logarithmic scale is said with: "", "; log scales". */
const char *info_scales(const tg_axis *x, const tg_axis *y);

/* A curve with at most `parts` points: means. [parts] each; returns their number. */
size_t info_curve_thin(double *x, double *y, size_t parts, const tg_axis *axis, const info_curve *curve);

/* The columns that lines may have. */
size_t info_width(void);

/* Whether the terminal shows UTF-8, by its locale. */
bool info_has_utf8(void);

/* ---- table.c, plot.c, svg.c: losses as text and images */

/* A loss as text, in one of 4 static buffers. */
const char *info_loss(double x);

/* Print how the runs ended; their losses by step; as tab-separated values, all of them. */
void info_show_ends(const info_runs *runs);
TG_MUST_CHECK tg_status info_show_losses(const info_runs *runs, tg_err *err); /* runs->any; TG_ENOMEM */
void info_show_losses_tsv(const info_runs *runs);

/* Draw the losses with letters and dots, in so many rows.  TG_ENOMEM. */
TG_MUST_CHECK tg_status info_show_plot(const info_runs *runs, size_t rows, tg_err *err);

/* Write them as an SVG image.  Failures are kept in the sink. */
void info_put_svg(const info_runs *runs, tg_sink *sink);

/* ---- compare.c: several files of runs, which are read before the first is shown */

typedef struct info_held {
    tg_info info[INFO_RUNS_MAX];
    size_t n;
} info_held;

/* Print the losses of all: as tables and a plot, unless --tsv or --svg is given.  TG_EIO, TG_ENOMEM;
 * TG_EUSAGE: the image would replace one of the files. */
TG_MUST_CHECK tg_status info_compare(info_held *held, const info_options *o, tg_err *err);

#endif
