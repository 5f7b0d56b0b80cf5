/*
 * For gcc -fanalyzer (make analyze), which looks at one file at a time: these never return TG_OK, so that
 * what follows a failure is no path of its own.  Included before each file.
 */
#include "lib/base/status.h"

#define tg_fail(err, code, ...) (tg_fail(err, code, __VA_ARGS__), (code))
#define tg_fail_sys(...) (tg_fail_sys(__VA_ARGS__), TG_EIO)
#define tg_fail_memory(err, bytes, what) (tg_fail_memory(err, bytes, what), TG_ENOMEM)
#define tg_err_in(err, where) (tg_err_in(err, where), TG_EDATA)
