/*
 * train_log: the file that --log names: tab-separated columns, a line per step, the first one with titles.
 */
#ifndef TG_CMD_TRAIN_LOG_H
#define TG_CMD_TRAIN_LOG_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/status.h"

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

#endif
