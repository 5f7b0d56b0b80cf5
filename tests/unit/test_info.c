/* lib/info: statistics against their definition, archives that are written here, and memory under sanitizers.
 * (tests/tg-info.bats compares offsets and numbers with NumPy's.) */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "lib/info/info.h"
#include "lib/info/log.h"
#include "lib/models/model_archive.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens_write.h"
#include "lib/train/settings.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

/* ---- statistics */

static void statistics(void)
{
    static float x[1000];
    const float bad[] = {NAN, 2, HUGE_VALF, -1, -HUGE_VALF};
    double sum = 0, squares = 0, least = 1, most = -1;
    tg_stats s = {0}, none = {0}, some = {0};

    check_fill(x, 1000, 4, 0.7);
    for (size_t i = 0; i < 1000; i++) {
        sum += (double)x[i];
        squares += (double)x[i] * (double)x[i];
        least = fmin(least, (double)x[i]);
        most = fmax(most, (double)x[i]);
    }
    tg_stats_add(&s, x, 1);
    tg_stats_add(&s, x + 1, 0);
    tg_stats_add(&s, x + 1, 999);
    CHECK_EQ(s.count, 1000);
    CHECK_EQ(s.not_finite, 0);
    CHECK((double)s.min == least && (double)s.max == most);
    CHECK_NEAR(tg_stats_mean(&s), sum / 1000, 1e-15);
    CHECK_NEAR(tg_stats_norm(&s), sqrt(squares), 1e-12);
    CHECK(isnan(tg_stats_mean(&none)) && tg_stats_norm(&none) == 0);
    tg_stats_add(&some, bad, 5);
    CHECK_EQ(some.not_finite, 3);
    CHECK(some.min == -1 && some.max == 2 && tg_stats_mean(&some) == 0.5);
}

/* ---- archives */

static char path[64]; /* of a file that each test makes */

static int make_file(void)
{
    strcpy(path, "/tmp/tg-info-XXXXXX");
    return mkstemp(path);
}

static tg_status open_info(tg_info *info, bool stats, bool check, tg_err *err)
{
    return tg_info_open(info, path, &(tg_info_want){stats, check}, err);
}

static void models(void)
{
    tg_model m;
    tg_info info;
    tg_err err = {0};
    const int fd = make_file();

    small_model_create(&m, small_config(2, 2, 8, 4), 3);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    for (unsigned both = 0; both < 4; both++) {
        CHECK_OK(open_info(&info, both & 1, both & 2, &err), &err);
        CHECK(strcmp(info.kind, "model") == 0 && strcmp(info.format, "an archive of tg") == 0);
        CHECK_EQ(info.parameters, m.table.count);
        CHECK_EQ(info.n_files, 1);
        CHECK_EQ(info.archives, 1);
        CHECK(strcmp(tg_info_find(&info, "config/n_embd")->text, "8") == 0);
        CHECK(tg_info_find(&info, "config/n_embd")->type == TG_INFO_NUMBER);
        CHECK(strcmp(tg_info_find(&info, "config/activation")->text, "gelu_new") == 0);
        CHECK(tg_info_find(&info, "config/") == NULL);
        CHECK_OK(tg_tokenizer_same(m.tokenizer, info.tokenizer, &err), &err);
        for (size_t i = 0; i < info.n; i++) {
            const tg_param *p = tg_params_find(&m.table, info.tensor[i].name);

            CHECK(info.tensor[i].placed);
            CHECK(!p || (info.tensor[i].count == p->count && info.tensor[i].has_stats == (both != 0)));
        }
        tg_info_close(&info);
    }
    close(fd);
    unlink(path);
    tg_model_free(&m);
}

static void several_archives(void)
{
    const int32_t ids[] = {1, 2, 3};
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_info info;
    tg_err err = {0};
    const int fd = make_file();

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    for (size_t i = 0; i < 3; i++) {
        CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
        CHECK_OK(tg_tokens_write(w, ids, 3, &err), &err);
        CHECK_OK(tg_tokens_finish(w, &err), &err);
        tg_tokens_abandon(w);
    }
    tg_tokenizer_free(tok);
    CHECK_OK(open_info(&info, true, true, &err), &err);
    CHECK(strcmp(info.kind, "tokens") == 0);
    CHECK_EQ(info.tokens, 9);
    CHECK_EQ(info.archives, 3);
    CHECK_EQ(info.n, 5); /* of the first: kind, version, the tokenizer's two, a chunk */
    tg_info_close(&info);
    close(fd);
    unlink(path);
}

