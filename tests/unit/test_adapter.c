/* Adapters: their gradients, what they change, and how their targets are named. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/threads.h"
#include "lib/gpt/adapter.h"
#include "lib/gpt/presets.h"
#include "lib/base/convert.h"
#include "lib/nn/low_rank.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"

/* ---- gradients, against the reference in double precision */

struct operands {
    size_t N, C, OC, R;
    double *x[6]; /* inp, dout, a, b, da, db */
    float *f[6];
};

static void fill(struct operands *o)
{
    const size_t sizes[] = {o->N * o->C, o->N * o->OC, o->R * o->C, o->OC * o->R, o->R * o->C, o->OC * o->R};

    for (size_t i = 0; i < 6; i++) {
        o->x[i] = malloc(sizes[i] * sizeof(double));
        o->f[i] = malloc(sizes[i] * sizeof(float));
        if (!o->x[i] || !o->f[i])
            abort();
        check_fill(o->f[i], sizes[i], i + 1, 1);
        for (size_t e = 0; e < sizes[i]; e++)
            o->x[i][e] = (double)o->f[i][e];
    }
}

/* A [N,cols] in bf16, which also become x's values; the caller frees it. */
static tg_bf16 *round_rows(float *f, double *x, size_t n)
{
    tg_bf16 *halves = malloc(n * sizeof *halves);

    (void)tg_round_to_bf16(halves, f, n);
    for (size_t e = 0; e < n; e++)
        x[e] = (double)(f[e] = tg_float_from_bf16(halves[e]));
    return halves;
}

static void check_gradients(size_t N, size_t C, size_t OC, size_t R, bool overwrite, tg_precision precision)
{
    struct operands o = {.N = N, .C = C, .OC = OC, .R = R};
    const float scale = 0.75f;
    float *work = malloc(N * R * sizeof *work);
    tg_arena arena = {0};
    tg_matmul_scratch scratch;

    fill(&o);
    const bool rounds = precision == TG_PRECISION_BF16;
    tg_bf16 *inp = rounds ? round_rows(o.f[0], o.x[0], N * C) : NULL;
    tg_bf16 *dout = rounds ? round_rows(o.f[1], o.x[1], N * OC) : NULL;
    const tg_type type = rounds ? TG_TYPE_BF16 : TG_TYPE_FLOAT;

    tg_matmul_place(&arena, &scratch);
    CHECK_OK(tg_arena_alloc(&arena, NULL), NULL);
    tg_matmul_place(&arena, &scratch);
    scratch.precision = precision;
    for (size_t i = 4; i < 6; i++)
        for (size_t e = 0; e < (i == 4 ? R * C : OC * R) && overwrite; e++)
            o.x[i][e] = 0, o.f[i][e] = nanf("");
    tg_low_rank_backward_ref64(o.x[4], o.x[5], o.x[1], o.x[0], o.x[2], o.x[3], (double)scale, N, C, OC, R);
    tg_low_rank_backward(
        &(tg_low_rank){
            .a = o.f[2], .b = o.f[3], .da = o.f[4], .db = o.f[5], .scale = scale, .R = R, .work = work},
        tg_matrix_of(rounds ? (void *)dout : o.f[1], type, OC),
        tg_matrix_of(rounds ? (void *)inp : o.f[0], type, C), overwrite, &scratch, N);
    /* sums of N * OC and of N * C products of numbers below 1, in float32; in bf16 A, B and what is between
     * the two products are rounded, by independent errors */
    CHECK_NEAR(check_distance64(o.f[4], o.x[4], R * C), 0,
               rounds ? 0x1p-8 * sqrt((double)(N * OC)) : 0x1p-23 * (double)(N + OC));
    CHECK_NEAR(check_distance64(o.f[5], o.x[5], OC * R), 0,
               rounds ? 0x1p-8 * sqrt((double)(N * C)) : 0x1p-23 * (double)(N + C));
    free(inp);
    free(dout);
    for (size_t i = 0; i < 6; i++) {
        free(o.x[i]);
        free(o.f[i]);
    }
    free(work);
    tg_arena_free(&arena);
}

static void test_gradients(void)
{
    for (tg_precision p = TG_PRECISION_FLOAT32; p <= TG_PRECISION_BF16; p++) {
        check_gradients(1, 1, 1, 1, true, p);
        check_gradients(7, 33, 20, 3, true, p);
        check_gradients(7, 33, 20, 3, false, p);
        check_gradients(130, 70, 65, 16, true, p);
        check_gradients(19, 12, 40, 64, false, p);
    }
}

/* ---- what is changed */

static tg_config small(const char *preset)
{
    size_t number = 0;
    tg_config config;

    CHECK(tg_choice_find(&number, tg_config_presets(), preset));
    config = tg_config_preset(number);
    config.vocab_size = 64;
    return config;
}

/* W' of a matrix, element [o,i], as the definition says. */
static double changed(const tg_adapter *a, const tg_param *p, const float *w, size_t o, size_t i)
{
    const tg_param *pa = tg_adapter_of(a, p->kind, p->layer), *pb = pa + 1;
    const size_t in = pa->shape[1], R = a->shape.rank;
    double sum = 0;

    for (size_t r = 0; r < R; r++)
        sum += (double)a->params[pb->offset + o * R + r] * (double)a->params[pa->offset + r * in + i];
    return (double)(p->transposed ? w[o * in + i] : w[i * pb->shape[0] + o]) +
           a->weight * tg_adapter_scale(&a->shape) * sum;
}

