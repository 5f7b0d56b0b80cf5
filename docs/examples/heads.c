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

/* Memory for one walk over a head: sized by a first call, placed by a second one (lib/base/arena.h). */
typedef struct walk {
    tg_attn_scratch scratch;
    size_t T, D;
} walk;

static void place(tg_arena *arena, void *context)
{
    walk *w = (walk *)context;

    tg_attn_scratch_place(arena, &w->scratch, 1, w->T, w->D);
}

static tg_status print_head(const tg_attn_layer *layer, size_t head, tg_err *err)
{
    tg_attn_filter only = {TG_ATTN_ALL, head, TG_ATTN_ALL, TG_ATTN_ALL};
    tg_arena arena = {NULL, 0, 0, 0};
    walk w;
    tg_status status;

    w.T = layer->view.T;
    w.D = layer->view.D;
    if ((status = tg_arena_build(&arena, place, &w, err)) != TG_OK)
        return status;
    tg_attn_walk(&layer->view, layer->number, &only, &w.scratch, print_row, NULL);
    tg_arena_free(&arena);
    return TG_OK;
}

/* Run the model on the text up to the layer, and print its head. */
static tg_status show(const tg_model *m, const tg_tokens_prompt *text, size_t number, size_t head,
                      tg_err *err)
{
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_attn_filter filter = {number, head, TG_ATTN_ALL, TG_ATTN_ALL};
    tg_status status;

    if (text->n < 1 || text->n > m->config.n_ctx)
        return tg_fail(err, TG_EUSAGE, "the text has %zu tokens: expected 1 to %zu", text->n,
                       m->config.n_ctx);
    if ((status = tg_attn_layers_model(&layers, m, text->ids, text->n, err)) != TG_OK)
        return status;
    status = tg_attn_layers_select(&layers, &filter, err); /* checks both numbers */
    if (status == TG_OK && tg_attn_layers_next(&layers, &layer))
        status = print_head(&layer, head, err);
    tg_attn_layers_close(&layers);
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
    tg_model m;
    tg_tokens_prompt text = {NULL, 0, false};
    tg_err err;
    tg_status status;
    size_t layer, head;

    if (argc != 5 || !read_index(&layer, argv[2]) || !read_index(&head, argv[3])) {
        fprintf(stderr, "usage: heads MODEL LAYER HEAD TEXT\n");
        return TG_EUSAGE;
    }
    if ((status = tg_model_open(&m, argv[1], &err)) == TG_OK) {
        status = tg_tokens_prompt_text(&text, m.tokenizer, argv[4], strlen(argv[4]), &err);
        if (status == TG_OK)
            status = show(&m, &text, layer, head, &err);
        tg_tokens_prompt_free(&text);
        tg_model_free(&m);
    }
    if (status != TG_OK)
        fprintf(stderr, "heads: %s\n", err.message);
    return fflush(stdout) == 0 ? (int)status : (int)TG_EIO;
}
