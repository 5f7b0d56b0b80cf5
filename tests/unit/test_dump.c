/* lib/dump: a dump used in place, or copied from a pipe; rows from the stages that it has.  Foreign and
 * damaged dumps: tests/tg-attn-view.bats. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "lib/base/threads.h"
#include "lib/dump/dump_check.h"
#include "lib/dump/dump_read.h"
#include "lib/dump/dump_rows.h"
#include "lib/dump/dump_write.h"
#include "lib/nn/ref/ref.h"
#include "tests/unit/check.h"
#include "tests/unit/refusing.h"

enum { B = 2, T = 5, H = 3, D = 2, C = H * D, LAYERS = 2 };

static float data[LAYERS][2][B * T * C]; /* q, k [B,T,H,D] or [B,H,T,D] */
static char text[T][3] = {"a", "b", "\\n", "c", "d"};

static void put_header(tg_archive_writer *w, const char *layout, int64_t channels, tg_err *err)
{
    const size_t shape[1] = {T};

    CHECK_OK(tg_archive_put_text(w, "kind", "attention", err), err);
    CHECK_OK(tg_archive_put_i64(w, "version", 1, err), err);
    CHECK_OK(tg_archive_put_text(w, "dump/layout", layout, err), err);
    CHECK_OK(tg_archive_put_i64(w, "dump/n_layer", 7, err), err);
    CHECK_OK(tg_archive_put_i64(w, "dump/n_head", H, err), err);
    CHECK_OK(tg_archive_put_i64(w, "dump/n_embd", channels, err), err);
    CHECK_OK(tg_archive_put_text(w, "dump/mask", "-inf", err), err);
    CHECK_OK(tg_archive_put(w, "dump/text", (tg_dtype){'S', sizeof text[0]}, 1, shape, text, err), err);
}

/* Layers 5 and 3, in this order, with q and k. */
static void put_dump(int fd, const char *layout)
{
    const size_t bthd[4] = {B, T, H, D}, bhtd[4] = {B, H, T, D};
    const size_t *shape = strcmp(layout, "bhtd") == 0 ? bhtd : bthd;
    tg_archive_writer *w;
    tg_err err;

    CHECK_OK(tg_archive_create(&w, fd, &err), &err);
    put_header(w, layout, C, &err);
    for (size_t l = 0; l < LAYERS; l++) {
        check_fill(data[l][0], B * T * C, 2 * l, 2);
        check_fill(data[l][1], B * T * C, 2 * l + 1, 2);
        CHECK_OK(tg_archive_put(w, l == 0 ? "h.5.q" : "h.3.q", TG_F32, 4, shape, data[l][0], &err), &err);
        CHECK_OK(tg_archive_put(w, l == 0 ? "h.5.k" : "h.3.k", TG_F32, 4, shape, data[l][1], &err), &err);
    }
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
}

static int dump_file(const char *layout)
{
    char path[] = "/tmp/test_dump.XXXXXX";
    const int fd = mkstemp(path);

    CHECK(fd >= 0);
    unlink(path);
    put_dump(fd, layout);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    return fd;
}

static const tg_dump_want everything = {TG_ATTN_ALL, TG_DUMP_EVERY, true};

static void a_file_is_used_in_place(void)
{
    const int fd = dump_file("bthd");
    tg_dump dump;
    tg_err err;

    CHECK_OK(tg_dump_read(&dump, fd, everything, &err), &err);
    CHECK(dump.B == B && dump.T == T && dump.C == C && dump.H == H && dump.D == D &&
          dump.layout == TG_ATTN_BTHD);
    CHECK(dump.n_layer == 7 && dump.mask == TG_ATTN_INF);
    CHECK(!dump.ids && dump.text_size == sizeof text[0] && memcmp(dump.text, text, sizeof text) == 0);
    CHECK_EQ(dump.n, 2);
    CHECK(dump.layer[0].number == 3 && dump.layer[1].number == 5);
    CHECK(tg_dump_find(&dump, 5) == &dump.layer[1] && !tg_dump_find(&dump, 4));
    for (size_t l = 0; l < LAYERS; l++) {
        const tg_dump_layer *layer = &dump.layer[LAYERS - 1 - l];

        for (size_t s = 0; s < TG_ATTN_STAGE_COUNT; s++) {
            CHECK(!layer->owned[s]);
            CHECK((layer->data[s] != NULL) == (s == TG_ATTN_Q || s == TG_ATTN_K));
        }
        CHECK(memcmp(layer->data[TG_ATTN_Q], data[l][0], sizeof data[l][0]) == 0);
        CHECK(memcmp(layer->data[TG_ATTN_K], data[l][1], sizeof data[l][1]) == 0);
    }
    tg_dump_free(&dump);
    close(fd);
}

