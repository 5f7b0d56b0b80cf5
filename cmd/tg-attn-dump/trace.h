/*
 * trace: what the parts of --trace share: the derivation of one score, and how it is printed.
 *
 * Lines that begin with '#' are headings; the others are the derivation.  With one head the
 * formulas are those of [B,T,C] and [B,T,T], otherwise of [B,T,H,D] and [B,H,T,T].
 */
#ifndef TG_CMD_ATTN_DUMP_TRACE_H
#define TG_CMD_ATTN_DUMP_TRACE_H

#include "cmd/tg-attn-dump/input.h"
#include "lib/attn/derivation.h"

typedef struct trace_page {
    const attn_input *in;
    const tg_derivation *d;
    size_t T, C, H, D;
    char letter;    /* of a channel: 'c' with one head, else 'd' */
    bool att, out;  /* go on to the weighted sum, and to the output */
    bool any_layer; /* the layer was not chosen with --layer */
    size_t section; /* the number of the last one printed */
} trace_page;

/* A short text, returned by value: it needs no buffer, and holds until the end of the statement. */
typedef struct trace_text {
    char s[128];
} trace_text;

/* A number with eight decimals, or nine digits if it is huge, or an exponent if it is tiny. */
trace_text trace_number(double x);

/* "scores[0,1,2,1]"; with one head "scores[0,2,1]". */
trace_text trace_square(const trace_page *p, const char *name, size_t i, size_t j);
/* "att[0,2,1,0]"; with one head "att[0,2,0]". */
trace_text trace_vector(const trace_page *p, const char *name, size_t t, size_t d);

/* " \"T\"", the token's text; empty without tokens. */
trace_text trace_token(const trace_page *p, size_t t);

/* The heading of a section: its number and title, and in a line of its own where it is computed. */
void trace_heading(trace_page *p, const char *title, const char *where);

/* What a sum of products takes from an array: element m has this offset and this value. */
typedef struct trace_factor {
    const char *name;
    size_t offset, step;
    const double *value;
    size_t stride;
} trace_factor;

/* The sum over m < n of x * y as a table, a line for each term.  Line `mark` is marked; n: none. */
void trace_print_sum(char letter, size_t n, const trace_factor *x, const trace_factor *y, size_t mark);

/* "x.data[8] = 1.0 -> dy.data[4] += 0.1", a line for each m < n. */
void trace_print_adds(char letter, size_t n, const trace_factor *x, const trace_factor *dy);

/* The sections of the derivation (trace_forward.c), and of the gradient (trace_backward.c). */
void trace_print_forward(trace_page *p);
void trace_print_backward(trace_page *p);

#endif
