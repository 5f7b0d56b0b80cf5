/* lib/attn: the worked examples, the offsets, a walk over a model against the fused
 * attention of lib/nn, and what is read from outside. */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tg-attn-dump/example.h"
#include "lib/attn/attn.h"
#include "lib/attn/layers.h"
#include "lib/attn/qkv.h"
#include "lib/gpt/family.h"
#include "lib/gpt/infer.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

#define TOLERANCE 5.1e-9 /* the examples' values have eight decimals */

static const tg_attn_filter all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

static bool walk(const tg_qkv_view *view, const tg_attn_filter *filter, tg_attn_visit visit, void *context)
{
    tg_arena arena = {0};
    tg_attn_scratch scratch;
    tg_err err = {0};
    bool done;

    tg_attn_scratch_place(&arena, &scratch, 0, view->T, view->C / view->H);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_attn_scratch_place(&arena, &scratch, 0, view->T, view->C / view->H);
    done = tg_attn_walk(view, 0, filter, &scratch, visit, context);
    tg_arena_free(&arena);
    return done;
}

/* ---- the worked examples */

struct expected {
    size_t h, i;
    double score[3], prob[3], att[4];
    size_t rows; /* seen */
};

static bool compare(void *context, const tg_attn_row *row)
{
    struct expected *e = context;
    size_t D = row->view->C / row->view->H;

    if (row->h != e->h || row->i != e->i)
        return true;
    e->rows++;
    for (size_t j = 0; j < 3; j++) {
        CHECK_NEAR(row->scores[j], e->score[j], TOLERANCE);
        CHECK_NEAR(row->probs[j], e->prob[j], TOLERANCE);
    }
    for (size_t d = 0; d < D; d++)
        CHECK_NEAR(row->att[d], e->att[d], TOLERANCE);
    return true;
}

static void examples(void)
{
    struct expected baseline = {
        0, 2, {0.5, 0, 0.5}, {0.38365173, 0.23269654, 0.38365173}, {0.38365173, 0.46539308, 1.15095519, 0},
        0};
    struct expected mha = {
        1, 2, {0.70710678, -0.70710678, 0}, {0.57597535, 0.14002925, 0.28399541}, {7.17973050, 2.82026950},
        0};

    CHECK(walk(&example_get(0)->view, &all, compare, &baseline));
    CHECK(walk(&example_get(1)->view, &all, compare, &mha));
    CHECK_EQ(baseline.rows, 1);
    CHECK_EQ(mha.rows, 1);
}

static void example_offsets(void)
{
    const tg_qkv_view *one = &example_get(0)->view, *two = &example_get(1)->view;
    const tg_qkv_view narrow = tg_attn_shape_of(1, 3, 2, 1);

    CHECK_EQ(tg_attn_base(one, 0, 2, 0), 8);
    CHECK_EQ(tg_attn_base(one, 0, 1, 0), 4);
    CHECK_EQ(tg_attn_offset(one, 0, 0, 2, 1), 7);
    CHECK_EQ(tg_attn_base(two, 0, 2, 1), 10);
    CHECK_EQ(tg_attn_base(two, 0, 1, 1), 6);
    CHECK_EQ(tg_attn_offset(two, 0, 1, 2, 1), 16);
    CHECK_EQ(tg_attn_base(&narrow, 0, 1, 0), 2);
    CHECK_EQ(tg_attn_base(&narrow, 0, 0, 0), 0);
    CHECK_EQ(tg_attn_offset(&narrow, 0, 0, 1, 0), 3);
    CHECK_EQ(tg_attn_base(&narrow, 0, 2, 0), 4);
    CHECK_EQ(tg_attn_offset(&narrow, 0, 0, 1, 2), 5);
}

/* ---- the walk */

struct visits {
    size_t n, stop_after;
    size_t offset; /* where the next row should begin */
};

static bool count_rows(void *context, const tg_attn_row *row)
{
    struct visits *v = context;
    double sum = 0;

    CHECK_EQ(tg_attn_offset(row->view, row->b, row->h, row->i, 0), v->offset);
    v->offset += row->view->T;
    for (size_t j = 0; j < row->view->T; j++) {
        sum += row->probs[j];
        if (j > row->i)
            CHECK(row->probs[j] == 0.0 && row->scores[j] == (double)TG_MASKED);
    }
    CHECK_NEAR(sum, 1, 1e-14);
    return ++v->n != v->stop_after;
}

/* Every row comes once, by ascending offset; a visit can end the walk. */
static void order_of_rows(void)
{
    float x[3 * 5 * 12];
    const tg_qkv_view view = {3, 5, 12, 4, 4, 3, 12, 12, 12, x, x, x, {.window = 0}, TG_ATTN_BTHD};
    struct visits v = {0}, stopped = {.stop_after = 7};

    check_fill(x, 3 * 5 * 12, 3, 1);
    CHECK(walk(&view, &all, count_rows, &v));
    CHECK_EQ(v.n, 3 * 4 * 5);
    CHECK_EQ(v.offset, 3 * 4 * 5 * 5);
    CHECK(!walk(&view, &all, count_rows, &stopped));
    CHECK_EQ(stopped.n, 7);
}

