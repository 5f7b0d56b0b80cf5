/* lib/heads/head_stats: each number on rows with known answers; layers in threads. */
#include <math.h>
#include <string.h>

#include "cmd/tg-attn-dump/example.h"
#include "lib/base/threads.h"
#include "lib/heads/head_stats.h"
#include "tests/unit/check.h"

#define EXACT 1e-15 /* sums of a few doubles below 10, each within a few units of 1.1e-16 */

static const tg_attn_filter all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

/* ---- a row */

static void entropy(void)
{
    const double uniform[] = {0.25, 0.25, 0.25, 0.25}, one[] = {0, 1, 0}, two[] = {0.5, 0, 0.5};
    const double uneven[] = {0.75, 0.25};

    CHECK_NEAR(tg_head_stats_entropy(uniform, 3), log(4), EXACT);
    CHECK(tg_head_stats_entropy(one, 2) == 0); /* 0 ln 0 is 0 */
    CHECK_NEAR(tg_head_stats_entropy(two, 2), log(2), EXACT);
    CHECK_NEAR(tg_head_stats_entropy(uneven, 1), 0.56233514461880832, EXACT);
    CHECK_NEAR(tg_head_stats_entropy(uniform, 1), log(4) / 2, EXACT); /* keys after i are ignored */
}

static void distance(void)
{
    const double uniform[] = {0.2, 0.2, 0.2, 0.2, 0.2}, self[] = {0, 0, 1}, first[] = {1, 0, 0};

    CHECK_NEAR(tg_head_stats_distance(uniform, 4), 2, EXACT);
    CHECK(tg_head_stats_distance(self, 2) == 0);
    CHECK(tg_head_stats_distance(first, 2) == 2);
}

static void induction(void)
{
    /*                     a    b    c    a    b    a */
    const int32_t ids[] = {7, 8, 9, 7, 8, 7};
    const double p[] = {0.05, 0.1, 0.2, 0.3, 0.25, 0.1};
    const int32_t alike[] = {7, 7, 7};
    double share;

    CHECK(!tg_head_stats_induction(&share, p, 0, 1, ids)); /* b is new */
    CHECK(!tg_head_stats_induction(&share, p, 0, 2, ids));
    CHECK(tg_head_stats_induction(&share, p, 0, 3, ids)); /* after the a at 0: 1 */
    CHECK_NEAR(share, 0.1, EXACT);
    CHECK(tg_head_stats_induction(&share, p, 0, 4, ids)); /* after the b at 1: 2 */
    CHECK_NEAR(share, 0.2, EXACT);
    CHECK(tg_head_stats_induction(&share, p, 0, 5, ids)); /* after the a at 0 and at 3: 1 and 4 */
    CHECK_NEAR(share, 0.35, EXACT);
    CHECK(!tg_head_stats_induction(&share, p, 0, 1, alike)); /* after the first is the query itself */
    CHECK(tg_head_stats_induction(&share, p, 0, 2, alike));
    CHECK_NEAR(share, 0.1, EXACT);
    CHECK(tg_head_stats_induction(&share, p, 2, 5, ids)); /* of 1 and 4, a window hides 1 */
    CHECK_NEAR(share, 0.25, EXACT);
    CHECK(!tg_head_stats_induction(&share, p, 2, 3, ids));
}

static void best_pair(void)
{
    const double p[] = {0.2, 0.5, 0.2, 0.1}, self[] = {0, 0, 1}, low[] = {0.1, 0.2, 0.7};
    tg_head_pair best = tg_head_stats_best_pair(p, 0, 3);

    CHECK(best.exists);
    CHECK_EQ(best.i, 3);
    CHECK_EQ(best.j, 1);
    CHECK(best.prob == 0.5);
    CHECK_NEAR(best.weight, 0.5 * log(2), EXACT);
    best = tg_head_stats_best_pair(self, 0, 2);
    CHECK(best.exists && best.j == 0 && best.prob == 0 && best.weight == 0);
    best = tg_head_stats_best_pair(low, 0, 2); /* below 1/3 the weight is negative */
    CHECK_EQ(best.j, 1);
    CHECK(best.weight < 0);
    best = tg_head_stats_best_pair(p, 1, 3); /* of three keys */
    CHECK_EQ(best.j, 1);
    CHECK_NEAR(best.weight, 0.5 * log(1.5), EXACT);
    CHECK(!tg_head_stats_best_pair(self, 2, 2).exists);
}

/* ---- rows */

