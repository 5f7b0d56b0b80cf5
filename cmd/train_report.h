/*
 * train_report: what tg-train says while it works -- the progress line on stderr
 * and the TSV log.
 */
#ifndef TG_CMD_TRAIN_REPORT_H
#define TG_CMD_TRAIN_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "lib/base/status.h"
#include "lib/train/trainer.h"

typedef struct train_report {
    const tg_settings *settings;
    FILE *log;        /* NULL: none */
    const char *log_path;
    double start;     /* seconds, monotonic clock */
    double shown;     /* when the progress line was last shown */
    double paused;    /* seconds spent evaluating and saving */
    size_t first;     /* step that this process began at */
    size_t step;      /* steps done */
    double val_loss;  /* latest; NaN: none yet */
    tg_step_report last;
} train_report;

/* Begin at step `first`.  log_path NULL: no log; the file is appended to, and gets its
 * header line when it is new or empty.  TG_EIO with the path. */
TG_MUST_CHECK tg_status train_report_open(train_report *r, const tg_settings *settings, size_t first,
                                          const char *log_path, tg_err *err);

/* A step is done: its log line, with the validation loss when it was measured just now
 * (evaluated), and the progress line when it is time for one. */
TG_MUST_CHECK tg_status train_report_step(train_report *r, const tg_step_report *step, bool evaluated,
                                          tg_err *err);

/* Show the progress line now. */
void train_report_show(train_report *r);

/* Say it as a line of its own, for SIGUSR1. */
void train_report_say(const train_report *r);

/* Time that does not count as training lies between these two. */
double train_report_pause(void);
void train_report_resume(train_report *r, double since);

/* Close the log.  A failure is reported as TG_EIO. */
TG_MUST_CHECK tg_status train_report_close(train_report *r, tg_err *err);

#endif
