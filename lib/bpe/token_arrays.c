#include "lib/bpe/token_arrays.h"

#include <stdlib.h>
#include <string.h>

#include "formats/sha256.h"
#include "lib/base/size.h"
#include "lib/bpe/bpe.h"

static tg_status check_ends(const tg_token_arrays *t, tg_err *err)
{
    uint32_t from = 0;

    for (size_t i = 0; i < t->n; from = t->ends[i++]) {
        if (t->ends[i] < from || t->ends[i] > t->n_bytes)
            return tg_fail(err, TG_EDATA, "token %zu ends at %lu, expected %lu to %zu", i,
                           (unsigned long)t->ends[i], (unsigned long)from, t->n_bytes);
        if (t->ends[i] - from > TG_BPE_TOKEN_MAX)
            return tg_fail(err, TG_EDATA, "token %zu has %lu bytes, expected at most %zu", i,
                           (unsigned long)(t->ends[i] - from), TG_BPE_TOKEN_MAX);
    }
    if (from != t->n_bytes)
        return tg_fail(err, TG_EDATA, "the tokens end at %lu, expected %zu", (unsigned long)from, t->n_bytes);
    return TG_OK;
}

tg_status tg_token_arrays_check_ids(const uint32_t *ids, size_t n, size_t n_ids, const char *what,
                                    tg_err *err)
{
    for (size_t i = 0; i < n; i++) {
        if (ids[i] >= n_ids)
            return tg_fail(err, TG_EDATA, "%s token %lu: the vocabulary has %zu ids", what,
                           (unsigned long)ids[i], n_ids);
        if (i > 0 && ids[i] <= ids[i - 1])
            return tg_fail(err, TG_EDATA, "%s token %lu comes after %lu, expected ascending ids", what,
                           (unsigned long)ids[i], (unsigned long)ids[i - 1]);
    }
    return TG_OK;
}

tg_status tg_token_arrays_check(const tg_token_arrays *t, tg_err *err)
{
    const tg_status status = check_ends(t, err);

    return status ? status : tg_token_arrays_check_ids(t->special, t->n_special, t->n, "special", err);
}

void tg_token_arrays_secret(uint64_t secret[4], const tg_token_arrays *t, const void *more, size_t bytes)
{
    unsigned char hashes[3][TG_SHA256_SIZE], hash[TG_SHA256_SIZE];

    tg_sha256(hashes[0], t->ends, t->n * sizeof *t->ends);
    tg_sha256(hashes[1], t->tokens, t->n_bytes);
    tg_sha256(hashes[2], more, bytes);
    tg_sha256(hash, hashes, sizeof hashes);
    memcpy(secret, hash, sizeof hash);
}

tg_status tg_token_arrays_take(void **data, size_t *n, size_t max, const tg_array *own, tg_archive_reader *r,
                               const tg_array *a, tg_err *err)
{
    char shape[TG_ARRAY_TEXT_MAX], type[TG_ARRAY_TEXT_MAX];

    if (!tg_dtype_equal(a->dtype, own->dtype) || a->ndim != own->ndim || (a->ndim == 2 && a->shape[1] != 2))
        return tg_fail(err, TG_EDATA, "%s is %s %s, expected %c%zu [n%s]", a->name,
                       tg_dtype_text(type, a->dtype), tg_shape_text(shape, a->ndim, a->shape),
                       own->dtype.kind, own->dtype.size, own->ndim == 2 ? ",2" : "");
    if (a->shape[0] > max)
        return tg_fail(err, TG_EDATA, "%s has %zu rows, expected at most %zu", a->name, a->shape[0], max);
    if (!(*data = malloc(tg_size_max(a->bytes, 1))))
        return tg_fail_memory(err, a->bytes, a->name);
    *n = a->shape[0];
    return tg_archive_read(r, *data, a->bytes, err);
}

void *tg_token_arrays_copy(const void *data, size_t bytes)
{
    void *p = malloc(tg_size_max(bytes, 1));

    if (p && bytes > 0)
        memcpy(p, data, bytes);
    return p;
}