static void uniform_attention(void)
{
    const int32_t ids[] = {1, 2, 1, 3};
    double row[4];
    tg_head_stats head;
    tg_head_means m;

    tg_head_stats_uniform(&head, row, 4, ids, &all, &(tg_attention_rule){0, 0, 0});
    m = tg_head_stats_means(&head);
    CHECK_EQ(head.rows, 3); /* without query 0 */
    CHECK_NEAR(m.entropy, (log(2) + log(3) + log(4)) / 3, EXACT);
    CHECK_NEAR(m.distance, (0.5 + 1.0 + 1.5) / 3, EXACT);
    CHECK_NEAR(m.diagonal, (1.0 / 2 + 1.0 / 3 + 1.0 / 4) / 3, EXACT);
    CHECK_NEAR(m.previous, m.diagonal, EXACT);
    CHECK_NEAR(m.first, m.diagonal, EXACT);
    CHECK(m.repeats);
    CHECK_EQ(head.repeats, 1); /* query 2 */
    CHECK_NEAR(m.induction, 1.0 / 3, EXACT);
    CHECK(m.copies && head.copies == 1); /* key 0 for query 2 */
    CHECK_NEAR(m.duplicate, 1.0 / 3, EXACT);
    tg_head_stats_uniform(&head, row, 1, ids, &all, &(tg_attention_rule){0, 0, 0});
    CHECK_EQ(head.rows, 0);
    CHECK(!head.pair.exists && !tg_head_stats_means(&head).repeats &&
          tg_head_stats_means(&head).entropy == 0);
    tg_head_stats_uniform(&head, row, 4, ids, &all, &(tg_attention_rule){.window = 2});
    m = tg_head_stats_means(&head);
    CHECK_NEAR(m.entropy, log(2), EXACT);
    CHECK_NEAR(m.distance, 0.5, EXACT);
    CHECK_NEAR(m.first, 0.5 / 3, EXACT);
    CHECK_EQ(head.repeats, 1);            /* key 1 for query 2 */
    CHECK(!m.copies && m.duplicate == 0); /* the window hides key 0 */
    tg_head_stats_uniform(&head, row, 4, ids, &all, &(tg_attention_rule){.window = 1});
    CHECK(head.rows == 3 && !head.pair.exists && tg_head_stats_means(&head).diagonal == 1);
}

/* A head that does one thing only has 1 in its column and 0 in the others. */
static void planted_kinds(void)
{
    enum { N = 9 }; /* abcabcabc */
    const int32_t ids[N] = {1, 2, 3, 1, 2, 3, 1, 2, 3};
    tg_head_stats before = {0}, after = {0}, same = {0};
    tg_head_means m;

    for (size_t i = 0; i < N; i++) {
        double p[N] = {0}, q[N] = {0}, r[N] = {0};

        p[i == 0 ? 0 : i - 1] = 1;
        q[i < 3 ? i : i - 2] = 1; /* after its last copy */
        r[i < 3 ? i : i % 3] = 1; /* its first copy */
        tg_head_stats_add(&before, p, 0, i, ids);
        tg_head_stats_add(&after, q, 0, i, ids);
        tg_head_stats_add(&same, r, 0, i, ids);
    }
    m = tg_head_stats_means(&before);
    CHECK(m.previous == 1 && m.diagonal == 0 && m.distance == 1 && m.entropy == 0 && m.induction == 0);
    CHECK(m.first == 1.0 / (N - 1));
    CHECK(before.pair.i == N - 1 && before.pair.j == N - 2 && before.pair.prob == 1);
    m = tg_head_stats_means(&after);
    CHECK(m.induction == 1 && m.previous == 0 && m.first == 0);
    CHECK_EQ(after.repeats, N - 3);
    CHECK(m.duplicate == 0 && after.copies == N - 3);
    m = tg_head_stats_means(&same);
    CHECK(m.duplicate == 1 && m.induction == 0);
    m = tg_head_stats_means(&after);
    CHECK(m.distance == 6.0 * 2 / 8);
}

static void no_tokens_no_induction(void)
{
    const double p[] = {0.5, 0.25, 0.25};
    tg_head_stats head = {0};

    tg_head_stats_add(&head, p, 0, 2, NULL);
    CHECK(!tg_head_stats_means(&head).repeats);
    CHECK(tg_head_stats_means(&head).diagonal == 0.25);
}

/* ---- layers */

static tg_status heads_of(tg_head_stats *heads, const tg_qkv_view *view, const int32_t *ids,
                          const tg_attn_filter *filter, tg_err *err)
{
    const tg_attn_layer layer = {.number = 4, .view = *view};
    tg_arena arena = {0};
    tg_head_stats_scratch scratch;
    tg_status status;

    tg_head_stats_place(&arena, &scratch, view->T, view->C / view->H);
    CHECK_OK(tg_arena_alloc(&arena, err), err);
    tg_head_stats_place(&arena, &scratch, view->T, view->C / view->H);
    status = tg_head_stats_of_layer(heads, &layer, ids, filter, &scratch, err);
    tg_arena_free(&arena);
    return status;
}

