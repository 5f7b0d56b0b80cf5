/*
 * results: read archives of what tg-lens, tg-patch and tg-circuit write: arrays by layer, head and position.
 * formats/README.md lists the arrays of each kind.
 *
 * A table has a row for each array of a kind: its type, and its dimensions as letters, which have the same
 * size wherever they stand.  Arrays are found by their names without the kind: "top_ids" of "lens/top_ids".
 */
#ifndef TG_RESULTS_RESULTS_H
#define TG_RESULTS_RESULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

typedef enum tg_results_kind {
    TG_RESULTS_LENS,        /* predictions after each layer */
    TG_RESULTS_ATTRIBUTION, /* the parts of a logit */
    TG_RESULTS_PATCH,       /* the patches of a site */
    TG_RESULTS_CIRCUIT,     /* heads by their weights */
    TG_RESULTS_EDGES,       /* the patches of edges */
    TG_RESULTS_ABLATION,    /* the model without heads and MLPs */
    TG_RESULTS_KINDS
} tg_results_kind;
#define TG_RESULTS_KIND_NAMES "lens|attribution|patch|circuit|edges|ablation"
#define TG_RESULTS_VERSION 1 /* of every kind */

#define TG_RESULTS_DIMS 4
#define TG_RESULTS_ARRAYS 32 /* of a kind, at most */

/* One of real, whole and text is not NULL, by the array's type. */
typedef struct tg_results_array {
    size_t dims, shape[TG_RESULTS_DIMS], count;
    double *real;   /* of f4 and f8, all finite */
    int64_t *whole; /* of i8 */
    char *text;     /* [count][size], each padded with NULs */
    size_t size;
} tg_results_array;

typedef struct tg_results {
    tg_results_kind kind;
    tg_results_array array[TG_RESULTS_ARRAYS]; /* by the kind's table; count 0: absent */
    size_t size[26];                           /* of the letters A to Z; 0: not known */
} tg_results;

/*
 * Read the rest of an archive whose first array, "kind", has been read, to its end; nothing follows it.  The
 * caller closes the reader.
 * TG_EDATA: an array is missing, of another type or shape, or has a number that is not possible; and whatever
 * formats/archive.h refuses.  TG_EIO, TG_ENOMEM.  After a failure nothing is to free.
 */
TG_MUST_CHECK tg_status tg_results_read(tg_results *results, tg_results_kind kind, tg_archive_reader *reader,
                                        tg_err *err);

/* Read an archive of any of these kinds from fd.  Errors likewise. */
TG_MUST_CHECK tg_status tg_results_read_any(tg_results *results, int fd, tg_err *err);
void tg_results_free(tg_results *results); /* a zeroed one is fine */

/* The array of that name, which the kind's table must have; NULL: it is absent. */
const tg_results_array *tg_results_find(const tg_results *results, const char *name);

/* A number of it, or an element of texts, in out [size]; 0 or "": absent. */
double tg_results_real(const tg_results *results, const char *name);
int64_t tg_results_whole(const tg_results *results, const char *name);
void tg_results_text(char *out, size_t size, const tg_results_array *texts, size_t element);

#endif
