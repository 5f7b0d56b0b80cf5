/*
 * tables: which arrays each kind of results has (results.h), and what their numbers may be.
 */
#ifndef TG_RESULTS_TABLES_H
#define TG_RESULTS_TABLES_H

#include "lib/results/results.h"

/* How whole numbers are limited, besides -1 where `none` allows it. */
typedef enum tg_results_limit {
    TG_RESULTS_ANY,    /* 0 and up */
    TG_RESULTS_BELOW,  /* 0 up to the bound, which is excluded, */
    TG_RESULTS_UP_TO,  /* or included */
    TG_RESULTS_PLACES, /* as BELOW, and in ascending order */
    TG_RESULTS_STEPS   /* as UP_TO, and in ascending order */
} tg_results_limit;

typedef struct tg_results_row {
    const char *name;
    char type;         /* 'i': i8; 'f': f8 or f4; 'S' */
    const char *dims;  /* letters; "": a scalar */
    bool optional;     /* it may be absent */
    bool none;         /* -1 stands for none, or for all */
    const char *bound; /* a letter whose size bounds the numbers, or a scalar's name; NULL: nothing does */
    tg_results_limit limit;
    const char *choices; /* of a text: a list (lib/base/choice.h); NULL: any */
} tg_results_row;

/* The rows of a kind; the last one's name is NULL. */
const tg_results_row *tg_results_table(tg_results_kind kind);

#endif
