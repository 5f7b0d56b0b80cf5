/* heat: maps of what tg-patch wrote: the patches of a site. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "lib/base/choice.h"
#include "lib/view/label.h"

/* The axes of an archive of patches, and what is kept of them. */
struct patches {
    const tg_results *r;
    const double *value; /* [M,N,P] */
    size_t N, P;
    const int64_t *position; /* [P] */
    bool by_head, by_position;
    heat_axis layers, heads;
};

static const char *method_of(const tg_results *r)
{
    char method[TG_CHOICE_SIZE];

    tg_results_text(method, sizeof method, tg_results_find(r, "method"), 0);
    if (strcmp(method, "attribution") != 0)
        return "";
    return tg_results_whole(r, "steps") > 0 ? ", estimated by integrated gradients"
                                            : ", estimated to first order";
}

void heat_name_answers(char out[HEAT_ANSWERS], const tg_results *r)
{
    const tg_results_array *answer = tg_results_find(r, "answer"), *wrong = tg_results_find(r, "wrong");
    char token[HEAT_TOKEN + 2], other[HEAT_TOKEN + 2] = "";

    out[0] = '\0';
    if (!answer || answer->whole[0] < 0)
        return;
    heat_name_token(token, r, "answer", "answer_text");
    if (wrong && wrong->whole[0] >= 0)
        heat_name_token(other, r, "wrong", "wrong_text");
    snprintf(out, HEAT_ANSWERS, " of %s%s%s", token, other[0] ? " less " : "", other);
}

void heat_describe_patches(heat *h, const tg_results *r, bool effect, const char *of)
{
    char metric[TG_CHOICE_SIZE], direction[TG_CHOICE_SIZE];
    char answers[HEAT_ANSWERS];
    bool noise;

    heat_name_answers(answers, r);
    tg_results_text(metric, sizeof metric, tg_results_find(r, "metric"), 0);
    tg_results_text(direction, sizeof direction, tg_results_find(r, "direction"), 0);
    noise = strcmp(direction, "noise") == 0;
    snprintf(h->quantity, HEAT_LINE, "%s %s patches of %s", effect ? "effect" : metric,
             effect ? "of" : "after", of);
    snprintf(h->about[0], HEAT_LINE, "%s%s: clean %.4g, corrupt %.4g%s", metric, answers,
             tg_results_real(r, "clean"), tg_results_real(r, "corrupt"),
             tg_results_whole(r, "pairs") > 1 ? ", means over pairs" : "");
    snprintf(h->about[1], HEAT_LINE, "%s run with a part of the %s one%s", noise ? "clean" : "corrupt",
             noise ? "corrupt" : "clean", method_of(r));
}

/* The clean prompt's token, and the corrupt one's where that is another. */
static void name_tokens(heat *h, size_t column, const tg_results *r, size_t position)
{
    const tg_results_array *ids = tg_results_find(r, "ids"), *other = tg_results_find(r, "corrupt_ids");
    char corrupt[VIEW_LABEL], label[VIEW_LABEL + 1];

    heat_name_position(h, column, r, position);
    if (!h->other || !ids || !other || ids->whole[position] == other->whole[position])
        return;
    heat_label(corrupt, r, "corrupt_ids", "corrupt_text", position);
    snprintf(label, sizeof label, "/%s", corrupt);
    tg_label_copy(h->other[column], VIEW_LABEL, VIEW_LABEL, label);
}

/* Heads are rows with positions as columns, else columns. */
static void fill_patches(heat *h, const struct patches *p)
{
    const bool head_rows = p->by_head && p->by_position;

    for (size_t j = 0; j < h->columns; j++)
        if (p->by_position)
            name_tokens(h, j, p->r, (size_t)p->position[j]);
        else if (p->by_head)
            snprintf(h->column[j], HEAT_NAME, "%zu", p->heads.number[j]);
        else
            snprintf(h->column[j], HEAT_NAME, "all");
    for (size_t i = 0; i < h->rows; i++) {
        const size_t l = head_rows ? i / p->heads.n : i;

        if (head_rows)
            heat_name_head(h, i, p->layers.number[l], p->heads.number[i % p->heads.n]);
        else
            heat_name_layer(h, i, p->layers.number[l]);
        for (size_t j = 0; j < h->columns; j++) {
            const size_t n = head_rows ? i % p->heads.n : p->by_position ? 0 : j;

            h->value[i * h->columns + j] =
                p->value[(p->layers.index[l] * p->N + p->heads.index[n]) * p->P + (p->by_position ? j : 0)];
        }
    }
}

static tg_status place_patches(heat *h, const struct patches *p, tg_err *err)
{
    const bool head_rows = p->by_head && p->by_position;
    const bool tokens =
        p->by_position && tg_results_whole(p->r, "pairs") == 1; /* not those of the first pair */

    h->rows_are = head_rows ? "layer.head" : "layer";
    h->columns_are = tokens ? "token" : p->by_position ? "position" : p->by_head ? "head" : "patch";
    if (tokens && !(h->other = calloc(p->P, sizeof *h->other)))
        return tg_fail_memory(err, p->P * sizeof *h->other, "the tokens");
    return heat_place(h, head_rows ? p->layers.n * p->heads.n : p->layers.n,
                      p->by_position ? p->P : p->heads.n, tokens, false, err);
}

tg_status heat_of_patch(heat *h, const tg_results *r, const heat_want *want, const char *show, tg_err *err)
{
    const tg_results_array *layers = tg_results_find(r, "layers"), *heads = tg_results_find(r, "heads");
    const tg_results_array *positions = tg_results_find(r, "positions");
    const bool effect = strcmp(show, "effect") == 0;
    struct patches p = {.r = r,
                        .value = tg_results_find(r, effect ? "effect" : "value")->real,
                        .N = heads->count,
                        .P = positions->count,
                        .position = positions->whole,
                        .by_head = heads->whole[0] >= 0,
                        .by_position = positions->whole[0] >= 0};
    char site[TG_CHOICE_SIZE];
    tg_status status;

    if (want->heads->n > 0 && !p.by_head)
        return tg_fail(err, TG_EUSAGE, "--head does not go with patches of all heads together");
    if (!(status = heat_choose(&p.layers, "layer", layers->whole, layers->count, want->layers, err)) &&
        !(status = heat_choose(&p.heads, "head", p.by_head ? heads->whole : NULL, heads->count, want->heads,
                               err)) &&
        !(status = place_patches(h, &p, err))) {
        fill_patches(h, &p);
        tg_results_text(site, sizeof site, tg_results_find(r, "site"), 0);
        heat_describe_patches(h, r, effect, site);
        heat_set_range(h, effect ? HEAT_DIVERGING : HEAT_ALL);
    }
    heat_axis_free(&p.layers);
    heat_axis_free(&p.heads);
    return status;
}
