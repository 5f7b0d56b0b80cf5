#include "lib/heads/probe.h"

#include <stdbool.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/base/size.h"

static const char names[] = "When Mary and John went to the store, John gave a drink to";
static const char sentences[] =
    "Ada Lovelace was born in 1815. Her notes of 1843 describe a machine that follows any rule, "
    "even one for music. Nobody built it: Ada Lovelace never saw it run.";

/* ---- repeat */

static bool is_letter(unsigned char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static bool is_word(const unsigned char *text, size_t n)
{
    const size_t start = n > 0 && text[0] == ' ';

    for (size_t i = start; i < n; i++)
        if (!is_letter(text[i]))
            return false;
    return n > start;
}

/* A walk over the ids that are not special, in ascending order. */
typedef struct walk {
    const tg_tokenizer *tok;
    bool words;              /* only those */
    const uint32_t *special; /* those not passed yet */
    size_t specials;
    size_t next; /* id */
} walk;

static walk begin_walk(const tg_tokenizer *tok, bool words)
{
    walk w = {.tok = tok, .words = words};

    w.specials = tg_tokenizer_specials(tok, &w.special);
    return w;
}

static bool is_special(walk *w, size_t id)
{
    if (w->specials == 0 || *w->special != id)
        return false;
    w->special++;
    w->specials--;
    return true;
}

/* The next id; -1: there is none. */
static int32_t next(walk *w)
{
    const size_t V = tg_tokenizer_vocab_size(w->tok);

    while (w->next < V) {
        const size_t id = w->next++;
        size_t n;
        const unsigned char *text = tg_tokenizer_token(w->tok, (int32_t)id, &n);

        if (!is_special(w, id) && n > 0 && (!w->words || is_word(text, n)))
            return (int32_t)id;
    }
    return -1;
}

static size_t count(const tg_tokenizer *tok, bool words)
{
    walk w = begin_walk(tok, words);
    size_t n = 0;

    while (next(&w) >= 0)
        n++;
    return n;
}

/* ids [period]: the first of the n tokens in a random order. */
static void draw(int32_t *ids, size_t period, const tg_tokenizer *tok, bool words, size_t n)
{
    const tg_rng rng = {.seed = 0, .purpose = TG_RNG_SHUFFLE, .step = 0};
    walk w = begin_walk(tok, words);

    for (size_t i = 0; i < n; i++) {
        const uint64_t place = tg_rng_permute(&rng, n, i);
        const int32_t id = next(&w);

        if (place < period)
            ids[place] = id;
    }
}

static tg_status repeat(tg_tokens_prompt *p, const tg_model *model, tg_err *err)
{
    const tg_tokenizer *tok = model->tokenizer;
    const size_t most = tg_size_min(TG_PROBE_PERIOD, model->config.n_ctx / 2);
    const size_t words = tg_tokenizer_has_text(tok) ? count(tok, true) : 0;
    const bool enough = words >= TG_PROBE_PERIOD;
    const size_t n = enough ? words : count(tok, false), period = tg_size_min(most, n);
    int32_t ids[2 * TG_PROBE_PERIOD];

    if (most == 0)
        return tg_fail(err, TG_EUSAGE,
                       "the model's context is 1 token: a text that repeats needs 2 (tg-init --n-ctx)");
    if (n == 0)
        return tg_fail(err, TG_EUSAGE,
                       "the model's vocabulary has only special tokens: none can be repeated");
    draw(ids, period, tok, enough, n);
    memcpy(ids + period, ids, period * sizeof *ids);
    return tg_tokens_prompt_ids(p, tok, ids, 2 * period, err);
}

/* ---- text */

static tg_status encode(tg_tokens_prompt *p, const tg_model *model, const char *text, tg_err *err)
{
    tg_status status;

    if (!tg_tokenizer_has_text(model->tokenizer))
        return tg_fail(err, TG_EUSAGE, "the model has no tokenizer: the only probe for it is repeat");
    if (!(status = tg_tokens_prompt_text(p, model->tokenizer, text, strlen(text), err)))
        p->n = tg_size_min(p->n, model->config.n_ctx);
    return status;
}

/* ---- all */

tg_status tg_probe_make(tg_tokens_prompt *p, const tg_model *model, tg_probe probe, tg_err *err)
{
    switch (probe) {
    case TG_PROBE_REPEAT:
        return repeat(p, model, err);
    case TG_PROBE_NAMES:
        return encode(p, model, names, err);
    case TG_PROBE_TEXT:
        break;
    }
    return encode(p, model, sentences, err);
}