static void check_change(const tg_adapter *a, const tg_param *p, bool turned)
{
    const size_t in = p->shape[p->transposed], out = p->shape[!p->transposed];
    const bool by_outputs = p->transposed != turned;
    float *w = malloc(p->count * sizeof *w), *got = malloc(p->count * sizeof *got);
    double worst = 0;

    if (!w || !got)
        abort();
    check_fill(w, p->count, 9, 1);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            got[by_outputs ? o * in + i : i * out + o] = p->transposed ? w[o * in + i] : w[i * out + o];
    a->apply(a, got, p, turned);
    for (size_t o = 0; o < out; o++)
        for (size_t i = 0; i < in; i++)
            worst = fmax(worst,
                         fabs((double)got[by_outputs ? o * in + i : i * out + o] - changed(a, p, w, o, i)));
    CHECK_NEAR(worst, 0, 1e-5);
    free(w);
    free(got);
}

static void check_changes(const char *preset, const char *list, size_t targets)
{
    const tg_config config = small(preset);
    tg_adapter_shape shape = {.rank = 5, .alpha = 3, .rank_stabilized = true};
    tg_params table;
    tg_adapter a;
    tg_err err;

    CHECK_OK(tg_params_build(&table, &config, &err), &err);
    CHECK_OK(tg_adapter_find_targets(&shape.targets, &table, list, &err), &err);
    CHECK_OK(tg_adapter_create(&a, &table, &shape, &err), &err);
    CHECK_EQ(a.table.n, 2 * targets * config.n_layer);
    CHECK_NEAR(tg_adapter_scale(&a.shape), 3 / sqrt(5.0), 1e-15);
    check_fill(a.params, a.table.floats, 3, 1);
    a.weight = 0.5;
    for (size_t i = 0; i < table.n; i++) {
        if (!tg_adapter_of(&a, table.entry[i].kind, table.entry[i].layer))
            continue;
        check_change(&a, &table.entry[i], false);
        check_change(&a, &table.entry[i], true);
    }
    tg_adapter_free(&a);
    tg_params_free(&table);
}

static void test_changes(void)
{
    check_changes("baby", "attn.c_attn,c_fc", 2);
    check_changes("baby", "c_proj", 2);
    check_changes("baby-llama", "q_proj,self_attn.v_proj,down_proj", 3);
}

static void test_new(void)
{
    const tg_config config = small("baby-llama");
    tg_params table;
    tg_adapter a;
    tg_err err;
    double sum = 0;
    const tg_param *p;

    CHECK_OK(tg_params_build(&table, &config, &err), &err);
    CHECK_OK(tg_adapter_create(&a, &table, &(tg_adapter_shape){8, 16, false, tg_adapter_all_targets(&table)},
                               &err),
             &err);
    tg_adapter_init(&a, 1);
    CHECK_NEAR(tg_adapter_scale(&a.shape), 2, 0);
    p = tg_adapter_of(&a, TG_FC_PROJ_W, 1);
    if (!p)
        abort();
    CHECK(strcmp(p[0].name, "model.layers.1.mlp.down_proj.lora_A.weight") == 0);
    CHECK(strcmp(p[1].name, "model.layers.1.mlp.down_proj.lora_B.weight") == 0);
    for (size_t e = 0; e < p[0].count; e++)
        sum += (double)a.params[p[0].offset + e] * (double)a.params[p[0].offset + e];
    CHECK_NEAR(sqrt(sum / (double)p[0].count) * sqrt(3 * (double)p[0].shape[1]), 1, 0.1);
    for (size_t e = 0; e < p[1].count; e++)
        CHECK(a.params[p[1].offset + e] == 0);
    CHECK(!tg_adapter_of(&a, TG_WTE, 0) && !tg_adapter_of(&a, TG_LN1_W, 0));
    tg_adapter_free(&a);
    tg_params_free(&table);
}

/* ---- what cannot be */

static void test_refused(void)
{
    const tg_config config = small("baby-llama");
    uint64_t targets;
    tg_params table;
    tg_adapter a;
    tg_err err;
    char names[TG_ADAPTER_TARGETS_SIZE];

    CHECK_OK(tg_params_build(&table, &config, &err), &err);
    CHECK_EQ(tg_adapter_find_targets(&targets, &table, "q_proj,w_proj", &err), TG_EUSAGE);
    CHECK_HAS(err.message, "no matrix \"w_proj\", but self_attn.q_proj,self_attn.k_proj,");
    CHECK_EQ(tg_adapter_find_targets(&targets, &table, "proj", &err), TG_EUSAGE);
    CHECK_EQ(tg_adapter_find_targets(&targets, &table, "q_proj,", &err), TG_EUSAGE);
    CHECK_EQ(tg_adapter_find_targets(&targets, &table, "", &err), TG_EUSAGE);
    CHECK_EQ(tg_adapter_create(&a, &table, &(tg_adapter_shape){0, 1, false, 1ull << TG_Q_W}, &err),
             TG_EUSAGE);
    CHECK_EQ(tg_adapter_create(&a, &table, &(tg_adapter_shape){4, 1, false, 1ull << TG_WTE}, &err),
             TG_EUSAGE);
    CHECK_EQ(tg_adapter_create(&a, &table, &(tg_adapter_shape){4, 1, false, 0}, &err), TG_EUSAGE);
    CHECK_OK(tg_adapter_find_targets(&targets, &table, "mlp.up_proj,k_proj", &err), &err);
    CHECK(strcmp(tg_adapter_target_names(names, &table, targets), "self_attn.k_proj,mlp.up_proj") == 0);
    tg_params_free(&table);
}

static void tests(void)
{
    for (size_t threads = 1; threads <= 3; threads += 2) {
        tg_threads_set(threads);
        RUN(test_gradients);
        RUN(test_changes);
    }
    RUN(test_new);
    RUN(test_refused);
}

int main(int argc, char **argv)
{
    return check_each_isa(argc, argv, tests);
}
