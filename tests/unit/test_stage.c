/* lib/attn and lib/dump: layouts, a model's stages against the reference operations and the fused
 * kernel, and archives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/dump/dump_check.h"
#include "lib/dump/dump_write.h"
#include "lib/attn/stage.h"
#include "lib/base/choice.h"
#include "lib/nn/attention.h"
#include "lib/nn/linear.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/fused_qkv.h"
#include "tests/unit/small_model.h"

static const tg_attn_filter all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

/* ---- layouts */

static void check_shape(tg_attn_stage stage, tg_attn_layout layout, const char *index, const size_t *size,
                        const size_t *stride)
{
    tg_qkv_view view = tg_attn_shape_of(2, 3, 8, 4);
    tg_attn_shape s;

    view.layout = layout;
    tg_attn_stage_shape(&s, stage, &view);
    CHECK(strcmp(s.index, index) == 0);
    CHECK_EQ(s.n, strlen(index));
    for (size_t n = 0; n < s.n; n++) {
        CHECK_EQ(s.size[n], size[n]);
        CHECK_EQ(s.stride[n], stride[n]);
    }
}

static void shapes(void)
{
    const size_t thd[] = {2, 3, 4, 2}, thd_by[] = {24, 8, 2, 1}, htd[] = {2, 4, 3, 2},
                 htd_by[] = {24, 6, 2, 1};
    const size_t htt[] = {2, 4, 3, 3}, htt_by[] = {36, 9, 3, 1}, c[] = {2, 3, 8}, c_by[] = {24, 8, 1};
    const size_t c3[] = {2, 3, 24}, c3_by[] = {72, 24, 1};

    check_shape(TG_ATTN_Q, TG_ATTN_BTHD, "bthd", thd, thd_by);
    check_shape(TG_ATTN_ATT, TG_ATTN_BTHD, "bthd", thd, thd_by);
    check_shape(TG_ATTN_K, TG_ATTN_BHTD, "bhtd", htd, htd_by);
    check_shape(TG_ATTN_SCORES, TG_ATTN_BTHD, "bhij", htt, htt_by);
    check_shape(TG_ATTN_PROBS, TG_ATTN_BHTD, "bhij", htt, htt_by);
    check_shape(TG_ATTN_X, TG_ATTN_BHTD, "btc", c, c_by);
    check_shape(TG_ATTN_OUT, TG_ATTN_BTHD, "btc", c, c_by);
    check_shape(TG_ATTN_QKV, TG_ATTN_BTHD, "btc", c3, c3_by);
}

static void names(void)
{
    size_t stage;

    for (tg_attn_stage n = TG_ATTN_RESID; n < TG_ATTN_STAGE_COUNT; n++)
        CHECK(tg_choice_find(&stage, TG_ATTN_STAGES, tg_attn_stage_name(n)) && stage == n);
}

/* The strides agree with tg_attn_base(), and the two layouts differ. */
static void bases(void)
{
    tg_qkv_view a = tg_attn_shape_of(2, 3, 8, 4);
    size_t differ = 0;

    for (size_t b = 0; b < 2; b++)
        for (size_t t = 0; t < 3; t++)
            for (size_t h = 0; h < 4; h++) {
                a.layout = TG_ATTN_BTHD;
                CHECK_EQ(tg_attn_base(&a, b, t, h), b * 24 + t * 8 + h * 2);
                a.layout = TG_ATTN_BHTD;
                CHECK_EQ(tg_attn_base(&a, b, t, h), b * 24 + h * 6 + t * 2);
                differ += h * 6 + t * 2 != t * 8 + h * 2;
            }
    CHECK(differ > 0);
    CHECK_EQ(tg_attn_offset(&a, 1, 2, 1, 0), ((1 * 4 + 2) * 3 + 1) * 3);
}

/* ---- a model's stages */

enum { L = 2, H = 3, C = 12, D = C / H, T = 9 };
static const int32_t ids[T] = {84, 111, 32, 98, 101, 44, 32, 111, 114};

