/*
 * The archives of training runs: settings, state, losses, the optimizer's moments and the mean of the
 * weights.
 *
 * Every input is read as a file and as a stream, and both must agree.  What is accepted has settings in their
 * ranges, finite moments and a finite mean, if it has one; written, and read again, it is the same.
 */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/threads.h"
#include "lib/train/run.h"
#include "tests/fuzz/input.h"
#include "tests/fuzz/tiny_model.h"

/* Each setting, by its row of the table: in its range, shown, copied, and then equal. */
static void check_settings(const tg_settings *s)
{
    const bool given[TG_SETTINGS] = {true};
    tg_settings copy = tg_settings_default();
    char text[64];

    must(s->batch >= 1 && s->steps >= 1 && s->accumulate >= 1 && s->lr >= 0 && s->dropout < 1);
    must(s->beta1 >= 0 && s->beta1 < 1 && s->beta2 >= 0 && s->beta2 < 1 && s->val_fraction < 1);
    tg_settings_merge(&copy, s, given);
    must(copy.seed == s->seed);
    for (size_t i = 0; i < TG_SETTINGS; i++) {
        const tg_field *const f = &tg_settings_fields.row[i];

        tg_field_text(text, sizeof text, f, s);
        must(text[0] != '\0');
        tg_field_copy(f, &copy, s);
        must(tg_field_equal(f, &copy, s));
    }
}

static void check_same(const tg_run *a, const tg_run *b)
{
    const size_t floats = a->model.table.floats;

    must(a->step == b->step && a->text_tokens == b->text_tokens && a->text_crc == b->text_crc);
    must(b->model.table.floats == floats);
    must(!a->average.mean == !b->average.mean);
    must(!a->average.mean || memcmp(a->average.mean, b->average.mean, floats * sizeof(float)) == 0);
    for (size_t i = 0; i < TG_SETTINGS; i++)
        must(tg_field_equal(&tg_settings_fields.row[i], &a->settings, &b->settings));
    for (size_t i = 0; i < a->model.table.n; i++) {
        const tg_param *const p = &a->model.table.entry[i];
        const size_t n = p->count * sizeof(float);

        must(memcmp(a->model.params + p->offset, b->model.params + p->offset, n) == 0);
        const size_t each = tg_flat_each(a->moments.m) * p->count;

        must(memcmp(tg_flat_at(a->moments.m, p->offset), tg_flat_at(b->moments.m, p->offset), each) == 0);
        must(memcmp(tg_flat_at(a->moments.v, p->offset), tg_flat_at(b->moments.v, p->offset), each) == 0);
    }
}

static void check_moments(const tg_run *run)
{
    for (size_t i = 0; run->average.mean && i < run->model.table.floats; i++)
        must(isfinite(run->average.mean[i]));
    if (run->moments.m.halves)
        return;
    for (size_t i = 0; i < run->model.table.floats; i++)
        must(isfinite(run->moments.m.floats[i]) && run->moments.v.floats[i] >= 0 &&
             isfinite(run->moments.v.floats[i]));
}

static void write_again(const tg_run *run)
{
    const int fd = memfd_create("again", 0);
    tg_run again;
    size_t step;
    tg_err err = {0};
    const tg_status status = tg_run_write(run, fd, &err);

    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    if (!status) {
        must(lseek(fd, 0, SEEK_SET) == 0 && tg_run_read(&again, fd, NULL) == TG_OK);
        check_same(run, &again);
        must(lseek(fd, 0, SEEK_SET) == 0);
        must(tg_run_read_step(&step, fd, NULL) == TG_OK);
        must(step == run->step);
        tg_run_free(&again);
    }
    close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tg_run file, piped;
    tg_err err = {0};
    size_t step;
    tg_status status;

    if (size > INPUT_MAX)
        return 0;
    tg_threads_set(1);
    status = tg_run_read_step(&step, input_file(data, size), &err);
    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    status = tg_run_read(&file, input_file(data, size), &err);
    must(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
    must(tg_run_read(&piped, input_stream(data, size), NULL) == status);
    if (status)
        return 0;
    must(step == file.step);
    check_settings(&file.settings);
    check_same(&file, &piped);
    check_moments(&file);
    write_again(&file);
    tg_run_free(&file);
    tg_run_free(&piped);
    return 0;
}

/* One in 8 begins with an untrained model. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return tiny_model_mutate(data, size, max, seed & 0xFF0FFFFF);
}
