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

/* Count the ids that are not special, of words alone or of any text; and unless `ids` is NULL, put the first
 * [period] of these n in a random order there. */
static size_t walk(int32_t *ids, size_t period, size_t n, const tg_tokenizer *tok, bool words)
{
    const tg_rng rng = {.seed = 0, .purpose = TG_RNG_SHUFFLE, .step = 0};
    const uint32_t *special; /* those not passed yet, in ascending order */
    size_t specials = tg_tokenizer_specials(tok, &special), count = 0;

    for (size_t id = 0; id < tg_tokenizer_vocab_size(tok); id++) {
        size_t bytes;
        const unsigned char *text = tg_tokenizer_token(tok, (int32_t)id, &bytes);

        if (specials > 0 && *special == id) {
            special++;
            specials--;
        } else if (bytes > 0 && (!words || is_word(text, bytes))) {
            const uint64_t place = ids ? tg_rng_permute(&rng, n, count) : period;

            if (place < period)
                ids[place] = (int32_t)id;
            count++;
        }
    }
    return count;
}

static tg_status repeat(tg_tokens_prompt *p, const tg_model *model, tg_err *err)
{
    const tg_tokenizer *tok = model->tokenizer;
    const size_t most = tg_size_min(TG_PROBE_PERIOD, model->config.n_ctx / 2);
    const size_t words = tg_tokenizer_has_text(tok) ? walk(NULL, 0, 0, tok, true) : 0;
    const bool enough = words >= TG_PROBE_PERIOD;
    const size_t n = enough ? words : walk(NULL, 0, 0, tok, false), period = tg_size_min(most, n);
    int32_t ids[2 * TG_PROBE_PERIOD];

    if (most == 0)
        return tg_fail(err, TG_EUSAGE,
                       "the model's context is 1 token: a text that repeats needs 2 (tg-init --n-ctx)");
    if (n == 0)
        return tg_fail(err, TG_EUSAGE,
                       "the model's vocabulary has only special tokens: none can be repeated");
    (void)walk(ids, period, n, tok, enough);
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
    if (probe == TG_PROBE_REPEAT)
        return repeat(p, model, err);
    return encode(p, model, probe == TG_PROBE_NAMES ? names : sentences, err);
}
