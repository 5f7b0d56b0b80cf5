/* lib/eval against its definition in double precision: the naive model, run from each window's beginning
 * for each token; lib/tokens/windows against its definition. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/eval/eval.h"
#include "lib/base/threads.h"
#include "lib/text/bare_ids.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_gpt.h"
#include "tests/unit/small_model.h"
#include "tests/unit/thread_team.h"

#define N_MAX 300

/* The beginning of the first window that has input p: windows begin at multiples of S and have T inputs. */
static size_t window_of(size_t p, size_t T, size_t S)
{
    size_t begin = 0;

    while (begin + T <= p)
        begin += S;
    return begin;
}

/* ---- windows */

/* n tokens, of which token i is i, after a prefix: is each target where it belongs, and there once? */
static void check_windows(const tg_model *m, size_t n, size_t T, size_t S, size_t B, bool prefix,
                          bool open_end)
{
    const size_t all = n + prefix, inputs = all == 0 ? 0 : all - !open_end;
    int32_t ids[N_MAX];
    tg_arena arena = {0};
    tg_tokens_windows w;
    tg_tokens_window_batch batch;
    tg_tokens_stream stream;
    tg_err err = {0};
    size_t next = 0, begin = 0, wrong = 0; /* the next new input; where the next window begins */

    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)i;
    tg_tokens_windows_place(&arena, &w, T, S, B);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_tokens_windows_place(&arena, &w, T, S, B);
    w.open_end = open_end;
    for (size_t again = 0; again < 2; again++) {
        next = begin = 0;
        tg_tokens_stream_open_ids(&stream, m->tokenizer, ids, n);
        tg_tokens_windows_begin(&w, &stream, prefix ? 255 : -1);
        for (;;) {
            CHECK_OK(tg_tokens_windows_next(&w, &batch, &err), &err);
            if (batch.B == 0)
                break;
            CHECK(batch.B <= B && batch.T <= T && (batch.T == T || batch.B == 1));
            for (size_t b = 0; b < batch.B; b++, begin += S) {
                const size_t seen = b == 0 ? batch.seen_first : batch.seen;

                CHECK_EQ(begin + seen, next);
                for (size_t t = 0; t < batch.T; t++) {
                    const size_t p = begin + t;
                    const int32_t input = prefix && p == 0 ? 255 : (int32_t)(p - prefix);
                    const int32_t target = p + 1 < all ? (int32_t)(p + 1 - prefix) : -1;

                    wrong +=
                        batch.inputs[b * batch.T + t] != input || batch.targets[b * batch.T + t] != target;
                    wrong += t >= seen && window_of(p, T, S) != begin; /* it is new in another window */
                }
                next += batch.T - seen;
            }
        }
        CHECK_EQ(next, inputs);
        CHECK_EQ(wrong, 0);
        CHECK_EQ(tg_tokens_windows_check_any(&w, &err), all > 1 ? TG_OK : TG_EDATA);
        tg_tokens_stream_close(&stream);
    }
    tg_arena_free(&arena);
}

static void every_target_counts_once(void)
{
    tg_model m;

    small_model_create(&m, small_config(1, 1, 4, 8), 1);
    for (size_t n = 0; n <= 24; n++)
        for (size_t T = 1; T <= 7; T++)
            for (size_t S = 1; S <= T; S++)
                for (size_t B = 1; B <= 3; B++)
                    for (unsigned both = 0; both < 4; both++)
                        check_windows(&m, n, T, S, B, both & 1, both & 2);
    tg_model_free(&m);
}

/* ---- scores */

enum { L = 2, H = 2, C = 8, CTX = 6 };

struct case_ {
    size_t T, S, K;
    bool prefix, every_row;
};

/* The definition, for the input p of ids [n]. */
struct want {
    double log_prob, entropy;
    size_t rank;
};

/* By counting and sums, nothing in common with the code; padding rows are in the softmax, but not ranked. */
static struct want score(const double *logits, size_t V, size_t n_ids, int32_t target)
{
    struct want w = {0};
    double sum = 0;

    for (size_t v = 0; v < V; v++)
        sum += exp(logits[v]);
    for (size_t v = 0; v < V; v++)
        w.entropy += exp(logits[v]) / sum * (log(sum) - logits[v]);
    if (target < 0)
        return w;
    w.log_prob = logits[target] - log(sum);
    for (size_t v = 0; v < n_ids; v++)
        w.rank += logits[v] > logits[target] || (logits[v] == logits[target] && v < (size_t)target);
    return w;
}

