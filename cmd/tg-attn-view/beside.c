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

/* Patches are of two texts: the dump's is either of them. */
static tg_status check_text(const tg_results *r, const tg_dump *dump, tg_err *err)
{
    const tg_results_array *ids = tg_results_find(r, "ids"), *other = NULL;

    if (!ids)
        return tg_fail(err, TG_EDATA,
                       "its prompts have different lengths, so there are no positions to show");
    if (r->kind == TG_RESULTS_PATCH && (other = tg_results_find(r, "corrupt_ids")) &&
        check_ids(other, dump, err) == TG_OK)
        return TG_OK;
    return check_ids(ids, dump, err);
}

static tg_status check_number(const char *what, size_t got, size_t want, tg_err *err)
{
    return got == want ? TG_OK : tg_fail(err, TG_EDATA, "%s: %zu, but %zu in the dump", what, got, want);
}

static tg_status check_model(const tg_results *r, const tg_dump *dump, tg_err *err)
{
    const tg_results_array *heads;
    tg_status status;

    if (r->kind == TG_RESULTS_ATTRIBUTION) {
        if ((status = check_number("layers", r->size['L' - 'A'], dump->n_layer, err)))
            return status;
        return check_number("heads", r->size['H' - 'A'], dump->H, err);
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
static tg_status add_patch(view_beside *b, const char *name, tg_err *err)
{
    const size_t n = b->patches + 1;
    view_beside_patch *patch = realloc(b->patch, n * sizeof *patch);

    if (!patch)
        return tg_fail_memory(err, n * sizeof *patch, "the archives");
    b->patch = patch;
    patch[n - 1] = (view_beside_patch){.name = name};
    b->patches = n;
    return TG_OK;
}

tg_status beside_read(view_beside *b, tg_results_kind kind, const char *name, tg_archive_reader *reader,
                      const tg_dump *dump, tg_err *err)
{
    const bool is_patch = kind == TG_RESULTS_PATCH;
    char kinds[TG_CHOICE_SIZE];
    tg_results *r;
    tg_status status;

    if (!is_patch && b->has[kind])
        return tg_fail(err, TG_EDATA, "it is the second archive of kind \"%s\": a page has one of each",
                       tg_choice_name(kinds, TG_RESULTS_KIND_NAMES, kind));
    if (is_patch && (status = add_patch(b, name, err)))
        return status;
    r = is_patch ? &b->patch[b->patches - 1].results : &b->of[kind];
    if ((status = tg_results_read(r, kind, reader, err)))
        return status;
    if (!is_patch)
        b->has[kind] = true;
    if (!dump)
        return TG_OK;
    if ((status = check_text(r, dump, err)))
        return status;
    return check_model(r, dump, err);
}

void beside_free(view_beside *b)
{
    for (size_t k = 0; k < TG_RESULTS_PATCH; k++)
        tg_results_free(&b->of[k]);
    for (size_t n = 0; n < b->patches; n++)
        tg_results_free(&b->patch[n].results);
    free(b->patch);
}

/* ---- what patches are of */

size_t beside_layers(const view_beside *b)
{
    size_t most = 0;

    for (size_t n = 0; n < b->patches; n++)
        most = tg_size_max(most, (size_t)tg_results_whole(&b->patch[n].results, "n_layer"));
    return most;
}

size_t beside_tokens(const view_beside *b)
{
    size_t most = 0;

    for (size_t n = 0; n < b->patches; n++) {
        const tg_results_array *ids = tg_results_find(&b->patch[n].results, "ids");

        most = tg_size_max(most, ids ? ids->count : 0);
    }
    return most;
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

static void put_lens(tg_sink *out, const tg_results *r)
{
    const bool has_top = tg_results_find(r, "top_ids") && tg_results_find(r, "top_logits");

    tg_sink_puts(out, ", \"lens\": ");
    put_wholes(out, r, "{layers", "layers");
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

static void put_patch(tg_sink *out, const view_beside_patch *patch, bool tokens)
{
    const tg_results *r = &patch->results;
    char shown[1024];

    put_texts(out, r, "{site", "site");
    view_input(patch->name, shown, sizeof shown);
    put_name(out, "name");
    parts_put_string(out, shown);
    if (tokens) {
        put_tokens(out, r, "tokens", "text", "ids");
        put_tokens(out, r, "corruptTokens", "corrupt_text", "corrupt_ids");
    }
    put_texts(out, r, "metric", "metric");
    put_texts(out, r, "direction", "direction");
    put_texts(out, r, "method", "method");
    put_wholes(out, r, "pairs", "pairs");
    put_answer(out, r, "answer", "answerText", "answer_text");
    put_answer(out, r, "wrong", "wrongText", "wrong_text");
    put_reals(out, r, "clean", "clean");
    put_reals(out, r, "corrupt", "corrupt");
    put_wholes(out, r, "layers", "layers");
    put_wholes(out, r, "heads", "heads");
    put_wholes(out, r, "positions", "positions");
    tg_sink_puts(out, "}");
}

void beside_put_facts(tg_sink *out, const view_beside *b, bool tokens)
{
    if (b->has[TG_RESULTS_LENS])
        put_lens(out, &b->of[TG_RESULTS_LENS]);
    if (b->has[TG_RESULTS_ATTRIBUTION])
        put_attribution(out, &b->of[TG_RESULTS_ATTRIBUTION]);
    for (size_t n = 0; n < b->patches; n++) {
        tg_sink_puts(out, n > 0 ? ", " : ", \"patches\": [");
        put_patch(out, &b->patch[n], tokens);
    }
    tg_sink_puts(out, b->patches > 0 ? "]" : "");
}

/* ---- large arrays, in double precision */

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
    static const char *const of_patch[] = {"value", "effect"};

    for (size_t n = 0; n < sizeof arrays / sizeof *arrays; n++) {
        const tg_results *r = &b->of[arrays[n].kind];
        const tg_results_array *a = b->has[arrays[n].kind] ? tg_results_find(r, arrays[n].array) : NULL;

        if (a)
            parts_put_element(out, arrays[n].id, a->real, a->count * sizeof *a->real);
    }
    for (size_t n = 0; n < b->patches; n++)
        for (size_t k = 0; k < 2; k++) {
            const tg_results_array *a = tg_results_find(&b->patch[n].results, of_patch[k]);
            char id[64];

            snprintf(id, sizeof id, "patch%zu.%s", n, of_patch[k]);
            parts_put_element(out, id, a->real, a->count * sizeof *a->real);
        }
}