/* A masked key gets probability 0 even if the visible scores are far below the mask's -1e9. */
static void scores_below_the_mask(void)
{
    const float q[] = {1e20F, 1e20F}, k[] = {-1e20F, -1e20F};
    const tg_qkv_view view = {1, 2, 1, 1, 1, 1, 1, 1, 1, q, k, q, {.window = 0}, TG_ATTN_BTHD};
    struct visits v = {0};

    CHECK(walk(&view, &all, count_rows, &v));
    CHECK_EQ(v.n, 2);
}

static void filters_are_checked(void)
{
    tg_attn_filter filter = {1, 2, 4, 4};
    tg_err err = {0};

    CHECK_OK(tg_attn_filter_check(&all, 1, 1, 1, &err), &err);
    CHECK_OK(tg_attn_filter_check(&filter, 2, 3, 5, &err), &err);
    CHECK_EQ(tg_attn_filter_check(&filter, 1, 3, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "layer 1 is out of range: the only layer is 0");
    CHECK_EQ(tg_attn_filter_check(&filter, 2, 2, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "head 2 is out of range: expected 0 to 1");
    CHECK_EQ(tg_attn_filter_check(&filter, 2, 3, 4, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "query 4");
    filter.query = 0;
    CHECK_EQ(tg_attn_filter_check(&filter, 2, 3, 4, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "key 4");
}

/* ---- a model */

enum { L = 3, H = 2, C = 12, T = 9 };

static void small_model(tg_model *m)
{
    small_model_create(m, small_config(L, H, C, 16), 5);
    for (size_t i = 0; i < m->table.floats; i++) /* scores that differ */
        m->params[i] *= 4;
}

struct rows {
    float att[L][T][C];
    pthread_mutex_t lock; /* of the rest */
    size_t n;
    size_t layer, head;
};

static void keep_att(void *context, const tg_attn_row *row, size_t thread)
{
    const size_t D = C / row->view->H;
    struct rows *r = context;

    (void)thread;
    for (size_t d = 0; d < D; d++)
        r->att[row->layer][row->i][row->h * D + d] = (float)row->att[d];
    pthread_mutex_lock(&r->lock);
    r->n++;
    r->layer = row->layer;
    r->head = row->h;
    pthread_mutex_unlock(&r->lock);
}

static tg_status walk_model(const tg_model *m, const int32_t *ids, size_t n, const tg_attn_filter *filter,
                            struct rows *rows, tg_err *err)
{
    const tg_attn_visitor visitor = {.row = keep_att, .context = rows, .att = true};
    tg_attn_layers layers;
    tg_status status = tg_attn_layers_model(&layers, m, ids, n, err);

    if (status)
        return status;
    if (!(status = tg_attn_layers_select(&layers, filter, err)))
        status = tg_attn_layers_walk_parallel(&layers, &visitor, err);
    tg_attn_layers_close(&layers);
    return status;
}

/* The output of lib/nn's fused attention for each layer. */
static void fused_att(struct rows *want, const tg_model *m, const int32_t *ids)
{
    tg_arena arena = {0};
    tg_infer f;
    tg_err err = {0};

    tg_infer_place(&arena, &f, m, T, 0, 0);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_infer_place(&arena, &f, m, T, 0, 0);
    tg_infer_begin(&f, ids, T);
    for (size_t l = 0; l < L; l++) {
        tg_infer_layers(&f, tg_place(&f.acts, l, 0), tg_place(&f.acts, l + 1, 0));
        memcpy(want->att[l], tg_floats(tg_acts_row(&f.acts, l, f.acts.family->att)), sizeof want->att[l]);
    }
    tg_arena_free(&arena);
}

/* The fused kernel computes in float32: its rounding error, 6e-8, is relative to a score (below 20) and
 * to a value (below 10). */
#define FUSED_TOLERANCE (6e-8 * 20 * 10)

static void model_equals_fused(void)
{
    const int32_t ids[T] = {84, 111, 32, 98, 101, 44, 32, 111, 114};
    static struct rows got = {.lock = PTHREAD_MUTEX_INITIALIZER}, want;
    tg_model m;
    tg_err err = {0};

    small_model(&m);
    for (size_t heads = 1; heads <= C; heads *= 2) {
        if (tg_model_set_heads(&m, heads, &err) != TG_OK)
            continue; /* 8 */
        memset(&got, 0, sizeof got);
        CHECK_OK(walk_model(&m, ids, T, &all, &got, &err), &err);
        fused_att(&want, &m, ids);
        CHECK_EQ(got.n, L * heads * T);
        CHECK_NEAR(check_distance(got.att[0][0], want.att[0][0], L * T * C), 0, FUSED_TOLERANCE);
    }
    tg_model_free(&m);
}

static void model_filter(void)
{
    const int32_t ids[T] = {84, 111, 32, 98, 101, 44, 32, 111, 114};
    static struct rows got = {.lock = PTHREAD_MUTEX_INITIALIZER};
    tg_attn_filter filter = {1, 1, 3, TG_ATTN_ALL};
    tg_model m;
    tg_err err = {0};

    small_model(&m);
    CHECK_OK(walk_model(&m, ids, T, &filter, &got, &err), &err);
    CHECK_EQ(got.n, 1);
    CHECK_EQ(got.layer, 1);
    CHECK_EQ(got.head, 1);
    filter.layer = L;
    CHECK_EQ(walk_model(&m, ids, T, &filter, &got, &err), TG_EUSAGE);
    CHECK_EQ(got.n, 1);
    tg_model_free(&m);
}

/* ---- q, k and v from an archive */

struct array {
    const char *name;
    tg_dtype dtype;
    size_t ndim, shape[4];
    const void *data;
};

/* An archive of arrays in a temporary file, rewound. */
static FILE *archive_of(const struct array *a, size_t n)
{
    tg_archive_writer *w;
    tg_err err = {0};
    FILE *f = tmpfile();

    CHECK(f != NULL);
    CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
    for (size_t i = 0; i < n; i++)
        CHECK_OK(tg_archive_put(w, a[i].name, a[i].dtype, a[i].ndim, a[i].shape, a[i].data, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    return f;
}

static tg_status read_qkv(tg_attn_qkv *qkv, const struct array *a, size_t n, tg_err *err)
{
    FILE *f = archive_of(a, n);
    tg_status s = tg_attn_qkv_read(qkv, fileno(f), err);

    fclose(f);
    return s;
}

static const float f4[24] = {1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12,
                             13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24};
static const double f8[24] = {0.1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

#define ARRAY(name, dtype, b, t, c, data)                                                                    \
    {                                                                                                        \
        (name), (dtype), 3, {(b), (t), (c)}, (data)                                                          \
    }

static void qkv_is_read(void)
{
    const struct array a[] = {ARRAY("v", TG_F32, 2, 3, 4, f4), ARRAY("other", TG_U8, 1, 1, 24, f4),
                              ARRAY("q", TG_F64, 2, 3, 4, f8), ARRAY("k", TG_F32, 2, 3, 4, f4)};
    tg_attn_qkv qkv;
    tg_err err = {0};
    struct visits v = {0};

    CHECK_OK(read_qkv(&qkv, a, 4, &err), &err);
    CHECK_EQ(qkv.view.B, 2);
    CHECK_EQ(qkv.view.T, 3);
    CHECK_EQ(qkv.view.C, 4);
    CHECK_EQ(qkv.view.H, 1);
    CHECK(qkv.view.q[0] == 0.1F && qkv.view.v[23] == 24.0F);
    CHECK_EQ(tg_attn_set_heads(&qkv.view, 3, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "3 heads do not divide C = 4");
    CHECK_OK(tg_attn_set_heads(&qkv.view, 4, &err), &err);
    CHECK(walk(&qkv.view, &all, count_rows, &v));
    CHECK_EQ(v.n, 2 * 4 * 3);
    tg_attn_qkv_free(&qkv);
}

static void check_refused(struct array a, const char *why)
{
    const struct array three[] = {ARRAY("q", TG_F32, 2, 3, 4, f4), a, ARRAY("v", TG_F32, 2, 3, 4, f4)};
    tg_attn_qkv qkv;
    tg_err err = {0};

    CHECK_EQ(read_qkv(&qkv, three, 3, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
}

static void bad_qkv_is_refused(void)
{
    const float nan4[24] = {1, 2, 3, NAN};
    const double big8[24] = {1, 1e300};

    check_refused((struct array)ARRAY("k", TG_F32, 3, 2, 4, f4),
                  "array k is [3,2,4], the arrays before it are [2,3,4]");
    check_refused((struct array)ARRAY("k", TG_I64, 2, 3, 4, f8), "'i8'");
    check_refused((struct array)ARRAY("k", TG_F32, 2, 3, 4, nan4), "k[3] is nan: it must be finite");
    check_refused((struct array)ARRAY("k", TG_F64, 2, 3, 4, big8),
                  "k[1] is 1e+300: it must be finite as float32");
    check_refused((struct array){"k", TG_F32, 2, {6, 4}, f4}, "array k has 2 dimensions, expected 3");
    check_refused((struct array)ARRAY("k", TG_F32, 2, 0, 4, f4), "array k is empty: [2,0,4]");
    check_refused((struct array)ARRAY("K", TG_F32, 2, 3, 4, f4), "array k is missing");
}

int main(void)
{
    RUN(examples);
    RUN(example_offsets);
    RUN(order_of_rows);
    RUN(scores_below_the_mask);
    RUN(filters_are_checked);
    RUN(model_equals_fused);
    RUN(model_filter);
    RUN(qkv_is_read);
    RUN(bad_qkv_is_refused);
    return check_done();
}
