/* lib/attn, what is dumped: layouts, a model's stages against the reference operations and
 * the fused kernel, lines, and archives. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/attn/columns.h"
#include "lib/attn/dump_check.h"
#include "lib/attn/dump_write.h"
#include "lib/attn/example.h"
#include "lib/attn/stage.h"
#include "lib/base/choice.h"
#include "lib/nn/attention.h"
#include "lib/nn/linear.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

static const tg_attn_pick all = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};

/* ---- layouts */

static void check_shape(tg_attn_stage stage, tg_attn_layout layout, const char *index, const size_t *size,
                        const size_t *stride)
{
    const tg_attn_view view = {.B = 2, .T = 3, .C = 8, .H = 4, .layout = layout};
    tg_attn_shape s;

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

    for (tg_attn_stage n = TG_ATTN_X; n < TG_ATTN_STAGE_COUNT; n++)
        CHECK(tg_choice_find(&stage, TG_ATTN_STAGES, tg_attn_stage_name(n)) && stage == n);
}

/* The strides lead to the same place as tg_attn_base(), and that is another one in each layout. */
static void bases(void)
{
    tg_attn_view a = {.B = 2, .T = 3, .C = 8, .H = 4};
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

static tg_attn_stages stages_of(tg_arena *arena, const tg_attn_layers *n)
{
    tg_attn_stages stages;
    tg_err err = {0};

    tg_attn_stages_place(arena, &stages, n->B, n->T, n->C, n->H);
    CHECK_OK(tg_arena_alloc(arena, &err), &err);
    tg_attn_stages_place(arena, &stages, n->B, n->T, n->C, n->H);
    return stages;
}

/* q, k, v are the slices of qkv, in either layout. */
static void check_slices(tg_attn_stages *stages, tg_attn_layer *layer)
{
    for (size_t layout = TG_ATTN_BTHD; layout <= TG_ATTN_BHTD; layout++) {
        layer->view.layout = (tg_attn_layout)layout;
        for (tg_attn_stage stage = TG_ATTN_Q; stage <= TG_ATTN_V; stage++) {
            tg_attn_stages_fill(stages, stage, layer, &all);
            for (size_t n = 0; n < T * C; n++) {
                const size_t t = n / C, h = n / D % H, d = n % D;
                const size_t at = layout == TG_ATTN_BTHD ? (t * H + h) * D + d : (h * T + t) * D + d;

                CHECK(stages->values[at] ==
                      (double)layer->qkv[t * 3 * C + (stage - TG_ATTN_Q) * C + h * D + d]);
            }
        }
    }
    layer->view.layout = TG_ATTN_BTHD;
}

/* x w + bias is qkv, to the rounding of the fast product. */
static void check_input(tg_attn_stages *stages, const tg_attn_layer *layer)
{
    static double x[T * C], w[C * 3 * C], bias[3 * C], qkv[T * 3 * C];

    tg_attn_stages_fill(stages, TG_ATTN_X, layer, &all);
    memcpy(x, stages->values, sizeof x);
    for (size_t i = 0; i < C * 3 * C; i++)
        w[i] = (double)layer->w_qkv[i];
    for (size_t i = 0; i < 3 * C; i++)
        bias[i] = (double)layer->b_qkv[i];
    tg_linear_forward_ref64(qkv, x, w, bias, T, C, 3 * C);
    tg_attn_stages_fill(stages, TG_ATTN_QKV, layer, &all);
    for (size_t i = 0; i < T * 3 * C; i++) {
        CHECK(stages->values[i] == (double)layer->qkv[i]);
        CHECK_NEAR(stages->values[i], qkv[i], (C + 3) * 0x1p-24 * C * 3);
    }
}

/* att and out are the reference's bit for bit, and what the fused kernel and the fast
 * product make of the same q, k and v, to their rounding. */
static void check_output(tg_attn_stages *stages, const tg_attn_layer *layer, const float *fused)
{
    static double w[C * C], bias[C], att[T * C], out[T * C];
    static float fast[T * C];
    tg_arena arena = {0};
    tg_matmul_scratch scratch;
    const tg_linear proj = {
        .w = layer->w_proj, .b = layer->b_proj, .in = C, .out = C, .scratch = &scratch,
    };
    tg_err err = {0};

    tg_attn_stages_fill(stages, TG_ATTN_ATT, layer, &all);
    memcpy(att, stages->values, sizeof att);
    for (size_t i = 0; i < C * C; i++)
        w[i] = (double)layer->w_proj[i];
    for (size_t i = 0; i < C; i++)
        bias[i] = (double)layer->b_proj[i];
    tg_linear_forward_ref64(out, att, w, bias, T, C, C);
    tg_attn_stages_fill(stages, TG_ATTN_OUT, layer, &all);
    CHECK(memcmp(stages->values, out, sizeof out) == 0);

    tg_matmul_place(&arena, &scratch);
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_matmul_place(&arena, &scratch);
    tg_linear_forward(fast, NULL, fused, &proj, T);
    CHECK_NEAR(check_distance64(fused, att, T * C), 0, 6e-8 * 20 * 10);
    CHECK_NEAR(check_distance64(fast, out, T * C), 0, 6e-8 * 20 * 10 * C);
    tg_arena_free(&arena);
}

static void stages_of_a_model(void)
{
    tg_model m;
    tg_attn_layers layers;
    tg_attn_layer layer;
    tg_attn_stages stages;
    tg_arena arena = {0}, more = {0};
    tg_attention_scratch scratch;
    tg_err err = {0};
    static float att[T * C], lse[H * T];

    small_model(&m);
    CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
    stages = stages_of(&arena, &layers);
    tg_attention_place(&more, &scratch, T, D);
    CHECK_OK(tg_arena_alloc(&more, &err), &err);
    tg_attention_place(&more, &scratch, T, D);
    while (tg_attn_layers_next(&layers, &layer)) {
        check_slices(&stages, &layer);
        check_input(&stages, &layer);
        tg_attention_forward(att, lse, layer.qkv,
                             &(tg_attention){.B = 1, .T = T, .C = C, .H = H, .scratch = &scratch});
        check_output(&stages, &layer, att);
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
    CHECK(!tg_attn_layers_find(&layers, TG_ATTN_ALL, &layer));
    tg_attn_layers_close(&layers);
    tg_model_free(&m);
}

/* ---- lines */

static char room[1 << 16];

static const char *row_text(const tg_attn_view *view, tg_attn_stage stage, tg_attn_format format,
                            tg_attn_mask mask, const tg_attn_row *row)
{
    const tg_attn_labels none = {0};
    tg_attn_columns columns;
    tg_attn_text text = {room, 0};

    tg_attn_columns_set(&columns, stage, view, 12, format, mask, &none);
    CHECK(tg_attn_columns_room(&columns, row->j_end - row->j_begin + 1) <= sizeof room);
    tg_attn_put_titles(&text, &columns);
    tg_attn_put_row(&text, &columns, row);
    CHECK(text.n <= tg_attn_columns_room(&columns, row->j_end - row->j_begin + 1));
    room[text.n] = '\0';
    return room;
}

#define CHECK_TEXT(got, want) CHECK_HAS(got, want), CHECK_EQ(strlen(got), strlen(want))

static void lines_of_scores(void)
{
    const tg_attn_view *view = &tg_attn_example_get(1)->view;
    const double scores[] = {0.7071067811865476, -0.7071067811865476, TG_MASKED};
    const double probs[] = {0.5759753, 0.1400292, 0};
    const tg_attn_row row = {view, 11, 0, 1, 1, 0, 3, scores, probs, NULL};

    CHECK_TEXT(row_text(view, TG_ATTN_EVERY, TG_ATTN_TSV, TG_ATTN_1E9, &row),
               "layer\thead\tb\ti\tj\tq_base\tk_base\toffset\tscore\tmasked\tprob\n"
               "11\t1\t0\t1\t0\t6\t2\t12\t0.707106769\t0\t0.575975299\n"
               "11\t1\t0\t1\t1\t6\t6\t13\t-0.707106769\t0\t0.140029207\n"
               "11\t1\t0\t1\t2\t6\t10\t14\t-1e+09\t1\t0\n");
    CHECK_TEXT(row_text(view, TG_ATTN_EVERY, TG_ATTN_JSONL, TG_ATTN_INF, &row),
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":0,\"q_base\":6,\"k_base\":2,\"offset\":12,"
               "\"score\":0.707106769,\"masked\":false,\"prob\":0.575975299}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":1,\"q_base\":6,\"k_base\":6,\"offset\":13,"
               "\"score\":-0.707106769,\"masked\":false,\"prob\":0.140029207}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":2,\"q_base\":6,\"k_base\":10,\"offset\":14,"
               "\"score\":null,\"masked\":true,\"prob\":0}\n");
    CHECK_TEXT(row_text(view, TG_ATTN_EVERY, TG_ATTN_TEXT, TG_ATTN_INF, &row),
               "#l h b i j q_base k_base offset        score mask       prob\n"
               "11 1 0 1 0      6      2     12   0.70710678    0 0.57597530\n"
               "11 1 0 1 1      6      6     13  -0.70710678    0 0.14002920\n"
               "11 1 0 1 2      6     10     14         -inf    1          0\n");
    CHECK_TEXT(row_text(view, TG_ATTN_SCORES, TG_ATTN_TSV, TG_ATTN_MIN, &row),
               "layer\thead\tb\ti\tj\tq_base\tk_base\toffset\tscore\tmasked\n"
               "11\t1\t0\t1\t0\t6\t2\t12\t0.707106769\t0\n"
               "11\t1\t0\t1\t1\t6\t6\t13\t-0.707106769\t0\n"
               "11\t1\t0\t1\t2\t6\t10\t14\t-3.40282347e+38\t1\n");
    CHECK_TEXT(row_text(view, TG_ATTN_PROBS, TG_ATTN_JSONL, TG_ATTN_1E9, &row),
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":0,\"offset\":12,\"prob\":0.575975299}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":1,\"offset\":13,\"prob\":0.140029207}\n"
               "{\"layer\":11,\"head\":1,\"b\":0,\"i\":1,\"j\":2,\"offset\":14,\"prob\":0}\n");
}

static void lines_of_stages(void)
{
    const tg_attn_view *view = &tg_attn_example_get(1)->view;
    const tg_attn_labels labels = {"\"T\"\0\0\"\\n\"\0\"b\"", 5, 4};
    const double values[] = {1, -0.1};
    const tg_attn_run run = {.layer = 0, .b = 0, .t = 1, .h = 1, .offset = 6, .n = 2, .values = values};
    tg_attn_columns columns;
    tg_attn_text text = {room, 0};

    tg_attn_columns_set(&columns, TG_ATTN_V, view, 1, TG_ATTN_TEXT, TG_ATTN_1E9, &labels);
    tg_attn_put_titles(&text, &columns);
    tg_attn_put_run(&text, &columns, &run);
    tg_attn_columns_set(&columns, TG_ATTN_X, view, 1, TG_ATTN_JSONL, TG_ATTN_1E9, &labels);
    tg_attn_put_titles(&text, &columns); /* none */
    tg_attn_put_run(&text, &columns, &run);
    room[text.n] = '\0';
    CHECK_TEXT(room, "#l h b t d offset        value token\n"
                     " 0 1 0 1 0      6   1.00000000 \"\\n\"\n"
                     " 0 1 0 1 1      7  -0.10000000 \"\\n\"\n"
                     "{\"layer\":0,\"b\":0,\"t\":1,\"c\":0,\"offset\":6,\"value\":1}\n"
                     "{\"layer\":0,\"b\":0,\"t\":1,\"c\":1,\"offset\":7,\"value\":-0.100000001}\n");
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
    tg_attn_stages stages = stages_of(&arena, layers);
    tg_attn_layer layer;
    size_t arrays = 0;

    for (size_t l = 0; l < dump->n; l++) {
        CHECK(tg_attn_layers_find(layers, dump->layer[l].number, &layer));
        for (tg_attn_stage stage = TG_ATTN_X; stage < TG_ATTN_EVERY; stage++) {
            tg_dump_difference d;

            if (!dump->layer[l].data[stage])
                continue;
            arrays++;
            tg_dump_compare(&d, dump, &dump->layer[l], stage, &layer, &stages, tolerance);
            if (d.count > 0)
                *last = d;
        }
    }
    tg_arena_free(&arena);
    return arrays;
}

static void archive_of_a_model(void)
{
    const tg_dump_want want = {TG_ATTN_ALL, TG_DUMP_EVERY};
    tg_dump_settings what = {
        .stage = TG_ATTN_EVERY, .layer = TG_ATTN_ALL, .ids = ids, .text = "To be, or", .text_size = 1};
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
            CHECK(dump.text_size == 1 && memcmp(dump.text, "To be, or", T) == 0);
            CHECK(dump.layer[0].data[TG_ATTN_SCORES][1] == tg_attn_mask_value(what.mask));
            CHECK_OK(tg_attn_layers_model(&layers, &m, ids, T, &err), &err);
            layers.layout = (tg_attn_layout)layout;
            CHECK_EQ(compare_all(&dump, &layers, 0, &none), L * TG_ATTN_EVERY);
            CHECK_EQ(none.count, 0);
            tg_attn_layers_close(&layers);
            tg_dump_free(&dump);
            fclose(f);
        }
    tg_model_free(&m);
}

/* One stage of arrays as given, in two sequences; then one number is another. */
static void archive_of_one_stage(void)
{
    const tg_dump_want want = {TG_ATTN_ALL, TG_DUMP_EVERY};
    const tg_dump_settings what = {.stage = TG_ATTN_PROBS, .layer = 0, .text_size = 1};
    float x[3 * 2 * 5 * 6];
    const tg_attn_view view = {2, 5, 6, 3, 18, x, x + 6, x + 12, TG_ATTN_BTHD};
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
    CHECK(d.dumped == other[77] && d.computed == other[77] - 0x1p-24f);
    CHECK_NEAR(d.largest, 0.5, 1e-6);
    tg_attn_layers_given(&layers, &view);
    CHECK_EQ(compare_all(&dump, &layers, 1e-7, &d), 1);
    CHECK_EQ(d.count, 1);
    CHECK_EQ(d.first, 103);
    tg_dump_free(&dump);
    fclose(f);
}

/* What overflows, if only float32, is no archive. */
static void archive_is_finite(void)
{
    const float q[] = {1e20F, 1e20F, 1, 1}, v[] = {1, 2, 3, 4};
    const tg_attn_view view = {1, 4, 1, 1, 1, q, q, v, TG_ATTN_BTHD};
    const tg_dump_settings what = {.stage = TG_ATTN_EVERY, .layer = TG_ATTN_ALL, .text_size = 1};
    tg_dump_settings no_layer = what;
    tg_attn_layers layers;
    tg_err err = {0};

    tg_attn_layers_given(&layers, &view);
    fclose(dump_of(&layers, &what, TG_EDATA, &err));
    CHECK_HAS(err.message, "h.0.scores is not finite at offset 0");
    no_layer.layer = 1;
    tg_attn_layers_given(&layers, &view);
    fclose(dump_of(&layers, &no_layer, TG_EUSAGE, &err));
    CHECK_HAS(err.message, "there is only layer 0");
}

/* Sizes whose products overflow find no memory. */
static void too_large(void)
{
    const float x = 1;
    const tg_attn_view view = {1, SIZE_MAX / 64, 1, 1, 1, &x, &x, &x, TG_ATTN_BTHD};
    const tg_dump_settings what = {.stage = TG_ATTN_EVERY, .layer = TG_ATTN_ALL, .text_size = 1};
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
    RUN(lines_of_scores);
    RUN(lines_of_stages);
    RUN(archive_of_a_model);
    RUN(archive_of_one_stage);
    RUN(archive_is_finite);
    RUN(too_large);
    return check_done();
}
