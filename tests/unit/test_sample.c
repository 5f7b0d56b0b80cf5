/* lib/gpt/sample: the choice of a token against a sort of all of them, its
 * frequencies against softmax, and generation against runs without a cache. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/gpt/sample.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

#define N_MAX 300

static const tg_sampling plain = {.temperature = 1.0, .top_p = 1.0};
static int32_t order[N_MAX];

static int32_t sample(const float *logits, size_t n, uint64_t step, const tg_sampling *sampling)
{
    tg_err err = {0};
    int32_t id = -1;

    CHECK_OK(tg_sample(&id, logits, order, n, step, 0, sampling, &err), &err);
    CHECK(id >= 0 && (size_t)id < n);
    return id;
}

/* ---- by hand */

static void greedy_takes_the_first_greatest(void)
{
    const float logits[] = {1, 5, 3, 5, -2};
    tg_sampling sampling = plain;

    sampling.greedy = true;
    CHECK_EQ(sample(logits, 5, 0, &sampling), 1);
    CHECK_EQ(sample(logits, 1, 0, &sampling), 0);
    sampling = plain;
    sampling.temperature = 0;
    CHECK_EQ(sample(logits, 5, 7, &sampling), 1);
}

static void one_candidate_is_greedy(void)
{
    const float logits[] = {1, 5, 3, 5, -2};
    tg_sampling top_k = plain, top_p = plain, cold = plain;

    top_k.top_k = 1;
    top_p.top_p = 1e-9;
    cold.temperature = 1e-3;
    for (uint64_t step = 0; step < 50; step++) {
        CHECK_EQ(sample(logits, 5, step, &top_k), 1);
        CHECK_EQ(sample(logits, 5, step, &top_p), 1);
        CHECK_EQ(sample(logits, 3, step, &cold), 1);
    }
}

/* Probabilities 0.5, 0.3, 0.15, 0.05: which tokens are ever chosen. */
static unsigned chosen(double top_p, size_t top_k)
{
    const float logits[] = {logf(0.15F), logf(0.5F), logf(0.05F), logf(0.3F)};
    tg_sampling sampling = plain;
    unsigned seen = 0;

    sampling.top_p = top_p;
    sampling.top_k = top_k;
    for (uint64_t step = 0; step < 400; step++)
        seen |= 1U << sample(logits, 4, step, &sampling);
    return seen;
}

static void the_right_candidates(void)
{
    CHECK_EQ(chosen(1, 0), 0xF);
    CHECK_EQ(chosen(1, 4), 0xF);
    CHECK_EQ(chosen(1, 3), 0xB);
    CHECK_EQ(chosen(1, 2), 0xA);
    CHECK_EQ(chosen(0.49, 0), 0x2);
    CHECK_EQ(chosen(0.51, 0), 0xA);
    CHECK_EQ(chosen(0.79, 0), 0xA);
    CHECK_EQ(chosen(0.81, 0), 0xB);
    CHECK_EQ(chosen(0.96, 0), 0xF);
    /* a share of what top_k leaves: 0.5 of 0.8 is 0.625 */
    CHECK_EQ(chosen(0.62, 2), 0x2);
    CHECK_EQ(chosen(0.63, 2), 0xA);
}

static void bad_logits_are_refused(void)
{
    const float bad[] = {NAN, INFINITY, -INFINITY};
    tg_sampling greedy = plain;
    tg_err err = {0};
    int32_t id;

    greedy.greedy = true;
    for (size_t i = 0; i < 3; i++) {
        const float logits[] = {0, 1, bad[i], 2};

        CHECK_EQ(tg_sample(&id, logits, order, 4, 0, 0, &plain, &err), TG_EDATA);
        CHECK_HAS(err.message, "logits[2] is");
        CHECK_EQ(tg_sample(&id, logits, order, 4, 0, 0, &greedy, &err), TG_EDATA);
        CHECK_EQ(tg_sample(&id, logits, order, 2, 0, 0, &plain, &err), TG_OK);
    }
}

/* ---- against a sort */

static const float *sort_logits;

static int descending(const void *a, const void *b)
{
    const int32_t i = *(const int32_t *)a, j = *(const int32_t *)b;

    if (sort_logits[i] != sort_logits[j])
        return sort_logits[i] > sort_logits[j] ? -1 : 1;
    return i < j ? -1 : 1;
}

/* The candidates, sorted; how many. */
static size_t sorted_candidates(int32_t *ids, const float *logits, size_t n, const tg_sampling *sampling)
{
    double all = 0, sum = 0;
    size_t kept = 0;

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)i;
    sort_logits = logits;
    qsort(ids, n, sizeof *ids, descending);
    if (sampling->top_k && sampling->top_k < n)
        n = sampling->top_k;
    for (size_t i = 0; i < n; i++)
        all += exp(((double)logits[ids[i]] - (double)logits[ids[0]]) / sampling->temperature);
    do
        sum += exp(((double)logits[ids[kept]] - (double)logits[ids[0]]) / sampling->temperature);
    while (++kept < n && sum < sampling->top_p * all);
    return kept;
}

