/*
 * compare: several files of runs, which are read before the first is shown.
 */
#ifndef TG_CMD_INFO_COMPARE_H
#define TG_CMD_INFO_COMPARE_H

#include "cmd/tg-info/runs.h"
#include "cmd/tg-info/show.h"

typedef struct info_held {
    tg_info info[INFO_RUNS_MAX];
    size_t n;
} info_held;

/* Whether files are compared if all are runs: as text, without a question about their arrays. */
bool info_may_compare(const info_options *o, size_t files);

/* Whether a file is a log or a model, which may be without losses; whether at least two have some. */
bool info_is_run(const tg_info *info);
bool info_are_runs(const info_held *held);

/* TG_EDATA: the file has no losses. */
TG_MUST_CHECK tg_status info_check_run(const tg_info *info, tg_err *err);

/* How runs are compared: as tables and a plot, unless one of these is set. */
typedef struct info_how {
    bool tsv, svg;
    const char *output; /* of the image; NULL: standard output */
} info_how;

/* Print the losses of all.  TG_EIO, TG_ENOMEM; TG_EUSAGE: the image would replace one of the files. */
TG_MUST_CHECK tg_status info_compare(info_held *held, const info_how *how, tg_err *err);

#endif
