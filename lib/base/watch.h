/*
 * watch: how far a long computation is, told to its caller, who may abandon it.
 */
#ifndef TG_BASE_WATCH_H
#define TG_BASE_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "lib/base/api.h"

TG_API_BEGIN

typedef struct tg_watch {
    /* The computation has done this share of its work, 0 to 1.  Returns false to abandon it. */
    bool (*tell)(void *context, double share);
    void *context;
} tg_watch;

/* watch may be NULL: nobody watches, and the computation continues. */
static inline bool tg_watch_tell(const tg_watch *watch, double share)
{
    return !watch || watch->tell(watch->context, share);
}

TG_API_END

#endif
