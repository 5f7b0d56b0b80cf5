/*
 * ends: what a layer's heads do to tokens, at the four ends of OV and QK (lib/circuit/factors.h).
 *
 *     reads    what OV reads of the row that is attended to
 *     writes   what OV adds to the stream, for the logits
 *     query    what QK asks with
 *     key      what answers it
 *
 * An end is vectors, and for each the tokens with the greatest products with it: their vectors E, or, at
 * writes, U (lib/circuit/vocab.h).  The vectors are the strongest directions, the singular vectors of OV and
 * QK; or they are of one token t, whose row is e and whose column of U is u:
 *
 *     writes   e OV          tokens that attention to t makes more probable, in logits
 *     reads    (OV u)^T      tokens, attention to which makes t more probable
 *     key      e QK          keys that t prefers as a query
 *     query    (QK e^T)^T    queries that prefer t as a key
 */
#ifndef TG_CIRCUIT_ENDS_H
#define TG_CIRCUIT_ENDS_H

#include "lib/base/arena.h"
#include "lib/circuit/directions.h"
#include "lib/circuit/factors.h"

typedef enum tg_end { TG_END_READS, TG_END_QUERY, TG_END_KEY, TG_END_WRITES, TG_ENDS } tg_end;

typedef struct tg_ends {
    size_t H, n, top;       /* n vectors of each head and end, 1 with a token; tokens of each */
    double *vector;         /* [TG_ENDS,H,n,C] */
    double *x[2], *y[2];    /* [H,D,C] of OV and of QK: what is decomposed */
    double *size[2];        /* [H,D] their singular values */
    double *scratch;        /* of lib/circuit/directions.h */
    tg_top tokens[TG_ENDS]; /* [H n] */
    bool signs;             /* vectors are directions, whose sign is not known */
} tg_ends;
void tg_ends_place(tg_arena *arena, tg_ends *e, const tg_config *config, size_t n, size_t top);

/* Of a layer's n strongest directions, n <= D; or of a token, with n = 1. */
void tg_ends_of_directions(tg_ends *e, const tg_factors *f, const tg_model *model);
void tg_ends_of_token(tg_ends *e, const tg_factors *f, const tg_model *model, size_t token);

/* Vector i of head h at an end: its tokens [top], and their products with it.  Of a direction, both ends have
 * that of the two signs with which the first token at reads, or at query, has the greater product. */
const int32_t *tg_ends_tokens(const double **values, const tg_ends *e, tg_end end, size_t h, size_t i);

#endif
