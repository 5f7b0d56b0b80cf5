/*
 * pickle_heap: the values of a pickle while it is read.  For formats/pickle*.c only.
 *
 * Items of containers are chains of links until the pickle ends, because a pickle may append to a
 * list long after it has been put elsewhere.
 *
 * The machine keeps its first failure.  After it the functions do nothing, and return 0, NULL, false or
 * TG_PICKLE_NOTHING, which no value is.
 */
#ifndef TG_FORMATS_PICKLE_HEAP_H
#define TG_FORMATS_PICKLE_HEAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/pickle.h"
#include "lib/base/status.h"

#define TG_PICKLE_NOTHING UINT32_MAX /* no value, no link */

/* An array of numbers that grows. */
typedef struct tg_pickle_words {
    uint32_t *at; /* [n] */
    size_t n, capacity;
} tg_pickle_words;

typedef struct tg_pickle_link {
    uint32_t value, next;
} tg_pickle_link;

/* The machine that reads a pickle. */
typedef struct tg_pickle_heap {
    tg_status status; /* of the first failure */
    tg_err *err;
    const unsigned char *bytes; /* [n] */
    size_t n, at;               /* at: offset of the next byte */
    size_t opcode;              /* offset of the current opcode */
    unsigned operand;           /* its operand: formats/pickle.c */

    tg_pickle_value *value; /* [values] */
    tg_pickle_link *link;   /* [links] */
    tg_pickle_tensor *tensor;
    size_t values, values_capacity, links, links_capacity, tensors, tensors_capacity;
    tg_pickle_words stack;
    tg_pickle_words marks; /* heights of the stack */
    tg_pickle_words memo;  /* values, or TG_PICKLE_NOTHING */
} tg_pickle_heap;

/* TG_EDATA with the offset of the current opcode. */
void tg_pickle_fail(tg_pickle_heap *h, const char *format, ...) TG_PRINTF(2, 3);

/* Append; TG_EDATA: more than TG_PICKLE_VALUES.  TG_ENOMEM. */
void tg_pickle_words_add(tg_pickle_heap *h, tg_pickle_words *words, uint32_t word);

/* Add a value; returns its position. */
uint32_t tg_pickle_add(tg_pickle_heap *h, tg_pickle_value value);

/* Append an item to a container. */
void tg_pickle_append(tg_pickle_heap *h, uint32_t container, uint32_t item);

/* A new tensor, zeroed; the pointer is valid until the next one. */
tg_pickle_tensor *tg_pickle_add_tensor(tg_pickle_heap *h, uint32_t *at);

void tg_pickle_heap_free(tg_pickle_heap *h); /* what it owns; its status stays */

/* ---- operands, and the stack (pickle_stack.c) */

/* The next n bytes; the little-endian number in the next `width` bytes, at most 8; the next bytes up to a
 * newline.  TG_EDATA: truncated. */
const unsigned char *tg_pickle_take(tg_pickle_heap *h, uint64_t n);
uint64_t tg_pickle_take_number(tg_pickle_heap *h, size_t width);
const char *tg_pickle_take_line(tg_pickle_heap *h, size_t *n);

/* Push a value that is there; add a value, and push it. */
void tg_pickle_push(tg_pickle_heap *h, uint32_t at);
void tg_pickle_push_value(tg_pickle_heap *h, tg_pickle_value value);

/* Whether n values are above the last mark.  TG_EDATA: fewer. */
bool tg_pickle_need(tg_pickle_heap *h, size_t n);

/* The last value, which must exist: removed, or left. */
uint32_t tg_pickle_pop(tg_pickle_heap *h);
uint32_t tg_pickle_top(const tg_pickle_heap *h);

/* Remove the last mark; returns the height of the stack where it was.  TG_EDATA: there is none. */
size_t tg_pickle_pop_mark(tg_pickle_heap *h);

/* Replace the values from height `from` on by a container that holds them. */
void tg_pickle_pack(tg_pickle_heap *h, tg_pickle_kind kind, size_t from);

/* Move the values from height `from` on into the container below them, which must be of this kind. */
void tg_pickle_extend(tg_pickle_heap *h, tg_pickle_kind kind, size_t from);

/* ---- what a pickle may name (pickle_call.c) */

/* Add the value for a name.  TG_EDATA: it is not one of those in formats/pickle.h. */
uint32_t tg_pickle_global(tg_pickle_heap *h, const char *module, size_t module_n, const char *name,
                          size_t name_n);

/* What `function` makes of the tuple `arguments`. */
uint32_t tg_pickle_call(tg_pickle_heap *h, uint32_t function, uint32_t arguments);

/* The storage that a persistent identifier names. */
uint32_t tg_pickle_persistent(tg_pickle_heap *h, uint32_t id);

/* ---- the end (pickle_settle.c) */

/* Make the tree below p->root: items in place of links.  TG_EDATA: it contains itself, is too deep,
 * or has values that are no values.  Moves what p is to own from h. */
void tg_pickle_settle(tg_pickle *p, tg_pickle_heap *h);

#endif
