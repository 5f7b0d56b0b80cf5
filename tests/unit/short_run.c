#define _GNU_SOURCE /* memfd_create */
#include "tests/unit/short_run.h"

#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/check.h"

void short_run_open(tg_trainer *t, tg_batches *b, tg_run *run, const tg_tokens *text, const tg_team *team)
{
    tg_err err;

    CHECK_OK(tg_batches_init(b, text, run->settings.seed, run->settings.context, true,
                             (tg_held_out){0.1, 1, NULL}, &err),
             &err);
    CHECK_OK(tg_trainer_open(t, run, b, team, &err), &err);
}

void short_run_steps(tg_trainer *t, size_t step)
{
    tg_step_report report;
    tg_err err;

    while (t->run->step < step)
        CHECK_OK(tg_trainer_step(t, &report, &err), &err);
}

void short_run_train(tg_run *run, const tg_tokens *text, size_t step)
{
    tg_batches b;
    tg_trainer t;

    short_run_open(&t, &b, run, text, &tg_team_alone);
    short_run_steps(&t, step);
    tg_trainer_close(&t);
}

void short_run_save_and_read(tg_run *again, const tg_run *run)
{
    const int fd = memfd_create("run", 0);
    tg_err err;

    CHECK_OK(tg_run_write(run, fd, &err), &err);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_run_read(again, fd, &err), &err);
    CHECK_OK(tg_run_prepare(again, &err), &err);
    close(fd);
}
