/* Training: the order of windows, the schedule, and runs that stop and go on. */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/rng.h"
#include "lib/kernels/kernels.h"
#include "lib/train/trainer.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

static unsigned char text[5000];
static tg_tokens stream;

static void make_stream(void)
{
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)('a' + i * i % 23 % 26);
    stream = (tg_tokens){.count = sizeof text, .width = 1, .data = text};
}

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

static void an_epoch_uses_every_window_once(void)
{
    enum { T = 7 };
    int32_t ids[T], targets[T];
    tg_batches b;
    size_t used[sizeof text] = {0};
    tg_err err;
    size_t total = 0;

    CHECK_OK(tg_batches_init(&b, &stream, 1, T, 0.1, &err), &err);
    CHECK_EQ(b.train_tokens, 4500);
    CHECK_EQ(b.val_tokens, 500);
    /* mark each position by a value of its own, so that a window tells where it lay */
    tg_tokens marked = {.count = sizeof text, .width = 4, .data = malloc(4 * sizeof text)};
    for (uint32_t i = 0; i < sizeof text; i++)
        memcpy(marked.data + 4 * i, &i, 4);
    b.tokens = &marked;
    for (size_t w = 0; w < b.windows; w++) {
        tg_batches_train(&b, ids, targets, w, 1);
        for (size_t t = 0; t < T; t++) {
            CHECK_EQ(targets[t], ids[t] + 1);
            CHECK((size_t)targets[t] < b.train_tokens);
            used[ids[t]]++;
            total++;
        }
    }
    for (size_t i = 0; i < sizeof text; i++)
        CHECK(used[i] <= 1);
    CHECK(total > b.train_tokens - 3 * T);

    tg_batches_val(&b, ids, targets, 0, 1, b.val_windows);
    CHECK_EQ(ids[0], 4500);
    tg_batches_val(&b, ids, targets, b.val_windows - 1, 1, b.val_windows);
    CHECK((size_t)targets[T - 1] < sizeof text);
    free(marked.data);
}

