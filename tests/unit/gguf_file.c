/*
 * For tests/judges/gguf_file.py:
 *
 *     gguf_file decode TYPE     blocks on stdin, their values as float32 on stdout
 *     gguf_file copy KIND IN    GGUF file IN on stdout, its tensors as KIND where their rows allow that, else
 *                               as f32
 *
 * Exits with the tg_status of what went wrong, its message on stderr.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/block_types.h"
#include "formats/gguf.h"
#include "formats/gguf_writer.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"
#include "tests/unit/ref_blocks.h"

/* All of a stream, to be freed. */
static unsigned char *read_all(FILE *in, size_t *n)
{
    size_t capacity = 1 << 16;
    unsigned char *p = malloc(capacity);

    for (*n = 0; p; p = realloc(p, capacity *= 2)) {
        *n += fread(p + *n, 1, capacity - *n, in);
        if (*n < capacity)
            break;
    }
    if (!p)
        exit(TG_ENOMEM);
    return p;
}

static int decode(const char *name)
{
    const tg_blocks *type = blocks_named(name);
    size_t n;
    unsigned char *in = read_all(stdin, &n);
    float out[TG_BLOCK_VALUES_MAX];

    for (size_t i = 0; type && i < n / type->bytes; i++) {
        tg_blocks_decode(out, type, in, i * type->values, type->values);
        fwrite(out, sizeof *out, type->values, stdout);
    }
    free(in);
    return type ? TG_OK : TG_EUSAGE;
}

static void copy_array(tg_gguf_writer *w, const char *key, const tg_gguf_value *v)
{
    const unsigned char *at = v->at;
    int32_t *whole = malloc((v->n + 1) * sizeof *whole);

    if (!whole)
        exit(TG_ENOMEM);
    if (v->type == TG_GGUF_TEXT)
        tg_gguf_put_texts(w, key, v->n);
    for (size_t i = 0; i < v->n; i++) {
        if (v->type == TG_GGUF_TEXT) {
            const tg_span text = tg_gguf_next_text(&at);

            tg_gguf_put_element(w, text.p, text.n);
        } else {
            whole[i] = (int32_t)tg_gguf_integer(v, i);
        }
    }
    if (v->type == TG_GGUF_I32)
        tg_gguf_put_i32s(w, key, whole, v->n);
    free(whole);
}

static void copy_value(tg_gguf_writer *w, const tg_gguf_value *v)
{
    const unsigned char *at = v->at;
    char key[128];

    snprintf(key, sizeof key, "%.*s", (int)v->key.n, v->key.p);
    if (v->array) {
        copy_array(w, key, v);
    } else if (v->type == TG_GGUF_TEXT) {
        const tg_span text = tg_gguf_next_text(&at);

        tg_gguf_put_text(w, key, text.p, text.n);
    } else if (v->type == TG_GGUF_F32) {
        tg_gguf_put_f32(w, key, (float)tg_gguf_real(v, 0));
    } else if (v->type == TG_GGUF_BOOL) {
        tg_gguf_put_bool(w, key, tg_gguf_integer(v, 0) == 1);
    } else {
        tg_gguf_put_u32(w, key, (uint32_t)tg_gguf_integer(v, 0));
    }
}

static void copy_tensor(tg_gguf_writer *w, const tg_stored *s)
{
    float x[4096];

    for (size_t i = 0; i < s->array.count; i += 4096) {
        const size_t n = tg_size_min(4096, s->array.count - i);

        if (tg_stored_load(x, s, i, n, NULL))
            exit(TG_EDATA);
        tg_gguf_put_values(w, x, n);
    }
}

static tg_status copy(const unsigned char *in, size_t n, tg_gguf_kind kind, tg_err *err)
{
    tg_tensor_list list = {0};
    tg_gguf_writer w;
    tg_gguf g;
    tg_status status = tg_gguf_read(&list, &g, in, n, err);

    tg_gguf_begin(&w, STDOUT_FILENO);
    for (size_t i = 0; !status && i < g.n_values; i++)
        copy_value(&w, &g.value[i]);
    for (size_t i = 0; !status && i < list.n; i++) {
        const tg_array *a = &list.tensor[i].array;

        tg_gguf_declare(&w, a->name, a->ndim, a->shape,
                        tg_gguf_can_store(kind, a->shape[a->ndim - 1]) ? kind : TG_GGUF_AS_F32);
    }
    for (size_t i = 0; !status && i < list.n; i++)
        copy_tensor(&w, &list.tensor[i]);
    if (!status)
        status = tg_gguf_finish(&w, err);
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    return status;
}

int main(int argc, char **argv)
{
    unsigned char *in;
    tg_err err = {0};
    tg_status status;
    FILE *file;
    size_t n, kind;

    if (argc == 3 && strcmp(argv[1], "decode") == 0)
        return decode(argv[2]);
    if (argc != 4 || strcmp(argv[1], "copy") != 0 || !tg_choice_find(&kind, TG_GGUF_KINDS, argv[2]) ||
        !(file = fopen(argv[3], "rb")))
        return TG_EUSAGE;
    in = read_all(file, &n);
    status = copy(in, n, (tg_gguf_kind)kind, &err);
    if (status)
        fprintf(stderr, "%s\n", err.message);
    fclose(file);
    free(in);
    return (int)status;
}
