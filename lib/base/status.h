/*
 * status: the result of a fallible function, and the reason of a failure.
 *
 * Every function of the library that can fail returns a tg_status and, unless that is
 * TG_OK, fills the caller's tg_err.  The callee says why; the caller that knows the
 * file prefixes its name with tg_err_in(); a tool prints the line once.
 */
#ifndef TG_BASE_STATUS_H
#define TG_BASE_STATUS_H

#include "lib/tg/status.h"

/* The same for a failed system call: TG_EIO, with the text of errno after the message. */
tg_status tg_fail_sys(tg_err *err, const char *format, ...) TG_PRINTF(2, 3);

/* TG_ENOMEM, "out of memory: BYTES bytes for WHAT". */
tg_status tg_fail_memory(tg_err *err, unsigned long long bytes, const char *what);

/*
 * Prefix err's message with "where: ".  Returns err's code.  If the result is too long, the
 * beginning of `where` is cut, the least informative part of a path.
 * err may be NULL: the code is then unknown, and TG_EDATA is returned.
 */
tg_status tg_err_in(tg_err *err, const char *where);

#endif