static void texts_at_the_limit(void)
{
    tg_tokens some = stream;
    tg_batches b;
    tg_err err;
    int32_t ids[64], targets[64];

    some.count = 64;
    CHECK_EQ(tg_batches_init(&b, &some, 1, 64, 0.1, &err), TG_EDATA);
    CHECK_HAS(err.message, "64 tokens");
    CHECK_HAS(err.message, "needs 65");
    some.count = 65;
    CHECK_OK(tg_batches_init(&b, &some, 1, 64, 0.1, &err), &err);
    CHECK_EQ(b.windows, 1);
    CHECK_EQ(b.val_tokens, 0);
    for (uint64_t w = 0; w < 3; w++)
        tg_batches_train(&b, ids, targets, w, 1);
    CHECK_EQ(targets[63], text[64]);
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
        CHECK_OK(tg_batches_init(&b, &some, 1, 16, known[i].fraction, &err), &err);
        CHECK_EQ(b.val_tokens, known[i].val);
        CHECK_EQ(b.train_tokens, 100 - known[i].val);
        CHECK_EQ(b.val_windows > 0, known[i].val > 0);
        /* the probe is the beginning of the validation part, or else of the text */
        CHECK_EQ(tg_batches_probe(&b, probe, 32), known[i].val == 17 ? 17 : 32);
        CHECK_EQ(probe[16], text[(known[i].val > 0 ? b.train_tokens : 0) + 16]);
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

/* ---- settings */

static void check_setting(tg_settings s, const char *why)
{
    tg_err err = {0};

    CHECK_EQ(tg_settings_check(&s, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
}

static tg_settings with(size_t id, double x)
{
    tg_settings s = tg_settings_default();

    if (tg_setting_table[id].type == TG_SETTING_SIZE)
        *(size_t *)tg_setting_place(&s, id) = (size_t)x;
    else
        *(double *)tg_setting_place(&s, id) = x;
    return s;
}

static void settings_are_checked(void)
{
    tg_settings s = tg_settings_default();
    tg_err err = {0};

    CHECK_OK(tg_settings_check(&s, &err), &err);
    for (size_t i = 0; i < TG_SETTINGS; i++) {
        const tg_setting *f = &tg_setting_table[i];

        if (f->type == TG_SETTING_U64)
            continue;
        s = with(i, f->min);
        CHECK_OK(tg_settings_check(&s, &err), &err);
        check_setting(with(i, f->max * 1.5), f->name);
        if (f->type == TG_SETTING_SIZE && f->min > 0)
            check_setting(with(i, f->min - 1), f->name);
        if (f->type == TG_SETTING_REAL) {
            check_setting(with(i, -1e-9), f->name);
            check_setting(with(i, (double)NAN), f->name);
        }
    }
    /* 2^40 sequences are one too many */
    s = tg_settings_default();
    s.steps = (size_t)1 << 20;
    s.batch = s.accumulate = (size_t)1 << 10;
    check_setting(s, "1048576 steps of 1024 passes of 1024 sequences are too many");
    s.steps--;
    CHECK_OK(tg_settings_check(&s, &err), &err);
}

/* ---- runs */

static void begin(tg_checkpoint *run)
{
    tg_model m;
    tg_err err;

    memset(run, 0, sizeof *run);
    small_model_create(&m, small_config(2, 4, 32, 16), 1);
    CHECK_OK(tg_checkpoint_begin(run, &m, &err), &err);
    run->settings.steps = 12;
    run->settings.batch = 3;
    run->settings.context = 16;
    run->settings.accumulate = 2;
    run->settings.dropout = 0.1;
    run->settings.warmup = 2;
}

static void train_to(tg_checkpoint *run, size_t step)
{
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;

    CHECK_OK(tg_batches_init(&b, &stream, run->settings.seed, run->settings.context, 0.1, &err), &err);
    CHECK_OK(tg_trainer_open(&t, run, &b, &err), &err);
    while (run->step < step)
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    tg_trainer_close(&t);
}

/* The archive of a run, in memory. */
static char *archive_of(const tg_checkpoint *run, size_t *size)
{
    int fd = memfd_create("run", 0);
    char *bytes;
    tg_err err;

    CHECK_OK(tg_checkpoint_write(run, fd, &err), &err);
    *size = (size_t)lseek(fd, 0, SEEK_END);
    bytes = malloc(*size);
    CHECK(pread(fd, bytes, *size, 0) == (ssize_t)*size);
    close(fd);
    return bytes;
}

static tg_checkpoint save_and_read(tg_checkpoint *run)
{
    tg_checkpoint again;
    int fd = memfd_create("run", 0);
    tg_err err;

    CHECK_OK(tg_checkpoint_write(run, fd, &err), &err);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_checkpoint_read(&again, fd, &err), &err);
    close(fd);
    tg_checkpoint_free(run);
    return again;
}

/* What has not been trained yet, with the context left to the model. */
static void a_fresh_checkpoint_is_read_again(void)
{
    tg_checkpoint run;
    tg_err err = {0};

    begin(&run);
    run.settings = tg_settings_default();
    CHECK_EQ(run.settings.context, 0);
    run = save_and_read(&run);
    CHECK_EQ(run.step, 0);
    CHECK_EQ(run.settings.context, 0);
    CHECK_OK(tg_checkpoint_settle(&run, &err), &err);
    CHECK_EQ(run.settings.context, 16);
    run = save_and_read(&run);
    CHECK_EQ(run.settings.context, 16);
    run.settings.context = 17;
    CHECK_EQ(tg_checkpoint_settle(&run, &err), TG_EDATA);
    CHECK_HAS(err.message, "context 17 is more than the model's 16");
    tg_checkpoint_free(&run);
}

/* A checkpoint that is written although it should not be is refused when it is read. */
static void check_not_read(const tg_checkpoint *run, const char *why)
{
    tg_checkpoint again;
    int fd = memfd_create("run", 0);
    tg_err err = {0};

    CHECK_OK(tg_checkpoint_write(run, fd, &err), &err);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_EQ(tg_checkpoint_read(&again, fd, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    close(fd);
}

static void states_that_cannot_be_are_refused(void)
{
    tg_checkpoint run;

    begin(&run);
    run.step = TG_RUN_LIMIT;
    check_not_read(&run, "train/step must be below 1099511627776, got 1099511627776");
    run.step = 0;
    run.v[3] = -1e-30f;
    check_not_read(&run, "opt/v/wte.weight[3] is -1e-30: it must not be negative");
    run.v[3] = 0;
    run.settings.context = 17;
    check_not_read(&run, "context 17");
    run.settings.context = 16;
    run.settings.steps = (size_t)1e12;
    run.settings.batch = 2;
    check_not_read(&run, "are too many");
    tg_checkpoint_free(&run);
}

static void moments_that_are_not_finite_are_not_written(void)
{
    tg_checkpoint run;
    float *places[3];
    static const char *const why[] = {"h.1.ln_1.bias[2] is inf", "opt/m/h.1.ln_1.bias[2] is inf",
                                      "opt/v/h.1.ln_1.bias[2] is inf"};
    size_t at;
    tg_err err = {0};

    begin(&run);
    at = tg_params_find(&run.model.table, "h.1.ln_1.bias")->offset + 2;
    places[0] = run.model.params + at;
    places[1] = run.m + at;
    places[2] = run.v + at;
    for (size_t i = 0; i < 3; i++) {
        *places[i] = INFINITY;
        CHECK_EQ(tg_checkpoint_write(&run, -1, &err), TG_EDATA);
        CHECK(strncmp(err.message, why[i], strlen(why[i])) == 0);
        *places[i] = 0;
    }
    tg_checkpoint_free(&run);
}

static void sizes_beyond_all_memory(void)
{
    tg_checkpoint run;
    tg_trainer t;
    tg_batches b;
    tg_err err = {0};

    begin(&run);
    CHECK_OK(tg_batches_init(&b, &stream, 0, 16, 0.1, &err), &err);
    CHECK(tg_trainer_bytes(&run, &b) < tg_matmul_work((size_t)omp_get_max_threads()) + (4 << 20));
    run.settings.batch = SIZE_MAX / 8;
    CHECK(tg_trainer_bytes(&run, &b) == SIZE_MAX);
    CHECK_EQ(tg_trainer_open(&t, &run, &b, &err), TG_ENOMEM);
    tg_checkpoint_free(&run);
}

static void stopped_anywhere_ends_the_same(void)
{
    tg_checkpoint run;
    size_t size, size2;
    char *whole, *parts;

    begin(&run);
    train_to(&run, 12);
    whole = archive_of(&run, &size);
    tg_checkpoint_free(&run);
    for (size_t stop = 0; stop <= 12; stop++) {
        begin(&run);
        train_to(&run, stop);
        run = save_and_read(&run);
        CHECK_EQ(run.step, stop);
        train_to(&run, 12);
        parts = archive_of(&run, &size2);
        CHECK(size == size2 && memcmp(whole, parts, size) == 0);
        free(parts);
        tg_checkpoint_free(&run);
    }
    free(whole);
}

static void same_bytes_at_any_thread_count(void)
{
    size_t size[5];
    char *bytes[5];

    for (int threads = 1; threads <= 4; threads++) {
        tg_checkpoint run;

        omp_set_num_threads(threads);
        begin(&run);
        train_to(&run, 6);
        bytes[threads] = archive_of(&run, &size[threads]);
        tg_checkpoint_free(&run);
        CHECK(size[threads] == size[1] && memcmp(bytes[threads], bytes[1], size[1]) == 0);
    }
    for (int threads = 1; threads <= 4; threads++)
        free(bytes[threads]);
}

static void training_lowers_the_loss(void)
{
    tg_checkpoint run;
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;
    double before, after;

    begin(&run);
    run.settings.steps = 60;
    run.settings.lr = 1e-2;
    CHECK_OK(tg_batches_init(&b, &stream, 0, 16, 0.1, &err), &err);
    CHECK_OK(tg_trainer_open(&t, &run, &b, &err), &err);
    before = tg_trainer_evaluate(&t, b.val_windows);
    CHECK_NEAR(before, log(256), 0.1);
    while (run.step < 60)
        CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    after = tg_trainer_evaluate(&t, b.val_windows);
    CHECK(after < 2.6);
    tg_trainer_close(&t);
    tg_checkpoint_free(&run);
}

static void a_loss_that_is_not_finite_stops(void)
{
    tg_checkpoint run;
    tg_trainer t;
    tg_batches b;
    tg_step_report report;
    tg_err err;

    begin(&run);
    CHECK_OK(tg_batches_init(&b, &stream, 0, 16, 0.1, &err), &err);
    CHECK_OK(tg_trainer_open(&t, &run, &b, &err), &err);
    run.model.params[0] = INFINITY;
    for (size_t i = 0; i < run.model.table.entry[0].count; i++)
        run.model.params[i] = INFINITY;
    CHECK_EQ(tg_trainer_step(&t, &report, &err), TG_EDATA);
    CHECK_HAS(err.message, "step 1: the loss is");
    CHECK_EQ(run.step, 0);
    /* and such a model is not written over a good one */
    CHECK_EQ(tg_checkpoint_write(&run, -1, &err), TG_EDATA);
    CHECK_HAS(err.message, "wte.weight[0] is inf");
    tg_trainer_close(&t);
    tg_checkpoint_free(&run);
}

int main(void)
{
    make_stream();
    RUN(philox_known_answers);
    RUN(permutation_hits_every_item_once);
    RUN(an_epoch_uses_every_window_once);
    RUN(texts_at_the_limit);
    RUN(parts_shorter_than_a_window);
    RUN(schedule);
    RUN(settings_are_checked);
    RUN(a_fresh_checkpoint_is_read_again);
    RUN(states_that_cannot_be_are_refused);
    RUN(moments_that_are_not_finite_are_not_written);
    RUN(sizes_beyond_all_memory);
    RUN(stopped_anywhere_ends_the_same);
    RUN(same_bytes_at_any_thread_count);
    RUN(training_lowers_the_loss);
    RUN(a_loss_that_is_not_finite_stops);
    return check_done();
}
