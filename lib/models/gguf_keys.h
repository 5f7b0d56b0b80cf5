/*
 * gguf_keys: the named values of one architecture, "llama.block_count" and the like.  Only for GGUF's
 * reader, and for the keys of its writer.
 *
 * Failures are kept in g->status, the first one.
 */
#ifndef TG_MODELS_GGUF_KEYS_H
#define TG_MODELS_GGUF_KEYS_H

#include <stdbool.h>
#include <stddef.h>

#include "formats/gguf.h"

#define TG_GGUF_KEY_MAX 96

/* The whole key of an architecture's name, into key, which is returned. */
const char *tg_gguf_key(char key[TG_GGUF_KEY_MAX], const char *architecture, const char *name);

typedef struct tg_gguf_keys {
    tg_gguf *g;
    const char *architecture;
    char key[TG_GGUF_KEY_MAX]; /* the whole one that was asked for last */
} tg_gguf_keys;

/* The whole key of a name; it is valid until the next call. */
const char *tg_gguf_keys_whole(tg_gguf_keys *k, const char *name);

bool tg_gguf_keys_have(tg_gguf_keys *k, const char *name);

/* A size; one that may be missing; a float that may be missing, as tg_gguf_shortest() has it; a number of any
 * type, or a truth, that may be missing. */
size_t tg_gguf_keys_size(tg_gguf_keys *k, const char *name);
size_t tg_gguf_keys_size_or(tg_gguf_keys *k, const char *name, size_t otherwise);
double tg_gguf_keys_real_or(tg_gguf_keys *k, const char *name, double otherwise);
double tg_gguf_keys_number(tg_gguf_keys *k, const char *name, double otherwise);

/* Check a size that follows from others, if the file has it; `why` says from which. */
void tg_gguf_keys_check(tg_gguf_keys *k, const char *name, size_t want, const char *why);

/* Fail with the key and `what`. */
void tg_gguf_keys_refuse(tg_gguf_keys *k, const char *name, const char *what);

/* The shortest decimal number that is the same float32: 1e-05, where the file has 9.99999975e-06. */
double tg_gguf_shortest(double x);

#endif
