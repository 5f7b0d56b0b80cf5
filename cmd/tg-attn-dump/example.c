#include "cmd/tg-attn-dump/example.h"

#include <assert.h>

#define T 3
#define C 4

/* clang-format off */
static const float baseline_q[T * C] = {
    1, 0, 0, 0,
    0, 1, 0, 0,
    1, 0, 1, 0,
};
static const float baseline_k[T * C] = {
    1, 0, 0, 0,
    0, 1, 0, 0,
    1, 1, 0, 0,
};
static const float baseline_v[T * C] = {
    1, 0, 0, 0,
    0, 2, 0, 0,
    0, 0, 3, 0,
};

/* Columns 0 and 1 are head 0, columns 2 and 3 head 1. */
static const float mha_q[T * C] = {
    1, 0, 1, 0,
    0, 1, 0, 1,
    1, 1, 1, -1,
};
static const float mha_k[T * C] = {
    1, 0, 1, 0,
    0, 1, 0, 1,
    1, 1, 1, 1,
};
static const float mha_v[T * C] = {
    1, 0, 10, 0,
    0, 1, 0,  10,
    1, 1, 5,  5,
};

/* Before the rotation each token has the same query and the same key.  Pair 0 is channels 0 and 2, and turns by
 * half a turn for each position; pair 1 is channels 1 and 3, and turns by a quarter: (a,b) becomes (-b,a). */
static const float rope_q_proj[T * C] = {
    1, 2, 1, -1,
    1, 2, 1, -1,
    1, 2, 1, -1,
};
static const float rope_k_proj[T * C] = {
    1, 1, 0, 0,
    1, 1, 0, 0,
    1, 1, 0, 0,
};
static const float rope_q[T * C] = {
     1,  2,  1, -1,
    -1,  1, -1,  2,
     1, -2,  1,  1,
};
static const float rope_k[T * C] = {
     1,  1,  0,  0,
    -1,  0,  0,  1,
     1, -1,  0,  0,
};
static const double rope_frequency[2] = {3.14159265358979323846, 1.57079632679489661923};
/* The cosines of both pairs, then their sines.  Not const, because a matrix is not. */
static float rope_angles[T * C] = {
     1,  1,  0,  0,
    -1,  0,  0,  1,
     1, -1,  0,  0,
};

/* Four heads of queries, columns 0 and 1, 2 and 3, ...; two heads of keys and of values, columns 0 and 1, and 2
 * and 3.  Query 2 is the same in heads 0 and 2, and in heads 1 and 3: only the keys that they read differ. */
static const float gqa_q[T * 8] = {
    1, 0,  0,  1,  1, 0,  0,  1,
    0, 1,  1,  0,  0, 1,  1,  0,
    1, 0,  1, -1,  1, 0,  1, -1,
};
static const float gqa_k[T * 4] = {
    1, 0,  0, 1,
    0, 1,  1, 0,
    1, 1,  1, 1,
};
static const float gqa_v[T * 4] = {
    1, 0,  10, 0,
    0, 1,  0,  10,
    1, 1,  5,  5,
};
/* clang-format on */

/* Each number is its own offset, or an eighth of it: q.data[n] = n, k.data[n] = n/8, v.data[n] = n. */
static const float indexing_q[T * 2] = {0, 1, 2, 3, 4, 5};
static const float indexing_k[T * 2] = {0, 0.125F, 0.25F, 0.375F, 0.5F, 0.625F};

#undef T
#undef C

/* Key j is the unit vector of channel j, and the scale is 1/sqrt(25), so score (i,j) is q[i,j] / 5.
 * The scores are tenths, which float32 cannot represent.  Only the mask excludes the numbers after the
 * diagonal. */
#define W 25
/* clang-format off */
static const float mask_q[4 * W] = {
    [0 * W] = 1.0F, 1.5F, 0.5F, 2.0F,
    [1 * W] = 2.5F, 1.0F, 0.5F, 1.0F,
    [2 * W] = 1.5F, 2.0F, 1.0F, 0.5F,
    [3 * W] = 0.5F, 1.5F, 2.0F, 1.0F,
};
/* clang-format on */
static const float mask_kv[4 * W] = {[0 * W + 0] = 1, [1 * W + 1] = 1, [2 * W + 2] = 1, [3 * W + 3] = 1};
#undef W

