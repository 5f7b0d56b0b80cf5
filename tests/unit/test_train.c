/* Training: the order of windows, the schedule, and runs that stop and go on. */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/convert.h"
#include "lib/base/rng.h"
#include "lib/base/threads.h"
#include "lib/gpt/family.h"
#include "lib/kernels/kernels.h"
#include "lib/text/bare_ids.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/train/plan.h"
#include "lib/train/recipe.h"
#include "lib/train/trainer.h"
#include "tests/unit/byte_stream.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"
#include "tests/unit/thread_team.h"

static tg_tokens stream;

/* ---- random numbers */

/* The published known answers of Philox4x32-10 (Random123). */
static void philox_known_answers(void)
{
    static const struct {
        uint32_t counter[4], key[2], want[4];
    } known[] = {
        {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         {0xffffffff, 0xffffffff},
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         {0xa4093822, 0x299f31d0},
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };

    for (size_t i = 0; i < 3; i++) {
        uint32_t out[4];

        tg_philox4x32(out, known[i].counter, known[i].key);
        CHECK(memcmp(out, known[i].want, sizeof out) == 0);
    }
}

static void permutation_hits_every_item_once(void)
{
    static const uint64_t sizes[] = {1, 2, 3, 15, 16, 17, 1000};
    unsigned char hit[1000];

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; s++) {
        const tg_rng rng = {.seed = 3, .purpose = TG_RNG_SHUFFLE, .step = s};
        size_t moved = 0;

        memset(hit, 0, sizeof hit);
        for (uint64_t i = 0; i < sizes[s]; i++) {
            uint64_t p = tg_rng_permute(&rng, sizes[s], i);

            CHECK(p < sizes[s] && !hit[p]);
            hit[p] = 1;
            moved += p != i;
        }
        CHECK(sizes[s] < 1000 || moved > 950);
    }
}

/* ---- batches */

/* Each token marked by its place. */
static tg_tokens marked_tokens(size_t n)
{
    tg_tokens marked = {.count = n, .width = 4, .data = malloc(4 * n)};

    for (uint32_t i = 0; i < n; i++)
        memcpy(marked.data + 4 * i, &i, 4);
    return marked;
}

static void an_epoch_uses_every_window_once(void)
{
    enum { T = 7 };
    int32_t ids[T], targets[T];
    tg_batches b;
    size_t used[BYTE_STREAM] = {0};
    tg_err err;
    size_t total = 0;

    CHECK_OK(tg_batches_init(&b, &stream, 1, T, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK_EQ(b.train_tokens, 4500);
    CHECK_EQ(b.val_tokens, 500);
    /* mark each position by a value of its own, so that a window tells where it lay */
    tg_tokens marked = marked_tokens(BYTE_STREAM);
    b.tokens = b.val = &marked;
    for (size_t w = 0; w < b.windows; w++) {
        tg_batches_train(&b, &(tg_windows){ids, targets, NULL}, w, 1);
        for (size_t t = 0; t < T; t++) {
            CHECK_EQ(targets[t], ids[t] + 1);
            CHECK((size_t)targets[t] < b.train_tokens);
            used[ids[t]]++;
            total++;
        }
    }
    for (size_t i = 0; i < BYTE_STREAM; i++)
        CHECK(used[i] <= 1);
    CHECK(total > b.train_tokens - 3 * T);

    tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, 0, 1, b.val_windows);
    CHECK_EQ(ids[0], 4500);
    tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, b.val_windows - 1, 1, b.val_windows);
    CHECK((size_t)targets[T - 1] < BYTE_STREAM);
    free(marked.data);
}

/* Of 5,003 tokens in 7 blocks of 714, each has 142 at its end that are held out, the last one 5 more. */
static void held_out_in_blocks(void)
{
    enum { T = 7, N = 5003, BLOCKS = 7, BLOCK = 714, TRAIN = BLOCK - 142 };
    int32_t ids[T], targets[T];
    tg_tokens marked = marked_tokens(N);
    size_t used[N] = {0}, total = 0;
    tg_batches b;
    tg_err err;

    CHECK_OK(tg_batches_init(&b, &marked, 1, T, true, (tg_held_out){0.2, BLOCKS, NULL}, &err), &err);
    CHECK_EQ(b.train_tokens, BLOCKS * TRAIN);
    CHECK_EQ(b.val_tokens, N - BLOCKS * TRAIN);
    for (size_t w = 0; w < b.windows; w++) {
        tg_batches_train(&b, &(tg_windows){ids, targets, NULL}, w, 1);
        CHECK(ids[0] % BLOCK + T < TRAIN && ids[0] / BLOCK < BLOCKS);
        for (size_t t = 0; t < T; t++, total++)
            used[ids[t]]++;
        CHECK_EQ(targets[T - 1], ids[0] + T);
    }
    for (size_t w = 0; w < b.val_windows; w++) {
        tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, w, 1, b.val_windows);
        CHECK(ids[0] % BLOCK >= TRAIN && ids[0] % BLOCK + T < BLOCK);
        for (size_t t = 0; t < T; t++, total++)
            used[ids[t]]++;
    }
    for (size_t i = 0; i < N; i++)
        CHECK(used[i] <= 1);
    CHECK(total > N - BLOCKS * 4 * T);
    CHECK_EQ(tg_batches_probe(&b, ids, T), T);
    CHECK_EQ(ids[0], TRAIN);
    /* another epoch shifts each block by itself */
    size_t shifted = 0;
    for (size_t w = b.windows; w < 2 * b.windows; w++) {
        tg_batches_train(&b, &(tg_windows){ids, targets, NULL}, w, 1);
        CHECK(ids[0] % BLOCK + T < TRAIN);
        shifted |= (size_t)1 << ids[0] % BLOCK % T;
    }
    CHECK((shifted & (shifted - 1)) != 0);
    /* too many of them */
    CHECK_OK(tg_batches_init(&b, &marked, 1, T, true, (tg_held_out){0.2, N, NULL}, &err), &err);
    CHECK(b.val_tokens == 0 && b.val_windows == 0 && b.train_tokens == N && b.blocks == 1);
    free(marked.data);
}

static void a_text_of_its_own_is_held_out(void)
{
    enum { T = 7 };
    int32_t ids[T], targets[T];
    tg_tokens marked = marked_tokens(2 * T + 1), short_one = marked;
    tg_batches b, whole;
    tg_err err;

    CHECK_OK(tg_batches_init(&whole, &stream, 1, T, true, (tg_held_out){0, 1, NULL}, &err), &err);
    CHECK_OK(tg_batches_init(&b, &stream, 1, T, true, (tg_held_out){0.1, 3, &marked}, &err), &err);
    CHECK(b.train_tokens == BYTE_STREAM && b.windows == whole.windows && b.blocks == 1);
    CHECK(b.val_tokens == marked.count && b.val_windows == 2);
    tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, 1, 1, 2);
    CHECK(ids[0] == T && targets[T - 1] == 2 * T);
    CHECK_EQ(tg_batches_probe(&b, ids, T), T);
    CHECK_EQ(ids[1], 1);
    short_one.count = T;
    CHECK_EQ(tg_batches_init(&b, &stream, 1, T, true, (tg_held_out){0.1, 1, &short_one}, &err), TG_EDATA);
    CHECK_HAS(err.message, "the validation text has 7 tokens");
    free(marked.data);
}

static void texts_at_the_limit(void)
{
    tg_tokens some = stream;
    tg_batches b;
    tg_err err;
    int32_t ids[64], targets[64];

    some.count = 64;
    CHECK_EQ(tg_batches_init(&b, &some, 1, 64, true, (tg_held_out){0.1, 1, NULL}, &err), TG_EDATA);
    CHECK_HAS(err.message, "64 tokens");
    CHECK_HAS(err.message, "needs 65");
    some.count = 65;
    CHECK_OK(tg_batches_init(&b, &some, 1, 64, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK_EQ(b.windows, 1);
    CHECK_EQ(b.val_tokens, 0);
    for (uint64_t w = 0; w < 3; w++)
        tg_batches_train(&b, &(tg_windows){ids, targets, NULL}, w, 1);
    CHECK_EQ(targets[63], stream.data[64]);
}

/* The validation part is used when both parts hold a window, and only then. */
static void parts_shorter_than_a_window(void)
{
    const struct {
        double fraction;
        size_t val;
    } known[] = {{0.16, 0}, {0.17, 17}, {0.5, 50}, {0.83, 83}, {0.84, 0}, {0.9, 0}};
    tg_tokens some = stream;
    tg_batches b;
    tg_err err;
    int32_t probe[32];

    some.count = 100;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++) {
        CHECK_OK(tg_batches_init(&b, &some, 1, 16, true, (tg_held_out){known[i].fraction, 1, NULL}, &err),
                 &err);
        CHECK_EQ(b.val_tokens, known[i].val);
        CHECK_EQ(b.train_tokens, 100 - known[i].val);
        CHECK_EQ(b.val_windows > 0, known[i].val > 0);
        /* the probe is the beginning of the validation part, or else of the text */
        CHECK_EQ(tg_batches_probe(&b, probe, 32), known[i].val == 17 ? 17 : 32);
        CHECK_EQ(probe[16], stream.data[(known[i].val > 0 ? b.train_tokens : 0) + 16]);
        CHECK_EQ(tg_batches_probe(&b, probe, 1), 1);
    }
}

static void schedule(void)
{
    tg_settings s = tg_settings_default();

    s.steps = 1000;
    s.lr = 1e-3;
    s.min_lr = 1e-4;
    CHECK_NEAR(tg_settings_lr(&s, 0), 1e-3 / 101, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 99), 1e-3 * 100 / 101, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 100), 1e-3, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 550), (1e-3 + 1e-4) / 2, 1e-12);
    CHECK(tg_settings_lr(&s, 999) >= 1e-4 && tg_settings_lr(&s, 999) < 1.01e-4);
    CHECK_NEAR(tg_settings_lr(&s, 1000), 1e-4, 1e-12);
    s.warmup = 2000; /* longer than the run: it just never ends */
    CHECK(tg_settings_lr(&s, 999) < s.lr);
}