static bool is_candidate(int32_t id, const int32_t *ids, size_t n)
{
    while (n-- > 0)
        if (ids[n] == id)
            return true;
    return false;
}

/* Every choice is a candidate, and among many steps the last candidate comes up,
 * too, when it is not too improbable. */
static void choices_agree_with_a_sort(void)
{
    float logits[N_MAX];
    int32_t ids[N_MAX];

    for (uint64_t trial = 0; trial < 200; trial++) {
        const size_t n = 1 + (size_t)(trial * 7 % N_MAX);
        const tg_sampling sampling = {.temperature = 0.5 + (double)(trial % 5),
                                      .top_k = trial % 3 * (trial % 11),
                                      .top_p = trial % 2 ? 1.0 : 0.3 + 0.005 * (double)trial / 2,
                                      .seed = trial};
        size_t kept;

        check_fill(logits, n, trial, 2.0);
        for (size_t i = 3; i < n; i += 3) /* also equal ones */
            logits[i] = logits[i - 3];
        kept = sorted_candidates(ids, logits, n, &sampling);
        for (uint64_t step = 0; step < 20; step++)
            CHECK(is_candidate(sample(logits, n, step, &sampling), ids, kept));
    }
}

/* Among equal logits, the lower ids are kept. */
static void equal_logits(void)
{
    float logits[N_MAX] = {0};
    tg_sampling sampling = plain;
    unsigned seen = 0;

    sampling.top_k = 3;
    for (uint64_t step = 0; step < 100; step++)
        seen |= 1U << sample(logits, 30, step, &sampling);
    CHECK_EQ(seen, 7);
}

/* ---- frequencies */

/* 20,000 draws, each a binomial count: within five standard deviations.  The seed is
 * fixed, so this holds or fails for good. */
static void check_frequencies(const float *logits, const double *want, size_t n, const tg_sampling *sampling)
{
    enum { DRAWS = 20000 };
    size_t count[8] = {0};

    for (uint64_t step = 0; step < DRAWS; step++)
        count[sample(logits, n, step, sampling)]++;
    for (size_t i = 0; i < n; i++)
        CHECK_NEAR((double)count[i] / DRAWS, want[i], 5 * sqrt(want[i] * (1 - want[i]) / DRAWS) + 1e-12);
}

static void frequencies_are_softmax(void)
{
    const float logits[] = {logf(0.15F), logf(0.5F), logf(0.05F), logf(0.3F)};
    const double squares = 0.15 * 0.15 + 0.5 * 0.5 + 0.05 * 0.05 + 0.3 * 0.3;
    tg_sampling sampling = plain;

    check_frequencies(logits, (double[]){0.15, 0.5, 0.05, 0.3}, 4, &sampling);
    sampling.temperature = 0.5;
    check_frequencies(
        logits, (double[]){0.15 * 0.15 / squares, 0.25 / squares, 0.05 * 0.05 / squares, 0.09 / squares}, 4,
        &sampling);
    sampling.temperature = 1;
    sampling.top_k = 2;
    check_frequencies(logits, (double[]){0, 0.5 / 0.8, 0, 0.3 / 0.8}, 4, &sampling);
    sampling.top_k = 0;
    sampling.top_p = 0.9;
    check_frequencies(logits, (double[]){0.15 / 0.95, 0.5 / 0.95, 0, 0.3 / 0.95}, 4, &sampling);
}

/* The choice is the one of the documented random number. */
static void the_random_number(void)
{
    const float logits[] = {0, 0, 0, 0, 0, 0, 0, 0};
    tg_sampling sampling = plain;

    sampling.seed = 42;
    for (uint64_t step = 0; step < 100; step++) {
        const tg_rng rng = {42, TG_RNG_SAMPLE, step};

        CHECK_EQ(sample(logits, 8, step, &sampling), (int)(8 * tg_rng_uniform(&rng, 0)));
    }
}

/* ---- a text under way */

static void tiny_model(tg_model *m, size_t n_ctx)
{
    tg_config c = small_config(2, 2, 16, n_ctx);

    c.vocab_size = 260; /* four that the tokenizer does not have */
    small_model_create(m, c, 1);
}

/* Logits [V] for the token after ids [n], without a cache. */
static void logits_of(float *logits, const tg_model *m, const int32_t *ids, size_t n)
{
    tg_arena arena = {0};
    tg_infer f;
    tg_err err = {0};

    tg_infer_place(&arena, &f, m, n, 0, 0);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_infer_place(&arena, &f, m, n, 0, 0);
    tg_infer_run(&f, ids, n, logits);
    tg_arena_free(&arena);
}

/* Generate, and check the logits after every token against the text's last `seen`
 * tokens, where seen grows to n_ctx and then falls to half of it. */