/* The worked example's head 1. */
static void example_by_hand(void)
{
    tg_head_stats heads[2];
    tg_head_means m;
    tg_err err = {0};
    tg_attn_filter last = all;
    const double p[] = {0.57597535, 0.14002925, 0.28399541};

    last.query = 2;
    CHECK_OK(heads_of(heads, &example_get(1)->view, NULL, &last, &err), &err);
    m = tg_head_stats_means(&heads[1]);
    CHECK_EQ(heads[1].rows, 1);
    CHECK_NEAR(m.entropy, -(p[0] * log(p[0]) + p[1] * log(p[1]) + p[2] * log(p[2])), 2e-8);
    CHECK_NEAR(m.distance, 2 * p[0] + p[1], 2e-8);
    CHECK_NEAR(m.diagonal, p[2], 5.1e-9);
    CHECK_NEAR(m.previous, p[1], 5.1e-9);
    CHECK_NEAR(m.first, p[0], 5.1e-9);
    CHECK(heads[1].pair.i == 2 && heads[1].pair.j == 0);
}

enum { B = 3, T = 40, H = 5, C = 20 };

static void fill(float *x, int32_t *ids)
{
    check_fill(x, B * T * C, 3, 3);
    for (int i = 0; i < T; i++)
        ids[i] = i * i % 7;
}

/* The same numbers as q, k and v. */
static tg_qkv_view view_of(const float *x)
{
    tg_qkv_view view = tg_attn_shape_of(B, T, C, H);

    view.q = view.k = view.v = x;
    return view;
}

static void same_at_any_thread_count(void)
{
    static float x[B * T * C];
    static tg_head_stats one[B * H], three[B * H];
    const tg_qkv_view view = view_of(x);
    const size_t before = tg_threads();
    int32_t ids[T];
    tg_err err = {0};

    fill(x, ids);
    memset(one, 0, sizeof one); /* for memcmp: also the padding */
    memset(three, 0, sizeof three);
    tg_threads_set(1);
    CHECK_OK(heads_of(one, &view, ids, &all, &err), &err);
    tg_threads_set(3);
    CHECK_OK(heads_of(three, &view, ids, &all, &err), &err);
    tg_threads_set(before);
    for (size_t n = 0; n < (size_t)B * H; n++) {
        CHECK_EQ(one[n].rows, T - 1);
        CHECK(one[n].sum.entropy == three[n].sum.entropy && one[n].sum.induction == three[n].sum.induction);
        CHECK(one[n].pair.i == three[n].pair.i && one[n].pair.prob == three[n].pair.prob);
        CHECK(n == 0 || one[n].sum.entropy != one[n - 1].sum.entropy);
    }
}

static void picked_heads_alone(void)
{
    static float x[B * T * C];
    static tg_head_stats every[B * H], one[B * H];
    const tg_qkv_view view = view_of(x);
    tg_attn_filter filter = all;
    int32_t ids[T];
    tg_err err = {0};

    fill(x, ids);
    filter.head = 3;
    CHECK_OK(heads_of(every, &view, ids, &all, &err), &err);
    CHECK_OK(heads_of(one, &view, ids, &filter, &err), &err);
    for (size_t n = 0; n < (size_t)B * H; n++) {
        CHECK_EQ(one[n].rows, n % H == 3 ? T - 1 : 0);
        CHECK(n % H != 3 || one[n].sum.distance == every[n].sum.distance);
    }
}

static void not_finite(void)
{
    static float x[B * T * C];
    static tg_head_stats heads[B * H];
    const tg_qkv_view view = view_of(x);
    int32_t ids[T];
    tg_err err = {0};

    fill(x, ids);
    x[(1 * T + 6) * C + 2 * (C / H)] = INFINITY; /* b 1, token 6, head 2 */
    x[(1 * T + 2) * C + 4 * (C / H)] = NAN;
    CHECK_EQ(heads_of(heads, &view, ids, &all, &err), TG_EDATA);
    CHECK_HAS(err.message, "layer 4, head 2, position 6: attention is not finite");
}

int main(void)
{
    RUN(entropy);
    RUN(distance);
    RUN(induction);
    RUN(best_pair);
    RUN(uniform_attention);
    RUN(planted_kinds);
    RUN(no_tokens_no_induction);
    RUN(example_by_hand);
    RUN(same_at_any_thread_count);
    RUN(picked_heads_alone);
    RUN(not_finite);
    return check_done();
}
