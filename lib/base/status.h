/*
 * status: the result of a fallible function, and the reason of a failure.
 *
 * Every function of the library that can fail returns a tg_status and, unless that is
 * TG_OK, fills the caller's tg_err.  The callee says why; the caller that knows the
 * file prefixes its name with tg_err_in(); a tool prints the line once.
 */
#ifndef TG_BASE_STATUS_H
#define TG_BASE_STATUS_H

#include "lib/base/api.h"

TG_API_BEGIN

/* The first four values are the tools' exit codes. */
typedef enum tg_status {
    TG_OK = 0,
    TG_EDATA = 1,  /* the input is wrong: damaged, foreign, out of range */
    TG_EUSAGE = 2, /* the request is wrong */
    TG_EIO = 3,    /* a system call failed; tg_err.sys is its errno */
    TG_ENOMEM = 4  /* no memory, or a size beyond the address space */
} tg_status;

#define TG_ERR_MAX 512

typedef struct tg_err {
    tg_status code;
    int sys;                  /* errno of the failed call, or 0 */
    char message[TG_ERR_MAX]; /* may contain bytes of a file; a tool escapes control characters */
} tg_err;

/* The compiler checks a printf-like format, and that a result is used. */
#define TG_PRINTF(at, first) __attribute__((format(printf, at, first)))
#define TG_MUST_CHECK __attribute__((warn_unused_result))

/* Fill err (which may be NULL) with the formatted message.  Returns code. */
tg_status tg_fail(tg_err *err, tg_status code, const char *format, ...) TG_PRINTF(3, 4);

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

TG_API_END

#endif
