#include "cmd/tg-attn-view/beside.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/cli.h"
#include "cmd/tg-attn-view/parts.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"

/* ---- whether they are of the dump's text and model */

static tg_status check_ids(const tg_results_array *ids, const tg_dump *dump, tg_err *err)
{
    if (!dump->ids)
        return tg_fail(err, TG_EDATA, "it is of a text, but the dump has no tokens");
    if (ids->count != dump->T)
        return tg_fail(err, TG_EDATA, "tokens: %zu, but %zu in the dump", ids->count, dump->T);
    for (size_t t = 0; t < dump->T; t++)
        if (ids->whole[t] != dump->ids[t])
            return tg_fail(err, TG_EDATA, "it is of another text: token %zu is %lld, but %lld in the dump", t,
                           (long long)ids->whole[t], (long long)dump->ids[t]);
    return TG_OK;
}

/* Patches and ablations may be of two texts: the dump's is either of them.  Ablations have no positions. */
static tg_status check_text(const tg_results *r, const tg_dump *dump, tg_err *err)
{
    const bool prompts = r->kind == TG_RESULTS_PATCH || r->kind == TG_RESULTS_ABLATION;
    const tg_results_array *ids = tg_results_find(r, "ids"), *other = NULL;

    if (!ids && r->kind == TG_RESULTS_ABLATION)
        return TG_OK;
    if (!ids)
        return tg_fail(err, TG_EDATA,
                       "its prompts have different lengths, so there are no positions to show");
    if (prompts && (other = tg_results_find(r, "corrupt_ids")) && check_ids(other, dump, err) == TG_OK)
        return TG_OK;
    return check_ids(ids, dump, err);
}

static tg_status check_number(const char *what, size_t got, size_t want, tg_err *err)
{
    return got == want ? TG_OK : tg_fail(err, TG_EDATA, "%s: %zu, but %zu in the dump", what, got, want);
}

static tg_status check_model(const tg_results *r, const tg_dump *dump, tg_err *err)
{
    const bool ablation = r->kind == TG_RESULTS_ABLATION; /* which has the MLP after the heads */
    const tg_results_array *heads;
    tg_status status;

    if (r->kind == TG_RESULTS_ATTRIBUTION || ablation) {
        if ((status = check_number("layers", r->size['L' - 'A'], dump->n_layer, err)))
            return status;
        return check_number("heads", ablation ? r->size['P' - 'A'] - 1 : r->size['H' - 'A'], dump->H, err);
    }
    if ((status = check_number("layers", (size_t)tg_results_whole(r, "n_layer"), dump->n_layer, err)) ||
        r->kind != TG_RESULTS_PATCH)
        return status;
    heads = tg_results_find(r, "heads");
    if (heads->whole[heads->count - 1] < (int64_t)dump->H)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "it has head %lld, but the dump %zu heads",
                   (long long)heads->whole[heads->count - 1], dump->H);
}

/* Make room for one more; the rest stays. */
static tg_status add_one(view_beside_list *list, const char *name, tg_err *err)
{
    const size_t n = list->n + 1;
    view_beside_one *one = realloc(list->one, n * sizeof *one);

    if (!one)
        return tg_fail_memory(err, n * sizeof *one, "the archives");
    list->one = one;
    one[n - 1] = (view_beside_one){.name = name};
    list->n = n;
    return TG_OK;
}

/* Of a set as a whole there is no map. */
static tg_status check_parts(const tg_results *r, tg_err *err)
{
    const tg_results_array *part = tg_results_find(r, "part");

    for (size_t n = 0; n < part->count; n++)
        if (part->whole[n] != 0)
            return TG_OK;
    return tg_fail(err, TG_EDATA, "no head or MLP of it was left out by itself: there is nothing to draw");
}

bool beside_takes(tg_results_kind kind, bool dump)
{
    return kind == TG_RESULTS_LENS || kind == TG_RESULTS_PATCH || kind == TG_RESULTS_ABLATION ||
           (dump && kind == TG_RESULTS_ATTRIBUTION);
}