static void decay(void)
{
    tg_settings s = tg_settings_default();

    s.steps = 100;
    s.warmup = 9;
    s.decay = 20;
    s.lr = 1e-3;
    s.min_lr = 1e-4;
    CHECK_NEAR(tg_settings_lr(&s, 0), 1e-4, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 9), 1e-3, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 80), 1e-3, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 90), 5.5e-4, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 99), 1e-4 + 9e-4 / 20, 1e-12);
    CHECK_NEAR(tg_settings_lr(&s, 100), 1e-4, 1e-12);
    s.decay = 100; /* within the warm-up too */
    CHECK_NEAR(tg_settings_lr(&s, 4), 0.5 * (1e-4 + 0.96 * 9e-4), 1e-12);
}

/* A plan's steps are an estimate until as many are left as decay; of the same speed, all of it is exact. */
static void plan(void)
{
    tg_run run = {.settings = tg_settings_default()};

    run.settings.steps = 2000;
    tg_plan_open(&run, 1);
    CHECK(tg_plan_is_open(&run));
    for (run.step = 1; tg_plan_is_open(&run) && run.step < 100; run.step++) {
        tg_plan_update(&run, 60 - 0.6 * (double)run.step, 0.6, 0);
        CHECK(run.settings.steps >= 99 && run.settings.steps <= 100);
        CHECK(run.settings.steps > run.step);
        CHECK(run.step + run.settings.decay <= run.settings.steps);
    }
    CHECK(run.step >= 60 && run.step <= 62);
    CHECK(run.minutes == 0 && run.seconds == 0);
    tg_plan_open(&run, 1); /* no time is left: one step more */
    tg_plan_update(&run, -5, 0.6, 0);
    CHECK(!tg_plan_is_open(&run));
    CHECK_EQ(run.settings.steps, run.step + 1);
    CHECK_EQ(run.settings.decay, 1);
    tg_plan_open(&run, 1e6); /* more steps than a run may have */
    tg_plan_update(&run, 6e7, 1e-9, 0);
    CHECK(run.settings.steps * run.settings.batch < TG_RUN_LIMIT);
}

/* ---- settings */

