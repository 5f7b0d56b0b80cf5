/*
 * attn_trace: what the parts of a trace share: where it stands, and how it prints.
 *
 * Lines that begin with '#' are headings; the others are the derivation.  With one
 * head the formulas are those of [B,T,C] and [B,T,T], else of [B,T,H,D] and [B,H,T,T].
 */
#ifndef TG_CMD_ATTN_TRACE_H
#define TG_CMD_ATTN_TRACE_H

#include "cmd/tg-attn-dump/attn_dump.h"
#include "lib/gpt/gradient64.h"

enum attn_through { ATTN_ATT, ATTN_OUT };

typedef struct attn_page {
    attn_subject *subject;
    const attn_trace_options *o;
    size_t layer_number;
    bool layer_by_default; /* no --layer said so */
    tg_attn_layer layer;
    tg_attn_index at;
    tg_attn_trace t;
    tg_gradient64 g; /* backward, of a model */
    int32_t target;
    size_t T, C, H, D;
    size_t q_base, k_base, offset; /* of the score and its vectors */
    bool masked;
    char d;                   /* the letter of a channel: 'c' with one head */
    size_t att_c, out_c;      /* --channel: in the head, in the output */
    size_t section;           /* the last one's number */
    double *datt;             /* [D] the gradient of the weighted sum */
    double *w_column;         /* [C] scratch */
} attn_page;

/* A number with eight decimals, or as short as that; an index.  Each call has room in a
 * ring of 16. */
const char *attn_number(double x);

/* "scores[0,1,2,1]"; with one head "scores[0,2,1]". */
const char *attn_square(const attn_page *p, const char *name, size_t i, size_t j);
/* "att[0,2,1,0]"; with one head "att[0,2,0]". */
const char *attn_vector(const attn_page *p, const char *name, size_t t, size_t d);

/* "" or " \"T\"", the token's text. */
const char *attn_token(const attn_page *p, size_t t);

/* A section's number and title, and in a line below it where it is computed. */
void attn_heading(attn_page *p, const char *title, const char *where);

/* What a product takes from an array: element m has this offset and value. */
typedef struct attn_factor {
    const char *name;
    size_t offset, step;
    const double *value;
    size_t stride;
} attn_factor;

/* sum over m < n of x * y as a table, a line for each term; the line `mark` is marked. */
void attn_print_sum(char letter, size_t n, const attn_factor *x, const attn_factor *y, size_t mark);

/* "x.data[8] = 1.0 -> dy.data[4] += 0.1", a line for each m < n. */
void attn_print_adds(char letter, size_t n, const attn_factor *x, const attn_factor *dy);

/* The sections of the derivation, and of the gradient.  (trace_forward.c,
 * trace_backward.c) */
void attn_trace_print_forward(attn_page *p);
void attn_trace_print_backward(attn_page *p);

#endif