static void what_is_not_wanted_is_skipped(void)
{
    const int fd = dump_file("bthd");
    tg_dump dump;
    tg_err err;

    CHECK_OK(tg_dump_read(&dump, fd, (tg_dump_want){3, TG_DUMP_BIT(TG_ATTN_K), false}, &err), &err);
    CHECK(dump.n == 1 && dump.layer[0].number == 3);
    CHECK(!dump.layer[0].data[TG_ATTN_Q] && dump.layer[0].data[TG_ATTN_K]);
    CHECK(!tg_dump_has_rows(&dump.layer[0], TG_ATTN_SCORES));
    tg_dump_free(&dump);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_dump_read(&dump, fd, (tg_dump_want){TG_ATTN_ALL, TG_DUMP_BIT(TG_ATTN_PROBS), false}, &err),
             &err);
    CHECK_EQ(dump.n, 2); /* listed, without arrays */
    tg_dump_free(&dump);
    close(fd);
}

static void a_pipe_is_copied(void)
{
    int end[2];
    tg_dump dump;
    tg_err err;

    CHECK(pipe(end) == 0);
    put_dump(end[1], "bthd"); /* which fits into the pipe */
    close(end[1]);
    CHECK_OK(tg_dump_read(&dump, end[0], everything, &err), &err);
    CHECK(dump.layer[0].owned[TG_ATTN_Q] == dump.layer[0].data[TG_ATTN_Q]);
    CHECK(memcmp(dump.layer[1].data[TG_ATTN_K], data[0][1], sizeof data[0][1]) == 0);
    tg_dump_free(&dump);
    close(end[0]);
}

/* Reference: tg_attention_scores_row_ref64, tg_softmax_row_ref64. */
static void check_row(const tg_dump *dump, const tg_dump_layer *layer, size_t b, size_t h, size_t i)
{
    double q[D], k[T * D], scores[T], probs[T], scratch[2 * T + 2 * D];
    const tg_qkv_view shape = tg_dump_shape(dump);
    float row[T];

    CHECK(tg_dump_row_scratch(dump) <= sizeof scratch / sizeof scratch[0]);
    for (size_t t = 0; t < T; t++) {
        for (size_t d = 0; d < D; d++) {
            const size_t at =
                dump->layout == TG_ATTN_BHTD ? ((b * H + h) * T + t) * D + d : ((b * T + t) * H + h) * D + d;

            CHECK_EQ(tg_attn_base(&shape, b, t, h) + d, at);
            k[t * D + d] = (double)layer->data[TG_ATTN_K][at];
            if (t == i)
                q[d] = (double)layer->data[TG_ATTN_Q][at];
        }
    }
    tg_attention_scores_row_ref64(scores, q, k, D, T, D, i);
    tg_softmax_row_ref64(probs, scores, i + 1);
    tg_dump_row(row, dump, layer, TG_ATTN_SCORES, b, h, i, scratch);
    for (size_t j = 0; j <= i; j++)
        CHECK(row[j] == (float)scores[j]);
    tg_dump_row(row, dump, layer, TG_ATTN_PROBS, b, h, i, scratch);
    for (size_t j = 0; j <= i; j++)
        CHECK(row[j] == (float)probs[j]);
}