/* What a run delivers, compared with the definition as it comes. */
struct watched {
    const tg_model *m;
    const double *flat;
    const int32_t *ids; /* [n] with the prefix */
    size_t n, at;
    const struct case_ *c;
    tg_eval_sums sums;
    double distance;
};

static size_t ids_of(const tg_model *m)
{
    return tg_tokenizer_vocab_size(m->tokenizer);
}

static void check_row(struct watched *w, const tg_eval_row *row, const double *logits)
{
    const size_t V = w->m->config.vocab_size, p = w->at;
    const int32_t target = p + 1 < w->n ? w->ids[p + 1] : -1;
    const struct want want = score(logits, V, ids_of(w->m), target);
    tg_score rounded = tg_score_row(row->logits, V, ids_of(w->m), target);

    CHECK_EQ(row->input, w->ids[p]);
    CHECK_EQ(row->target, target);
    CHECK(memcmp(&rounded, &row->score, sizeof rounded) == 0);
    CHECK_NEAR(row->score.log_prob, want.log_prob, 2e-5);
    CHECK_NEAR(row->score.entropy, want.entropy, 2e-5);
    CHECK_EQ(row->score.rank, want.rank);
    w->distance = fmax(w->distance, check_distance64(row->logits, logits, V));
    for (size_t k = 0; k < w->c->K; k++) {
        CHECK_EQ(score(logits, V, ids_of(w->m), row->top[k]).rank, k);
        CHECK(row->top[k] != target || row->score.rank == k);
    }
    if (target < 0)
        return;
    w->sums.scored++;
    w->sums.log_prob += want.log_prob;
    w->sums.entropy += want.entropy;
    w->sums.right += want.rank == 0;
}

static tg_status take(void *context, const tg_eval_row *rows, size_t n, tg_err *err)
{
    struct watched *w = context;
    const tg_config *config = &w->m->config;
    const size_t V = config->vocab_size;
    double *logits = malloc(CTX * V * sizeof *logits);
    const int32_t none[CTX] = {0};

    (void)err;
    CHECK(logits != NULL);
    for (size_t i = 0; i < n; i++, w->at++) {
        const size_t begin = window_of(w->at, w->c->T, w->c->S), T = w->at - begin + 1;

        (void)ref_gpt_loss(config, &w->m->table, w->flat, w->ids + begin, none, 1, T, NULL, logits);
        check_row(w, &rows[i], logits + (T - 1) * V);
    }
    free(logits);
    return TG_OK;
}

static void random_ids(int32_t *ids, size_t n, size_t V)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((check_random(3, i) + 1) * (double)V / 2);
}

static void check_case(const tg_model *m, const struct case_ *c, size_t n)
{
    const tg_eval_plan plan = {c->T, c->S, c->K, c->prefix ? 2 : -1, c->every_row, NULL};
    int32_t ids[N_MAX];
    double *flat = small_model_params64(m);
    struct watched w = {.m = m, .flat = flat, .ids = ids + !c->prefix, .n = n + c->prefix, .c = c};
    tg_eval e;
    tg_tokens_stream stream;
    tg_err err = {0};

    ids[0] = 2;
    random_ids(ids + 1, n, ids_of(m));
    CHECK_OK(tg_eval_open(&e, m, &plan, &err), &err);
    tg_tokens_stream_open_ids(&stream, m->tokenizer, ids + 1, n);
    CHECK_OK(tg_eval_run(&e, &stream, take, &w, &err), &err);
    tg_tokens_stream_close(&stream);
    CHECK_EQ(w.at, w.n - !c->every_row);
    CHECK(w.distance < 1e-5);
    CHECK_EQ(e.sums.tokens, n);
    CHECK_EQ(e.sums.scored, w.n - 1);
    CHECK_EQ(e.sums.scored, w.sums.scored);
    CHECK_EQ(e.sums.bytes, tg_tokenizer_has_text(m->tokenizer) ? w.n - 1 : 0);
    CHECK_EQ(e.sums.right, w.sums.right);
    CHECK_NEAR(e.sums.log_prob / (double)w.n, w.sums.log_prob / (double)w.n, 2e-5);
    CHECK_NEAR(e.sums.entropy / (double)w.n, w.sums.entropy / (double)w.n, 2e-5);
    CHECK_NEAR(tg_eval_loss(&e.sums), -w.sums.log_prob / (double)(w.n - 1), 2e-5);
    CHECK_NEAR(tg_eval_perplexity(&e.sums), exp(-w.sums.log_prob / (double)(w.n - 1)), 1e-2);
    if (tg_tokenizer_has_text(m->tokenizer)) /* each token is one byte */
        CHECK_NEAR(tg_eval_bits_per_byte(&e.sums), -w.sums.log_prob / (double)(w.n - 1) / log(2), 3e-5);
    else
        CHECK(isnan(tg_eval_bits_per_byte(&e.sums)));
    tg_eval_close(&e);
    free(flat);
}

