/*
 * list_torch FILE...: one line for each tensor of PyTorch's files: name, element type, shape, the CRC-32 of
 * its data, and "transposed" if they lie that way, between tabs; "end" after each file, or "refused" and why.
 */
#include <stdio.h>
#include <stdlib.h>
#include <zlib.h>

#include "formats/torch_file.h"

static void print_list(const tg_tensor_list *list)
{
    for (size_t i = 0; i < list->n; i++) {
        const tg_stored *const s = &list->tensor[i];
        char dtype[TG_ARRAY_TEXT_MAX], shape[TG_ARRAY_TEXT_MAX];

        printf("%s\t%s\t%s\t%08lx\t%s\n", s->array.name, tg_dtype_text(dtype, s->array.dtype),
               tg_shape_text(shape, s->array.ndim, s->array.shape), crc32_z(0, s->at, s->stored),
               s->transposed ? "transposed" : "");
    }
}

static void list_file(const unsigned char *file, size_t n)
{
    tg_tensor_list list = {0};
    tg_err err = {0};
    tg_torch t;
    tg_status status = tg_torch_open(&t, file, n, &err);

    if (!status)
        status = tg_torch_list(&list, &t, t.pickle.root, true, &err);
    if (!status)
        print_list(&list);
    if (status)
        printf("refused\t%s\n", err.message);
    else
        puts("end");
    tg_tensor_list_free(&list);
    tg_torch_close(&t);
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        FILE *const f = fopen(argv[i], "rb");
        unsigned char *bytes;
        size_t n;

        if (!f || fseek(f, 0, SEEK_END) != 0 || ftell(f) < 0) {
            perror(argv[i]);
            return 3;
        }
        n = (size_t)ftell(f);
        bytes = malloc(n + 1);
        rewind(f);
        if (!bytes || fread(bytes, 1, n, f) != n) {
            perror(argv[i]);
            return 3;
        }
        list_file(bytes, n);
        free(bytes);
        fclose(f);
    }
    return 0;
}
