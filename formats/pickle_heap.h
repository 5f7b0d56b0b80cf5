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

/* ---- what a pickle may name (pickle_call.c) */

/* Add the value for a name.  TG_EDATA: it is not one of those in formats/pickle.h. */
uint32_t tg_pickle_global(tg_pickle_heap *h, tg_span module, tg_span name);

/* What `function` makes of the tuple `arguments`. */
uint32_t tg_pickle_call(tg_pickle_heap *h, uint32_t function, uint32_t arguments);

/* The storage that a persistent identifier names. */
uint32_t tg_pickle_persistent(tg_pickle_heap *h, uint32_t id);

/* ---- the end (pickle_settle.c) */

/* Make the tree below `root`: items in place of links.  TG_EDATA: it contains itself, is too deep,
 * or has values that are no values.  Moves what p is to own from h. */
void tg_pickle_settle(tg_pickle *p, tg_pickle_heap *h, uint32_t root);

#endif