static void small_model(tg_model *m)
{
    small_model_create(m, small_config(L, H, C, 16), 5);
    for (size_t i = 0; i < m->table.floats; i++) /* scores that differ, biases that are not 0 */
        m->params[i] = m->params[i] * 4 + 0.01f * (float)(i % 7);
}

static tg_stage_scratch scratch_of(tg_arena *arena, const tg_attn_layers *n)
{
    const tg_qkv_view shape = tg_attn_layers_shape(n);
    tg_stage_scratch scratch;
    tg_err err = {0};

    tg_stage_scratch_place(arena, &scratch, &shape);
    CHECK_OK(tg_arena_alloc(arena, &err), &err);
    tg_stage_scratch_place(arena, &scratch, &shape);
    return scratch;
}

/* q, k, v are the slices of qkv, in either layout. */
static void check_slices(tg_stage_scratch *scratch, tg_attn_layer *layer)
{
    for (size_t layout = TG_ATTN_BTHD; layout <= TG_ATTN_BHTD; layout++) {
        layer->view.layout = (tg_attn_layout)layout;
        for (tg_attn_stage stage = TG_ATTN_Q; stage <= TG_ATTN_V; stage++) {
            tg_stage_fill(scratch, stage, layer, &all);
            for (size_t n = 0; n < T * C; n++) {
                const size_t t = n / C, h = n / D % H, d = n % D;
                const size_t at = layout == TG_ATTN_BTHD ? (t * H + h) * D + d : (h * T + t) * D + d;

                CHECK(scratch->values[at] ==
                      (double)layer->qkv[t * 3 * C + (stage - TG_ATTN_Q) * C + h * D + d]);
            }
        }
    }
    layer->view.layout = TG_ATTN_BTHD;
}

/* x w + bias is qkv, up to the rounding of the fast product. */
static void check_input(tg_stage_scratch *scratch, const tg_attn_layer *layer, const tg_model *m)
{
    static double x[T * C], w[C * 3 * C], bias[3 * C], qkv[T * 3 * C];

    tg_stage_fill(scratch, TG_ATTN_X, layer, &all);
    memcpy(x, scratch->values, sizeof x);
    for (size_t i = 0; i < C * 3 * C; i++)
        w[i] = (double)tg_model_weight(m, TG_QKV_W, layer->number)[i];
    for (size_t i = 0; i < 3 * C; i++)
        bias[i] = (double)tg_model_weight(m, TG_QKV_B, layer->number)[i];
    tg_linear_forward_ref64(qkv, x, w, bias, T, C, 3 * C);
    tg_stage_fill(scratch, TG_ATTN_QKV, layer, &all);
    for (size_t i = 0; i < T * 3 * C; i++) {
        CHECK(scratch->values[i] == (double)layer->qkv[i]);
        CHECK_NEAR(scratch->values[i], qkv[i], (C + 3) * 0x1p-24 * C * 3);
    }
}

/* att and out equal the reference's bit for bit, and the fused kernel's and the fast product's up to
 * rounding. */
static void check_output(tg_stage_scratch *scratch, const tg_attn_layer *layer, const float *fused)
{
    static double w[C * C], bias[C], att[T * C], out[T * C];
    static float fast[T * C];
    tg_arena arena = {0};
    tg_matmul_scratch matmul;
    const tg_matrix none = {0};
    tg_linear proj = tg_attn_layer_proj(layer);
    tg_err err = {0};

    const float *weight = proj.w;

    proj.scratch = &matmul;

    tg_stage_fill(scratch, TG_ATTN_ATT, layer, &all);
    memcpy(att, scratch->values, sizeof att);
    for (size_t i = 0; i < C * C; i++)
        w[i] = (double)weight[i];
    for (size_t i = 0; i < C; i++)
        bias[i] = (double)proj.b[i];
    tg_linear_forward_ref64(out, att, w, bias, T, C, C);
    tg_stage_fill(scratch, TG_ATTN_OUT, layer, &all);
    CHECK(memcmp(scratch->values, out, sizeof out) == 0);

    tg_matmul_place(&arena, &matmul);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_matmul_place(&arena, &matmul);
    tg_linear_forward(tg_matrix_of(fast, TG_TYPE_FLOAT, C), none,
                      tg_matrix_of((float *)fused, TG_TYPE_FLOAT, C), &proj, T);
    CHECK_NEAR(check_distance64(fused, att, T * C), 0, 6e-8 * 20 * 10);
    CHECK_NEAR(check_distance64(fast, out, T * C), 0, 6e-8 * 20 * 10 * C);
    tg_arena_free(&arena);
}

