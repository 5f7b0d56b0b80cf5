/*
 * stamp: which file a path names, to tell whether another one has taken its place.
 */
#ifndef TG_FORMATS_STAMP_H
#define TG_FORMATS_STAMP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/status.h"

typedef struct tg_stamp {
    bool exists; /* false: the other members are 0 */
    uint64_t device, inode;
    int64_t size;
    int64_t seconds, nanoseconds; /* when it was modified */
} tg_stamp;

/* The file that path names now, links followed.  TG_EIO: it cannot be examined; the message names it. */
TG_MUST_CHECK tg_status tg_stamp_take(tg_stamp *stamp, const char *path, tg_err *err);

/* Whether a file is at `now` that was not there, or was not the same, at `before`.  One that has been
 * removed is not replaced. */
bool tg_stamp_replaced(const tg_stamp *before, const tg_stamp *now);

#endif