#define SHARED(b, t, h, kv, d)                                                                               \
    .B = (b), .T = (t), .C = (h) * (d), .H = (h), .KV = (kv), .D = (d), .ldq = (h) * (d), .ldk = (kv) * (d), \
    .ldv = (kv) * (d)
#define SHAPE(b, t, h, d) SHARED(b, t, h, h, d)
#define ANGLES(floats, width)                                                                                \
    {                                                                                                        \
        .data = (floats), .type = TG_TYPE_FLOAT, .cols = (width), .ld = (width)                              \
    }

static const worked_example examples[] = {
    {.view = {SHAPE(1, 3, 1, 4), .q = baseline_q, .k = baseline_k, .v = baseline_v},
     .title = "baseline: one head, T = 3, C = 4",
     .filled = "the example is query 2; queries 0 and 1 are filled in"},
    {.view = {SHAPE(1, 3, 2, 2), .q = mha_q, .k = mha_k, .v = mha_v},
     .title = "mha: two heads, T = 3, C = 4, D = 2",
     .filled = "the example is query 2 of head 1; head 0, and queries 0 and 1, are filled in"},
    {.view = {SHAPE(1, 3, 1, 2), .q = indexing_q, .k = indexing_k, .v = indexing_q},
     .title = "indexing: one head, T = 3, C = 2",
     .filled = "every number says where it lies: q.data[n] = n, k.data[n] = n/8, v.data[n] = n"},
    {.view = {SHAPE(1, 4, 1, 25), .q = mask_q, .k = mask_kv, .v = mask_kv},
     .title = "mask: one head, T = 4, C = 25, of which channels 4 to 24 are 0",
     .filled = "the mask hides scores: 0.3 0.1 0.4 of query 0, 0.1 0.2 of 1, and 0.1 of 2"},
    {.view = {SHAPE(2, 4, 8, 64)},
     .title = "shapes: two texts, eight heads, T = 4, C = 512, D = 64",
     .filled = "q.data[n] = (37n mod 101 - 50)/64; k: 53, 103, 51; v: 29, 107, 53"},
    {.view = {SHAPE(1, 3, 1, 4), .q = rope_q, .k = rope_k, .v = baseline_v},
     .title = "rope: one head, T = 3, C = 4, q and k are rotated",
     .filled = "every query is one vector, and every key another, rotated by the position's angles",
     .q_steps = {.projected = rope_q_proj, .angles = ANGLES(rope_angles, 4), .frequency = rope_frequency},
     .k_steps = {.projected = rope_k_proj, .angles = ANGLES(rope_angles, 4), .frequency = rope_frequency}},
    {.view = {SHARED(1, 3, 4, 2, 2), .q = gqa_q, .k = gqa_k, .v = gqa_v},
     .title = "gqa: four heads, which share two heads of keys and values, T = 3, C = 8, D = 2",
     .filled = "the example is query 2 of heads 1 and 3; the others are filled in"},
};

const worked_example *example_get(size_t i)
{
    assert(i < sizeof examples / sizeof examples[0]);
    return &examples[i];
}

size_t example_floats(const worked_example *e)
{
    return e->view.q ? 0 : 3 * e->view.B * e->view.T * e->view.C;
}

void example_fill(tg_qkv_view *view, float *numbers)
{
    static const size_t factor[3] = {37, 53, 29}, prime[3] = {101, 103, 107};
    const size_t count = view->B * view->T * view->C;

    for (size_t which = 0; which < 3; which++) {
        const size_t middle = prime[which] / 2;

        for (size_t n = 0; n < count; n++)
            numbers[which * count + n] = ((float)(factor[which] * n % prime[which]) - (float)middle) / 64;
    }
    view->q = numbers;
    view->k = numbers + count;
    view->v = numbers + 2 * count;
}
