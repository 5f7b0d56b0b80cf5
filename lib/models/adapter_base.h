/*
 * adapter_base: what an adapter's archive says of the model that it is for, and how that is found again.
 *
 * Files of a model in other types, also quantised ones, and in other formats are the same model.
 */
#ifndef TG_MODELS_ADAPTER_BASE_H
#define TG_MODELS_ADAPTER_BASE_H

#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

struct tg_model_file;

#define TG_BASE_ROWS 24
#define TG_BASE_COLUMNS 16

typedef struct tg_adapter_base {
    uint32_t crc; /* CRC-32 of the values of its vectors, those of norms and biases, rounded to bf16 */
    /* The first values of the embeddings of tokens 1, 2, 4, 8 ...: [rows,columns].  Models with the same
     * vectors, as untrained ones have, differ in them, and so do other vocabularies.  0 rows: they cannot be
     * read one by one, or an older program has written the archive. */
    size_t rows, columns;
    float sample[TG_BASE_ROWS * TG_BASE_COLUMNS];
} tg_adapter_base;

/* Fails like tg_model_file_read(). */
TG_MUST_CHECK tg_status tg_adapter_base_of(tg_adapter_base *base, const struct tg_model_file *f, tg_err *err);

/* TG_EDATA: `here` is another model.  Where values have been rounded, to 2 bits even, embeddings differ by
 * less than a half of their size; those of another model or vocabulary, by more than that. */
TG_MUST_CHECK tg_status tg_adapter_base_check(const tg_adapter_base *base, const tg_adapter_base *here,
                                              tg_err *err);

#endif
