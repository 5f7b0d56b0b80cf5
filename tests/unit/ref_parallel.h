/*
 * ref_parallel: the family of tests/unit/family_parallel.h, forward, in double precision, out of
 * the reference operations.  The tests take central differences of its loss.
 */
#ifndef TG_TESTS_REF_PARALLEL_H
#define TG_TESTS_REF_PARALLEL_H

#include <stddef.h>
#include <stdint.h>

#include "lib/gpt/model.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/ref_gpt.h"

/* A model under evaluation, and the scratch of its pass.  N = B*T rows. */
typedef struct ref_parallel {
    const tg_config *config;
    const tg_params *table;
    double *flat;         /* parameters at the table's offsets; the caller may change them */
    tg_plain_masks masks; /* for the caller to set; NULL each: no dropout */
    size_t B, T, C, H, V;
    double *x;           /* [N,C] residual stream */
    double *normed;      /* [N,C] */
    double *added;       /* [N,C] what attention adds to x */
    double *mlp;         /* [N,C] what the MLP adds */
    double *fc;          /* [N,4C] */
    double *mean, *rstd; /* [N] */
    double *logits;      /* [N,V] of the last pass */
    double *losses;      /* [N] */
    tg_attention_buffers_ref64 att;
    double *all; /* the memory of these */
} ref_parallel;

/* For B sequences of T tokens; takes the model's parameters as they are now.  Aborts without memory. */
void ref_parallel_open(ref_parallel *r, const tg_model *m, size_t B, size_t T);
void ref_parallel_close(ref_parallel *r);

/* The mean loss of targets [B,T] given ids [B,T]; an ignored one, -1, counts as 0. */
double ref_parallel_loss(ref_parallel *r, const int32_t *ids, const int32_t *targets);

/* The same from a block on: its input x [N,C], its weighted sums att [N,C], and extra [N,C], added
 * to what its attention adds to x. */
double ref_parallel_loss_from(ref_parallel *r, size_t layer, const double *x, const double *att,
                              const double *extra, const int32_t *targets);

#endif