static void stages_of_a_model(void)
{
    tg_model m;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_stage_scratch scratch;
    tg_arena arena = {0}, more = {0};
    tg_attention_scratch attention;
    tg_err err = {0};
    static float att[T * C], lse[H * T];

    small_model(&m);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
    scratch = scratch_of(&arena, &layers);
    tg_attention_place(&more, &attention, TG_TYPE_FLOAT, T, D, 1);
    CHECK_OK(tg_arena_alloc(&more, &err), &err);
    tg_attention_place(&more, &attention, TG_TYPE_FLOAT, T, D, 1);
    while (tg_attn_layers_next(&layers, &layer)) {
        check_slices(&scratch, &layer);
        check_input(&scratch, &layer, &m);
        fused_qkv_forward(att, lse, layer.qkv, &(tg_attention){FUSED_QKV(1, T, C, H), .scratch = &attention});
        check_output(&scratch, &layer, att);
    }
    CHECK_EQ(layers.next, L);
    tg_arena_free(&arena);
    tg_arena_free(&more);
    tg_attn_layers_close(&layers);
    tg_model_free(&m);
}

static void layers_are_found(void)
{
    tg_model m;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_err err = {0};

    small_model(&m);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
    layers.layout = TG_ATTN_BHTD;
    CHECK(tg_attn_layers_find(&layers, 1, &layer));
    CHECK_EQ(layer.number, 1);
    CHECK_EQ(layer.view.layout, TG_ATTN_BHTD);
    CHECK(!tg_attn_layers_find(&layers, 1, &layer));
    CHECK(!tg_attn_layers_next(&layers, &layer));
    tg_attn_layers_close(&layers);
    tg_model_free(&m);
}

