/* lib/heads/probe: which tokens the probes have, for each sort of tokenizer and context. */
#include <stdio.h>
#include <string.h>

#include "lib/heads/probe.h"
#include "lib/text/bare_ids.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

static tg_model model;

static void create(size_t n_ctx)
{
    small_model_create(&model, small_config(1, 1, 4, n_ctx), 1);
}

/* The model, on ids without text. */
static void create_bare(size_t ids, size_t n_ctx)
{
    tg_config c = small_config(1, 1, 4, n_ctx);
    const tg_tokenizer *tok;
    tg_err err = {0};

    c.vocab_size = ids;
    CHECK_OK(tg_bare_ids_create(&tok, ids, &err), &err);
    CHECK_OK(tg_model_create(&model, &c, tok, 1, &err), &err);
    tg_tokenizer_free(tok);
}

/* The probe `repeat` must have this period. */
static void check_repeat(size_t period, bool letters)
{
    tg_tokens_prompt p;
    tg_err err = {0};

    CHECK_OK(tg_probe_make(&p, &model, TG_PROBE_REPEAT, &err), &err);
    CHECK_EQ(p.n, 2 * period);
    for (size_t i = 0; i < period; i++) {
        const int32_t id = p.ids[i];

        CHECK_EQ(p.ids[period + i], id);
        CHECK(!letters || (id >= 'A' && id <= 'Z') || (id >= 'a' && id <= 'z'));
        for (size_t j = 0; j < i; j++)
            CHECK(p.ids[j] != id);
    }
    tg_tokens_prompt_free(&p);
    tg_model_free(&model);
}

static void repeat(void)
{
    create(64);
    check_repeat(24, true);
    create(48);
    check_repeat(24, true);
    create(47);
    check_repeat(23, true);
    create(2);
    check_repeat(1, true);
    create_bare(1000, 64);
    check_repeat(24, false);
    create_bare(5, 64);
    check_repeat(5, false);
    create_bare(1, 64);
    check_repeat(1, false);
}

/* The order is random: neither ascending nor that of another vocabulary. */
static void order(void)
{
    tg_tokens_prompt a, b;
    size_t up = 0;
    tg_err err = {0};

    create(64);
    CHECK_OK(tg_probe_make(&a, &model, TG_PROBE_REPEAT, &err), &err);
    CHECK_OK(tg_probe_make(&b, &model, TG_PROBE_REPEAT, &err), &err);
    CHECK(memcmp(a.ids, b.ids, 48 * sizeof *a.ids) == 0);
    for (size_t i = 1; i < 24; i++)
        up += a.ids[i] > a.ids[i - 1];
    CHECK(up > 5 && up < 18);
    tg_tokens_prompt_free(&a);
    tg_tokens_prompt_free(&b);
    tg_model_free(&model);
}

static void check_text(tg_probe probe, const char *begin, size_t n)
{
    tg_tokens_prompt p;
    tg_err err = {0};

    CHECK_OK(tg_probe_make(&p, &model, probe, &err), &err);
    CHECK_EQ(p.n, n);
    for (size_t i = 0; i < strlen(begin) && i < n; i++)
        CHECK_EQ(p.ids[i], (unsigned char)begin[i]);
    tg_tokens_prompt_free(&p);
}

static void text(void)
{
    create(512);
    check_text(TG_PROBE_NAMES, "When Mary and John went to the store, John gave a drink to", 58);
    check_text(TG_PROBE_TEXT, "Ada Lovelace was born in 1815.", 158);
    tg_model_free(&model);
    create(16); /* no more than the context */
    check_text(TG_PROBE_NAMES, "When Mary and Jo", 16);
    tg_model_free(&model);
}

static void refused(void)
{
    tg_tokens_prompt p;
    tg_err err = {0};

    create(1);
    CHECK_EQ(tg_probe_make(&p, &model, TG_PROBE_REPEAT, &err), TG_EUSAGE);
    CHECK(strstr(err.message, "context is 1 token"));
    tg_model_free(&model);
    create_bare(1000, 64);
    CHECK_EQ(tg_probe_make(&p, &model, TG_PROBE_NAMES, &err), TG_EUSAGE);
    CHECK(strstr(err.message, "has no tokenizer"));
    CHECK_EQ(tg_probe_make(&p, &model, TG_PROBE_TEXT, &err), TG_EUSAGE);
    tg_model_free(&model);
}

int main(void)
{
    RUN(repeat);
    RUN(order);
    RUN(text);
    RUN(refused);
    return check_done();
}