static void check_generator(size_t n_ctx, size_t prompt)
{
    enum { TOKENS = 40 };
    const size_t half = n_ctx / 2 > 0 ? n_ctx / 2 : 1;
    tg_model m;
    tg_generator g;
    tg_err err = {0};
    int32_t text[N_MAX];
    float want[N_MAX];
    size_t n = prompt, seen;

    tiny_model(&m, n_ctx);
    CHECK_OK(tg_generator_open(&g, &m, TG_WEIGHT_FLOAT32, 1, SIZE_MAX, &err), &err);
    for (size_t t = 0; t < prompt; t++)
        text[t] = (int32_t)(t * 37 % 256);

    seen = tg_generator_begin(&g, text, n);
    CHECK_EQ(seen, prompt > n_ctx ? half : prompt);
    for (size_t i = 0; i < TOKENS; i++) {
        logits_of(want, &m, text + n - seen, seen);
        CHECK_NEAR(check_distance(g.logits, want, m.config.vocab_size), 0, 1e-5);
        CHECK_EQ(g.step, n);
        CHECK_OK(tg_generator_next(&g, true, &plain, &err), &err);
        text[n] = g.ids[0];
        CHECK(text[n] >= 0 && text[n] < 256);
        n++;
        seen = seen == n_ctx ? half : seen + 1;
    }
    tg_generator_close(&g);
    tg_model_free(&m);
}

/* The same for several texts at once: they differ from the first token on, and all drop the
 * older half of the context together. */
static void check_texts(size_t n_ctx, size_t prompt, tg_weight_type type)
{
    enum { TOKENS = 40, S = 3 };
    const size_t half = n_ctx / 2 > 0 ? n_ctx / 2 : 1;
    tg_model m;
    tg_generator g;
    tg_err err = {0};
    int32_t text[S][N_MAX];
    float want[N_MAX];
    size_t n = prompt, seen;

    tiny_model(&m, n_ctx);
    CHECK_OK(tg_generator_open(&g, &m, type, S, prompt + TOKENS, &err), &err);
    for (size_t t = 0; t < prompt; t++)
        text[0][t] = text[1][t] = text[2][t] = (int32_t)(t * 37 % 256);

    seen = tg_generator_begin(&g, text[0], n);
    for (size_t i = 0; i + 1 < TOKENS; i++) {
        for (size_t s = 0; s < S && type == TG_WEIGHT_FLOAT32; s++) {
            logits_of(want, &m, text[s] + n - seen, seen);
            CHECK_NEAR(check_distance(g.logits + s * m.config.vocab_size, want, m.config.vocab_size), 0,
                       1e-5);
        }
        CHECK_OK(tg_generator_next(&g, true, &plain, &err), &err);
        for (size_t s = 0; s < S; s++)
            text[s][n] = g.ids[s];
        n++;
        seen = seen == n_ctx ? half : seen + 1;
    }
    CHECK(memcmp(text[0], text[1], n * sizeof text[0][0]) != 0);
    CHECK(memcmp(text[1], text[2], n * sizeof text[0][0]) != 0);
    tg_generator_close(&g);
    tg_model_free(&m);
}

static void several_texts(void)
{
    check_texts(16, 3, TG_WEIGHT_FLOAT32);
    check_texts(16, 3, TG_WEIGHT_BF16);
    check_texts(16, 3, TG_WEIGHT_INT8);
    check_texts(15, 100, TG_WEIGHT_FLOAT32);
    check_texts(100, 5, TG_WEIGHT_FLOAT32); /* the cache is smaller than the context */
    check_texts(1, 1, TG_WEIGHT_FLOAT32);
}

static void generating_equals_running_anew(void)
{
    check_generator(16, 3);
    check_generator(16, 16);
    check_generator(16, 17);
    check_generator(15, 100);
    check_generator(2, 1);
    check_generator(1, 1);
    check_generator(1, 5);
}

/* A model whose logits overflow says where. */
static void overflow_is_reported(void)
{
    tg_model m;
    tg_generator g;
    tg_err err = {0};
    int32_t id = 65;

    tiny_model(&m, 8);
    for (size_t i = 0; i < m.table.floats; i++)
        m.params[i] = 1e38F;
    CHECK_OK(tg_generator_open(&g, &m, TG_WEIGHT_FLOAT32, 1, SIZE_MAX, &err), &err);
    tg_generator_begin(&g, &id, 1);
    CHECK_EQ(tg_generator_next(&g, true, &plain, &err), TG_EDATA);
    CHECK_HAS(err.message, "position 1: logits[0] is");
    tg_generator_close(&g);
    tg_model_free(&m);
}

int main(void)
{
    RUN(greedy_takes_the_first_greatest);
    RUN(one_candidate_is_greedy);
    RUN(the_right_candidates);
    RUN(bad_logits_are_refused);
    RUN(choices_agree_with_a_sort);
    RUN(equal_logits);
    RUN(frequencies_are_softmax);
    RUN(the_random_number);
    RUN(generating_equals_running_anew);
    RUN(several_texts);
    RUN(overflow_is_reported);
    return check_done();
}
