#include "lib/attn/example.h"

#include <assert.h>

#define T 3
#define C 4

static const float baseline_q[T * C] = {
    1, 0, 0, 0, /* */
    0, 1, 0, 0, /* */
    1, 0, 1, 0,
};
static const float baseline_k[T * C] = {
    1, 0, 0, 0, /* */
    0, 1, 0, 0, /* */
    1, 1, 0, 0,
};
static const float baseline_v[T * C] = {
    1, 0, 0, 0, /* */
    0, 2, 0, 0, /* */
    0, 0, 3, 0,
};

/* Columns 0 and 1 are head 0, columns 2 and 3 head 1. */
static const float mha_q[T * C] = {
    1, 0, 1, 0, /* */
    0, 1, 0, 1, /* */
    1, 1, 1, -1,
};
static const float mha_k[T * C] = {
    1, 0, 1, 0, /* */
    0, 1, 0, 1, /* */
    1, 1, 1, 1,
};
static const float mha_v[T * C] = {
    1, 0, 10, 0,  /* */
    0, 1, 0,  10, /* */
    1, 1, 5,  5,
};

static const tg_attn_example examples[] = {
    {{1, T, C, 1, C, baseline_q, baseline_k, baseline_v, TG_ATTN_BTHD},
     "baseline: one head, T = 3, C = 4",
     "the example is query 2; queries 0 and 1 are filled in"},
    {{1, T, C, 2, C, mha_q, mha_k, mha_v, TG_ATTN_BTHD},
     "mha: two heads, T = 3, C = 4, D = 2",
     "the example is query 2 of head 1; head 0, and queries 0 and 1, are filled in"},
};

const tg_attn_example *tg_attn_example_get(size_t i)
{
    assert(i < sizeof examples / sizeof examples[0]);
    return &examples[i];
}
