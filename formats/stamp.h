/*
 * stamp: which file a path names, to tell whether another one has taken its place.
 */
#ifndef TG_FORMATS_STAMP_H
#define TG_FORMATS_STAMP_H

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "lib/base/api.h"

TG_API_BEGIN

typedef struct tg_stamp {
    bool exists; /* false: the other members are 0 */
    dev_t device;
    ino_t inode;
    off_t size;
    struct timespec modified;
} tg_stamp;

/* The file that path names now, links followed.  One that cannot be examined counts as missing. */
tg_stamp tg_stamp_of(const char *path);

/* Whether a file is at `now` that was not there, or was not the same, at `before`.  One that has been
 * removed is not replaced. */
bool tg_stamp_replaced(const tg_stamp *before, const tg_stamp *now);

TG_API_END

#endif