static void check_setting(tg_settings s, const char *why)
{
    tg_err err = {0};

    CHECK_EQ(tg_settings_check(&s, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
}

static tg_settings with(const tg_field *f, double x)
{
    tg_settings s = tg_settings_default();

    if (f->type == TG_FIELD_SIZE)
        *(size_t *)tg_field_member(f, &s) = (size_t)x;
    else
        *(double *)tg_field_member(f, &s) = x;
    return s;
}

static void settings_are_checked(void)
{
    tg_settings s = tg_settings_default();
    tg_err err = {0};

    CHECK_OK(tg_settings_check(&s, &err), &err);
    for (size_t i = 0; i < TG_SETTINGS; i++) {
        const tg_field *f = &tg_settings_fields.row[i];

        if (f->type != TG_FIELD_SIZE && f->type != TG_FIELD_REAL)
            continue;
        s = with(f, f->min);
        CHECK_OK(tg_settings_check(&s, &err), &err);
        check_setting(with(f, f->max * 1.5), f->name);
        if (f->type == TG_FIELD_SIZE && f->min > 0)
            check_setting(with(f, f->min - 1), f->name);
        if (f->type == TG_FIELD_REAL) {
            check_setting(with(f, -1e-9), f->name);
            check_setting(with(f, (double)NAN), f->name);
        }
    }
    s = tg_settings_default();
    s.precision = TG_PRECISION_BF16;
    CHECK_OK(tg_settings_check(&s, &err), &err);
    s.precision = (tg_precision)2;
    check_setting(s, "train/precision is number 2, expected one of float32|bf16");
    /* 2^40 sequences are one too many */
    s = tg_settings_default();
    s.steps = (size_t)1 << 20;
    s.batch = s.accumulate = (size_t)1 << 10;
    check_setting(s,
                  "1048576 steps of 1024 passes of 1024 sequences, expected a product below 1099511627776");
    s.steps--;
    CHECK_OK(tg_settings_check(&s, &err), &err);
}

/* ---- runs */

static void resume_deep(const tg_config *c, bool fits, const char *message)
{
    const bool given[TG_SETTINGS] = {false};
    const tg_settings asked = tg_settings_default();
    tg_run run = {0};
    tg_model m;
    size_t steps;
    tg_err err = {0};

    small_model_create(&m, *c, 1);
    CHECK_OK(tg_run_begin(&run, &m, &err), &err);
    if (fits) {
        CHECK_OK(tg_run_resume(&run, 100, &asked, given, &steps, &err), &err);
        CHECK_OK(tg_run_write(&run, memfd_create("run", MFD_CLOEXEC), &err), &err);
    } else {
        CHECK_EQ(tg_run_resume(&run, 100, &asked, given, &steps, &err), TG_EUSAGE);
        CHECK_HAS(err.message, message);
    }
    tg_run_free(&run);
}

/* A run whose archive would have too many arrays is refused before its first step. */
static void many_layers(void)
{
    tg_config c = {.n_head = 1,
                   .n_embd = 2,
                   .n_ctx = 16,
                   .vocab_size = 256,
                   .n_kv_head = 1,
                   .head_dim = 2,
                   .n_inner = 2,
                   .layer_norm_epsilon = 1e-5,
                   .activation = TG_SILU,
                   .rope_theta = 100,
                   .qkv_bias = true,
                   .out_bias = true,
                   .mlp_bias = true};

    c = small_family_config("llama", c);
    c.n_layer = 83; /* of 16 tensors */
    resume_deep(&c, true, NULL);
    c.n_layer = 84;
    resume_deep(&c, false, "84 layers of 16 tensors cannot be trained");
    c.mlp_bias = false;
    c.n_layer = 102; /* of 13 */
    resume_deep(&c, true, NULL);
    c.n_layer = 103; /* with every optional array, one more than an archive holds */
    resume_deep(&c, false, "103 layers of 13 tensors cannot be trained");
}

static void begin(tg_run *run)
{
    tg_model m;
    tg_err err;

    memset(run, 0, sizeof *run);
    small_model_create(&m, small_config(2, 4, 32, 16), 1);
    CHECK_OK(tg_run_begin(run, &m, &err), &err);
    run->settings.steps = 12;
    run->settings.batch = 3;
    run->settings.context = 16;
    run->settings.accumulate = 2;
    run->settings.dropout = 0.1;
    run->settings.warmup = 2;
}

static void train_to(tg_run *run, size_t step)
{
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;

    CHECK_OK(tg_batches_init(&b, &stream, run->settings.seed, run->settings.context, true,
                             (tg_held_out){0.1, 1, NULL}, &err),
             &err);
    CHECK_OK(tg_trainer_open(&t, run, &b, &tg_team_alone, &err), &err);
    while (run->step < step)
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    tg_trainer_close(&t);
}

/* The archive of a run, in memory. */
static char *archive_of(const tg_run *run, size_t *size)
{
    int fd = memfd_create("run", 0);
    char *bytes;
    tg_err err;

    CHECK_OK(tg_run_write(run, fd, &err), &err);
    *size = (size_t)lseek(fd, 0, SEEK_END);
    bytes = malloc(*size);
    CHECK(pread(fd, bytes, *size, 0) == (ssize_t)*size);
    close(fd);
    return bytes;
}

static tg_run save_and_read(tg_run *run)
{
    tg_run again;
    int fd = memfd_create("run", 0);
    tg_err err;

    CHECK_OK(tg_run_write(run, fd, &err), &err);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_run_read(&again, fd, &err), &err);
    close(fd);
    tg_run_free(run);
    return again;
}

/* What has not been trained yet, with the context left to the model. */
static void a_fresh_run_is_read_again(void)
{
    static const bool none[TG_SETTINGS];
    tg_run run;
    size_t steps;
    tg_err err = {0};

    begin(&run);
    run.settings = tg_settings_default();
    CHECK_EQ(run.settings.context, 0);
    run = save_and_read(&run);
    CHECK_EQ(run.step, 0);
    CHECK_EQ(run.settings.context, 0);
    CHECK_OK(tg_run_resume(&run, 0, &run.settings, none, &steps, &err), &err);
    CHECK_EQ(run.settings.context, 16);
    run = save_and_read(&run);
    CHECK_EQ(run.settings.context, 16);
    run.settings.context = 17;
    CHECK_EQ(tg_run_resume(&run, 0, &run.settings, none, &steps, &err), TG_EDATA);
    CHECK_HAS(err.message, "context 17 exceeds the model's 16");
    tg_run_free(&run);
}

/* A run that is written although it should not be is refused when it is read. */
static void check_not_read(const tg_run *run, const char *why)
{
    tg_run again;
    int fd = memfd_create("run", 0);
    tg_err err = {0};

    CHECK_OK(tg_run_write(run, fd, &err), &err);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_EQ(tg_run_read(&again, fd, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    close(fd);
}

/* Keep the parameters and moments of a run that has not begun in this type. */
static void keep_type(tg_run *run, tg_precision master)
{
    tg_settings asked = run->settings;
    bool given[TG_SETTINGS];
    size_t steps;
    tg_err err = {0};

    asked.master = master;
    for (size_t i = 0; i < TG_SETTINGS; i++)
        given[i] = i != TG_SET_MOMENTUM;
    CHECK_OK(tg_run_resume(run, 0, &asked, given, &steps, &err), &err);
    CHECK_OK(tg_run_prepare(run, &err), &err);
    CHECK_OK(tg_run_prepare(run, &err), &err); /* does nothing */
    CHECK((run->model.halves != NULL) == (master == TG_PRECISION_BF16));
    CHECK((run->moments.v.halves != NULL) == (master == TG_PRECISION_BF16));
}

static void states_that_cannot_be_are_refused(void)
{
    tg_run run;

    begin(&run);
    run.step = TG_RUN_LIMIT;
    check_not_read(&run, "train/step must be between 0 and 1099511627775, got 1099511627776");
    run.step = 0;
    run.moments.v.floats[3] = -1e-30f;
    check_not_read(&run, "opt/v/wte.weight[3] is -1e-30: it must not be negative");
    run.moments.v.floats[3] = 0;
    run.settings.context = 17;
    check_not_read(&run, "context 17");
    run.settings.context = 16;
    run.settings.steps = (size_t)1e12;
    run.settings.batch = 2;
    check_not_read(&run, "expected a product below");
    tg_run_free(&run);
}

static void states_in_bf16_that_cannot_be_are_refused(void)
{
    tg_run run;
    tg_err err = {0};

    begin(&run);
    keep_type(&run, TG_PRECISION_BF16);
    run.moments.v.halves[3] = 0x8000 | 0x3F80;
    check_not_read(&run, "opt/v/wte.weight[3] is -1: it must be finite, and not negative");
    run.moments.v.halves[3] = 0;
    run.moments.m.halves[3] = 0x7F80;
    CHECK_EQ(tg_run_write(&run, -1, &err), TG_EDATA);
    CHECK_HAS(err.message, "opt/m/wte.weight[3] is inf");
    run.moments.m.halves[3] = 0;
    run.settings.optimizer = TG_OPTIMIZER_MUON;
    check_not_read(&run, "train/master is bf16, which is for whole models and optimizer adamw");
    tg_run_free(&run);
    /* beyond what bf16 has */
    begin(&run);
    run.model.params[5] = 3.4e38F;
    run.settings.master = TG_PRECISION_BF16;
    CHECK_EQ(tg_run_prepare(&run, &err), TG_EDATA);
    CHECK_HAS(err.message, "wte.weight[5] is 3.4e+38: bf16 has no such finite number");
    tg_run_free(&run);
}

/* A run that has not begun may be written, and be continued with the other type. */
static void a_run_that_has_not_begun_may_change_its_type(void)
{
    tg_run run, again;
    tg_err err;
    FILE *file = tmpfile();

    begin(&run);
    keep_type(&run, TG_PRECISION_BF16);
    CHECK_OK(tg_run_write(&run, fileno(file), &err), &err);
    CHECK(lseek(fileno(file), 0, SEEK_SET) == 0);
    CHECK_OK(tg_run_read(&again, fileno(file), &err), &err);
    CHECK(again.moments.m.halves && !again.model.halves);
    keep_type(&again, TG_PRECISION_FLOAT32);
    train_to(&again, 2);
    CHECK_EQ(again.step, 2);
    tg_run_free(&again);
    tg_run_free(&run);
    fclose(file);
}

static void moments_that_are_not_finite_are_not_written(void)
{
    tg_run run;
    float *places[3];
    static const char *const why[] = {"h.1.ln_1.bias[2] is inf", "opt/m/h.1.ln_1.bias[2] is inf",
                                      "opt/v/h.1.ln_1.bias[2] is inf"};
    size_t at;
    tg_err err = {0};

    begin(&run);
    at = tg_params_find(&run.model.table, "h.1.ln_1.bias")->offset + 2;
    places[0] = run.model.params + at;
    places[1] = run.moments.m.floats + at;
    places[2] = run.moments.v.floats + at;
    for (size_t i = 0; i < 3; i++) {
        *places[i] = INFINITY;
        CHECK_EQ(tg_run_write(&run, -1, &err), TG_EDATA);
        CHECK(strncmp(err.message, why[i], strlen(why[i])) == 0);
        *places[i] = 0;
    }
    tg_run_free(&run);
}

static void sizes_beyond_all_memory(void)
{
    tg_run run;
    tg_trainer t;
    tg_batches b;
    tg_err err = {0};

    begin(&run);
    CHECK_OK(tg_batches_init(&b, &stream, 0, 16, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK(tg_trainer_bytes(&run, &b, &tg_team_alone) < tg_matmul_work(tg_threads()) + (4 << 20));
    run.settings.batch = SIZE_MAX / 8;
    CHECK(tg_trainer_bytes(&run, &b, &tg_team_alone) == SIZE_MAX);
    CHECK_EQ(tg_trainer_open(&t, &run, &b, &tg_team_alone, &err), TG_ENOMEM);
    tg_run_free(&run);
}

static void stopped_anywhere_ends_the_same(void)
{
    tg_run run;
    size_t size, size2;
    char *whole, *parts;

    begin(&run);
    train_to(&run, 12);
    whole = archive_of(&run, &size);
    tg_run_free(&run);
    for (size_t stop = 0; stop <= 12; stop++) {
        begin(&run);
        train_to(&run, stop);
        run = save_and_read(&run);
        CHECK_EQ(run.step, stop);
        train_to(&run, 12);
        parts = archive_of(&run, &size2);
        CHECK(size == size2 && memcmp(whole, parts, size) == 0);
        free(parts);
        tg_run_free(&run);
    }
    free(whole);
}

static void same_bytes_at_any_thread_count(void)
{
    size_t size[5];
    char *bytes[5];

    for (size_t threads = 1; threads <= 4; threads++) {
        tg_run run;

        tg_threads_set(threads);
        begin(&run);
        train_to(&run, 6);
        bytes[threads] = archive_of(&run, &size[threads]);
        tg_run_free(&run);
        CHECK(size[threads] == size[1] && memcmp(bytes[threads], bytes[1], size[1]) == 0);
    }
    for (size_t threads = 1; threads <= 4; threads++)
        free(bytes[threads]);
}

/* ---- runs that continue */

static void min_lr_follows_lr(void)
{
    tg_settings s = tg_settings_default(), asked = s;
    bool given[TG_SETTINGS] = {0};

    asked.lr = 0.5;
    asked.min_lr = 0.25;
    asked.batch = 99;
    tg_settings_merge(&s, &asked, given);
    CHECK(s.lr == 2e-3 && s.min_lr == 2e-4 && s.batch == 12);
    given[TG_SET_LR] = true;
    tg_settings_merge(&s, &asked, given);
    CHECK(s.lr == 0.5 && s.min_lr == 0.05 && s.batch == 12);
    given[TG_SET_MIN_LR] = true;
    tg_settings_merge(&s, &asked, given);
    CHECK(s.lr == 0.5 && s.min_lr == 0.25);
    /* chosen once, it is kept */
    given[TG_SET_MIN_LR] = false;
    tg_settings_merge(&s, &asked, given);
    CHECK(s.lr == 0.5 && s.min_lr == 0.25);
    asked.lr = 0.75;
    tg_settings_merge(&s, &asked, given);
    CHECK(s.lr == 0.75 && s.min_lr == 0.25);
}

/* ---- the recipe */

static void a_new_model_is_told_from_a_trained_one(void)
{
    tg_model m;

    small_model_create(&m, small_config(2, 4, 32, 16), 1);
    CHECK(tg_recipe_origin(&m) == TG_ORIGIN_NEW);
    /* any one of its gains or biases */
    for (size_t i = 0; i < m.table.n; i++) {
        const tg_param *p = &m.table.entry[i];
        float *last = m.params + p->offset + p->count - 1, before = *last;

        *last += 0x1p-20f;
        CHECK(tg_recipe_origin(&m) == (p->std == 0 ? TG_ORIGIN_TRAINED : TG_ORIGIN_NEW));
        *last = before;
    }
    tg_model_free(&m);
}

static const bool nothing_given[TG_SETTINGS];

static void settings_follow_the_model(void)
{
    static const bool given[TG_SETTINGS] = {
        [TG_SET_STEPS] = true, [TG_SET_LR] = true, [TG_SET_WARMUP] = true, [TG_SET_PRECISION] = true};
    tg_model m = {.config = {.n_embd = 128, .n_ctx = 64}, .tokenizer = stream.tokenizer};
    tg_settings s = tg_settings_default();

    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.steps == 2000 && s.lr == 4e-3 && s.min_lr == 4e-4 && s.warmup == 100);
    CHECK((s.precision == TG_PRECISION_BF16) == tg_matmul_prefers_bf16());
    m.config.n_embd = 64; /* narrower ones have no more */
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.lr == 4e-3);
    m.config.n_embd = 768;
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_TRAINED);
    CHECK_NEAR(s.lr, 4e-3 / 6 / 20, 1e-18);
    m.config.n_embd = tg_matmul_depth() + 1;
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.precision == TG_PRECISION_FLOAT32);
    CHECK(tg_recipe_config(stream.tokenizer).n_ctx == 64 && tg_recipe_config(stream.tokenizer).n_layer == 4);
    /* what is given stays; what follows it follows */
    s = (tg_settings){.steps = 7, .lr = 0.5, .warmup = 3, .precision = TG_PRECISION_BF16};
    tg_recipe_choose(&s, given, 1, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.steps == 7 && s.lr == 0.5 && s.min_lr == 0.05 && s.warmup == 3);
    CHECK(s.precision == TG_PRECISION_BF16);
}

/* Eight times the text, in steps of 2 * 3 * 32 tokens. */
static void a_short_text_is_not_learned_by_heart(void)
{
    static const struct {
        size_t tokens, steps;
    } cases[] = {{0, 4000},         {1, 500},      {500 * 24 + 23, 500}, {501 * 24, 501},
                 {3999 * 24, 3999}, {96000, 4000}, {96024, 4000},        {SIZE_MAX / 8, 4000}};
    tg_model m = {.config = {.n_embd = 128, .n_ctx = 64}, .tokenizer = stream.tokenizer};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        tg_settings s = {.accumulate = 2, .batch = 3, .context = 32};

        tg_recipe_choose(&s, nothing_given, cases[i].tokens, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_NEW);
        CHECK_EQ(s.steps, cases[i].steps);
        CHECK_EQ(s.warmup, cases[i].steps >= 1000 ? 100 : cases[i].steps / 10);
    }
}

/* Of a text of which nothing is held out. */
static tg_config timed(const tg_tokenizer *tokenizer, double operations, size_t tokens)
{
    return tg_recipe_timed_config(&(tg_tokens){.tokenizer = tokenizer, .count = tokens},
                                  (tg_held_out){0, 1, NULL}, operations);
}

