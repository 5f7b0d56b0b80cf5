/*
 * The reader of safetensors files, and of their indexes,.
 *
 * Every byte that a tensor has is in the file, and no two tensors share one.
 */
#include <stdlib.h>
#include <string.h>

#include "formats/safetensors.h"
#include "tests/fuzz/input.h"

static void touch(const tg_tensor_list *list, const uint8_t *file, size_t size)
{
    uint64_t end = 0;
    volatile unsigned char sum = 0;

    for (size_t i = 0; i < list->n; i++) {
        const tg_stored *s = &list->tensor[i];

        must(s->offset >= end && s->offset + s->stored <= size && s->at == file + s->offset);
        must(tg_tensor_list_find(list, s->array.name) == s);
        end = s->offset + s->stored;
        for (size_t b = 0; b < s->stored; b++)
            sum = (unsigned char)(sum + s->at[b]);
    }
    must(end == 0 || end == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tg_tensor_list list;
    tg_metadata metadata;
    tg_shards shards;
    tg_err err = {0};

    if (!tg_safetensors_read(&list, &metadata, data, size, &err))
        touch(&list, data, size);
    else
        must(err.message[0] != '\0');
    tg_tensor_list_free(&list);
    tg_metadata_free(&metadata);
    if (!tg_shards_read(&shards, data, size, &err))
        for (size_t i = 0; i < shards.n_tensors; i++)
            must(shards.tensor[i].file[0] != '.' && !strchr(shards.tensor[i].file, '/'));
    tg_shards_free(&shards);
    return 0;
}

/* Begin with a file, or an index; keep the header's length right, so that mutations get past it. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char header[] =
        "{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"F32\",\"shape\":[1,2],"
        "\"data_offsets\":[0,8]},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":"
        "[8,10]}}";
    static const char index[] = "{\"weight_map\": {\"a\": \"m-1\", \"b\": \"m-2\", \"c\": \"m-1\"}}";
    uint8_t *brace;
    size_t n;

    if (size < 20 && seed % 2)
        return LLVMFuzzerMutate(data, input_seed(data, max, index), max);
    if (size < 20 && max > sizeof header + 30) {
        memset(data, 0, 8);
        memcpy(data + 8, header, sizeof header - 1);
        memset(data + 8 + sizeof header - 1, 7, 10);
        size = 8 + sizeof header - 1 + 10;
    }
    n = LLVMFuzzerMutate(data, size, max);
    if (seed % 4 > 0 && n > 10) { /* to the last brace */
        for (brace = data + n - 1; brace > data + 8 && *brace != '}'; brace--)
            ;
        for (size_t i = 0; i < 8; i++)
            data[i] = (uint8_t)((uint64_t)(brace + 1 - (data + 8)) >> 8 * i);
    }
    return n;
}
