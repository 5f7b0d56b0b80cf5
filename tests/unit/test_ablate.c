/* lib/heads/ablate against a model with zeros in its output projection, and against the reference model
 * in double precision. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/threads.h"
#include "lib/heads/ablate.h"
#include "tests/unit/check.h"
#include "tests/unit/ref_gpt.h"
#include "tests/unit/small_model.h"
#include "tests/unit/thread_team.h"

/* ---- ablation */

enum { L = 3, H = 2, C = 8, CTX = 5, V = 256 };

static void small_model(tg_model *m)
{
    small_model_create(m, small_config(L, H, C, CTX), 5);
    small_model_stir(m, 70, 0.7, 0); /* so that every head matters */
}

static void random_ids(int32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++)
        ids[i] = (int32_t)((check_random(9, i) + 1) * V / 2);
}

/* Zero the D rows of h.L.attn.c_proj.weight that read the head's slice. */
static void zero_projection(tg_model *m, const tg_ablate_head *head)
{
    const tg_param *p = &m->table.entry[tg_params_index(&m->table, TG_ATT_PROJ_W, head->layer)];
    const size_t D = m->config.n_embd / m->config.n_head;

    memset(m->params + p->offset + head->head * D * C, 0, D * C * sizeof(float));
}

/* The mean loss over windows of n_ctx, without lib/heads. */
static double plain_loss(const tg_model *m, const int32_t *ids, size_t n)
{
    const size_t n_ctx = m->config.n_ctx;
    tg_arena arena = {0};
    tg_pass pass;
    tg_err err = {0};
    double sum = 0;

    tg_pass_place(&arena, &pass, m, &(tg_pass_size){.B = 1, .T = n_ctx});
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_pass_place(&arena, &pass, m, &(tg_pass_size){.B = 1, .T = n_ctx});
    for (size_t t = 0; t < n; t += n_ctx) {
        pass.acts.T = n - t < n_ctx ? n - t : n_ctx;
        (void)tg_pass_run(&pass, ids + t, ids + t + 1, NULL, 1);
        for (size_t i = 0; i < pass.acts.T; i++)
            sum += (double)pass.losses[i];
    }
    tg_arena_free(&arena);
    return sum / (double)n;
}

static double reference_loss(const tg_model *m, const int32_t *ids, size_t n)
{
    double *flat = small_model_params64(m), sum = 0;

    for (size_t t = 0; t < n; t += CTX) {
        const size_t window = n - t < CTX ? n - t : CTX;

        sum += ref_gpt_loss(&m->config, &m->table, flat, ids + t, ids + t + 1, 1, window, NULL, NULL) *
               (double)window;
    }
    free(flat);
    return sum / (double)n;
}

/* How a run went. */
struct watched {
    size_t calls, batches;
    uint64_t tokens;
    size_t batch;
};

static void watch(void *context, const tg_ablate_progress *p)
{
    struct watched *w = context;

    w->calls++;
    w->batches += p->done == 1;
    CHECK(p->done >= 1 && p->done <= p->cases);
    CHECK(p->tokens == w->tokens || p->tokens == w->tokens + w->batch);
    w->tokens = p->tokens;
    w->batch = p->batch;
}

/* The losses over ids [n + 1]: as it is, then of each case. */
static void ablate(double *losses, const tg_model *m, const tg_ablate_heads *heads, const int32_t *ids,
                   size_t n)
{
    struct watched w = {0};
    tg_ablate a;
    tg_tokens_stream s;
    tg_err err = {0};

    CHECK_OK(tg_ablate_open(&a, m, heads, &err), &err);
    tg_tokens_stream_open_ids(&s, m->tokenizer, ids, n + 1);
    CHECK_OK(tg_ablate_run(&a, &s, watch, &w, &err), &err);
    tg_tokens_stream_close(&s);
    CHECK_EQ(a.tokens, n);
    CHECK_EQ(w.tokens + w.batch, n);
    CHECK_EQ(w.calls, w.batches * a.cases);
    CHECK_OK(tg_ablate_check_finite(&a, &err), &err);
    losses[0] = tg_ablate_baseline(&a);
    for (size_t i = 0; i < a.cases; i++)
        losses[1 + i] = tg_ablate_loss(&a, i);
    tg_ablate_close(&a);
}

static const tg_ablate_head every_head[L * H] = {{0, 0}, {0, 1}, {1, 0}, {1, 1}, {2, 0}, {2, 1}};

/* More than twice the capacity, with a last window that is not full: windows must be adjacent. */
#define LONG 2303

static void in_turn(void)
{
    static int32_t ids[LONG + 1];
    const tg_ablate_heads heads = {every_head, L * H, true, NULL};
    double losses[1 + L * H];
    tg_model m;

    random_ids(ids, LONG + 1);
    small_model(&m);
    ablate(losses, &m, &heads, ids, LONG);
    CHECK(losses[0] == plain_loss(&m, ids, LONG));
    tg_model_free(&m);
    for (size_t n = 0; n < L * H; n++) {
        small_model(&m);
        zero_projection(&m, &every_head[n]);
        CHECK(losses[1 + n] == plain_loss(&m, ids, LONG)); /* the same bits: 0 x and x 0 are 0 */
        CHECK(fabs(losses[1 + n] - losses[0]) > 1e-4);
        tg_model_free(&m);
    }
}

/* The logits of such a model are off by up to 1e-5 (test_model.c), a loss by twice that. */
#define REFERENCE_TOLERANCE 2e-5