tg_status beside_read(view_beside *b, tg_results_kind kind, const char *name, tg_archive_reader *reader,
                      const tg_dump *dump, tg_err *err)
{
    view_beside_list *list = kind == TG_RESULTS_PATCH      ? &b->patches
                             : kind == TG_RESULTS_ABLATION ? &b->ablations
                                                           : NULL;
    char kinds[TG_CHOICE_SIZE];
    tg_results *r;
    tg_status status;

    if (!list && b->has[kind])
        return tg_fail(err, TG_EDATA, "it is the second archive of kind \"%s\": a page has one of each",
                       tg_choice_name(kinds, TG_RESULTS_KIND_NAMES, kind));
    if (list && (status = add_one(list, name, err)))
        return status;
    r = list ? &list->one[list->n - 1].results : &b->of[kind].results;
    if ((status = tg_results_read(r, kind, reader, err)))
        return status;
    if (!b->first)
        b->first = name;
    if (!list) {
        b->has[kind] = true;
        b->of[kind].name = name;
    }
    if (kind == TG_RESULTS_ABLATION && (status = check_parts(r, err)))
        return status;
    if (!dump)
        return TG_OK;
    if ((status = check_text(r, dump, err)))
        return status;
    return check_model(r, dump, err);
}

static void free_list(view_beside_list *list)
{
    for (size_t n = 0; n < list->n; n++)
        tg_results_free(&list->one[n].results);
    free(list->one);
}

void beside_free(view_beside *b)
{
    for (size_t k = 0; k < TG_RESULTS_PATCH; k++)
        tg_results_free(&b->of[k].results);
    free_list(&b->patches);
    free_list(&b->ablations);
}

/* ---- what they are of */

static size_t layers_of(const tg_results *r)
{
    const bool has_parts = r->kind == TG_RESULTS_ABLATION;

    return has_parts ? r->size['L' - 'A'] : (size_t)tg_results_whole(r, "n_layer");
}

static size_t tokens_of(const tg_results *r)
{
    const tg_results_array *ids = tg_results_find(r, "ids");

    return ids ? ids->count : 0;
}

static size_t greatest_of(const view_beside *b, size_t (*number)(const tg_results *))
{
    size_t most = b->has[TG_RESULTS_LENS] ? number(&b->of[TG_RESULTS_LENS].results) : 0;

    for (size_t n = 0; n < b->patches.n; n++)
        most = tg_size_max(most, number(&b->patches.one[n].results));
    for (size_t n = 0; n < b->ablations.n; n++)
        most = tg_size_max(most, number(&b->ablations.one[n].results));
    return most;
}

size_t beside_layers(const view_beside *b)
{
    return greatest_of(b, layers_of);
}

size_t beside_tokens(const view_beside *b)
{
    return greatest_of(b, tokens_of);
}

/* ---- facts: small arrays, as JSON */

static void put_name(tg_sink *out, const char *name)
{
    tg_sink_print(out, "%s\"%s\": ", name[0] == '{' ? "{" : ", ", name + (name[0] == '{'));
}

/* Write a member; a scalar as a number, others flat.  A name that begins with "{" is the first. */
static void put_wholes(tg_sink *out, const tg_results *r, const char *name, const char *array)
{
    const tg_results_array *a = tg_results_find(r, array);

    put_name(out, name);
    tg_sink_puts(out, a->dims > 0 ? "[" : "");
    for (size_t n = 0; n < a->count; n++)
        tg_sink_print(out, "%s%lld", n > 0 ? "," : "", (long long)a->whole[n]);
    tg_sink_puts(out, a->dims > 0 ? "]" : "");
}

static void put_reals(tg_sink *out, const tg_results *r, const char *name, const char *array)
{
    const tg_results_array *a = tg_results_find(r, array);

    put_name(out, name);
    tg_sink_puts(out, a->dims > 0 ? "[" : "");
    for (size_t n = 0; n < a->count; n++) {
        tg_sink_put(out, ",", n > 0);
        parts_put_number(out, a->real[n]);
    }
    tg_sink_puts(out, a->dims > 0 ? "]" : "");
}

