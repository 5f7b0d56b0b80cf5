/*
 * heads: what one head of a model attends to, one line for each query and key:
 *
 *     query  key  score  probability
 *
 *     cc -o heads heads.c $(pkg-config --cflags --libs tg)
 *     ./heads model.npz 0 2 'To be'         layer 0, head 2
 *
 * It is also C++.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tg.h>

/* Called for each query i; scores [T] and probs [T] are those of its head. */
static bool print_row(void *context, const tg_attn_row *row)
{
    (void)context;
    for (size_t j = row->first; j <= row->i; j++)
        printf("%zu\t%zu\t%.6f\t%.6f\n", row->i, j, row->scores[j], row->probs[j]);
    return !ferror(stdout);
}

/* Run the model on the text up to the layer, and print its head. */
static tg_status show(const tg_model *m, const tg_tokens_prompt *text, size_t layer, size_t head, tg_err *err)
{
    tg_attn_filter only = {layer, head, TG_ATTN_ALL, TG_ATTN_ALL};
    tg_attn_layers *layers;
    tg_status status = tg_attn_layers_new(&layers, m, text->ids, text->n, err);

    if (status == TG_OK)
        status = tg_attn_layers_select(layers, &only, err); /* checks both numbers */
    if (status == TG_OK)
        status = tg_attn_layers_walk(layers, print_row, NULL, err);
    tg_attn_layers_destroy(layers);
    return status;
}

/* A number of a layer or a head; TG_ATTN_ALL would mean all of them. */
static bool read_index(size_t *n, const char *text)
{
    char *end;

    *n = strtoul(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && *n != TG_ATTN_ALL;
}

int main(int argc, char **argv)
{
    tg_model *m;
    tg_tokens_prompt text = {NULL, 0, false};
    tg_err err;
    tg_status status;
    size_t layer, head;

    if (argc != 5 || !read_index(&layer, argv[2]) || !read_index(&head, argv[3])) {
        fprintf(stderr, "usage: heads MODEL LAYER HEAD TEXT\n");
        return TG_EUSAGE;
    }
    status = tg_model_load(&m, argv[1], &err);
    if (status == TG_OK)
        status = tg_model_prompt(&text, m, argv[4], strlen(argv[4]), &err);
    if (status == TG_OK)
        status = show(m, &text, layer, head, &err);
    tg_tokens_prompt_free(&text);
    tg_model_destroy(m);
    if (status != TG_OK)
        fprintf(stderr, "heads: %s\n", err.message);
    return fflush(stdout) == 0 ? (int)status : (int)TG_EIO;
}
