/*
 * train_report: tg-train's progress line on stderr, and its log (TSV).
 */
#ifndef TG_CMD_TRAIN_REPORT_H
#define TG_CMD_TRAIN_REPORT_H

#include "lib/train/trainer.h"

/* ---- log.c: tab-separated columns, a line per step, the first one with titles */

typedef struct train_log {
    const char *path; /* NULL: there is none */
    int fd;
    bool begins; /* the titles are still to be written */
} train_log;

/*
 * Open the log of a run that has done `step` steps, to append to it: a new or empty file gets the titles with
 * the first line, or at the end. An incomplete last line, as a full disk leaves it, is removed, and if the
 * last step is not `step`, a message says so.  TG_EUSAGE: the file is no log, and left as it is; TG_EIO.
 * Messages name the file.  After a failure *log needs no close.
 */
TG_MUST_CHECK tg_status train_log_open(train_log *log, const char *path, size_t step, tg_err *err);

/* Append a line of n bytes, at most TRAIN_LOG_LINE, including its newline.  TG_EIO. */
#define TRAIN_LOG_LINE 800
TG_MUST_CHECK tg_status train_log_write(train_log *log, const char *line, size_t n, tg_err *err);

/* No effect if none is open.  TG_EIO. */
TG_MUST_CHECK tg_status train_log_close(train_log *log, tg_err *err);

/* Whether two paths name the same entry of a directory, whether it is there or not.  TG_EIO, TG_ENOMEM. */
TG_MUST_CHECK tg_status train_log_is(bool *same, const char *path, const char *other, tg_err *err);

/* ---- report.c */

typedef struct train_report {
    const tg_settings *settings;
    train_log log;
    double start;        /* of training, by cli_now(); set by the caller; later by each pause */
    double shown;        /* time of the last progress line; below 0: none */
    double pause_began;  /* start of the current or last pause */
    size_t first;        /* steps done before this process */
    size_t step;         /* steps done ... */
    double part;         /* ... and the fraction of the next one, or of an evaluation */
    bool pausing;        /* evaluating or saving */
    bool estimated;      /* settings->steps is; set by the caller */
    double longer;       /* seconds that a step takes longer while the learning rate falls, likewise */
    tg_step_report last; /* of the last step */
    double val_loss;     /* latest; NaN: none yet */
    size_t val_step;     /* its step */
    double val_bytes;    /* of text, for each token that is validated on; 0: tokens have no text */
} train_report;

/* Begin the report of a run that has done `first` steps.  log_path NULL: no log; otherwise the caller closes
 * it, and errors are those of train_log_open(). */
TG_MUST_CHECK tg_status train_report_open(train_report *r, const tg_settings *settings, size_t first,
                                          const char *log_path, tg_err *err);

/* Print the validation loss before the first step, if there is one. */
void train_report_begin(const train_report *r);

/* Call this after a step, with r->step, r->last and r->val_loss set.  It writes a log line, and shows a
 * progress line if one is due.  TG_EIO: the message names the log. */
TG_MUST_CHECK tg_status train_report_step(train_report *r, tg_err *err);

/* Call this during a step or an evaluation, of which `fraction` is done.  Shows a progress line if one is
 * due: so a long first step also has an estimate of the time left. */
void train_report_part(train_report *r, double fraction);

/* Print the progress as a separate line, for SIGUSR1. */
void train_report_say(const train_report *r);

/* Print the result: the losses of the last step and of the last validation in nats per token, and the latter
 * also in bits per byte of text. */
void train_report_conclude(const train_report *r);

/* Exclude the time between these two calls from the training time. */
void train_report_pause(train_report *r);
void train_report_resume(train_report *r);

#endif