static void all_cases(const tg_model *m)
{
    static const struct case_ cases[] = {
        {6, 6, 0, false, false}, {6, 3, 0, false, false}, {6, 1, 2, false, false}, {4, 3, 1, true, false},
        {6, 6, 3, true, false},  {6, 4, 0, true, true},   {1, 1, 0, false, true},  {5, 5, 4, false, true},
    };

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        check_case(m, &cases[i], 2);
        check_case(m, &cases[i], 7);
        check_case(m, &cases[i], 61);
    }
}

static void bytes_and_padding(void)
{
    tg_config c = small_config(L, H, C, CTX);
    tg_model m;

    small_model_create(&m, c, 5);
    small_model_stir(&m, 70, 0.7, 0);
    all_cases(&m);
    tg_model_free(&m);
    c.vocab_size = 260;
    small_model_create(&m, c, 5);
    small_model_stir(&m, 71, 0.7, 0);
    all_cases(&m);
    tg_model_free(&m);
}

static void ids_without_text(void)
{
    tg_config c = small_config(L, H, C, CTX);
    const tg_tokenizer *tok;
    tg_model m;
    tg_err err = {0};

    c.vocab_size = 11;
    CHECK_OK(tg_bare_ids_create(&tok, 11, &err), &err);
    CHECK_OK(tg_model_create(&m, &c, tok, 5, &err), &err);
    tg_tokenizer_free(tok);
    small_model_stir(&m, 72, 0.7, 0);
    all_cases(&m);
    tg_model_free(&m);
}

/* ---- one row */

static void equal_logits_are_ranked_by_id(void)
{
    const float logits[] = {1, 3, 3, 2, 3, 9};
    const size_t rank[] = {4, 0, 1, 3, 2};

    for (int32_t v = 0; v < 5; v++)
        CHECK_EQ(tg_score_row(logits, 6, 5, v).rank, rank[v]);
}

static void extreme_logits(void)
{
    const float far[] = {1e30f, -1e30f, 1e30f}, bad[] = {0, HUGE_VALF}, low[] = {0, -HUGE_VALF};
    tg_score s = tg_score_row(far, 3, 3, 0);

    CHECK_NEAR(s.log_prob, -log(2), 1e-15);
    CHECK_NEAR(s.entropy, log(2), 1e-15);
    CHECK(!isfinite(tg_score_row(bad, 2, 2, 0).entropy));
    CHECK(!isfinite(tg_score_row(low, 2, 2, 0).entropy));
}

/* ---- threads */

static tg_eval_sums sums_of(const tg_model *m, const tg_eval_plan *plan, const int32_t *ids, size_t n)
{
    tg_eval_sums sums;
    tg_tokens_stream stream;
    tg_eval e;
    tg_err err = {0};

    CHECK_OK(tg_eval_open(&e, m, plan, &err), &err);
    tg_tokens_stream_open_ids(&stream, m->tokenizer, ids, n);
    CHECK_OK(tg_eval_run(&e, &stream, NULL, NULL, &err), &err);
    tg_tokens_stream_close(&stream);
    sums = e.sums;
    tg_eval_close(&e);
    return sums;
}

static void at_any_thread_count(void)
{
    const tg_eval_plan plan = {64, 40, 3, -1, false, NULL};
    const size_t before = tg_threads();
    static int32_t ids[3000];
    tg_eval_sums one, three;
    tg_model m;

    small_model_create(&m, small_config(2, 4, 64, 64), 5);
    random_ids(ids, 3000, 256);
    tg_threads_set(1);
    one = sums_of(&m, &plan, ids, 3000);
    tg_threads_set(3);
    three = sums_of(&m, &plan, ids, 3000);
    tg_threads_set(before);
    CHECK_EQ(one.scored, 2999);
    CHECK(memcmp(&one, &three, sizeof one) == 0);
    tg_model_free(&m);
}

/* ---- teams */

struct team_text {
    const tg_model *m;
    const int32_t *ids;
    size_t n;
    tg_eval_sums sums; /* of one process */
};

static void evaluate_as_member(const tg_team *team, void *context)
{
    const struct team_text *t = context;
    const tg_eval_plan plan = {5, 3, 0, -1, false, team};
    const tg_eval_sums sums = sums_of(t->m, &plan, t->ids, t->n);

    CHECK(memcmp(&sums, &t->sums, sizeof sums) == 0);
}

