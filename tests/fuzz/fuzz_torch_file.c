/*
 * The reader of PyTorch's files.
 *
 * Every tensor that is listed lies within one member of the zip file's directory.
 */
#include <string.h>

#include "formats/torch_file.h"
#include "tests/fuzz/input.h"
#include "tests/unit/torch_zip.h"

struct file {
    const uint8_t *data;
    size_t size;
};

/* A number of the file; 0 beyond its end. */
static uint64_t number(const struct file *f, uint64_t at, unsigned bytes)
{
    uint64_t x = 0;

    for (unsigned i = bytes; at <= f->size && bytes <= f->size - at && i-- > 0;)
        x = x << 8 | f->data[at + i];
    return x;
}

/* A field of an entry of the directory; the wide ones are in the first extra field, in this order. */
static uint64_t field(const struct file *f, uint64_t at, uint64_t *wide)
{
    const uint64_t x = number(f, at, 4);

    if (x != UINT32_MAX)
        return x;
    *wide += 8;
    return number(f, *wide - 8, 8);
}

/* Whether a member that the directory names has the bytes from .. from + n - 1. */
static bool is_in_member(const struct file *f, size_t from, size_t n)
{
    for (size_t i = 0; i + 46 <= f->size; i++) {
        uint64_t wide = i + 50 + number(f, i + 28, 2), bytes, header, begin;

        if (memcmp(f->data + i, "PK\1\2", 4) != 0)
            continue;
        bytes = field(f, i + 24, &wide);
        (void)field(f, i + 20, &wide);
        header = field(f, i + 42, &wide);
        begin = header + 30 + number(f, header + 26, 2) + number(f, header + 28, 2);
        if (header < f->size && from >= begin && from + n <= begin + bytes)
            return true;
    }
    return false;
}

static void check_list(const tg_tensor_list *list, const uint8_t *data, size_t size)
{
    unsigned sum = 0;

    for (size_t i = 0; i < list->n; i++) {
        const tg_stored *const s = &list->tensor[i];
        tg_array again = s->array;

        must(s->offset <= size && s->stored <= size - s->offset && s->at == data + s->offset);
        must(is_in_member(&(struct file){data, size}, s->offset, s->stored));
        must(tg_array_measure(&again) && again.bytes == s->stored);
        for (size_t b = 0; b < s->stored; b++)
            sum += s->at[b];
        must(tg_tensor_list_find(list, s->array.name) == s);
        must(!s->transposed || s->array.ndim == 2);
    }
    must(sum <= 255u * list->n * size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tg_tensor_list list = {0};
    tg_err err = {0};
    tg_torch t;
    tg_status status = tg_torch_open(&t, data, size, &err);

    (void)tg_torch_recognize(data, size);
    if (!status)
        status = tg_torch_list(&list, &t, t.pickle.root, true, &err);
    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    if (!status)
        check_list(&list, data, size);
    tg_tensor_list_free(&list);
    tg_torch_close(&t);
    return 0;
}

static size_t make_seed(uint8_t *out, size_t max, unsigned seed)
{
    static torch_zip z;
    const float x[6] = {0, 1, 2, 3, 4, 5};

    z = (torch_zip){.wide = seed & 1, .sized = seed & 2};
    torch_zip_begin(&z, torch_zip_pickle, torch_zip_pickle_n);
    torch_zip_put(&z, "ckpt/data/0", x, sizeof x);
    torch_zip_put(&z, "ckpt/data/1", x, 4);
    torch_zip_put(&z, "ckpt/data/2", x, sizeof x);
    torch_zip_end(&z);
    memcpy(out, z.bytes, z.n < max ? z.n : max);
    return z.n < max ? z.n : max;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    size = LLVMFuzzerMutate(data, size < 30 ? make_seed(data, max, seed) : size, max);
    if (seed % 8 != 0)
        torch_zip_repair(data, size);
    return size;
}
