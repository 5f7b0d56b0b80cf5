/* gguf_ids FILE [special]: the ids of standard input, one per line, with the vocabulary of a GGUF file.
 * For tests/judges. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/gguf.h"
#include "lib/models/gguf_vocab.h"
#include "lib/text/encoder.h"

enum { BUFFER = 1 << 16 };

static void die(const tg_err *err)
{
    fprintf(stderr, "gguf_ids: %s\n", err->message);
    exit(1);
}

/* All of a stream, to be freed. */
static unsigned char *read_all(FILE *in, size_t *n)
{
    size_t capacity = BUFFER;
    unsigned char *p = malloc(capacity);

    for (*n = 0; p; p = realloc(p, capacity *= 2)) {
        *n += fread(p + *n, 1, capacity - *n, in);
        if (*n < capacity)
            return p;
    }
    exit(3);
}

static const tg_tokenizer *open_vocab(const char *path)
{
    FILE *f = fopen(path, "rb");
    const tg_tokenizer *tok = NULL;
    tg_tensor_list list = {0};
    tg_notes notes = {0};
    tg_err err = {0};
    unsigned char *file;
    tg_gguf g;
    size_t n;

    if (!f)
        exit(3);
    file = read_all(f, &n);
    fclose(f);
    if (tg_gguf_read(&list, &g, file, n, &err) || tg_gguf_vocab_read(&tok, &g, false, &notes))
        die(&err);
    tg_gguf_free(&g);
    tg_tensor_list_free(&list);
    tg_notes_free(&notes);
    free(file);
    return tok;
}

static void print_ids(const tg_tokenizer *tok, bool special, tg_text text)
{
    static int32_t ids[BUFFER];
    tg_encoder *e;
    tg_err err = {0};
    size_t n;

    if (tg_encoder_create(&e, tok, &err) || (special && tg_encoder_match_special(e, &err)))
        die(&err);
    for (bool ended = false; !ended;) {
        ended = text.n == 0;
        if (ended ? tg_encoder_finish(e, ids, BUFFER, &n, &err)
                  : tg_encoder_encode(e, &text, ids, BUFFER, &n, &err))
            die(&err);
        ended = ended && n < BUFFER;
        for (size_t i = 0; i < n; i++)
            printf("%ld\n", (long)ids[i]);
    }
    tg_encoder_free(e);
}

int main(int argc, char **argv)
{
    const tg_tokenizer *tok;
    unsigned char *text;
    size_t n;

    if (argc < 2)
        return 2;
    tok = open_vocab(argv[1]);
    text = read_all(stdin, &n);
    print_ids(tok, argc > 2 && strcmp(argv[2], "special") == 0, (tg_text){text, n});
    free(text);
    tg_tokenizer_free(tok);
    return 0;
}
