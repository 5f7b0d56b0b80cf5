/*
 * status: the result of a function that can fail, and the reason of a failure.
 *
 * Every function of the library that can fail returns a tg_status and, unless that is TG_OK, fills the
 * caller's tg_err.  Nothing is printed: the program prints the message, in its own words or as it is.
 */
#ifndef TG_TG_STATUS_H
#define TG_TG_STATUS_H

#include "lib/tg/api.h"

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

TG_API_END

#endif