static void a_vocabulary_has_a_rate_of_its_own(void)
{
    /* time to read a text of 1,000 tokens 2.9, 3.1, 5.5, 11 and 13 times */
    static const struct {
        double operations;
        size_t width, batch;
        double lr, weight_decay, dropout;
    } reads[] = {
        {4.35e6, 128, 12, 3e-3, 0.1, 0}, {8.25e6, 128, 12, 3e-3, 0.5, 0}, {16.5e6, 128, 12, 3e-3, 1, 0},
        {4.35e6, 192, 48, 4e-3, 0.1, 0}, {4.65e6, 192, 16, 2e-3, 0.5, 0}, {8.25e6, 192, 16, 2e-3, 0.5, 0},
        {16.5e6, 192, 16, 2e-3, 1, 0.1}, {19.5e6, 128, 12, 3e-3, 1, 0.1}, {4.35e6, 320, 48, 2.4e-3, 0.1, 0},
        {16.5e6, 384, 16, 2e-3, 1, 0.1}, {16.5e6, 768, 16, 1e-3, 1, 0.1}};
    static const bool batch_given[TG_SETTINGS] = {[TG_SET_BATCH] = true};
    tg_model m = {.config = {.n_embd = 128, .n_ctx = 32}};
    tg_settings s = tg_settings_default();
    tg_config c;
    tg_err err = {0};

    CHECK_OK(tg_bare_ids_create(&m.tokenizer, 257, &err), &err);
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.lr == 3e-3);
    CHECK(tg_recipe_config(m.tokenizer).n_ctx == 32 && tg_recipe_config(m.tokenizer).n_layer == 2);
    CHECK(tg_recipe_config(m.tokenizer).vocab_size == 320);
    /* and a run of some minutes */
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){5, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.optimizer == TG_OPTIMIZER_MUON && s.batch == 24 && s.decay == s.steps * 2 / 5);
    c = timed(m.tokenizer, 0.99 * TG_RECIPE_LONG, 0);
    CHECK(c.n_layer == 2 && c.n_embd == 192 && c.n_inner == 512 && c.n_ctx == 64);
    c = timed(m.tokenizer, 0.99 * TG_RECIPE_MIDDLE, 0);
    CHECK(c.qk_norm && c.n_layer == 2 && c.n_embd == 128 && c.n_ctx == 64 && c.vocab_size == 320);
    c = timed(m.tokenizer, TG_RECIPE_LONG, 0);
    CHECK(c.qk_norm && c.n_layer == 3 && c.n_embd == 192 && c.n_ctx == 128 && c.head_dim == 32);
    CHECK(timed(stream.tokenizer, TG_RECIPE_LONG, 0).n_layer == 2); /* bytes */
    CHECK(timed(stream.tokenizer, TG_RECIPE_LARGE, 100000).n_layer == 2);
    /* 5 layers, of 6.3 million parameters, can read 420,000 tokens 6.3 times, and 460,000 5.7 times */
    c = timed(m.tokenizer, TG_RECIPE_LARGE, 420000);
    CHECK(c.n_layer == 5 && c.n_embd == 320 && c.n_inner == 864 && c.n_ctx == 512);
    CHECK(timed(m.tokenizer, TG_RECIPE_LARGE, 460000).n_layer == 3);
    CHECK(timed(m.tokenizer, 0.99 * TG_RECIPE_LARGE, 100000).n_layer == 3);
    /* 6 layers, of 10.7 million parameters, can read 390,000 tokens 6.4 times, and 430,000 5.8 times */
    c = timed(m.tokenizer, TG_RECIPE_LARGER, 390000);
    CHECK(c.n_layer == 6 && c.n_embd == 384 && c.n_inner == 1024 && c.n_ctx == 512);
    CHECK(timed(m.tokenizer, TG_RECIPE_LARGER, 430000).n_layer == 5);
    CHECK(timed(m.tokenizer, 0.99 * TG_RECIPE_LARGER, 100000).n_layer == 5);
    CHECK(timed(m.tokenizer, TG_RECIPE_LARGE, 0).n_layer == 3); /* not known */
    m.config.n_ctx = 64;
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){5, 0}, &m, TG_ORIGIN_NEW);
    CHECK(s.batch == 12 && s.dropout == 0 && s.weight_decay == 0.1);
    m.table.count = 100;
    for (size_t i = 0; i < sizeof reads / sizeof reads[0]; i++) {
        s = tg_settings_default();
        m.config.n_embd = reads[i].width;
        tg_recipe_choose(&s, nothing_given, 1000, (tg_recipe_time){5, reads[i].operations}, &m,
                         TG_ORIGIN_NEW);
        CHECK(s.batch == reads[i].batch && s.weight_decay == reads[i].weight_decay);
        CHECK(s.dropout == reads[i].dropout);
        CHECK_EQ(s.average, reads[i].weight_decay > 0.1 && s.dropout == 0 ? tg_recipe_average(s.decay) : 0);
        CHECK_NEAR(s.lr, reads[i].lr, 1e-18);
    }
    s = tg_settings_default(); /* a batch that is given keeps its rate */
    m.config.n_embd = 192;
    tg_recipe_choose(&s, batch_given, 1000, (tg_recipe_time){5, 4.35e6}, &m, TG_ORIGIN_NEW);
    CHECK(s.batch == 12);
    tg_recipe_choose(&s, nothing_given, 1000, (tg_recipe_time){5, 0}, &m, TG_ORIGIN_NEW); /* not known */
    CHECK(s.batch == 16);
    CHECK_NEAR(s.lr, 2e-3, 1e-18);
    s = tg_settings_default();
    tg_recipe_choose(&s, nothing_given, 0, (tg_recipe_time){5, 0}, &m, TG_ORIGIN_TRAINED);
    CHECK(s.optimizer == TG_OPTIMIZER_ADAMW && s.batch == 12 && s.context == 64 && s.decay > 0);
    tg_tokenizer_free(m.tokenizer);
}

/* Where a run of some minutes has long sequences at the end. */
static void a_context_grows(void)
{
    static const struct {
        size_t tokens, n_ctx;
    } texts[] = {{0, 128},          {100, 128},      {16384, 256}, {64 * 1024 - 1, 512},
                 {64 * 1024, 1024}, {SIZE_MAX, 1024}};
    static const struct {
        size_t n_ctx, width, first, batch;
    } models[] = {{128, 192, 0, 24}, {255, 192, 0, 16}, {256, 192, 64, 12}, {1024, 192, 64, 3},
                  {300, 192, 0, 16}, {256, 128, 64, 3}, {1024, 128, 64, 1}, {8192, 192, 64, 1}};
    tg_param wpe = {.kind = TG_WPE};
    static const bool first_given[TG_SETTINGS] = {[TG_SET_FIRST_CONTEXT] = true};
    const tg_recipe_time time = {5, 4.35e6}; /* a text of 1,000 tokens is read 2.9 times */
    tg_model m = {.table.count = 100};
    unsigned char mask[1];
    tg_tokens text_of = {.count = 100000}, val = {.count = 257};
    tg_settings s;
    tg_err err = {0};

    CHECK_OK(tg_bare_ids_create(&m.tokenizer, 257, &err), &err);
    text_of.tokenizer = m.tokenizer;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        CHECK_EQ(timed(m.tokenizer, TG_RECIPE_LONG, texts[i].tokens).n_ctx, texts[i].n_ctx);
    CHECK_EQ(timed(m.tokenizer, 0, SIZE_MAX).n_ctx, 256);
    CHECK_EQ(timed(m.tokenizer, 0, 1000).n_ctx, 64);
    CHECK_EQ(timed(stream.tokenizer, 0, SIZE_MAX).n_ctx, 128);
    CHECK_EQ(tg_recipe_timed_config(&text_of, (tg_held_out){0.1, 1, NULL}, TG_RECIPE_LONG).n_ctx, 1024);
    CHECK_EQ(tg_recipe_timed_config(&text_of, (tg_held_out){0.01, 1, NULL}, TG_RECIPE_LONG).n_ctx, 512);
    CHECK_EQ(tg_recipe_timed_config(&text_of, (tg_held_out){0.1, 20, NULL}, TG_RECIPE_LONG).n_ctx, 128);
    CHECK_EQ(tg_recipe_timed_config(&text_of, (tg_held_out){0, 1, &val}, TG_RECIPE_LONG).n_ctx, 256);
    text_of.mask = mask;
    CHECK_EQ(tg_recipe_timed_config(&text_of, (tg_held_out){0.1, 1, NULL}, TG_RECIPE_LONG).n_ctx, 128);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        s = tg_settings_default();
        m.config.n_ctx = models[i].n_ctx;
        m.config.n_embd = models[i].width;
        tg_recipe_choose(&s, nothing_given, 1000, time, &m, TG_ORIGIN_NEW);
        CHECK_EQ(s.first_context, models[i].first);
        CHECK_EQ(s.batch, models[i].batch);
    }
    s = tg_settings_default();
    m.table.n = 1;
    m.table.entry = &wpe;
    tg_recipe_choose(&s, nothing_given, 1000, time, &m, TG_ORIGIN_NEW);
    CHECK_EQ(s.first_context, 0);
    m.table.n = 0;
    s = tg_settings_default();
    tg_recipe_choose(&s, first_given, 1000, time, &m, TG_ORIGIN_NEW);
    CHECK_EQ(s.first_context, 0);
    s = tg_settings_default();
    tg_recipe_choose(&s, nothing_given, 1000, time, &m, TG_ORIGIN_TRAINED);
    CHECK_EQ(s.first_context, 0);
    tg_tokenizer_free(m.tokenizer);
    s = tg_settings_default();
    m.tokenizer = stream.tokenizer; /* bytes */
    tg_recipe_choose(&s, nothing_given, 1000, time, &m, TG_ORIGIN_NEW);
    CHECK_EQ(s.first_context, 0);
}

