/*
 * headvis: the files that HeadVis reads (github.com/anthropics/headvis, data_pipeline.py), in a directory:
 *
 *     config.json                 the heads, and what is told about them
 *     scatter_data.json           a head's measures
 *     heads/L{layer}H{head}.json  a head's attention to the texts, and what is counted in it
 *     server_config.json, attributions/manifest.json    {}: there is no server
 *
 * A dump is a text.  Texts are divided into intervals of as many texts, the last those with the greatest
 * attention.  Of the probabilities of a query the HEADVIS_KEYS greatest are written, if they are at least
 * HEADVIS_LEAST.  HeadVis leaves out query 0 and key 0 where it looks for the greatest.
 */
#ifndef TG_CMD_VIEW_HEADVIS_H
#define TG_CMD_VIEW_HEADVIS_H

#include "cmd/tg-attn-view/view.h"

#define HEADVIS_INTERVALS 10
#define HEADVIS_KEYS 8
#define HEADVIS_LEAST 0.005f
#define HEADVIS_TOKENS 50 /* of a list of tokens */

/* A query, a key and the probability. */
typedef struct headvis_pair {
    size_t i, j;
    float prob;
} headvis_pair;

/* A head's attention to a text. */
typedef struct headvis_sequence {
    const view *v;
    char (*token)[VIEW_LABEL]; /* [T] */
    headvis_pair *pair;        /* [n] by query, then key */
    size_t n;
    float most;      /* of all queries and keys after the first */
    size_t interval; /* from 1 */
} headvis_sequence;

typedef struct headvis {
    headvis_sequence *seq; /* [n] */
    size_t n, intervals;
    view_measures *measures; /* [maps] over all texts */
    float *row;              /* scratch */
    double *scratch;
} headvis;

/* A token, and how much of the stored attention its queries give, or its keys get. */
typedef struct headvis_weight {
    const char *token;
    double weight[2]; /* as a query, as a key */
} headvis_weight;

/* Whether another dump may be with the first: of the same layers and heads.  TG_EDATA, with what differs. */
TG_MUST_CHECK tg_status headvis_check_alike(const view *first, const view *other, tg_err *err);

/* ---- headvis_data.c */

/* Take memory for n views of the same heads, measure these, and name the tokens; TG_ENOMEM.  After a failure,
 * too, headvis_free(). */
TG_MUST_CHECK tg_status headvis_make(headvis *d, view *v, size_t n, tg_err *err);
void headvis_free(headvis *d);

/* Find the sequences of a map. */
void headvis_take(headvis *d, size_t map);

/* *list [*n], to be freed: each token of the sequences once.  TG_ENOMEM. */
TG_MUST_CHECK tg_status headvis_weigh(headvis_weight **list, size_t *n, const headvis *d, tg_err *err);

/* Sort it: the greatest first. */
void headvis_sort(headvis_weight *list, size_t n, bool keys);

/* ---- headvis.c */

/* Write all files to a directory, which is made if it does not exist.  TG_EIO, TG_ENOMEM; TG_EUSAGE: a file
 * must not be replaced (cli_output_may_replace()). */
TG_MUST_CHECK tg_status headvis_write(view *v, size_t n, const char *directory, tg_err *err);

#endif
