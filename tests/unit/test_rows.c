/* The rows of a walk, several keys at a time and by all threads, against the reference operations and
 * the fused kernel; and the values of the mask. */
#include <float.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "lib/attn/attn.h"
#include "lib/base/threads.h"
#include "lib/nn/attention.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/fused_qkv.h"

static const tg_attn_filter all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

static void *take(size_t n, size_t each)
{
    void *p = calloc(n, each);

    CHECK(p != NULL);
    return p;
}

/* q, k and v side by side, as in a model, and the same as doubles apart. */
struct given {
    tg_qkv_view view;
    float *qkv;
    double *q, *k, *v;
};

static struct given given(size_t B, size_t T, size_t H, size_t D)
{
    const size_t C = H * D, n = B * T * C;
    struct given g = {.qkv = take(3 * n, sizeof(float))};
    double *const x[] = {g.q = take(n, sizeof(double)), g.k = take(n, sizeof(double)),
                         g.v = take(n, sizeof(double))};

    check_fill(g.qkv, 3 * n, 7 + T, 2);
    for (size_t i = 0; i < n; i++)
        for (size_t part = 0; part < 3; part++)
            x[part][i] = (double)g.qkv[i / C * 3 * C + part * C + i % C];
    g.view = fused_qkv_view(g.qkv, B, T, C, H);
    return g;
}

static void give_back(struct given *g)
{
    free(g->qkv);
    free(g->q);
    free(g->k);
    free(g->v);
}

/* The rows of a walk, stored as the reference stores them. */
struct kept {
    double *scores, *probs, *att;
    atomic_size_t rows; /* rows seen, and of them those that had their turn */
    size_t next;
    bool in_order;
    size_t pending[64], first[64]; /* each thread's rows since its last turn, and the first's number */
    size_t stop_after;
};

static struct kept kept(const tg_qkv_view *a)
{
    const size_t square = a->B * a->H * a->T * a->T;

    return (struct kept){.scores = take(square, sizeof(double)),
                         .probs = take(square, sizeof(double)),
                         .att = take(a->B * a->T * a->C, sizeof(double)),
                         .in_order = true};
}

static void keep_free(struct kept *k)
{
    free(k->scores);
    free(k->probs);
    free(k->att);
}

static void keep(void *context, const tg_attn_row *row, size_t thread)
{
    struct kept *k = context;
    const tg_qkv_view *a = row->view;
    const size_t at = tg_attn_offset(a, row->b, row->h, row->i, 0);

    memcpy(k->scores + at, row->scores, a->T * sizeof(double));
    memcpy(k->probs + at, row->probs, a->T * sizeof(double));
    if (row->att)
        memcpy(k->att + tg_attn_base(a, row->b, row->i, row->h), row->att, a->C / a->H * sizeof(double));
    if (k->pending[thread]++ == 0)
        k->first[thread] = at / a->T;
    k->rows++;
}

static bool turn(void *context, size_t thread)
{
    struct kept *k = context;

    k->in_order = k->in_order && k->first[thread] == k->next;
    k->next += k->pending[thread];
    k->pending[thread] = 0;
    return k->stop_after == 0 || k->next < k->stop_after;
}

static bool keep_alone(void *context, const tg_attn_row *row)
{
    struct kept *k = context;

    k->in_order =
        k->in_order && tg_attn_offset(row->view, row->b, row->h, row->i, 0) == k->rows * row->view->T;
    keep(context, row, 0);
    return true;
}

static tg_attn_scratch scratch_of(tg_arena *arena, const tg_qkv_view *a)
{
    tg_attn_scratch scratch;
    tg_err err = {0};

    tg_attn_scratch_place(arena, &scratch, 0, a->T, a->C / a->H);
    CHECK_OK(tg_arena_alloc(arena, &err), &err);
    tg_attn_scratch_place(arena, &scratch, 0, a->T, a->C / a->H);
    return scratch;
}

static void walk_parallel(struct kept *k, const tg_qkv_view *a, const tg_attn_filter *filter, bool with_turns,
                          bool att)
{
    const tg_attn_visitor visitor = {.row = keep, .turn = with_turns ? turn : NULL, .context = k, .att = att};
    tg_arena arena = {0};
    tg_attn_scratch scratch = scratch_of(&arena, a);

    CHECK(tg_attn_walk_parallel(a, 0, filter, &scratch, &visitor) == (k->stop_after == 0));
    tg_arena_free(&arena);
}

#define SAME(got, want, n) CHECK(memcmp(got, want, (n) * sizeof *(want)) == 0)

/* ---- the walk against the reference operations, bit for bit */