static void trained_weights_have_defaults_of_their_own(void)
{
    const tg_adapter adapter = {0};
    const tg_adapter *of[] = {NULL, &adapter};
    tg_model m = {.config = {.n_embd = 1280}, .tokenizer = stream.tokenizer};
    static const struct {
        size_t n_ctx, tokens;
        struct {
            size_t batch, steps;
        } with[2]; /* whole weights, an adapter */
    } cases[] = {{1024, 1000000, {{4, 1465}, {4, 1465}}},   {1024, 30000, {{2, 88}, {2, 88}}},
                 {1024, 9000, {{1, 53}, {1, 53}}},          {1024, 6000, {{1, 50}, {1, 50}}},
                 {1024, 3000, {{1, 30}, {1, 30}}},          {1024, 100, {{1, 1}, {1, 1}}},
                 {1024, 10000000, {{4, 2000}, {4, 14649}}}, {128, 100000, {{12, 196}, {4, 586}}},
                 {32, 10000000, {{12, 4000}, {4, 234375}}}};

    for (size_t i = 0; i < 2 * sizeof cases / sizeof cases[0]; i++) {
        const size_t c = i / 2, way = i % 2;
        tg_settings s = tg_settings_default();

        m.adapter = of[way];
        m.config.n_ctx = cases[c].n_ctx;
        tg_recipe_choose(&s, nothing_given, cases[c].tokens, (tg_recipe_time){0, 0}, &m, TG_ORIGIN_TRAINED);
        CHECK_EQ(s.batch, cases[c].with[way].batch);
        CHECK_EQ(s.steps, cases[c].with[way].steps);
        CHECK_EQ(s.context, cases[c].n_ctx < 512 ? cases[c].n_ctx : 512);
        CHECK_NEAR(s.lr, way ? 1e-3 : 2e-5, 1e-18);
        CHECK(s.weight_decay == (way ? 0 : 0.1));
    }
}

/* ---- the optimizer */

enum { ADAMW_STEPS = 8 };

/* The state of AdamW in double, for each float of a model. */
struct adamw64 {
    double *w, *m, *v;
};

/* One step of AdamW's formulas (lib/gpt/adamw.h), for element i with the clipped gradient g. */
static void adamw_in_double(const tg_adamw *o, const struct adamw64 *s, size_t i, double g, double decay,
                            double lr, int t)
{
    s->m[i] = o->beta1 * s->m[i] + (1 - o->beta1) * g;
    s->v[i] = o->beta2 * s->v[i] + (1 - o->beta2) * g * g;
    s->w[i] -=
        lr * (s->m[i] / (1 - pow(o->beta1, t)) / (sqrt(s->v[i] / (1 - pow(o->beta2, t))) + o->epsilon) +
              decay * s->w[i]);
}

/* Step t of both, with gradients that are all positive. */
static void adamw_step(const tg_adamw *o, tg_run *run, const struct adamw64 *want, float *grads, double *work,
                       int t)
{
    const tg_params *table = &run->model.table;
    const double lr = 1e-3;
    double norm;

    for (size_t i = 0; i < table->floats; i++)
        grads[i] = (float)(1.1 + check_random((uint64_t)t, i));
    norm = tg_adamw_norm(table, grads, work);
    CHECK(norm > o->clip);
    for (size_t p = 0; p < table->n; p++)
        for (size_t e = 0; e < table->entry[p].count; e++) {
            const size_t i = table->entry[p].offset + e;

            adamw_in_double(o, want, i, (double)grads[i] * (o->clip / norm),
                            table->entry[p].decay ? o->weight_decay : 0, lr, t);
        }
    tg_adamw_update(
        o, table,
        &(tg_adamw_state){tg_model_trained_values(&run->model), run->moments.m, run->moments.v, grads, 0},
        norm, lr, (uint64_t)t);
}

/*
 * Per step m and v take at most six roundings, those of beta, 1 - beta and the clipped gradient
 * included.  As all gradients have one sign, each error is relative to the result.  A weight takes
 * twice as many relative to what is added to it, about lr, and four relative to itself.
 */
static void compare_adamw(const tg_run *run, const struct adamw64 *want)
{
    const tg_params *table = &run->model.table;
    const double bound = 6 * ADAMW_STEPS * 0x1p-24;

    for (size_t p = 0; p < table->n; p++)
        for (size_t e = 0; e < table->entry[p].count; e++) {
            const size_t i = table->entry[p].offset + e;

            CHECK_NEAR((double)run->moments.m.floats[i], want->m[i], bound * want->m[i]);
            CHECK_NEAR((double)run->moments.v.floats[i], want->v[i], bound * want->v[i]);
            CHECK_NEAR((double)run->model.params[i], want->w[i],
                       ADAMW_STEPS * 2 * bound * 1e-3 + bound * fabs(want->w[i]));
        }
}

/* 1 - beta of a rounded beta would be off by 1.3e-2 at 0.999999. */
static void adamw_follows_its_formula(void)
{
    static const double betas[] = {0.9, 0.99, 0.999, 0.999999};

    for (size_t b = 0; b < sizeof betas / sizeof betas[0]; b++) {
        const tg_adamw o = {
            .beta1 = betas[b], .beta2 = betas[b], .epsilon = 1e-8, .weight_decay = 0.1, .clip = 0.5};
        tg_run run;

        begin(&run);
        const size_t n = run.model.table.floats;
        double *all = calloc(3 * n + tg_adamw_work(&run.model.table), sizeof *all);
        const struct adamw64 want = {all, all + n, all + 2 * n};
        float *grads = calloc(n, sizeof *grads);

        for (size_t i = 0; i < n; i++)
            want.w[i] = (double)run.model.params[i];
        for (int t = 1; t <= ADAMW_STEPS; t++)
            adamw_step(&o, &run, &want, grads, all + 3 * n, t);
        compare_adamw(&run, &want);
        free(grads);
        free(all);
        tg_run_free(&run);
    }
}

/* The bf16 of x is one of its two neighbours, or x. */
static void check_neighbour(tg_bf16 got, float x)
{
    const uint32_t below = tg_bits_from_float(x) & 0xFFFF0000; /* nearer to 0 */

    CHECK((uint32_t)got << 16 == below ||
          (below != tg_bits_from_float(x) && (uint32_t)got << 16 == below + 0x10000));
}

enum { ROUNDED = 4 * 16384 + 100 };

/* A step's state, of float32 or of bf16, whose values are those of bf16. */
struct rounding {
    tg_params table;
    float w[ROUNDED], m[ROUNDED], v[ROUNDED], g[ROUNDED];
    tg_bf16 w16[ROUNDED], m16[ROUNDED], v16[ROUNDED];
};

/* What all elements begin with. */
static const float begin_w = 1.5F, begin_m = -0.03125F, begin_v = 0.0078125F, gradient = 0.01F;

static void fill_rounding(struct rounding *r)
{
    for (size_t i = 0; i < ROUNDED; i++) {
        r->g[i] = gradient;
        r->w16[i] = tg_bf16_from_float(r->w[i] = begin_w);
        r->m16[i] = tg_bf16_from_float(r->m[i] = begin_m);
        r->v16[i] = tg_bf16_from_float(r->v[i] = begin_v);
    }
}

static double mean16(const tg_bf16 *x)
{
    double sum = 0;

    for (size_t i = 0; i < ROUNDED; i++)
        sum += (double)tg_float_from_bf16(x[i]);
    return sum / ROUNDED;
}

/* All results are neighbours of x, whose mean is x, within four standard deviations of so many. */
static void check_rounded(const tg_bf16 *got, float x)
{
    const double unit = (double)tg_float_from_bits((tg_bits_from_float(x) & 0x7F800000)) / 128;

    for (size_t i = 0; i < ROUNDED; i++)
        check_neighbour(got[i], x);
    CHECK_NEAR(mean16(got), (double)x, unit * 4 * 0.5 / sqrt(ROUNDED));
}

/* By which numbers: the halves of word i of the step's stream, and both without carries. */
static void check_words(const struct rounding *r, const tg_rng *rng)
{
    for (size_t i = 0; i < ROUNDED; i++) {
        uint32_t words[4];

        tg_rng_block(words, rng, i / 4);
        CHECK(r->w16[i] == tg_bf16_at_random(r->w[i], words[i % 4] & 0xFFFF));
        CHECK(r->m16[i] == tg_bf16_at_random(r->m[i], (words[i % 4] >> 16 ^ words[i % 4]) & 0xFFFF));
        CHECK(r->v16[i] == tg_bf16_at_random(r->v[i], words[i % 4] >> 16));
    }
}

static void numbers_kept_in_bf16_are_rounded_at_random(void)
{
    const tg_adamw o = {.beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8, .weight_decay = 0.1};
    struct rounding *r = calloc(1, sizeof *r);
    tg_param p = {.count = ROUNDED, .decay = true};
    tg_bf16 *whole = malloc(3 * ROUNDED * sizeof *whole);
    const tg_adamw_state floats = {{.floats = r->w}, {.floats = r->m}, {.floats = r->v}, r->g, 7};
    const tg_adamw_state halves = {{.halves = r->w16}, {.halves = r->m16}, {.halves = r->v16}, r->g, 7};

    r->table = (tg_params){.entry = &p, .n = 1, .floats = ROUNDED};
    fill_rounding(r);
    tg_adamw_update(&o, &r->table, &floats, 1, 1e-3, 3);
    tg_adamw_update(&o, &r->table, &halves, 1, 1e-3, 3);
    CHECK(r->w[0] != begin_w && r->w16[0] == tg_bf16_from_float(begin_w)); /* nearest would lose it */
    check_rounded(r->w16, r->w[0]);
    check_rounded(r->m16, r->m[0]);
    check_rounded(r->v16, r->v[0]);
    check_words(r, &(tg_rng){7, TG_RNG_ROUND, 3});
    memcpy(whole, r->w16, sizeof r->w16);
    memcpy(whole + ROUNDED, r->m16, sizeof r->m16);
    memcpy(whole + 2 * ROUNDED, r->v16, sizeof r->v16);
    /* in parts, as a team's members do it */
    fill_rounding(r);
    tg_adamw_update_part(&o, &r->table, &halves, 1, 1e-3, 3, 2 * tg_adamw_block(), ROUNDED);
    tg_adamw_update_part(&o, &r->table, &halves, 1, 1e-3, 3, 0, 2 * tg_adamw_block());
    CHECK(memcmp(whole, r->w16, sizeof r->w16) == 0 && memcmp(whole + ROUNDED, r->m16, sizeof r->m16) == 0 &&
          memcmp(whole + 2 * ROUNDED, r->v16, sizeof r->v16) == 0);
    free(whole);
    free(r);
}

