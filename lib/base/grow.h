/*
 * grow: arrays that grow while elements are added.
 */
#ifndef TG_BASE_GROW_H
#define TG_BASE_GROW_H

#include <stddef.h>

#include "lib/base/status.h"

/* tg_grow() when there is not enough room. */
TG_MUST_CHECK tg_status tg_grow_more(void *array, size_t *capacity, size_t need, size_t each,
                                     const char *what, tg_err *err);

/*
 * Make room for `need` elements of `each` bytes.
 *
 *   array     the address of the pointer to the elements, from malloc() or NULL; updated if they move
 *   capacity  elements for which there is room; updated: at least doubled, so that adding one element at
 *             a time takes constant time per element
 *   what      for the message: "out of memory: N bytes for WHAT"
 *
 * TG_ENOMEM: array and capacity are unchanged.
 */
TG_MUST_CHECK static inline tg_status tg_grow(void *array, size_t *capacity, size_t need, size_t each,
                                              const char *what, tg_err *err)
{
    return need <= *capacity ? TG_OK : tg_grow_more(array, capacity, need, each, what, err);
}

#endif
