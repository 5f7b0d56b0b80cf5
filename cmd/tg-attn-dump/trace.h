/*
 * trace: what the parts of --trace share: the derivation of one score, and how it is printed.
 *
 * Lines that begin with '#' are headings; the others are the derivation.  With one head of C channels the
 * formulas are those of [B,T,C] and [B,T,T], otherwise of [B,T,H,D] and [B,H,T,T]; where heads share keys, k
 * and v are [B,T,KV,D].
 */
#ifndef TG_CMD_ATTN_DUMP_TRACE_H
#define TG_CMD_ATTN_DUMP_TRACE_H

#include "cmd/tg-attn-dump/input.h"
#include "lib/attn/derivation.h"

/* One factor of a sum of products: element m is value[m * stride], at offset + m * step of the array
 * `name`. */
typedef struct trace_factor {
    const char *name;
    size_t offset, step;
    const double *value;
    size_t stride;
} trace_factor;

typedef struct trace_page {
    const attn_input *in;
    const tg_derivation *d;
    size_t T, C, H, KV, D, b, h, i, j;
    size_t g;    /* the head of keys that h reads */
    bool one;    /* one head of C channels */
    bool divide; /* C/H channels for each head, which has keys of its own */
    bool plain;  /* scores q k / sqrt(D), of all keys up to the query */
    bool after;  /* j > i */
    const tg_attention_rule *rule;
    trace_factor q, k; /* of the score */
    char letter;       /* of a channel: 'c' with one head, else 'd' */
    bool att, out;     /* continue to the weighted sum; and to the output */
    bool any_layer;    /* the layer was not chosen with --layer */
    size_t section;    /* the number of the last section printed */
} trace_page;

/* A short text, returned by value so that it needs no buffer.  It is valid only within the expression
 * that calls the function. */
typedef struct trace_text {
    char s[128];
} trace_text;

/* A number with eight decimals, or nine digits if it is huge, or an exponent if it is tiny. */
trace_text trace_number(double x);

/* "[0,1,2,1]", the score's indices; with one head "[0,2,1]". */
trace_text trace_indices(const trace_page *p);
/* "scores[0,1,2,1] = scores.data[16]"; and likewise the channel that is traced of att. */
trace_text trace_place(const trace_page *p, const char *name);
trace_text trace_att_place(const trace_page *p);

/* " \"T\"", the token's text, and its id unless that is the byte; empty without tokens. */
trace_text trace_token(const trace_page *p, size_t t);

/* Print the heading of a section: its number and title and, on a separate line, where the code
 * computes it. */
void trace_heading(trace_page *p, const char *title, const char *where);

/* Print the sum over first <= m < n of x * y as a table, a line per term.  Line `mark` is marked; n: none. */
void trace_print_sum(char letter, size_t first, size_t n, const trace_factor *x, const trace_factor *y,
                     size_t mark);

/* A column of numbers: element m is value[m], at offset + m of the array that the title names, if it has a
 * place. */
typedef struct trace_column {
    const char *title;
    const double *value;
    bool has_place;
    size_t offset;
} trace_column;

/* Print a line for each m < n, with an element of each column; at most TRACE_COLUMNS. */
#define TRACE_COLUMNS 4
void trace_print_columns(char letter, size_t n, const trace_column *column, size_t count);

/* "x.data[8] = 1.0 -> dy.data[4] += 0.1", a line for each m < n. */
void trace_print_adds(char letter, size_t n, const trace_factor *x, const trace_factor *dy);

/* Print how q and k came to be, where the model norms or rotates them, and the gradients back through that
 * (trace_vectors.c). */
void trace_print_vectors(trace_page *p);
void trace_print_vectors_backward(trace_page *p);

/* Print the weighted sum, and the output (trace_out.c). */
void trace_print_att(trace_page *p);
void trace_print_out(trace_page *p);

/* Print the sections of the derivation (trace_forward.c), and of the gradient (trace_backward.c). */
void trace_print_forward(trace_page *p);
void trace_print_backward(trace_page *p);

#endif