/* Before anything is computed. */
static void bf16_has_a_greatest_width(void)
{
    tg_run run;
    tg_settings asked = tg_settings_default();
    const bool given[TG_SETTINGS] = {[TG_SET_PRECISION] = true};
    size_t steps;
    tg_err err = {0};

    begin(&run);
    asked.precision = TG_PRECISION_BF16;
    CHECK_OK(tg_run_resume(&run, 0, &asked, given, &steps, &err), &err);
    run.model.config.n_embd = tg_matmul_depth() + 1;
    CHECK_EQ(tg_run_resume(&run, 0, &asked, given, &steps, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "precision bf16 is for up to 9216 channels, this model has 9217");
    tg_run_free(&run);
}

static void a_complete_run_keeps_its_settings(void)
{
    tg_run run;
    tg_settings asked = tg_settings_default();
    bool given[TG_SETTINGS] = {[TG_SET_BATCH] = true};
    size_t steps;
    tg_err err = {0};

    begin(&run);
    run.step = 12;
    asked.batch = 5;
    CHECK_OK(tg_run_resume(&run, 0, &asked, given, &steps, &err), &err);
    CHECK(steps == 12 && run.settings.batch == 3);
    given[TG_SET_STEPS] = true;
    asked.steps = 11;
    CHECK_OK(tg_run_resume(&run, 0, &asked, given, &steps, &err), &err);
    CHECK(steps == 11 && run.settings.batch == 3 && run.settings.steps == 12);
    asked.steps = 13;
    CHECK_OK(tg_run_resume(&run, 0, &asked, given, &steps, &err), &err);
    CHECK(steps == 13 && run.settings.batch == 5 && run.settings.steps == 13);
    given[TG_SET_CONTEXT] = true;
    asked.context = 17;
    CHECK_EQ(tg_run_resume(&run, 0, &asked, given, &steps, &err), TG_EDATA);
    CHECK_HAS(err.message, "context 17 exceeds the model's 16");
    CHECK_EQ(run.settings.context, 16);
    tg_run_free(&run);
}

static void a_run_knows_its_text(void)
{
    tg_tokens other = stream;
    tg_run run;
    tg_batches b;
    tg_text_changes change;
    tg_err err = {0};

    begin(&run);
    CHECK_OK(tg_run_use_text(&run, &b, &stream, NULL, &change, &err), &err);
    CHECK_EQ(change.text, TG_TEXT_SAME);
    CHECK_EQ(run.text_tokens, BYTE_STREAM);
    CHECK_EQ(run.text_crc, tg_tokens_crc(&stream));
    CHECK_EQ(run.model.probe_count, 16); /* its context; from the validation part */
    for (size_t i = 0; i < 16; i++)
        CHECK_EQ(run.model.probe[i], stream.data[4500 + i]);
    other.count--;
    CHECK_OK(tg_run_use_text(&run, &b, &other, NULL, &change, &err), &err);
    CHECK_EQ(change.text, TG_TEXT_SAME); /* nothing is trained yet */
    run.step = 1;
    CHECK_OK(tg_run_use_text(&run, &b, &stream, NULL, &change, &err), &err);
    CHECK_EQ(change.text, TG_TEXT_OTHER_LENGTH);
    CHECK_OK(tg_run_use_text(&run, &b, &stream, NULL, &change, &err), &err);
    CHECK_EQ(change.text, TG_TEXT_SAME);
    run.text_crc ^= 1;
    CHECK_OK(tg_run_use_text(&run, &b, &stream, NULL, &change, &err), &err);
    CHECK_EQ(change.text, TG_TEXT_OTHER);
    other.count = 16;
    CHECK_EQ(tg_run_use_text(&run, &b, &other, NULL, &change, &err), TG_EDATA);
    CHECK_EQ(run.text_tokens, BYTE_STREAM);
    tg_run_free(&run);
}

static void a_run_knows_its_validation_text(void)
{
    tg_tokens val = stream;
    tg_run run;
    tg_batches b;
    tg_text_changes change;
    tg_err err = {0};

    begin(&run);
    run.step = 1;
    CHECK_OK(tg_run_use_text(&run, &b, &stream, NULL, &change, &err), &err);
    CHECK(change.val == TG_TEXT_SAME && run.val_tokens == 0 && run.val_crc == 0);
    val.count = 100;
    CHECK_OK(tg_run_use_text(&run, &b, &stream, &val, &change, &err), &err);
    CHECK(change.text == TG_TEXT_SAME && change.val == TG_TEXT_OTHER_LENGTH);
    CHECK(run.val_tokens == 100 && run.val_crc == tg_tokens_crc(&val));
    run.val_crc ^= 1;
    CHECK_OK(tg_run_use_text(&run, &b, &stream, &val, &change, &err), &err);
    CHECK_EQ(change.val, TG_TEXT_OTHER);
    CHECK_OK(tg_run_use_text(&run, &b, &stream, &val, &change, &err), &err);
    CHECK_EQ(change.val, TG_TEXT_SAME);
    CHECK_OK(tg_run_use_text(&run, &b, &stream, NULL, &change, &err), &err);
    CHECK(change.val == TG_TEXT_OTHER_LENGTH && run.val_tokens == 0 && run.val_crc == 0);
    tg_run_free(&run);
}

static void the_least_validation_loss(void)
{
    tg_run run = {.step = 3};

    CHECK(tg_run_note_val(&run, 2.5));
    CHECK(run.best_step == 3 && run.best_loss == 2.5);
    run.step = 4;
    CHECK(!tg_run_note_val(&run, 2.5)); /* not less */
    CHECK_EQ(run.best_step, 3);
    CHECK(tg_run_note_val(&run, 2.25));
    CHECK(run.best_step == 4 && run.best_loss == 2.25);
}

/* ---- the sum over a step's passes */

enum { PASSES_MAX = 8 };

/* Gradients [n] and losses [n] of the passes of a run's first step, each computed by itself. */
static float **separate_passes(tg_run *run, const tg_batches *b, size_t n, double *losses)
{
    const size_t B = run->settings.batch, T = b->T, floats = run->model.table.floats;
    float **grads = calloc(n, sizeof *grads);
    int32_t *ids = malloc(B * T * sizeof *ids), *targets = malloc(B * T * sizeof *targets);
    tg_arena arena = {0};
    tg_pass pass;
    tg_err err;

    tg_pass_place(&arena, &pass, &run->model, &(tg_pass_size){.B = B, .T = T, .gradients = true});
    CHECK_OK(tg_arena_alloc(&arena, &err), &err);
    tg_pass_place(&arena, &pass, &run->model, &(tg_pass_size){.B = B, .T = T, .gradients = true});
    pass.acts.dropout = (float)run->settings.dropout;
    for (size_t i = 0; i < n; i++) {
        grads[i] = calloc(floats, sizeof(float));
        pass.acts.rng = (tg_rng){.seed = run->settings.seed, .step = i};
        tg_batches_train(b, &(tg_windows){ids, targets, NULL}, i * B, B);
        losses[i] = tg_pass_run(&pass, ids, targets, grads[i], 1.0f / (float)n);
    }
    tg_arena_free(&arena);
    free(ids);
    free(targets);
    return grads;
}

static void free_passes(float **grads, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(grads[i]);
    free(grads);
}

/* The definition, written top down: the left part has the greatest power of two below n. */
static double tree(float **grads, const double *losses, size_t first, size_t n, size_t e, float *sum)
{
    size_t half = 1;
    float left, right;
    double loss;

    if (n == 1) {
        *sum = grads[first][e];
        return losses[first];
    }
    while (2 * half < n)
        half *= 2;
    loss = tree(grads, losses, first, half, e, &left);
    loss += tree(grads, losses, first + half, n - half, e, &right);
    *sum = left + right;
    return loss;
}

static void begin_passes(tg_run *run, tg_batches *b, size_t n)
{
    tg_err err;

    begin(run);
    run->settings.accumulate = n;
    CHECK_OK(tg_batches_init(b, &stream, run->settings.seed, 16, true, (tg_held_out){0.1, 1, NULL}, &err),
             &err);
}

static void passes_are_summed_in_a_tree(void)
{
    static const size_t numbers[] = {1, 2, 3, 4, 5, 8}, buffers[] = {1, 2, 2, 3, 3, 4};

    for (size_t k = 0; k < sizeof numbers / sizeof numbers[0]; k++) {
        const size_t n = numbers[k];
        tg_run run;
        tg_batches b;
        tg_trainer t;
        tg_step_report report;
        double losses[PASSES_MAX], loss = 0;
        float **grads, sum, in_order;
        size_t other = 0;
        tg_err err;

        begin_passes(&run, &b, n);
        grads = separate_passes(&run, &b, n, losses);
        CHECK_OK(tg_trainer_open(&t, &run, &b, &tg_team_alone, &err), &err);
        CHECK_EQ(t.sum.buffers, buffers[k]);
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
        for (size_t e = 0; e < run.model.table.floats; e++) {
            loss = tree(grads, losses, 0, n, e, &sum);
            CHECK(memcmp(&sum, &t.sum.part[0].grads[e], sizeof sum) == 0);
            in_order = 0;
            for (size_t i = 0; i < n; i++)
                in_order += grads[i][e];
            other += in_order != sum;
        }
        CHECK(report.loss == loss / (double)n);
        CHECK(n < 4 || other > 0); /* the order can be told from the bits */
        tg_trainer_close(&t);
        free_passes(grads, n);
        tg_run_free(&run);
    }
}

/* Add up the parts of `size` members, in order, into total, which has buffers for a whole step. */
static void sum_of_members(tg_tree_sum *total, float **grads, const double *losses, size_t size)
{
    total->n = 0;
    for (size_t rank = 0; rank < size; rank++) {
        const tg_team team = {.rank = rank, .size = size};
        tg_arena arena = {0};
        tg_tree_sum own;
        size_t first, end;
        tg_err err;

        tg_team_range(&team, total->passes, &first, &end);
        tg_tree_sum_place(&arena, &own, total->floats, total->passes, first, end);
        CHECK_OK(tg_arena_alloc(&arena, &err), &err);
        tg_tree_sum_place(&arena, &own, total->floats, total->passes, first, end);
        for (size_t i = first; i < end; i++) {
            memcpy(tg_tree_sum_next(&own), grads[i], own.floats * sizeof(float));
            tg_tree_sum_push(&own, i, i + 1, losses[i]);
        }
        for (size_t i = 0; i < own.n; i++) {
            const tg_tree_part *part = &own.part[i];

            memcpy(tg_tree_sum_next(total), part->grads, own.floats * sizeof(float));
            tg_tree_sum_push(total, part->first, part->end, part->loss);
        }
        tg_arena_free(&arena);
    }
}

/* However the passes are dealt: 1 to n members. */
static void any_team_gets_the_same_bits(void)
{
    enum { MOST = 37, FLOATS = 16 };
    double losses[MOST];
    float *grads[MOST];

    for (size_t i = 0; i < MOST; i++) {
        grads[i] = malloc(FLOATS * sizeof(float));
        check_fill(grads[i], FLOATS, i, 1.0);
        losses[i] = 1.0 / (double)(i + 3);
    }
    for (size_t n = 1; n <= MOST; n++) {
        tg_arena arena = {0};
        tg_tree_sum total;
        float sum[FLOATS];
        double loss = 0;
        tg_err err;

        tg_tree_sum_place(&arena, &total, FLOATS, n, 0, n);
        CHECK_OK(tg_arena_alloc(&arena, &err), &err);
        tg_tree_sum_place(&arena, &total, FLOATS, n, 0, n);
        for (size_t e = 0; e < FLOATS; e++)
            loss = tree(grads, losses, 0, n, e, &sum[e]);
        for (size_t size = 1; size <= n; size++) {
            sum_of_members(&total, grads, losses, size);
            CHECK_EQ(total.n, 1);
            CHECK_EQ(total.part[0].end, n);
            CHECK(total.part[0].loss == loss);
            CHECK(memcmp(total.part[0].grads, sum, sizeof sum) == 0);
        }
        tg_arena_free(&arena);
    }
    for (size_t i = 0; i < MOST; i++)
        free(grads[i]);
}

/* The buffers that are announced are enough, and no more than a binary counter's. */
static void buffers_for_passes(void)
{
    size_t first, end;

    for (size_t n = 1, log2 = 0; n <= 70; n++) {
        log2 += n >= (size_t)2 << log2;
        CHECK_EQ(tg_tree_sum_buffers(n, 0, n), log2 + 1);
    }
    CHECK_EQ(tg_tree_sum_buffers(65536, 0, 65536), 17);
    CHECK_EQ(tg_tree_sum_buffers(65536, 1, 65536), 31);
    CHECK_EQ(tg_tree_sum_buffers(65536, 1, 65535), 30);
    tg_team_range(&(tg_team){.rank = 3, .size = 4}, 8, &first, &end);
    CHECK(first == 6 && end == 8);
    tg_team_range(&(tg_team){.rank = 1, .size = 3}, 8, &first, &end);
    CHECK(first == 3 && end == 6);
    tg_team_range(&(tg_team){.rank = 2, .size = 3}, 8, &first, &end);
    CHECK(first == 6 && end == 8);
}

/* ---- a team of threads */

enum { BYTES = (1 << 20) + 5 }; /* more than a message */

static void say_numbers(const tg_team *team, void *context)
{
    unsigned char even[THREAD_TEAM_MAX] = {0}, *spread = malloc(BYTES);
    uint32_t uneven[THREAD_TEAM_MAX * THREAD_TEAM_MAX] = {0}, parts[2 * THREAD_TEAM_MAX + 1] = {0};
    size_t first[THREAD_TEAM_MAX + 1] = {0}, begin, end;

    (void)context;
    CHECK_EQ(tg_team_agree(team, (int)(team->rank * 7 % 5)), team->size > 2 ? 4 : team->size > 1 ? 2 : 0);
    CHECK_EQ(tg_team_agree(team, -(int)team->rank - 1), -1);
    even[team->rank] = (unsigned char)(team->rank + 1);
    tg_team_allgather(team, even, team->size, 1);
    for (size_t i = 0; i < team->size; i++) {
        CHECK_EQ(even[i], i + 1);
        first[i + 1] = first[i] + i; /* member 0 has nothing to send */
    }
    for (size_t k = first[team->rank]; k < first[team->rank + 1]; k++)
        uneven[k] = (uint32_t)team->rank;
    tg_team_range(team, 2 * THREAD_TEAM_MAX + 1, &begin, &end);
    for (size_t k = begin; k < end; k++)
        parts[k] = (uint32_t)(k * k);
    tg_team_allgather_arrays(
        team,
        (tg_gather[]){{.all = uneven, .bytes = sizeof *uneven, .first = first},
                      {.all = parts, .bytes = sizeof *parts, .n = 2 * THREAD_TEAM_MAX + 1}},
        2);
    for (size_t i = 0; i < team->size; i++)
        for (size_t k = first[i]; k < first[i + 1]; k++)
            CHECK_EQ(uneven[k], i);
    for (size_t k = 0; k < 2 * THREAD_TEAM_MAX + 1; k++)
        CHECK_EQ(parts[k], k * k);
    memset(spread, team->rank == 0 ? 'x' : 'y', BYTES);
    tg_team_spread(team, spread, BYTES);
    for (size_t i = 0; i < BYTES; i++)
        if (spread[i] != 'x')
            CHECK(spread[i] == 'x');
    free(spread);
}

static void members_exchange_numbers(void)
{
    for (size_t size = 1; size <= THREAD_TEAM_MAX; size++)
        thread_team_run(size, say_numbers, NULL);
}

/* What is sent of hidden parameters, of the others, and of the hidden by owner. */
struct some_of {
    const tg_params *table;
    const tg_team *team;
    const size_t *owner; /* [table->n] */
    tg_partition hidden, others, owned;
};

static void place_some(tg_arena *arena, void *context)
{
    struct some_of *s = context;

    tg_partition_place_some(arena, &s->hidden, s->table, s->team, true);
    tg_partition_place_some(arena, &s->others, s->table, s->team, false);
    tg_partition_place_owned(arena, &s->owned, s->table, s->team, s->owner);
}

static void count_floats(unsigned char *seen, const tg_partition *p, const tg_partition *all,
                         unsigned char weight)
{
    for (size_t i = 0; i < p->n; i++)
        for (size_t k = p->segment[i].begin; k < p->segment[i].end; k++) {
            seen[k] = (unsigned char)(seen[k] + weight);
            for (size_t whole = 0; all && whole < all->n; whole++)
                if (k >= all->segment[whole].begin && k < all->segment[whole].end)
                    CHECK_EQ(p->segment[i].owner, all->segment[whole].owner);
        }
}

/* Each hidden float is sent once as its segment's owner has it, and once by its parameter's owner; the others
 * once. */
static void check_some(const tg_params *table, const tg_team *team, const tg_partition *all)
{
    unsigned char *seen = calloc(table->floats, 1);
    size_t *owner = calloc(table->n, sizeof *owner);
    struct some_of s = {.table = table, .team = team, .owner = owner};
    tg_arena arena = {0};
    tg_err err = {0};

    for (size_t i = 0; i < table->n; i++)
        owner[i] = i % team->size;
    CHECK_OK(tg_arena_build(&arena, place_some, &s, &err), &err);
    count_floats(seen, &s.hidden, all, 1);
    count_floats(seen, &s.owned, NULL, 2);
    count_floats(seen, &s.others, all, 5);
    for (size_t i = 0; i < table->n; i++)
        for (size_t k = 0; k < table->entry[i].count; k++)
            CHECK_EQ(seen[table->entry[i].offset + k], table->entry[i].hidden ? 3 : 5);
    tg_arena_free(&arena);
    free(owner);
    free(seen);
}

static void partition_covers_all(void)
{
    tg_run run;

    begin(&run);
    for (size_t size = 1; size <= THREAD_TEAM_MAX; size++) {
        const tg_params *table = &run.model.table;
        const tg_team team = {.size = size};
        unsigned char *seen = calloc(table->floats, 1);
        size_t *first = calloc(size, sizeof *first);
        size_t owned[THREAD_TEAM_MAX] = {0};
        tg_arena arena = {0};
        tg_partition s;
        tg_err err;

        tg_partition_place(&arena, &s, table, &team);
        CHECK_OK(tg_arena_alloc(&arena, &err), &err);
        tg_partition_place(&arena, &s, table, &team);
        for (size_t i = 0; i < s.n; i++) {
            const tg_segment *g = &s.segment[i];

            CHECK(g->begin < g->end && g->begin % tg_adamw_block() == 0 && g->end - g->begin <= s.longest);
            CHECK(g->end % tg_adamw_block() == 0 || g->end == table->floats);
            CHECK_EQ(g->number, first[g->owner]++);
            owned[g->owner] += g->end - g->begin;
            for (size_t k = g->begin; k < g->end; k++)
                CHECK_EQ(seen[k]++, 0);
        }
        for (size_t k = 0; k < table->floats; k++)
            CHECK_EQ(seen[k], 1);
        for (size_t i = 0; i < size; i++) /* a block of each stage is what one may have more than another */
            CHECK(owned[i] <= table->floats / size + (table->blocks + 2) * tg_adamw_block());
        CHECK_EQ(tg_partition_from(&s, 0), s.n);
        CHECK_EQ(tg_partition_from(&s, table->floats), 0);
        for (size_t at = 0; at < table->floats; at += 1 + table->floats / 50)
            for (size_t i = 0; i < tg_partition_from(&s, at); i++)
                CHECK(s.segment[i].begin >= at);
        check_some(table, &team, &s);
        free(seen);
        free(first);
        tg_arena_free(&arena);
    }
    tg_run_free(&run);
}

/* Three steps of a team, and an evaluation, against those of one process. */
struct shared_run {
    size_t passes;
    tg_precision master;
    char *archive; /* of the run alone */
    size_t bytes;
    double loss, val_loss;
};

static void take_steps(const tg_team *team, void *context)
{
    struct shared_run *alone = context;
    tg_run run;
    tg_batches b;
    tg_step_report report;
    tg_trainer t;
    char *archive;
    double val_loss;
    size_t bytes;
    tg_err err;

    begin_passes(&run, &b, alone->passes);
    if (alone->master == TG_PRECISION_BF16)
        keep_type(&run, TG_PRECISION_BF16);
    CHECK_OK(tg_trainer_open(&t, &run, &b, team, &err), &err);
    if (team->rank > 0) /* only member 0 has a model to begin with */
        memset(tg_flat_at(tg_model_trained_values(&run.model), 0), 0xFF,
               run.model.table.floats * tg_flat_each(run.moments.m));
    tg_trainer_deal(&t);
    for (int i = 0; i < 3; i++)
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    val_loss = tg_trainer_evaluate(&t, b.val_windows);
    tg_trainer_collect(&t);
    if (team->size == 1) {
        alone->archive = archive_of(&run, &alone->bytes);
        alone->loss = report.loss;
        alone->val_loss = val_loss;
    } else {
        CHECK(report.loss == alone->loss && val_loss == alone->val_loss);
        if (team->rank == 0) {
            archive = archive_of(&run, &bytes);
            CHECK(bytes == alone->bytes && memcmp(archive, alone->archive, bytes) == 0);
            free(archive);
        }
    }
    tg_trainer_close(&t);
    tg_run_free(&run);
}

static void a_team_takes_the_steps_that_one_takes(void)
{
    static const size_t passes[] = {2, 5, 8, 5};

    for (size_t k = 0; k < sizeof passes / sizeof passes[0]; k++) {
        struct shared_run alone = {.passes = passes[k],
                                   .master = k < 3 ? TG_PRECISION_FLOAT32 : TG_PRECISION_BF16};

        take_steps(&tg_team_alone, &alone);
        CHECK(isfinite(alone.val_loss));
        for (size_t size = 2; size <= passes[k]; size += size < 5 ? 1 : 3)
            thread_team_run(size, take_steps, &alone);
        free(alone.archive);
    }
    CHECK_EQ(tg_team_agree(&tg_team_alone, 15), 15);
}

/* ---- steps that are abandoned */

enum { OPERATIONS = 7 }; /* of a block, forward or backward */

struct watcher {
    size_t calls, limit; /* abandon at this call */
    double last;
};

static bool count_calls(void *context, double fraction)
{
    struct watcher *w = context;

    CHECK(fraction >= w->last && fraction <= 1 + 1e-9);
    w->last = fraction;
    return w->calls++ < w->limit;
}

/* Take the run's next step, abandoned at call `limit` of the watch; returns the calls. */
static size_t step_until(tg_run *run, size_t limit, bool *abandoned)
{
    struct watcher w = {.limit = limit};
    const tg_watch watch = {count_calls, &w};
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;

    CHECK_OK(tg_batches_init(&b, &stream, run->settings.seed, run->settings.context, true,
                             (tg_held_out){0.1, 1, NULL}, &err),
             &err);
    CHECK_OK(tg_trainer_open(&t, run, &b, &tg_team_alone, &err), &err);
    t.watch = &watch;
    CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    *abandoned = report.abandoned;
    if (!*abandoned)
        CHECK_NEAR(w.last, 1, 1e-9);
    tg_trainer_close(&t);
    return w.calls;
}

/* Wherever a step is abandoned, the run is as before it, and ends with the same bytes. */
static void an_abandoned_step_leaves_no_trace(void)
{
    tg_run run;
    char *bytes[3];
    size_t size[3], calls;
    bool abandoned;

    begin(&run);
    train_to(&run, 3);
    bytes[0] = archive_of(&run, &size[0]);
    calls = step_until(&run, SIZE_MAX, &abandoned);
    CHECK(!abandoned && run.step == 4 && calls == 2 * (3 + 2 * 2 * OPERATIONS));
    bytes[1] = archive_of(&run, &size[1]);
    tg_run_free(&run);

    begin(&run);
    train_to(&run, 3);
    for (size_t limit = 0; limit < calls; limit++) {
        CHECK_EQ(step_until(&run, limit, &abandoned), limit + 1);
        CHECK(abandoned && run.step == 3);
        bytes[2] = archive_of(&run, &size[2]);
        CHECK(size[2] == size[0] && memcmp(bytes[2], bytes[0], size[0]) == 0);
        free(bytes[2]);
    }
    train_to(&run, 4);
    bytes[2] = archive_of(&run, &size[2]);
    CHECK(size[2] == size[1] && memcmp(bytes[2], bytes[1], size[1]) == 0);
    for (int i = 0; i < 3; i++)
        free(bytes[i]);
    tg_run_free(&run);
}

static void an_abandoned_evaluation_has_no_loss(void)
{
    struct watcher w = {.limit = 2};
    const tg_watch watch = {count_calls, &w};
    tg_run run;
    tg_trainer t;
    tg_batches b;
    tg_err err;

    begin(&run);
    CHECK_OK(tg_batches_init(&b, &stream, 0, run.settings.context, true, (tg_held_out){0.1, 1, NULL}, &err),
             &err);
    CHECK_OK(tg_trainer_open(&t, &run, &b, &tg_team_alone, &err), &err);
    t.watch = &watch;
    CHECK(isnan(tg_trainer_evaluate(&t, 7)) && t.pass.abandoned);
    CHECK_EQ(w.calls, 3);
    w = (struct watcher){.limit = SIZE_MAX};
    CHECK(isfinite(tg_trainer_evaluate(&t, 7)) && !t.pass.abandoned);
    CHECK_EQ(w.calls, 3 * (2 + 2 * OPERATIONS));
    CHECK_NEAR(w.last, 1, 1e-9);
    tg_trainer_close(&t);
    tg_run_free(&run);
}

static void training_lowers_the_loss(void)
{
    tg_run run;
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;
    double before, after;

    begin(&run);
    run.settings.steps = 60;
    run.settings.lr = 1e-2;
    CHECK_OK(tg_batches_init(&b, &stream, 0, 16, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK_OK(tg_trainer_open(&t, &run, &b, &tg_team_alone, &err), &err);
    before = tg_trainer_evaluate(&t, b.val_windows);
    CHECK_NEAR(before, log(256), 0.1);
    while (run.step < 60)
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    after = tg_trainer_evaluate(&t, b.val_windows);
    CHECK(after < 2.6);
    tg_trainer_close(&t);
    tg_run_free(&run);
}

static void a_loss_that_is_not_finite_stops(void)
{
    tg_run run;
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;

    begin(&run);
    CHECK_OK(tg_batches_init(&b, &stream, 0, 16, true, (tg_held_out){0.1, 1, NULL}, &err), &err);
    CHECK_OK(tg_trainer_open(&t, &run, &b, &tg_team_alone, &err), &err);
    run.model.params[0] = INFINITY;
    for (size_t i = 0; i < run.model.table.entry[0].count; i++)
        run.model.params[i] = INFINITY;
    CHECK_EQ(tg_trainer_step(&t, &report, &err), TG_EDATA);
    CHECK_HAS(err.message, "step 1: loss ");
    CHECK_EQ(run.step, 0);
    /* and such a model is not written over a good one */
    CHECK_EQ(tg_run_write(&run, -1, &err), TG_EDATA);
    CHECK_HAS(err.message, "wte.weight[0] is inf");
    tg_trainer_close(&t);
    tg_run_free(&run);
}

int main(void)
{
    stream = byte_stream();
    RUN(many_layers);
    RUN(philox_known_answers);
    RUN(permutation_hits_every_item_once);
    RUN(an_epoch_uses_every_window_once);
    RUN(held_out_in_blocks);
    RUN(a_text_of_its_own_is_held_out);
    RUN(texts_at_the_limit);
    RUN(parts_shorter_than_a_window);
    RUN(schedule);
    RUN(decay);
    RUN(plan);
    RUN(settings_are_checked);
    RUN(a_fresh_run_is_read_again);
    RUN(states_that_cannot_be_are_refused);
    RUN(states_in_bf16_that_cannot_be_are_refused);
    RUN(a_run_that_has_not_begun_may_change_its_type);
    RUN(moments_that_are_not_finite_are_not_written);
    RUN(sizes_beyond_all_memory);
    RUN(stopped_anywhere_ends_the_same);
    RUN(same_bytes_at_any_thread_count);
    RUN(min_lr_follows_lr);
    RUN(a_new_model_is_told_from_a_trained_one);
    RUN(settings_follow_the_model);
    RUN(a_short_text_is_not_learned_by_heart);
    RUN(a_vocabulary_has_a_rate_of_its_own);
    RUN(a_context_grows);
    RUN(trained_weights_have_defaults_of_their_own);
    RUN(adamw_follows_its_formula);
    RUN(numbers_kept_in_bf16_are_rounded_at_random);
    RUN(bf16_has_a_greatest_width);
    RUN(a_complete_run_keeps_its_settings);
    RUN(a_run_knows_its_text);
    RUN(a_run_knows_its_validation_text);
    RUN(the_least_validation_loss);
    RUN(passes_are_summed_in_a_tree);
    RUN(any_team_gets_the_same_bits);
    RUN(buffers_for_passes);
    RUN(members_exchange_numbers);
    RUN(partition_covers_all);
    RUN(a_team_takes_the_steps_that_one_takes);
    RUN(an_abandoned_step_leaves_no_trace);
    RUN(an_abandoned_evaluation_has_no_loss);
    RUN(training_lowers_the_loss);
    RUN(a_loss_that_is_not_finite_stops);
    tg_tokenizer_free(stream.tokenizer);
    return check_done();
}
