/* The losses that a run keeps (lib/train/history.h). */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/train/history.h"
#include "tests/unit/check.h"

static double loss_of(size_t step)
{
    return 1.0 / (double)step;
}

static void add(tg_history *h, size_t from, size_t to)
{
    for (size_t step = from; step <= to; step++)
        tg_history_add(h, step, loss_of(step));
}

/* All multiples of `every`, up to the last one before the end, with their losses. */
static void check_kept(const tg_history *h, size_t first, size_t every, size_t end)
{
    const size_t before = (first - 1) / every;

    CHECK_EQ(h->n_steps, end / every - before);
    CHECK_EQ(h->n_losses, h->n_steps);
    for (size_t i = 0; i < h->n_steps; i++) {
        CHECK_EQ((size_t)h->step[i], (before + i + 1) * every);
        CHECK(h->loss[i] == loss_of((size_t)h->step[i]));
    }
}

static void the_history_is_thinned_out(void)
{
    tg_history h = {0};
    size_t every = 1;
    tg_err err;

    for (size_t step = 1; step <= 70000; step++) {
        add(&h, step, step);
        if (step / every > TG_HISTORY_MAX)
            every *= 2;
        if (step % 997 == 0 || step == TG_HISTORY_MAX || step == TG_HISTORY_MAX + 1) {
            check_kept(&h, 1, every, step);
            CHECK_OK(tg_history_check(&h, step, &err), &err);
        }
    }
    CHECK_EQ(every, 128);
}

/* A run that began before losses were kept. */
static void a_history_may_begin_late(void)
{
    tg_history h = {0};
    tg_err err;

    add(&h, 501, 700);
    check_kept(&h, 501, 1, 700);
    add(&h, 701, 501 + TG_HISTORY_MAX);
    check_kept(&h, 501, 2, 501 + TG_HISTORY_MAX - 1);
    CHECK_OK(tg_history_check(&h, 501 + TG_HISTORY_MAX, &err), &err);
}

static int write_archive(const tg_history *h)
{
    const int fd = memfd_create("history", 0);
    tg_archive_writer *w;
    tg_err err;

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    CHECK_OK(tg_archive_put_text(w, "kind", "model", &err), &err);
    CHECK_OK(tg_history_put(h, w, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static void read_archive(tg_history *h, const tg_history *written, size_t arrays)
{
    const int fd = write_archive(written);
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;
    bool taken;
    size_t n = 0;
    tg_err err;

    *h = (tg_history){0};
    CHECK_OK(tg_archive_open(&r, fd, &err), &err);
    for (;;) {
        CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
        if (event != TG_ARCHIVE_ARRAY)
            break;
        CHECK_OK(tg_history_take(h, r, &a, &taken, &err), &err);
        n += taken;
    }
    CHECK_EQ(n, arrays);
    tg_archive_close(r);
    close(fd);
}

static void what_is_written_is_read(void)
{
    tg_history h = {0}, again;

    read_archive(&again, &h, 0);
    CHECK_EQ(again.n_steps, 0);
    add(&h, 1, 1);
    read_archive(&again, &h, 2);
    CHECK(memcmp(&h, &again, sizeof h) == 0);
    add(&h, 2, TG_HISTORY_MAX);
    read_archive(&again, &h, 2);
    CHECK(memcmp(&h, &again, sizeof h) == 0);
}

/* Read an array of n elements; there is room for more than it may have. */
static tg_status take_rows(size_t n, bool steps, tg_err *err)
{
    static struct {
        tg_history h;
        double beyond[TG_HISTORY_MAX];
    } read;
    static double zeros[2 * TG_HISTORY_MAX];
    const int fd = memfd_create("rows", 0);
    tg_archive_writer *w;
    tg_archive_reader *r;
    tg_archive_event event;
    tg_array a;
    bool taken;
    tg_status status;

    read.h = (tg_history){0};
    CHECK_OK(tg_archive_create(&w, fd, err), err);
    CHECK_OK(steps ? tg_archive_put(w, "train/history/step", TG_I64, 1, &n, zeros, err)
                   : tg_archive_put(w, "train/history/loss", TG_F64, 1, &n, zeros, err),
             err);
    CHECK_OK(tg_archive_finish(w, err), err);
    tg_archive_abandon(w);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_archive_open(&r, fd, err), err);
    CHECK_OK(tg_archive_next(r, &a, &event, err), err);
    status = tg_history_take(&read.h, r, &a, &taken, err);
    CHECK(taken && (status || (steps ? read.h.n_steps : read.h.n_losses) == n));
    tg_archive_close(r);
    close(fd);
    return status;
}

static void as_many_as_there_is_room_for(void)
{
    tg_err err = {0};

    for (int steps = 0; steps < 2; steps++) {
        CHECK_OK(take_rows(1, steps, &err), &err);
        CHECK_OK(take_rows(TG_HISTORY_MAX, steps, &err), &err);
        CHECK_EQ(take_rows(0, steps, &err), TG_EDATA);
        CHECK_HAS(err.message, "has 0 elements");
        CHECK_EQ(take_rows(TG_HISTORY_MAX + 1, steps, &err), TG_EDATA);
        CHECK_HAS(err.message, "has 1025 elements");
        CHECK_HAS(err.message, "expected 1 to 1024 of type");
    }
}

static void check_refused(const tg_history *h, size_t step, const char *why)
{
    tg_err err = {0};

    CHECK_EQ(tg_history_check(h, step, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
}

static void histories_that_cannot_be_are_refused(void)
{
    static const int64_t bad[][3] = {{0, 1, 2},   {-1, 0, 1},       {1, 2, 4}, {2, 1, 3},
                                     {3, 5, 7},   {3, 6, 9},        {1, 1, 1}, {2, INT64_MIN, 3},
                                     {1, 2, 101}, {INT64_MAX, 1, 2}};
    tg_history h = {0};

    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        h.n_steps = h.n_losses = 3;
        memcpy(h.step, bad[i], sizeof bad[i]);
        check_refused(&h, 100, "train/history/step must be equally spaced by a power of two");
    }
    h = (tg_history){0};
    add(&h, 1, 10);
    check_refused(&h, 9, "end at train/step, 9");
    h.loss[3] = -nan("");
    check_refused(&h, 10, "train/history/loss[3] is nan");
    h.loss[3] = 1;
    h.n_losses = 9;
    check_refused(&h, 10, "train/history/step has 10 elements, train/history/loss 9");
}

int main(void)
{
    RUN(the_history_is_thinned_out);
    RUN(a_history_may_begin_late);
    RUN(what_is_written_is_read);
    RUN(as_many_as_there_is_room_for);
    RUN(histories_that_cannot_be_are_refused);
    return check_done();
}