/* Values of all types. */
static void scalars(void)
{
    const struct {
        tg_dtype dtype;
        const void *data;
        const char *text;
    } all[] = {
        {{'u', 1}, &(unsigned char){200}, "200"},
        {{'u', 8}, &(uint64_t){UINT64_MAX}, "18446744073709551615"},
        {{'i', 1}, &(signed char){-100}, "-100"},
        {{'i', 2}, &(int16_t){-30000}, "-30000"},
        {{'i', 8}, &(int64_t){INT64_MIN}, "-9223372036854775808"},
        {{'f', 4}, &(float){0.1f}, "0.100000001"},
        {{'f', 8}, &(double){-1e300}, "-1e+300"},
        {{'f', 4}, &(float){HUGE_VALF}, "inf"},
        {{'b', 1}, &(unsigned char){1}, "1"},
        {{'S', 3}, "a\0\0", "a"},
    };
    tg_archive_writer *w;
    tg_info info;
    tg_err err = {0};
    const size_t n = sizeof all / sizeof all[0];
    const int fd = make_file();
    char name[8];

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    for (size_t i = 0; i < n; i++) {
        snprintf(name, sizeof name, "x%zu", i);
        CHECK_OK(tg_archive_put(w, name, all[i].dtype, 0, NULL, all[i].data, &err), &err);
    }
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK_OK(open_info(&info, true, false, &err), &err);
    CHECK(strcmp(info.kind, "arrays") == 0 && info.tokenizer == NULL && info.parameters == 0);
    CHECK_EQ(info.n_values, n);
    for (size_t i = 0; i < n; i++) {
        CHECK(strcmp(info.value[i].text, all[i].text) == 0);
        CHECK(info.value[i].type == (i == 7 || i == 9 ? TG_INFO_TEXT : TG_INFO_NUMBER));
    }
    tg_info_close(&info);
    close(fd);
    unlink(path);
}

/* ---- damage: every prefix of a model's archive, and of a log */

static void truncated(void)
{
    tg_config c = small_config(1, 1, 4, 2);
    tg_model m;
    tg_info info;
    tg_err err = {0};
    const int fd = make_file();
    long size;

    c.vocab_size = 3;
    small_model_create(&m, c, 3);
    CHECK_OK(tg_model_write(&m, fd, &err), &err);
    tg_model_free(&m);
    for (size = (long)lseek(fd, 0, SEEK_END) - 1; size >= 0; size -= size > 3000 ? 97 : 1) {
        CHECK(ftruncate(fd, size) == 0);
        CHECK(open_info(&info, true, false, &err) == TG_EDATA);
        CHECK_HAS(err.message, path);
    }
    close(fd);
    unlink(path);
}

static void logs(void)
{
    const char text[] = "step\tloss\tval_loss\tlr\n10\t2.5\t\t1\n20\t1.5\t1.75\t1\n";
    tg_info info;
    tg_err err = {0};
    const int fd = make_file();

    CHECK(TG_LOG_STEP_MAX == TG_STEPS_MAX);
    CHECK(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1);
    CHECK_OK(open_info(&info, true, true, &err), &err);
    CHECK(strcmp(info.kind, "log") == 0);
    CHECK_EQ(info.history.n, 2);
    CHECK(info.history.step[1] == 20 && info.history.loss[0] == 2.5 && isnan(info.history.val_loss[0]));
    CHECK(info.history.val_loss[1] == 1.75);
    tg_info_close(&info);
    CHECK(ftruncate(fd, 28) == 0);
    CHECK_EQ(open_info(&info, true, true, &err), TG_EDATA);
    CHECK_HAS(err.message, "line 2 of the log is damaged");
    close(fd);
    unlink(path);
}

/* A run that was killed goes back to what it had saved; another begins again in the same log. */
static void latest(void)
{
    double step[] = {1, 2, 3, 4, 3, 4, 5, 5}, loss[] = {1, 2, 3, 4, 30, 40, 50, 500};
    double val_loss[] = {1, 2, 3, 4, 5, 6, 7, 8};
    const double want[] = {1, 2, 30, 40, 500};
    tg_info_history h = {.step = step, .loss = loss, .val_loss = val_loss, .n = 8}, empty = {0};

    CHECK_EQ(tg_info_history_latest(&h), 3);
    CHECK_EQ(h.n, 5);
    for (size_t i = 0; i < 5; i++)
        CHECK(step[i] == (double)(i + 1) && loss[i] == want[i]);
    CHECK(val_loss[2] == 5 && val_loss[4] == 8);
    step[4] = 1;
    h.val_loss = NULL;
    CHECK_EQ(tg_info_history_latest(&h), 4);
    CHECK(h.n == 1 && step[0] == 1 && loss[0] == 500);
    CHECK_EQ(tg_info_history_latest(&empty), 0);
}

int main(void)
{
    RUN(statistics);
    RUN(models);
    RUN(several_archives);
    RUN(scalars);
    RUN(truncated);
    RUN(logs);
    RUN(latest);
    return check_done();
}
