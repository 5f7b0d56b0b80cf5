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
    FILE *log; /* NULL: none */
    const char *log_path;
    double start;        /* seconds, monotonic clock */
    double shown;        /* when the progress line was last shown */
    double pause_began;  /* when the present or last pause did */
    double paused;       /* seconds spent evaluating and saving */
    size_t first;        /* step that this process began at */
    size_t step;         /* steps done */
    tg_step_report last; /* what the last of them did */
    double val_loss;     /* latest; NaN: none yet */
    size_t val_step;     /* and after how many steps it was measured */
} train_report;

/* For a run that begins at step `first`.  log_path NULL: no log; the file is appended to, and gets its
 * header line when it is new or empty.  TG_EIO with the path. */
TG_MUST_CHECK tg_status train_report_open(train_report *r, const tg_settings *settings, size_t first,
                                          const char *log_path, tg_err *err);

/* The clock starts: training begins now. */
void train_report_begin(train_report *r);

/* r->step, r->last and r->val_loss are those of one more step: its log line, with the validation loss when it
 * was measured just now, and the progress line when it is time for one.  TG_EIO with the log's path. */
TG_MUST_CHECK tg_status train_report_step(train_report *r, tg_err *err);

/* Say how far the run is as a line of its own, for SIGUSR1. */
void train_report_say(const train_report *r);

/* Say what came out: the last step's loss, and the validation loss. */
void train_report_conclude(const train_report *r);

/* Time that does not count as training lies between these two. */
void train_report_pause(train_report *r);
void train_report_resume(train_report *r);

/* Close the log.  A failure is reported as TG_EIO. */
TG_MUST_CHECK tg_status train_report_close(train_report *r, tg_err *err);

#endif