static void put_texts(tg_sink *out, const tg_results *r, const char *name, const char *array)
{
    const tg_results_array *a = tg_results_find(r, array);
    char raw[VIEW_LABEL], shown[VIEW_LABEL];

    if (!a)
        return;
    put_name(out, name);
    tg_sink_puts(out, a->dims > 0 ? "[" : "");
    for (size_t n = 0; n < a->count; n++) {
        tg_results_text(raw, sizeof raw, a, n);
        cli_escape(shown, sizeof shown, (const unsigned char *)raw, strlen(raw));
        tg_sink_put(out, ",", n > 0);
        parts_put_string(out, shown);
    }
    tg_sink_puts(out, a->dims > 0 ? "]" : "");
}

/* The name of its file, as it is shown. */
static void put_file(tg_sink *out, const view_beside_one *one)
{
    char shown[1024];

    view_input(one->name, shown, sizeof shown);
    put_name(out, "name");
    parts_put_string(out, shown);
}

static void put_lens(tg_sink *out, const view_beside_one *one, bool tokens)
{
    const tg_results *r = &one->results;
    const bool has_top = tg_results_find(r, "top_ids") && tg_results_find(r, "top_logits");

    tg_sink_puts(out, ", \"lens\": ");
    put_wholes(out, r, "{layers", "layers");
    if (tokens) {
        put_file(out, one);
        put_texts(out, r, "tokens", "text");
        put_wholes(out, r, "tokenIds", "ids");
    }
    put_wholes(out, r, "positions", "positions");
    put_wholes(out, r, "target", "target");
    put_texts(out, r, "targetTexts", "target_text");
    put_wholes(out, r, "rank", "rank");
    tg_sink_print(out, ", \"K\": %zu", has_top ? r->size['K' - 'A'] : 0);
    if (has_top) {
        put_wholes(out, r, "ids", "top_ids");
        put_texts(out, r, "texts", "top_text");
    }
    tg_sink_puts(out, "}");
}

static void put_attribution(tg_sink *out, const tg_results *r)
{
    static const struct {
        const char *name, *array;
    } numbers[] = {
        {"logit", "logit"},
        {"capped", "capped"},
        {"sum", "sum"},
        {"embedding", "embedding"},
        {"positionEmbedding", "position_embedding"},
        {"normBias", "norm_bias"},
        {"headBias", "head_bias"},
        {"head", "head"},
        {"attBias", "att_bias"},
        {"mlp", "mlp"},
        {"mlpBias", "mlp_bias"},
    };

    tg_sink_puts(out, ", \"attribution\": ");
    put_wholes(out, r, "{position", "position");
    put_wholes(out, r, "token", "token");
    put_texts(out, r, "tokenText", "token_text");
    put_wholes(out, r, "minus", "minus");
    put_texts(out, r, "minusText", "minus_text");
    for (size_t n = 0; n < sizeof numbers / sizeof *numbers; n++)
        put_reals(out, r, numbers[n].name, numbers[n].array);
    tg_sink_puts(out, "}");
}

/* Only what the archive has: a token of one pair. */
static void put_answer(tg_sink *out, const tg_results *r, const char *array, const char *text,
                       const char *text_array)
{
    const tg_results_array *a = tg_results_find(r, array);

    if (!a || a->whole[0] < 0)
        return;
    put_wholes(out, r, array, array);
    put_texts(out, r, text, text_array);
}

/* A text where the archive has one, or else an id. */
static void put_tokens(tg_sink *out, const tg_results *r, const char *name, const char *texts,
                       const char *ids)
{
    if (tg_results_find(r, texts))
        put_texts(out, r, name, texts);
    else if (tg_results_find(r, ids))
        put_wholes(out, r, name, ids);
}

/* What a patch, or an ablation, is measured by. */
static void put_measure(tg_sink *out, const tg_results *r)
{
    put_texts(out, r, "metric", "metric");
    put_wholes(out, r, "pairs", "pairs");
    put_answer(out, r, "answer", "answerText", "answer_text");
    put_answer(out, r, "wrong", "wrongText", "wrong_text");
}

