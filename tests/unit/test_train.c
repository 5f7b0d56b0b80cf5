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
#include "lib/train/trainer.h"
#include "tests/unit/check.h"

static unsigned char text[5000];
static tg_tokens stream;

static void make_stream(void)
{
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (unsigned char)('a' + i * i % 23 % 26);
    stream = (tg_tokens){.tokenizer = tg_tokenizer_bytes(), .count = sizeof text, .width = 1, .data = text};
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

/* ---- runs */

static void begin(tg_checkpoint *run)
{
    tg_config c = tg_config_preset(TG_PRESET_DEFAULT);
    tg_model m;
    tg_err err;

    c.n_layer = 2;
    c.n_embd = 32;
    c.n_ctx = 16;
    memset(run, 0, sizeof *run);
    CHECK_OK(tg_model_create(&m, &c, 1, &err), &err);
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
    RUN(schedule);
    RUN(stopped_anywhere_ends_the_same);
    RUN(same_bytes_at_any_thread_count);
    RUN(training_lowers_the_loss);
    RUN(a_loss_that_is_not_finite_stops);
    return check_done();
}
