/*
 * ids: token ids as they are stored, little-endian, in the fewest bytes that hold a vocabulary.
 */
#ifndef TG_TEXT_IDS_H
#define TG_TEXT_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TG_VOCAB_MAX ((size_t)INT32_MAX) /* ids of one vocabulary: each fits an int32_t */

/* Bytes of one stored id: 1, 2 or 4. */
size_t tg_ids_width(size_t vocab_size);

/* The stored id of `width` bytes at p. */
uint32_t tg_ids_load(const unsigned char *p, size_t width);

/*
 * The position of the first of n ids that is not below vocab_size; n when all are.  A negative
 * id counts as a large one.  One pass over the ids.
 */
size_t tg_ids_check(const int32_t *ids, size_t n, size_t vocab_size);
size_t tg_ids_check_packed(const void *packed, size_t width, size_t n, size_t vocab_size);

/* Whether ids [n], which ascend, have `id` among them. */
bool tg_ids_contain(const uint32_t *ids, size_t n, size_t id);

/* n ids from int32_t into `width` bytes each, which must hold them; and back. */
void tg_ids_pack(void *packed, size_t width, const int32_t *ids, size_t n);
void tg_ids_unpack(int32_t *ids, const void *packed, size_t width, size_t n);

/* n ids from one width to another, which must hold them.  The buffers do not overlap. */
void tg_ids_convert(void *to, size_t to_width, const void *from, size_t from_width, size_t n);

#endif