static void rows_are_the_references(void)
{
    static const char *const layouts[] = {"bthd", "bhtd"};

    for (size_t l = 0; l < 2; l++) {
        const int fd = dump_file(layouts[l]);
        tg_dump dump;
        tg_err err;

        CHECK_OK(tg_dump_read(&dump, fd, everything, &err), &err);
        CHECK_EQ(dump.layout, l == 1 ? TG_ATTN_BHTD : TG_ATTN_BTHD);
        for (size_t n = 0; n < B * H * T; n++)
            check_row(&dump, &dump.layer[n % LAYERS], n / T / H, n / T % H, n % T);
        tg_dump_free(&dump);
        close(fd);
    }
}

/* A few bytes say that there are 3 * 2^54 channels, but only scores follow. */
static void scratch_is_for_what_is_stored(void)
{
    const size_t shape[4] = {B, H, T, T};
    float scores[B * H * T * T], row[T];
    double scratch[2 * T];
    tg_archive_writer *w;
    tg_dump dump;
    FILE *const f = tmpfile();
    tg_err err;

    CHECK(f);
    check_fill(scores, B * H * T * T, 9, 2);
    CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
    put_header(w, "bthd", ((int64_t)1 << 54) * H, &err);
    CHECK_OK(tg_archive_put(w, "h.0.scores", TG_F32, 4, shape, scores, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK(lseek(fileno(f), 0, SEEK_SET) == 0);
    CHECK_OK(tg_dump_read(&dump, fileno(f), everything, &err), &err);
    CHECK_EQ(tg_dump_row_scratch(&dump), 2 * T);
    tg_dump_row(row, &dump, &dump.layer[0], TG_ATTN_SCORES, 0, 0, T - 1, scratch);
    CHECK(row[T - 1] == scores[T * T - 1]);
    tg_dump_free(&dump);
    fclose(f);
}

/* Whichever write fails, the error says why. */
static void failing_writes(void)
{
    enum { POSITIONS = 20000 };
    static float x[3][POSITIONS];
    static int32_t ids[POSITIONS];
    static char texts[POSITIONS];
    const tg_qkv_view view = {1,    POSITIONS,     1,           1, 1, 1, 1, 1, 1, x[0], x[1],
                              x[2], {.window = 0}, TG_ATTN_BTHD};
    const tg_dump_settings settings = {
        .stages = TG_DUMP_BIT(TG_ATTN_Q), .mask = TG_ATTN_MIN, .ids = ids, .text = texts, .text_size = 1};
    const int null = open("/dev/null", O_WRONLY);
    bool refused = true;
    int n = 0;

    while (refused && n < 100) {
        tg_attn_layers layers;
        tg_status status;
        tg_err err = {0};

        tg_attn_layers_given(&layers, &view);
        refuse("write", ++n, EIO);
        status = tg_dump_write(null, &layers, &settings, &err);
        refused = refused_all();
        CHECK_EQ(status, refused ? TG_EIO : TG_OK);
        CHECK(!refused || err.sys == EIO);
        tg_attn_layers_close(&layers);
    }
    CHECK(n > 3 && n < 100);
    close(null);
}

/* ---- what is stored, and what is computed */

struct scratch_of {
    tg_stage_scratch *scratch;
    const tg_qkv_view *view;
};

static void place_scratch(tg_arena *arena, void *context)
{
    const struct scratch_of *s = context;

    tg_stage_scratch_place(arena, s->scratch, s->view);
}

/* Many rows, which threads compare in any order: the first difference is the same.  Those that differ are the
 * last of one thread's rows and the first of another's. */
static void first_difference(void)
{
    enum { ROWS = 600, WIDTH = 2, TIMES = 100, FIRST = 15 + 16 * 16 };
    static float q[ROWS * WIDTH], k[ROWS * WIDTH], v[ROWS * WIDTH], stored[ROWS * ROWS];
    const tg_qkv_view view = {.q = q,
                              .k = k,
                              .v = v,
                              .B = 1,
                              .T = ROWS,
                              .C = WIDTH,
                              .H = 1,
                              .KV = 1,
                              .D = WIDTH,
                              .ldq = WIDTH,
                              .ldk = WIDTH,
                              .ldv = WIDTH,
                              .layout = TG_ATTN_BTHD};
    const tg_dump dump = {.mask = TG_ATTN_MIN};
    tg_dump_layer layer = {.data = {[TG_ATTN_PROBS] = stored}};
    const tg_attn_layer computed = {.view =
                                        view}; /* q and k are 0: all probabilities of a row are the same */
    tg_stage_scratch scratch;
    tg_arena arena = {0};
    tg_dump_difference d;
    size_t count = 0;
    tg_err err = {0};

    for (size_t i = 0; i < ROWS; i++)
        for (size_t j = 0; j <= i; j++)
            stored[i * ROWS + j] = 1 / (float)(i + 1);
    for (size_t i = FIRST; i < ROWS; i++)
        if (i % 16 == 15 || i % 16 == 0) {
            stored[i * ROWS] = 2;
            count++;
        }
    CHECK_OK(tg_arena_build(&arena, place_scratch, &(struct scratch_of){&scratch, &view}, &err), &err);
    tg_threads_set(4);
    for (int t = 0; t < TIMES; t++) {
        tg_dump_compare(&d, &dump, &layer, TG_ATTN_PROBS, &computed, &scratch, 1e-6);
        CHECK(d.count == count && d.first == (size_t)FIRST * ROWS);
        CHECK(d.dumped == 2 && d.computed == (double)stored[FIRST * ROWS + 1]);
    }
    tg_threads_set(1);
    tg_arena_free(&arena);
}

/* Numbers in bthd against a dump in bhtd, and the masks' values for masked scores. */
static void compared_with_numbers(void)
{
    enum { LEN = 2, HEADS = 3, KV = 1, WIDTH = 2, N = LEN * HEADS * WIDTH };
    const tg_dump dump = {.layout = TG_ATTN_BHTD,
                          .mask = TG_ATTN_INF,
                          .B = 1,
                          .T = LEN,
                          .C = 5,
                          .H = HEADS,
                          .KV = KV,
                          .D = WIDTH};
    const float att[N] = {0, 1, 6, 7, 2, 3, 8, 9, 4, 5, 10, 11}, k[] = {0, 1, 2, 3},
                one[] = {1, -INFINITY, 1, 1};
    float scores[HEADS * LEN * LEN];
    double numbers[N], of_scores[HEADS * LEN * LEN];
    const tg_dump_layer layer = {.data = {[TG_ATTN_ATT] = att, [TG_ATTN_K] = k, [TG_ATTN_SCORES] = scores}};
    tg_dump_difference d;

    for (size_t i = 0; i < N; i++)
        numbers[i] = (double)i;
    for (size_t i = 0; i < HEADS * LEN * LEN; i++) {
        scores[i] = one[i % 4];
        of_scores[i] = i % 4 == 1 ? TG_MASKED : 1;
    }
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_ATT, numbers, 0, 0);
    CHECK_EQ(d.count, 0);
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_K, numbers, 0, 0);
    CHECK_EQ(d.count, 0);
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_SCORES, of_scores, 0, 0);
    CHECK_EQ(d.count, 0);
    numbers[3] += 0.25; /* [0,0,1,1]: token 0, head 1 */
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_ATT, numbers, 0.05, 0);
    CHECK(d.count == 1 && d.first == 5 && d.dumped == 3 && d.computed == 3.25 && d.largest == 0.25);
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_ATT, numbers, 0.1, 0); /* 0.1 of 3.25 */
    CHECK_EQ(d.count, 0);
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_ATT, numbers, 0, 0.02); /* of 11 */
    CHECK_EQ(d.count, 1);
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_ATT, numbers, 0, 0.025);
    CHECK_EQ(d.count, 0);
    of_scores[1] = -1e8;
    tg_dump_compare_numbers(&d, &dump, &layer, TG_ATTN_SCORES, of_scores, 1, 0);
    CHECK(d.count == 1 && d.first == 1);
}

int main(void)
{
    RUN(a_file_is_used_in_place);
    RUN(what_is_not_wanted_is_skipped);
    RUN(a_pipe_is_copied);
    RUN(rows_are_the_references);
    RUN(scratch_is_for_what_is_stored);
    RUN(failing_writes);
    RUN(first_difference);
    RUN(compared_with_numbers);
    return check_done();
}