static void together(void)
{
    const tg_ablate_head some[] = {{2, 0}, {0, 1}, {2, 1}};
    const tg_ablate_heads heads = {some, 3, false, NULL};
    int32_t ids[18];
    double losses[2];
    tg_model m;

    random_ids(ids, 18);
    small_model(&m);
    CHECK_NEAR((ablate(losses, &m, &heads, ids, 17), losses[0]), reference_loss(&m, ids, 17),
               REFERENCE_TOLERANCE);
    for (size_t n = 0; n < 3; n++)
        zero_projection(&m, &some[n]);
    CHECK_NEAR(losses[1], reference_loss(&m, ids, 17), REFERENCE_TOLERANCE);
    CHECK(losses[1] == plain_loss(&m, ids, 17));
    CHECK(fabs(losses[1] - losses[0]) > 0.01);
    tg_model_free(&m);
}

/* Silencing a head that is silent already changes no bit. */
static void silent_heads_change_nothing(void)
{
    const tg_ablate_heads heads = {every_head, L * H, true, NULL};
    int32_t ids[12];
    double losses[1 + L * H];
    tg_model m;

    random_ids(ids, 12);
    small_model(&m);
    zero_projection(&m, &every_head[3]);
    ablate(losses, &m, &heads, ids, 11);
    CHECK(losses[1 + 3] == losses[0]);
    CHECK(losses[1 + 2] != losses[0]);
    tg_model_free(&m);
}

static void ablation_at_any_thread_count(void)
{
    static int32_t ids[300];
    const tg_ablate_head some[] = {{0, 1}, {1, 3}};
    const tg_ablate_heads heads = {some, 2, true, NULL};
    const size_t before = tg_threads();
    double one[3], three[3];
    tg_model m;

    small_model_create(&m, small_config(2, 4, 128, 64), 5);
    random_ids(ids, 300);
    tg_threads_set(1);
    ablate(one, &m, &heads, ids, 299);
    tg_threads_set(3);
    ablate(three, &m, &heads, ids, 299);
    tg_threads_set(before);
    CHECK(memcmp(one, three, sizeof one) == 0);
    tg_model_free(&m);
}

/* With fewer than two tokens there is no loss. */
struct team_text {
    const tg_model *m;
    const int32_t *ids;
    double losses[1 + L * H]; /* of one process */
};

static void ablate_as_member(const tg_team *team, void *context)
{
    const struct team_text *t = context;
    const tg_ablate_heads heads = {every_head, L * H, true, team};
    tg_ablate a;
    tg_tokens_stream s;
    tg_err err = {0};

    CHECK_OK(tg_ablate_open(&a, t->m, &heads, &err), &err);
    tg_tokens_stream_open_ids(&s, t->m->tokenizer, t->ids, LONG + 1);
    CHECK_OK(tg_ablate_run(&a, &s, NULL, NULL, &err), &err);
    CHECK_EQ(a.tokens, LONG);
    CHECK(tg_ablate_baseline(&a) == t->losses[0]);
    for (size_t i = 0; i < a.cases; i++)
        CHECK(tg_ablate_loss(&a, i) == t->losses[1 + i]);
    tg_tokens_stream_close(&s);
    tg_ablate_close(&a);
}

/* Three batches: the last round of some teams is not full. */
static void in_teams(void)
{
    static int32_t ids[LONG + 1];
    const tg_ablate_heads heads = {every_head, L * H, true, NULL};
    struct team_text t = {.ids = ids};
    tg_model m;

    random_ids(ids, LONG + 1);
    small_model(&m);
    t.m = &m;
    ablate(t.losses, &m, &heads, ids, LONG);
    for (size_t size = 1; size <= 4; size++)
        thread_team_run(size, ablate_as_member, &t);
    tg_model_free(&m);
}

static void texts_are_too_short(void)
{
    const tg_ablate_heads heads = {every_head, 1, true, NULL};
    const int32_t ids[] = {7};
    tg_model m;
    tg_err err = {0};

    small_model(&m);
    for (size_t n = 0; n <= 1; n++) {
        tg_ablate a;
        tg_tokens_stream s;

        CHECK_OK(tg_ablate_open(&a, &m, &heads, &err), &err);
        tg_tokens_stream_open_ids(&s, m.tokenizer, ids, n);
        CHECK_EQ(tg_ablate_run(&a, &s, NULL, NULL, &err), TG_EDATA);
        CHECK_HAS(err.message, n == 0 ? "no tokens: a loss needs" : "only one token: a loss needs");
        tg_tokens_stream_close(&s);
        tg_ablate_close(&a);
    }
    tg_model_free(&m);
}

static void losses_are_checked(void)
{
    const tg_ablate_heads heads = {every_head, 1, true, NULL};
    const int32_t ids[] = {7, 8, 9};
    tg_ablate a;
    tg_tokens_stream s;
    tg_model m;
    tg_err err = {0};

    small_model(&m);
    CHECK_OK(tg_ablate_open(&a, &m, &heads, &err), &err);
    tg_tokens_stream_open_ids(&s, m.tokenizer, ids, 3);
    CHECK_OK(tg_ablate_run(&a, &s, NULL, NULL, &err), &err);
    CHECK_OK(tg_ablate_check_finite(&a, &err), &err);
    a.sum[0] = HUGE_VAL;
    CHECK_EQ(tg_ablate_check_finite(&a, &err), TG_EDATA);
    a.sum[0] = 1;
    a.base = nan("");
    CHECK_EQ(tg_ablate_check_finite(&a, &err), TG_EDATA);
    tg_tokens_stream_close(&s);
    tg_ablate_close(&a);
    tg_model_free(&m);
}

int main(void)
{
    RUN(in_turn);
    RUN(together);
    RUN(silent_heads_change_nothing);
    RUN(ablation_at_any_thread_count);
    RUN(in_teams);
    RUN(texts_are_too_short);
    RUN(losses_are_checked);
    return check_done();
}
