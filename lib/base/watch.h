/*
 * watch: the progress of a long computation, reported to its caller, who may abandon it.
 */
#ifndef TG_BASE_WATCH_H
#define TG_BASE_WATCH_H

#include <stdbool.h>

typedef struct tg_watch {
    /* The computation has done this fraction of its work, 0 to 1.  Returns false to abandon it. */
    bool (*report)(void *context, double fraction);
    void *context;
} tg_watch;

/* watch may be NULL: nobody watches, and the computation continues. */
static inline bool tg_watch_report(const tg_watch *watch, double fraction)
{
    return !watch || watch->report(watch->context, fraction);
}

#endif