/* A member fails at its first row; all end, and the others name it. */
static tg_status refuse_as_third(void *context, const tg_eval_row *rows, size_t n, tg_err *err)
{
    const tg_team *team = context;

    (void)rows;
    return n > 0 && team->rank == 2 ? tg_fail(err, TG_EIO, "refused") : TG_OK;
}

static void fail_as_member(const tg_team *team, void *context)
{
    const struct team_text *t = context;
    const tg_eval_plan plan = {5, 3, 0, -1, false, team};
    tg_eval e;
    tg_tokens_stream s;
    tg_err err = {0};

    CHECK_OK(tg_eval_open(&e, t->m, &plan, &err), &err);
    tg_tokens_stream_open_ids(&s, t->m->tokenizer, t->ids, t->n);
    CHECK_EQ(tg_eval_run(&e, &s, refuse_as_third, (void *)(uintptr_t)team, &err), TG_EIO);
    CHECK_HAS(err.message, team->rank == 2 ? "refused" : "process 2 failed");
    tg_tokens_stream_close(&s);
    tg_eval_close(&e);
}

/* Fewer batches than members, as many, and several rounds. */
static void in_teams(void)
{
    static const size_t tokens[] = {2, 1000, 3000, 9000};
    const tg_eval_plan plan = {5, 3, 0, -1, false, NULL};
    static int32_t ids[9000];
    tg_model m;

    small_model_create(&m, small_config(L, H, C, CTX), 5);
    small_model_stir(&m, 70, 0.7, 0);
    random_ids(ids, 9000, 256);
    for (size_t i = 0; i < sizeof tokens / sizeof tokens[0]; i++) {
        struct team_text t = {&m, ids, tokens[i], sums_of(&m, &plan, ids, tokens[i])};

        for (size_t size = 1; size <= 4; size++)
            thread_team_run(size, evaluate_as_member, &t);
        if (i == 2)
            thread_team_run(3, fail_as_member, &t);
    }
    tg_model_free(&m);
}

/* ---- errors */

static tg_status refuse(void *context, const tg_eval_row *rows, size_t n, tg_err *err)
{
    (void)context;
    (void)rows;
    return tg_fail(err, TG_EIO, "refused %zu", n);
}

static void failures(void)
{
    const tg_eval_plan plan = {CTX, CTX, 0, -1, false, NULL}, every = {CTX, CTX, 0, -1, true, NULL};
    const int32_t ids[] = {7, 8, 9};
    tg_eval e;
    tg_tokens_stream s;
    tg_model m;
    tg_err err = {0};

    small_model_create(&m, small_config(L, H, C, CTX), 5);
    for (size_t n = 0; n <= 1; n++) {
        CHECK_OK(tg_eval_open(&e, &m, &plan, &err), &err);
        tg_tokens_stream_open_ids(&s, m.tokenizer, ids, n);
        CHECK_EQ(tg_eval_run(&e, &s, NULL, NULL, &err), TG_EDATA);
        CHECK_HAS(err.message, n == 0 ? "no tokens: a loss needs" : "only one token: a loss needs");
        tg_tokens_stream_close(&s);
        CHECK(isnan(tg_eval_loss(&e.sums)));
        tg_eval_close(&e);
    }
    CHECK_EQ(sums_of(&m, &every, ids, 1).scored, 0);
    CHECK_OK(tg_eval_open(&e, &m, &plan, &err), &err);
    tg_tokens_stream_open_ids(&s, m.tokenizer, ids, 3);
    CHECK_EQ(tg_eval_run(&e, &s, refuse, NULL, &err), TG_EIO);
    CHECK_HAS(err.message, "refused 2");
    tg_tokens_stream_close(&s);
    m.params[m.table.entry[m.table.n - 1].offset] = HUGE_VALF; /* of ln_f */
    tg_tokens_stream_open_ids(&s, m.tokenizer, ids, 3);
    CHECK_EQ(tg_eval_run(&e, &s, NULL, NULL, &err), TG_EDATA);
    CHECK_HAS(err.message, "not finite");
    tg_tokens_stream_close(&s);
    tg_eval_close(&e);
    tg_model_free(&m);
}

int main(void)
{
    RUN(every_target_counts_once);
    RUN(bytes_and_padding);
    RUN(ids_without_text);
    RUN(equal_logits_are_ranked_by_id);
    RUN(extreme_logits);
    RUN(at_any_thread_count);
    RUN(in_teams);
    RUN(failures);
    return check_done();
}
