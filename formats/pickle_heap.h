/*
 * pickle_heap: the values of a pickle while it is read.  For formats/pickle*.c only.
 *
 * Items of containers are chains of links until the pickle ends, because a pickle may append to a
 * list long after it has been put elsewhere.
 */
#ifndef TG_FORMATS_PICKLE_HEAP_H
#define TG_FORMATS_PICKLE_HEAP_H

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
tg_status tg_pickle_fail(const tg_pickle_heap *h, tg_err *err, const char *format, ...) TG_PRINTF(3, 4);

/* Append; TG_EDATA: more than TG_PICKLE_VALUES.  TG_ENOMEM. */
TG_MUST_CHECK tg_status tg_pickle_words_add(tg_pickle_heap *h, tg_pickle_words *words, uint32_t word,
                                            tg_err *err);

/* Add a value; *at is its position. */
TG_MUST_CHECK tg_status tg_pickle_add(tg_pickle_heap *h, uint32_t *at, tg_pickle_value value, tg_err *err);

/* Append an item to a container. */
TG_MUST_CHECK tg_status tg_pickle_append(tg_pickle_heap *h, uint32_t container, uint32_t item, tg_err *err);

/* A new tensor; *t is zeroed and valid until the next one. */
TG_MUST_CHECK tg_status tg_pickle_add_tensor(tg_pickle_heap *h, uint32_t *at, tg_pickle_tensor **t,
                                             tg_err *err);

void tg_pickle_heap_free(tg_pickle_heap *h);

/* ---- operands, and the stack (pickle_stack.c) */

/* The next n bytes; the little-endian number in the next `width` bytes, at most 8; the next bytes up to a
 * newline.  TG_EDATA: truncated. */
TG_MUST_CHECK tg_status tg_pickle_take(tg_pickle_heap *h, const unsigned char **bytes, uint64_t n,
                                       tg_err *err);
TG_MUST_CHECK tg_status tg_pickle_take_number(tg_pickle_heap *h, uint64_t *number, size_t width, tg_err *err);
TG_MUST_CHECK tg_status tg_pickle_take_line(tg_pickle_heap *h, const char **line, size_t *n, tg_err *err);

/* Push a value that is there; add a value, and push it. */
TG_MUST_CHECK tg_status tg_pickle_push(tg_pickle_heap *h, uint32_t at, tg_err *err);
TG_MUST_CHECK tg_status tg_pickle_push_value(tg_pickle_heap *h, tg_pickle_value value, tg_err *err);

/* TG_EDATA: fewer than n values are above the last mark. */
TG_MUST_CHECK tg_status tg_pickle_need(tg_pickle_heap *h, size_t n, tg_err *err);

/* The last value, which must exist: removed, or left. */
uint32_t tg_pickle_pop(tg_pickle_heap *h);
uint32_t tg_pickle_top(const tg_pickle_heap *h);

/* Remove the last mark; *from is the height of the stack where it was.  TG_EDATA: there is none. */
TG_MUST_CHECK tg_status tg_pickle_pop_mark(tg_pickle_heap *h, size_t *from, tg_err *err);

/* Replace the values from height `from` on by a container that holds them. */
TG_MUST_CHECK tg_status tg_pickle_pack(tg_pickle_heap *h, tg_pickle_kind kind, size_t from, tg_err *err);

/* Move the values from height `from` on into the container below them, which must be of this kind. */
TG_MUST_CHECK tg_status tg_pickle_extend(tg_pickle_heap *h, tg_pickle_kind kind, size_t from, tg_err *err);

/* ---- what a pickle may name (pickle_call.c) */

/* Add the value for a name.  TG_EDATA: it is not one of those in formats/pickle.h. */
TG_MUST_CHECK tg_status tg_pickle_global(tg_pickle_heap *h, uint32_t *at, const char *module, size_t module_n,
                                         const char *name, size_t name_n, tg_err *err);

/* What `function` makes of the tuple `arguments`. */
TG_MUST_CHECK tg_status tg_pickle_call(tg_pickle_heap *h, uint32_t *result, uint32_t function,
                                       uint32_t arguments, tg_err *err);

/* The storage that a persistent identifier names. */
TG_MUST_CHECK tg_status tg_pickle_persistent(tg_pickle_heap *h, uint32_t *result, uint32_t id, tg_err *err);

/* ---- the end (pickle_settle.c) */

/* Make the tree below p->root: items in place of links.  TG_EDATA: it contains itself, is too deep,
 * or has values that are no values.  Moves what p is to own from h. */
TG_MUST_CHECK tg_status tg_pickle_settle(tg_pickle *p, tg_pickle_heap *h, tg_err *err);

#endif