/* A filter is checked once, when it is set, and then every walk keeps to it. */
static void layers_are_selected(void)
{
    const tg_attn_filter second = {1, 2, 3, 4};
    tg_attn_filter wrong = second;
    tg_model m;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_err err = {0};

    small_model(&m);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
    CHECK_OK(tg_attn_layers_select(&layers, &second, &err), &err);
    wrong.head = H;
    CHECK_EQ(tg_attn_layers_select(&layers, &wrong, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "head 3 is out of range: expected 0 to 2");
    CHECK_EQ(layers.filter.head, 2);
    CHECK(tg_attn_layers_next(&layers, &layer));
    CHECK_EQ(layer.number, 1);
    CHECK(!tg_attn_layers_next(&layers, &layer));
    tg_attn_layers_close(&layers);
    tg_model_free(&m);
}

/* ---- archives */

static FILE *dump_of(tg_attn_layers *layers, const tg_dump_settings *what, tg_status expected, tg_err *err)
{
    FILE *f = tmpfile();

    CHECK(f != NULL);
    CHECK_EQ(tg_dump_write(fileno(f), layers, what, err), expected);
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    return f;
}

static size_t compare_all(const tg_dump *dump, tg_attn_layers *layers, double tolerance,
                          tg_dump_difference *last)
{
    tg_arena arena = {0};
    tg_stage_scratch scratch = scratch_of(&arena, layers);
    tg_attn_layer layer;
    size_t arrays = 0;

    for (size_t l = 0; l < dump->n; l++) {
        CHECK(tg_attn_layers_find(layers, dump->layer[l].number, &layer));
        for (tg_attn_stage stage = TG_ATTN_RESID; stage < TG_ATTN_EVERY; stage++) {
            tg_dump_difference d;

            if (!dump->layer[l].data[stage])
                continue;
            arrays++;
            tg_dump_compare(&d, dump, &dump->layer[l], stage, &layer, &scratch, tolerance);
            if (d.count > 0)
                *last = d;
        }
    }
    tg_arena_free(&arena);
    return arrays;
}

static void archive_of_a_model(void)
{
    const tg_dump_want want = {TG_ATTN_ALL, TG_DUMP_EVERY, true};
    tg_dump_settings what = {
        .stages = TG_DUMP_EVERY, .ids = ids, .text = "To be, or", .text_size = 1, .source = "-m small.npz"};
    tg_dump_difference none = {0};
    tg_model m;
    tg_err err = {0};

    small_model(&m);
    for (size_t layout = TG_ATTN_BTHD; layout <= TG_ATTN_BHTD; layout++)
        for (size_t mask = TG_ATTN_1E9; mask <= TG_ATTN_MIN; mask++) {
            tg_attn_layers layers;
            tg_dump dump;
            FILE *f;

            what.mask = (tg_attn_mask)mask;
            CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
            layers.layout = (tg_attn_layout)layout;
            f = dump_of(&layers, &what, TG_OK, &err);
            tg_attn_layers_close(&layers);
            CHECK_OK(tg_dump_read(&dump, fileno(f), want, &err), &err);
            CHECK_EQ(dump.n, L);
            CHECK_EQ(dump.n_layer, L);
            CHECK_EQ(dump.layout, layout);
            CHECK_EQ(dump.mask, mask);
            CHECK_EQ(dump.ids[T - 1], 114);
            CHECK(strcmp(dump.source, "-m small.npz") == 0);
            CHECK(dump.text_size == 1 && memcmp(dump.text, "To be, or", T) == 0);
            CHECK(dump.layer[0].data[TG_ATTN_SCORES][1] == tg_attn_mask_value(what.mask));
            CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
            layers.layout = (tg_attn_layout)layout;
            CHECK_EQ(compare_all(&dump, &layers, 0, &none),
                     L * (TG_ATTN_EVERY - 4)); /* nothing before q and k */
            CHECK_EQ(none.count, 0);
            tg_attn_layers_close(&layers);
            tg_dump_free(&dump);
            fclose(f);
        }
    tg_model_free(&m);
}

/* ---- the same memory, again and again */

struct again {
    tg_attn_layers layers;
    tg_dump_buffers buffers;
};

static void place_again(tg_arena *arena, void *context)
{
    struct again *a = context;

    tg_dump_place(arena, &a->buffers, &a->layers, TG_DUMP_EVERY);
}

/* Write a dump in the given memory; it must be the one that memory of its own gives. */
static void same_dump(struct again *a, const tg_model *m, const tg_dump_settings *what)
{
    tg_attn_layers layers;
    tg_err err = {0};
    FILE *got = tmpfile(), *want;
    int c;

    CHECK(got != NULL);
    tg_attn_layers_rewind(&a->layers);
    CHECK_OK(tg_dump_write_in(&a->buffers, fileno(got), &a->layers, what, &err), &err);
    CHECK_OK(tg_attn_layers_model(&layers, m, ids, T, &err), &err);
    want = dump_of(&layers, what, TG_OK, &err);
    tg_attn_layers_close(&layers);
    CHECK(lseek(fileno(got), 0, SEEK_SET) == 0);
    do
        CHECK_EQ(c = fgetc(got), fgetc(want));
    while (c != EOF);
    CHECK(ftell(got) > 1000);
    fclose(got);
    fclose(want);
}

/* A model whose parameters change, as in training. */
static void archives_in_the_same_memory(void)
{
    const tg_dump_settings what = {.stages = TG_DUMP_EVERY, .ids = ids, .text = "To be, or", .text_size = 1};
    struct again a;
    tg_arena arena = {0};
    tg_model m;
    tg_err err = {0};

    small_model(&m);
    CHECK_OK(tg_attn_layers_model(&a.layers, &m, ids, T, &err), &err);
    CHECK_OK(tg_arena_build(&arena, place_again, &a, &err), &err);
    for (int times = 0; times < 3; times++) {
        same_dump(&a, &m, &what);
        for (size_t i = 0; i < m.table.floats; i++)
            m.params[i] *= 1.1f;
    }
    tg_arena_free(&arena);
    tg_attn_layers_close(&a.layers);
    tg_model_free(&m);
}

/* One stage of given arrays in two sequences; then with two numbers changed. */
static void archive_of_one_stage(void)
{
    const tg_dump_want want = {TG_ATTN_ALL, TG_DUMP_EVERY, true};
    const tg_dump_settings what = {.stages = TG_DUMP_BIT(TG_ATTN_PROBS), .text_size = 1};
    float x[3 * 2 * 5 * 6];
    const tg_qkv_view view = {2, 5, 6, 3, 3, 2, 18, 18, 18, x, x + 6, x + 12, {.window = 0}, TG_ATTN_BTHD};
    tg_attn_layers layers;
    tg_dump_difference d = {0};
    tg_dump dump;
    tg_err err = {0};
    FILE *f;
    static float other[2 * 3 * 25];

    check_fill(x, sizeof x / sizeof x[0], 3, 2);
    tg_attn_layers_given(&layers, &view);
    f = dump_of(&layers, &what, TG_OK, &err);
    CHECK_OK(tg_dump_read(&dump, fileno(f), want, &err), &err);
    CHECK_EQ(dump.B, 2);
    CHECK(!dump.ids && !dump.text);
    memcpy(other, dump.layer[0].data[TG_ATTN_PROBS], sizeof other);
    dump.layer[0].data[TG_ATTN_PROBS] = other;
    other[77] += 0x1p-24f;
    other[103] += 0.5f;
    tg_attn_layers_given(&layers, &view);
    CHECK_EQ(compare_all(&dump, &layers, 0, &d), 1);
    CHECK_EQ(d.count, 2);
    CHECK_EQ(d.first, 77);
    CHECK(d.dumped == (double)other[77] && d.computed == (double)(other[77] - 0x1p-24f));
    CHECK_NEAR(d.largest, 0.5, 1e-6);
    tg_attn_layers_given(&layers, &view);
    CHECK_EQ(compare_all(&dump, &layers, 1e-7, &d), 1);
    CHECK_EQ(d.count, 1);
    CHECK_EQ(d.first, 103);
    tg_dump_free(&dump);
    fclose(f);
}

/* Numbers that overflow, even if only float32, give no archive. */
static void archive_is_finite(void)
{
    const float q[] = {1e20F, 1e20F, 1, 1}, v[] = {1, 2, 3, 4};
    const tg_qkv_view view = {1, 4, 1, 1, 1, 1, 1, 1, 1, q, q, v, {.window = 0}, TG_ATTN_BTHD};
    const tg_dump_settings what = {.stages = TG_DUMP_EVERY, .text_size = 1};
    const tg_attn_filter no_layer = {1, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};
    tg_attn_layers layers;
    tg_err err = {0};

    tg_attn_layers_given(&layers, &view);
    fclose(dump_of(&layers, &what, TG_EDATA, &err));
    CHECK_HAS(err.message, "h.0.scores[0] is ");
    tg_attn_layers_given(&layers, &view);
    CHECK_EQ(tg_attn_layers_select(&layers, &no_layer, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "layer 1 is out of range: the only layer is 0");
    CHECK_EQ(layers.filter.layer, TG_ATTN_ALL); /* as it was */
}

/* Sizes whose products overflow are an error of memory. */
static void too_large(void)
{
    const float x = 1;
    const tg_qkv_view view = {1, SIZE_MAX / 64, 1, 1, 1, 1, 1, 1, 1, &x, &x, &x, {.window = 0}, TG_ATTN_BTHD};
    const tg_dump_settings what = {.stages = TG_DUMP_EVERY, .text_size = 1};
    tg_attn_layers layers;
    tg_err err = {0};

    tg_attn_layers_given(&layers, &view);
    fclose(dump_of(&layers, &what, TG_ENOMEM, &err));
}

int main(void)
{
    RUN(shapes);
    RUN(names);
    RUN(bases);
    RUN(stages_of_a_model);
    RUN(layers_are_found);
    RUN(layers_are_selected);
    RUN(archive_of_a_model);
    RUN(archives_in_the_same_memory);
    RUN(archive_of_one_stage);
    RUN(archive_is_finite);
    RUN(too_large);
    return check_done();
}
