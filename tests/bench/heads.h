/*
 * heads: patches of GPT-2's heads, and what its heads do by their weights.
 *
 * Each open() makes the model, with random weights, and places all memory; it exits without.  run() returns
 * the operations that the result needs: of a patch, those of the rows that differ from the run without it; of
 * what is symmetric, half.  Softmax, norms and eigenvalues count as none.
 */
#ifndef TG_BENCH_HEADS_H
#define TG_BENCH_HEADS_H

#include <stddef.h>

/* Both runs of prompts of T tokens, and a patch of each head's z at each position; or what all these, or all
 * edges between heads and MLPs, would change to first order, in double precision. */
struct patching;
struct patching *patching_open(size_t T);
double patching_run(void *patching);
double patching_estimate(void *patching);
double patching_edges(void *patching);

/* The composition of all pairs of heads; or the numbers of each head.  Both are in double precision. */
struct weighing;
struct weighing *compose_open(void);
struct weighing *table_open(void);
double compose_run(void *weighing);
double table_run(void *weighing);

#endif