/* With one head the reference is the baseline, otherwise the multi-head one. */
static void reference(struct kept *want, const struct given *g)
{
    const tg_qkv_view *a = &g->view;

    if (a->H == 1)
        tg_attention_1h_forward_ref64(want->att, want->probs, want->scores, g->q, g->k, g->v, a->B, a->T,
                                      a->C);
    else
        tg_attention_mha_forward_ref64(want->att, want->probs, want->scores, g->q, g->k, g->v, NULL, a->B,
                                       a->T, a->H, a->C / a->H);
}

static void check_rows(size_t B, size_t T, size_t H, size_t D)
{
    struct given g = given(B, T, H, D);
    const tg_qkv_view *a = &g.view;
    struct kept want = kept(a), got = kept(a), alone = kept(a);
    const size_t square = B * H * T * T;
    tg_arena arena = {0};
    tg_attn_scratch scratch = scratch_of(&arena, a);

    reference(&want, &g);
    walk_parallel(&got, a, &all, true, true);
    CHECK_EQ(got.rows, B * H * T);
    CHECK_EQ(got.next, B * H * T);
    CHECK(got.in_order);
    SAME(got.scores, want.scores, square);
    SAME(got.probs, want.probs, square);
    SAME(got.att, want.att, B * T * H * D);
    CHECK(tg_attn_walk(a, 0, &all, &scratch, keep_alone, &alone));
    CHECK(alone.in_order);
    SAME(alone.scores, want.scores, square);
    SAME(alone.probs, want.probs, square);
    SAME(alone.att, want.att, B * T * H * D);
    tg_arena_free(&arena);
    keep_free(&want);
    keep_free(&got);
    keep_free(&alone);
    give_back(&g);
}

static void rows_are_the_references(void)
{
    static const size_t sizes[][4] = {{1, 1, 1, 1},  {2, 3, 1, 4},   {1, 3, 2, 2},   {3, 5, 4, 3},
                                      {1, 7, 1, 9},  {2, 8, 2, 8},   {1, 9, 3, 16},  {1, 16, 1, 7},
                                      {2, 17, 5, 1}, {1, 63, 2, 33}, {1, 130, 3, 5}, {1, 1025, 1, 2}};
    const size_t threads = tg_threads();

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++)
        check_rows(sizes[s][0], sizes[s][1], sizes[s][2], sizes[s][3]);
    for (size_t n = 1; n <= 5; n += 2) {
        tg_threads_set(n);
        check_rows(2, 40, 3, 6);
        check_rows(1, 1100, 2, 3);
    }
    tg_threads_set(threads);
}

/* A turn that returns false is the last, and rows that the filter drops are not computed. */
static void parallel_walks_stop_and_filter(void)
{
    struct given g = given(1, 300, 2, 4);
    struct kept k = kept(&g.view);
    const tg_attn_filter one = {TG_ATTN_ALL, 1, 7, TG_ATTN_ALL};
    const size_t chunk = tg_attn_chunk(300);

    k.stop_after = 2 * chunk;
    walk_parallel(&k, &g.view, &all, true, false);
    CHECK_EQ(k.next, 2 * chunk);
    k = (struct kept){.scores = k.scores, .probs = k.probs, .att = k.att};
    walk_parallel(&k, &g.view, &one, true, false);
    CHECK_EQ(k.rows, 1);
    CHECK(k.att[0] == 0); /* not asked for */
    walk_parallel(&k, &g.view, &one, false, true);
    CHECK_EQ(k.rows, 2);
    CHECK(k.att[tg_attn_base(&g.view, 0, 7, 1)] != 0);
    keep_free(&k);
    give_back(&g);
}

/* ---- the fused kernel against the same reference, forward and backward, by heads */

/* docs/numerics.md: a score's D products, exp, and the sum of T */
static double fused_tolerance(size_t T, size_t D)
{
    const double eps = 0x1p-24;

    return 2e-7 + 2 * (double)(D + 2) * sqrt((double)D) * eps * 4 + 2 * (double)(T + 4) * eps;
}

static void gradients(double *dqkv, const struct given *g, const struct kept *want, const float *datt)
{
    const tg_qkv_view *a = &g->view;
    const size_t n = a->B * a->T * a->C, square = a->B * a->H * a->T * a->T;
    double *d[4], *dp = take(square, sizeof(double)), *ds = take(square, sizeof(double));

    for (size_t part = 0; part < 4; part++)
        d[part] = take(n, sizeof(double));
    for (size_t i = 0; i < n; i++)
        d[3][i] = (double)datt[i];
    if (a->H == 1)
        tg_attention_1h_backward_ref64(d[0], d[1], d[2], dp, ds, d[3], want->probs, g->q, g->k, g->v, a->B,
                                       a->T, a->C);
    else
        tg_attention_mha_backward_ref64(d[0], d[1], d[2], dp, ds, d[3], want->probs, g->q, g->k, g->v, NULL,
                                        a->B, a->T, a->H, a->C / a->H);
    for (size_t i = 0; i < 3 * n; i++)
        dqkv[i] = d[i / a->C % 3][i / (3 * a->C) * a->C + i % a->C];
    for (size_t part = 0; part < 4; part++)
        free(d[part]);
    free(dp);
    free(ds);
}

