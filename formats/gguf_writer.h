/*
 * gguf_writer: writes a GGUF file, version 3, front to back.
 *
 *     tg_gguf_writer w;
 *     tg_gguf_begin(&w, fd)
 *     tg_gguf_put_text(&w, "general.architecture", "gpt2", 4)     the named values, in any order
 *     tg_gguf_put_u32(&w, "gpt2.block_count", 12) ...
 *     tg_gguf_declare(&w, "token_embd.weight", 2, shape, TG_GGUF_AS_F16) ...    all tensors
 *     tg_gguf_put_values(&w, x, n) ...          their values, in that order
 *     tg_gguf_finish(&w, &err)                  in any case
 *
 * The header is collected in memory, since it begins with its counts, and written with the first values;
 * of the tensors' data at most 1 MiB is held.  After a failure nothing more is written;
 * tg_gguf_finish() reports the first one.  Where a failure must be seen earlier, look at w.out.err.code.
 */
#ifndef TG_FORMATS_GGUF_WRITER_H
#define TG_FORMATS_GGUF_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/gguf.h"
#include "formats/sink.h"
#include "lib/base/status.h"

/* How a tensor's values are stored. */
typedef enum tg_gguf_kind { TG_GGUF_AS_F32, TG_GGUF_AS_F16, TG_GGUF_AS_BF16, TG_GGUF_AS_Q8_0 } tg_gguf_kind;
#define TG_GGUF_KINDS "f32|f16|bf16|q8_0" /* for tg_choice_find() */

/* Whether a tensor with rows of `row` values can be stored so: for q8_0 it must be a multiple of 32. */
bool tg_gguf_can_store(tg_gguf_kind kind, size_t row);

/* Growing memory; owned. */
typedef struct tg_gguf_bytes {
    unsigned char *p; /* [n] */
    size_t n, capacity;
} tg_gguf_bytes;

typedef struct tg_gguf_writer {
    tg_sink out;                   /* and the first failure */
    tg_gguf_bytes values, tensors; /* as they will be in the header */
    uint64_t n_values, n_tensors;
    uint64_t data; /* bytes of all declared tensors, with padding */
    struct tg_gguf_declared {
        char name[TG_GGUF_NAME_MAX + 1];
        tg_gguf_kind kind;
        size_t count;
    } * declared; /* [n_tensors]; owned */
    size_t capacity;
    bool begun;           /* the header is written */
    size_t current;       /* the tensor whose values come next */
    size_t done;          /* of them */
    unsigned char *piece; /* values as they are stored; owned; NULL until they are needed */
} tg_gguf_writer;

/* Write to fd, from where it is. */
void tg_gguf_begin(tg_gguf_writer *w, int fd);

/* A named value.  The caller gives each key once; all but the texts are in one piece. */
void tg_gguf_put_u32(tg_gguf_writer *w, const char *key, uint32_t value);
void tg_gguf_put_f32(tg_gguf_writer *w, const char *key, float value);
void tg_gguf_put_bool(tg_gguf_writer *w, const char *key, bool value);
void tg_gguf_put_text(tg_gguf_writer *w, const char *key, const void *text, size_t n);
void tg_gguf_put_i32s(tg_gguf_writer *w, const char *key, const int32_t *value, size_t n);
void tg_gguf_put_f32s(tg_gguf_writer *w, const char *key, const float *value, size_t n);

/* An array of n texts, which follow one by one. */
void tg_gguf_put_texts(tg_gguf_writer *w, const char *key, size_t n);
void tg_gguf_put_element(tg_gguf_writer *w, const void *text, size_t n);

/* Announce a tensor; shape is in C order.  Its name has fewer than TG_GGUF_NAME_MAX bytes (llama.cpp reads
 * no longer ones), it has 1 to TG_GGUF_DIMS_MAX dimensions, its rows can be stored so.  Asserted. */
void tg_gguf_declare(tg_gguf_writer *w, const char *name, size_t ndim, const size_t *shape,
                     tg_gguf_kind kind);

/* The next n values of the tensors, in the order in which they were declared.  A call's values belong to
 * one tensor; for q8_0 n is a multiple of 32.  A value that is finite, but not as it is stored, is a failure
 * of type TG_EDATA: only f32 can hold it. */
void tg_gguf_put_values(tg_gguf_writer *w, const float *x, size_t n);

/* Check that all values came, and free what the writer owns.  TG_EDATA as above, TG_EIO, TG_ENOMEM: of
 * the first failure. */
TG_MUST_CHECK tg_status tg_gguf_finish(tg_gguf_writer *w, tg_err *err);

#endif