static void put_patch(tg_sink *out, const view_beside_one *patch, bool tokens)
{
    const tg_results *r = &patch->results;

    put_texts(out, r, "{site", "site");
    put_file(out, patch);
    if (tokens) {
        put_tokens(out, r, "tokens", "text", "ids");
        put_tokens(out, r, "corruptTokens", "corrupt_text", "corrupt_ids");
    }
    put_measure(out, r);
    put_texts(out, r, "direction", "direction");
    put_texts(out, r, "method", "method");
    put_reals(out, r, "clean", "clean");
    put_reals(out, r, "corrupt", "corrupt");
    put_wholes(out, r, "layers", "layers");
    put_wholes(out, r, "heads", "heads");
    put_wholes(out, r, "positions", "positions");
    tg_sink_puts(out, "}");
}

/* Whose parts are layers by heads and, last, the MLP. */
static void put_ablation(tg_sink *out, const view_beside_one *ablation)
{
    const tg_results *r = &ablation->results;

    put_texts(out, r, "{by", "by");
    put_file(out, ablation);
    put_measure(out, r);
    put_reals(out, r, "model", "model");
    put_reals(out, r, "none", "none");
    if (tg_results_find(r, "whole")) {
        put_reals(out, r, "whole", "whole");
        put_wholes(out, r, "named", "named");
    }
    tg_sink_print(out, ", \"P\": %zu", r->size['P' - 'A']);
    put_wholes(out, r, "part", "part");
    tg_sink_puts(out, "}");
}

void beside_put_facts(tg_sink *out, const view_beside *b, bool tokens)
{
    if (b->has[TG_RESULTS_LENS])
        put_lens(out, &b->of[TG_RESULTS_LENS], tokens);
    if (b->has[TG_RESULTS_ATTRIBUTION])
        put_attribution(out, &b->of[TG_RESULTS_ATTRIBUTION].results);
    for (size_t n = 0; n < b->patches.n; n++) {
        tg_sink_puts(out, n > 0 ? ", " : ", \"patches\": [");
        put_patch(out, &b->patches.one[n], tokens);
    }
    tg_sink_puts(out, b->patches.n > 0 ? "]" : "");
    for (size_t n = 0; n < b->ablations.n; n++) {
        tg_sink_puts(out, n > 0 ? ", " : ", \"ablations\": [");
        put_ablation(out, &b->ablations.one[n]);
    }
    tg_sink_puts(out, b->ablations.n > 0 ? "]" : "");
}

/* ---- large arrays, in double precision */

/* Of each of a list these arrays; ids are "patch0.value" and so on. */
static void put_arrays_of(tg_sink *out, const view_beside_list *list, const char *name,
                          const char *const arrays[])
{
    for (size_t n = 0; n < list->n; n++)
        for (size_t k = 0; arrays[k]; k++) {
            const tg_results_array *a = tg_results_find(&list->one[n].results, arrays[k]);
            char id[64];

            snprintf(id, sizeof id, "%s%zu.%s", name, n, arrays[k]);
            parts_put_element(out, id, a->real, a->count * sizeof *a->real);
        }
}

void beside_put_arrays(tg_sink *out, const view_beside *b)
{
    static const struct {
        tg_results_kind kind;
        const char *array, *id;
    } arrays[] = {
        {TG_RESULTS_LENS, "logit", "lens.logit"},     {TG_RESULTS_LENS, "kl", "lens.kl"},
        {TG_RESULTS_LENS, "entropy", "lens.entropy"}, {TG_RESULTS_LENS, "sum", "lens.sum"},
        {TG_RESULTS_LENS, "top_logits", "lens.top"},  {TG_RESULTS_ATTRIBUTION, "key", "attribution.key"},
    };
    static const char *const of_patch[] = {"value", "effect", NULL};
    static const char *const of_ablation[] = {"value", "faithfulness", "change", NULL};

    for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++) {
        const tg_results *r = &b->of[arrays[n].kind].results;
        const tg_results_array *a = b->has[arrays[n].kind] ? tg_results_find(r, arrays[n].array) : NULL;

        if (a)
            parts_put_element(out, arrays[n].id, a->real, a->count * sizeof *a->real);
    }
    put_arrays_of(out, &b->patches, "patch", of_patch);
    put_arrays_of(out, &b->ablations, "ablation", of_ablation);
}