static void check_heads(size_t B, size_t T, size_t C, size_t H)
{
    struct given g = given(B, T, H, C / H);
    struct kept want = kept(&g.view), got = kept(&g.view);
    const size_t n = B * T * C;
    const double tolerance = fused_tolerance(T, C / H);
    float *datt = take(n, sizeof *datt), *att = take(n, sizeof *att), *lse = take(B * H * T, sizeof *lse);
    float *dqkv = take(3 * n, sizeof *dqkv);
    double *want_dqkv = take(3 * n, sizeof *want_dqkv);
    tg_attention_scratch scratch;
    const tg_attention op = {FUSED_QKV(B, T, C, H), .scratch = &scratch};
    tg_arena arena = {0};
    tg_err err = {0};

    tg_attention_place(&arena, &scratch, TG_TYPE_FLOAT, T, C / H, 1);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_attention_place(&arena, &scratch, TG_TYPE_FLOAT, T, C / H, 1);
    check_fill(datt, n, 11, 1);
    reference(&want, &g);
    walk_parallel(&got, &g.view, &all, false, true);
    SAME(got.scores, want.scores, B * H * T * T);
    SAME(got.probs, want.probs, B * H * T * T);
    fused_qkv_forward(att, lse, g.qkv, &op);
    fused_qkv_backward(dqkv, datt, att, lse, g.qkv, &op);
    CHECK_NEAR(check_distance64(att, got.att, n), 0, 2 * tolerance); /* values are below 2 */
    gradients(want_dqkv, &g, &want, datt);
    CHECK_NEAR(check_distance64(dqkv, want_dqkv, 3 * n), 0, 8 * tolerance * sqrt((double)(C / H)));
    tg_arena_free(&arena);
    free(datt);
    free(att);
    free(lse);
    free(dqkv);
    free(want_dqkv);
    keep_free(&want);
    keep_free(&got);
    give_back(&g);
}

/* The same channels read as 1 head, the baseline, or as H: the dumped scores, probabilities
 * and sums are the reference's, and the fused kernel's sums and gradients agree with it. */
static void heads_against_references(void)
{
    static const size_t heads[] = {1, 2, 3, 4, 6, 12, 24};

    for (size_t n = 0; n < sizeof heads / sizeof heads[0]; n++) {
        check_heads(1, 19, 24, heads[n]);
        check_heads(2, 33, 24, heads[n]);
    }
}

/* ---- masks */

/* The softmax over whole rows, with each value in the masked scores, in both precisions. */
static void masks_give_equal_probabilities(void)
{
    enum { B = 2, T = 21, H = 3, D = 5, N = B * H * T };
    struct given g = given(B, T, H, D);
    struct kept walked = kept(&g.view), want = kept(&g.view);
    static double scores[N * T], probs[N * T];
    static float narrow[N * T], first[N * T], probs32[N * T];

    reference(&want, &g);
    walk_parallel(&walked, &g.view, &all, false, false);
    for (size_t mask = TG_ATTN_1E9; mask <= TG_ATTN_MIN; mask++) {
        const float value = tg_attn_mask_value((tg_attn_mask)mask);

        for (size_t at = 0; at < N * T; at++) {
            const bool masked = at % T > at / T % T;

            scores[at] = masked ? (double)value : want.scores[at];
            narrow[at] = masked ? value : (float)want.scores[at];
        }
        tg_softmax_forward_ref64(probs, scores, N, T);
        SAME(probs, walked.probs, N * T);
        tg_softmax_forward_ref(mask == TG_ATTN_1E9 ? first : probs32, narrow, N, T);
        if (mask != TG_ATTN_1E9)
            SAME(probs32, first, N * T);
    }
    CHECK(tg_attn_mask_value(TG_ATTN_1E9) == -1e9f);
    CHECK(isinf(tg_attn_mask_value(TG_ATTN_INF)) && tg_attn_mask_value(TG_ATTN_INF) < 0);
    CHECK(tg_attn_mask_value(TG_ATTN_MIN) == -FLT_MAX);
    keep_free(&walked);
    keep_free(&want);
    give_back(&g);
}

int main(void)
{
    RUN(rows_are_the_references);
    RUN(parallel_walks_stop_and_filter);
    RUN(heads_against_references);
    RUN(masks_give_equal_probabilities);
    return check_done();
}
