/* Texts with a loss mask: written and read, cut into windows, trained on and evaluated. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/base/size.h"
#include "lib/eval/eval.h"
#include "lib/tokens/tokenizer_read.h"
#include "lib/tokens/tokens.h"
#include "lib/tokens/tokens_write.h"
#include "lib/train/trainer.h"
#include "tests/unit/check.h"
#include "tests/unit/small_model.h"

/* Four documents, in letters that stand for their tokens; those that are predicted are capitals.  Of the
 * third nothing is predicted. */
static const char *const documents[] = {"abcDE", "fgHIJKLMNopQ", "rst", "uV"};
enum { DOCUMENTS = 4, TOKENS = 5 + 12 + 3 + 2, PREDICTED = 2 + 8 + 0 + 1 };

/* ---- archives */

static int temp_file(void)
{
    char path[] = "/tmp/test_masked.XXXXXX";
    const int fd = mkstemp(path);

    CHECK(fd >= 0);
    unlink(path);
    return fd;
}

static int mask_of(const char *document, size_t i)
{
    return i == 0 ? TG_MASK_FIRST : document[i] < 'a' ? TG_MASK_PREDICTED : TG_MASK_READ;
}

/* An archive of the documents first .. end - 1, with a note of their template. */
static void write_noted(int fd, size_t first, size_t end, tg_chat_note chat)
{
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_err err;

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
    CHECK_OK(tg_tokens_begin_mask(w, &err), &err);
    CHECK_OK(tg_tokens_note_chat(w, chat, &err), &err);
    for (size_t d = first; d < end; d++)
        for (size_t i = 0; documents[d][i] != '\0'; i++)
            CHECK_OK(
                tg_tokens_write_masked(w, (int32_t[]){documents[d][i]}, 1, mask_of(documents[d], i), &err),
                &err);
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    tg_tokenizer_free(tok);
}

static void write_documents(int fd, size_t first, size_t end)
{
    write_noted(fd, first, end, 0);
}

static void write_plain(int fd, const char *text)
{
    const tg_tokenizer *tok;
    tg_tokens_writer *w;
    tg_err err;

    CHECK_OK(tg_tokenizer_create(&tok, "bytes", &err), &err);
    CHECK_OK(tg_tokens_create(&w, fd, tok, &err), &err);
    CHECK_OK(tg_tokens_write_packed(w, text, strlen(text), &err), &err);
    CHECK_OK(tg_tokens_finish(w, &err), &err);
    tg_tokens_abandon(w);
    tg_tokenizer_free(tok);
}

/* Read all archives of fd, and close it. */
static tg_tokens load(int fd)
{
    tg_tokens tokens = {0};
    tg_source source;
    tg_err err;

    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_source_open(&source, fd, &err), &err);
    CHECK_OK(tg_tokens_load_source(&tokens, &source, SIZE_MAX, &err), &err);
    close(fd);
    return tokens;
}

static tg_tokens load_documents(void)
{
    const int fd = temp_file();

    write_documents(fd, 0, DOCUMENTS);
    return load(fd);
}

static void a_mask_is_kept(void)
{
    tg_tokens tokens = load_documents();
    const uint32_t crc = tg_tokens_crc(&tokens);
    size_t at = 0;

    CHECK_EQ(tokens.count, TOKENS);
    CHECK(tokens.mask != NULL);
    for (size_t d = 0; d < DOCUMENTS; d++)
        for (size_t i = 0; documents[d][i] != '\0'; i++, at++) {
            CHECK_EQ(tokens.data[at], documents[d][i]);
            CHECK_EQ(tokens.mask[at], mask_of(documents[d], i));
        }
    tokens.mask[1] ^= 1;
    CHECK(tg_tokens_crc(&tokens) != crc); /* it is another text */
    tg_tokens_free(&tokens);
}

/* The template is known if all archives have the same. */
static void notes_of_templates(void)
{
    static const struct {
        tg_chat_note of[3], all;
    } cases[] = {{{2, 2, 2}, 2}, {{4, 4, 4}, 4}, {{0, 0, 0}, 0},
                 {{1, 1, 2}, 0}, {{0, 3, 3}, 0}, {{3, 0, 3}, 0}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int fd = temp_file();
        tg_tokens tokens;

        for (size_t k = 0; k < 3; k++)
            write_noted(fd, k, k + 1, cases[i].of[k]);
        tokens = load(fd);
        CHECK_EQ(tokens.chat, cases[i].all);
        tg_tokens_free(&tokens);
    }
}

/* Plain texts among them are documents of their own. */
static void with_and_without_a_mask(void)
{
    static const unsigned char want[] = {2, 1, 1, 2, 1, 2, 1, 1};
    const int fd = temp_file();
    tg_tokens tokens;

    write_plain(fd, "xyz");
    write_documents(fd, 3, 4);
    write_plain(fd, "xyz");
    tokens = load(fd);
    CHECK_EQ(tokens.count, sizeof want);
    CHECK(tokens.mask && memcmp(tokens.mask, want, sizeof want) == 0);
    tg_tokens_free(&tokens);
}

/* ---- windows */

/* Windows of 4 inputs: what is in them, with '.' for targets that are none. */
static void windows_of_documents(void)
{
    enum { T = 4 };
    static const char want[][2][T + 1] = {
        {"abcD", "..DE"}, {"fgHI", ".HIJ"}, {"JKLM", "KLMN"}, {"Nop", "..Q."}, {"u", "V..."}};
    static const size_t targets_of[] = {2, 3, 4, 1, 1};
    tg_tokens tokens = load_documents();
    tg_documents d;
    int32_t ids[T], targets[T];
    tg_err err;

    CHECK_OK(tg_documents_init(&d, &tokens, T, false, 0, &err), &err);
    CHECK_EQ(d.n, 5);
    CHECK(d.documents == DOCUMENTS && d.cut == 1 && d.predicted == PREDICTED);
    for (size_t w = 0; w < d.n; w++) {
        const size_t n = strlen(want[w][0]);

        tg_documents_get(&d, w, &(tg_windows){ids, targets, NULL});
        for (size_t t = 0; t < T; t++) {
            CHECK_EQ(ids[t], t < n ? want[w][0][t] : 0);
            CHECK_EQ(targets[t], want[w][1][t] == '.' ? TG_NO_TARGET : want[w][1][t]);
        }
        CHECK_EQ(tg_documents_targets(&d, w), targets_of[w]);
    }
    tg_documents_free(&d);
    for (size_t i = 0; i < tokens.count; i++)
        tokens.mask[i] = i == 0 ? TG_MASK_FIRST : TG_MASK_READ;
    CHECK_EQ(tg_documents_init(&d, &tokens, T, false, 0, &err), TG_EDATA);
    CHECK_HAS(err.message, "marks no token of the text");
    tg_tokens_free(&tokens);
}

/* Short pieces share a window, in order; the padding is documents of one token. */
static void windows_that_are_shared(void)
{
    enum { T = 8, WINDOWS = 3 };
    static const char *const want[WINDOWS][3] = {
        {"abcD", "..DE", "0123"}, {"fgHIJKLM", ".HIJKLMN", "01234567"}, {"Nopu", "..QV", "0120"}};
    static const size_t targets_of[WINDOWS] = {2, 7, 2};
    tg_tokens tokens = load_documents();
    tg_documents d;
    int32_t ids[T], targets[T], positions[T];
    tg_err err;

    CHECK_OK(tg_documents_init(&d, &tokens, T, true, 0, &err), &err);
    CHECK(d.n == WINDOWS && d.pieces == 4 && d.predicted == PREDICTED && d.documents == DOCUMENTS &&
          d.cut == 1);
    for (size_t w = 0; w < WINDOWS; w++) {
        const size_t n = strlen(want[w][0]);

        tg_documents_get(&d, w, &(tg_windows){ids, targets, positions});
        for (size_t t = 0; t < T; t++) {
            CHECK_EQ(ids[t], t < n ? want[w][0][t] : 0);
            CHECK_EQ(targets[t], t >= n || want[w][1][t] == '.' ? TG_NO_TARGET : want[w][1][t]);
            CHECK_EQ(positions[t], t < n ? want[w][2][t] - '0' : 0);
        }
        CHECK_EQ(tg_documents_targets(&d, w), targets_of[w]);
    }
    tg_documents_free(&d);
    tg_tokens_free(&tokens);
}

/* The first piece of a document may have no target, and is left out: what is held out is whole documents. */
static void held_out_without_first_pieces(void)
{
    enum { T = 4 };
    static uint8_t mask[] = {2, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 1, 1, 2, 0, 0, 0, 0, 0, 1, 1};
    tg_tokens tokens = load_documents();
    tg_tokens long_ones = {.tokenizer = tokens.tokenizer,
                           .count = sizeof mask,
                           .width = 1,
                           .data = (unsigned char[sizeof mask]){0},
                           .mask = mask};
    tg_documents d;
    tg_err err;

    CHECK_OK(tg_documents_init(&d, &long_ones, T, true, 0.4, &err), &err);
    CHECK(d.documents == 3 && d.pieces == 3 && d.n == 3 && d.held_out == 1);
    CHECK_EQ(tg_documents_begin(&d, 2), 16 + T);
    tg_documents_free(&d);
    tg_tokens_free(&tokens);
}

/* Whole documents are held out, and an epoch has each other window once. */
static void documents_that_are_held_out(void)
{
    enum { T = 4 };
    tg_tokens tokens = load_documents();
    tg_batches b;
    int32_t ids[T], targets[T];
    size_t seen[256] = {0};
    tg_err err;

    CHECK_OK(tg_batches_init(&b, &tokens, 1, T, false, (tg_held_out){0.2, 1, NULL}, &err), &err);
    CHECK(b.windows == 4 && b.val_windows == 1 && b.train_tokens == TOKENS - 2 && b.val_tokens == 2);
    for (size_t w = 0; w < 2 * b.windows; w++) {
        tg_batches_train(&b, &(tg_windows){ids, targets, NULL}, w, 1);
        seen[ids[0]]++;
        CHECK(tg_batches_train_targets(&b, w, 1) <= T);
    }
    CHECK(seen['a'] == 2 && seen['f'] == 2 && seen['J'] == 2 && seen['N'] == 2);
    CHECK_EQ(tg_batches_train_targets(&b, 0, 4), PREDICTED - 1);
    tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, 0, 1, 1);
    CHECK(ids[0] == 'u' && targets[0] == 'V' && targets[1] == TG_NO_TARGET);
    CHECK_EQ(tg_batches_val_targets(&b, 0, 1, 1), 1);
    CHECK(tg_batches_probe(&b, ids, T) == 2 && ids[0] == 'u');
    tg_batches_free(&b);
    /* two of five windows, and so the whole second document, which leaves one */
    CHECK_OK(tg_batches_init(&b, &tokens, 1, T, false, (tg_held_out){0.5, 1, NULL}, &err), &err);
    CHECK(b.windows == 1 && b.val_windows == 4);
    tg_batches_free(&b);
    CHECK_EQ(tg_batches_init(&b, &tokens, 1, T, false, (tg_held_out){0.5, 2, NULL}, &err), TG_EDATA);
    CHECK_HAS(err.message, "not the ends of 2 blocks");
    /* a text of its own, which has a mask, for one that has none, and the other way round */
    tg_tokens plain = {.tokenizer = tokens.tokenizer, .count = TOKENS, .width = 1, .data = tokens.data};
    CHECK_OK(tg_batches_init(&b, &plain, 1, T, false, (tg_held_out){0, 1, &tokens}, &err), &err);
    CHECK(b.val_windows == 5 && tg_batches_val_targets(&b, 0, 5, 5) == PREDICTED && b.documents.n == 0);
    CHECK_EQ(tg_batches_train_targets(&b, 0, 3), 3 * T);
    tg_batches_free(&b);
    CHECK_OK(tg_batches_init(&b, &tokens, 1, T, false, (tg_held_out){0, 1, &plain}, &err), &err);
    CHECK(b.val_windows == (TOKENS - 1) / T && tg_batches_val_targets(&b, 0, 2, 5) == 2 * T &&
          b.windows == 5);
    tg_batches_val(&b, &(tg_windows){ids, targets, NULL}, 1, 1, b.val_windows);
    CHECK_EQ(targets[0], 'f');
    tg_batches_free(&b);
    tg_tokens_free(&tokens);
}

/* ---- training */

/* A run of `accumulate` passes of `batch` windows of 4, from the same weights; its first step's loss. */
static double first_step(tg_run *run, const tg_tokens *tokens, size_t batch, size_t accumulate, bool packing)
{
    const tg_settings asked = {
        .batch = batch, .accumulate = accumulate, .context = 4, .steps = 1, .packing = packing};
    static const bool given[TG_SETTINGS] = {
        [TG_SET_PRECISION] = true, /* float32, as in the equations */
        [TG_SET_BATCH] = true,     [TG_SET_ACCUMULATE] = true, [TG_SET_CONTEXT] = true,
        [TG_SET_STEPS] = true,     [TG_SET_PACKING] = true};
    tg_model model;
    tg_batches b;
    tg_trainer t;
    tg_step_report report;
    tg_text_changes changes;
    size_t steps;
    tg_err err;

    small_model_create(&model, small_config(1, 2, 16, 8), 3);
    *run = (tg_run){0};
    CHECK_OK(tg_run_begin(run, &model, &err), &err);
    CHECK_OK(tg_run_resume(run, tokens->count, &asked, given, &steps, &err), &err);
    run->settings.val_fraction = 0;
    CHECK_OK(tg_run_use_text(run, &b, tokens, NULL, &changes, &err), &err);
    CHECK_OK(tg_trainer_open(&t, run, &b, &tg_team_alone, &err), &err);
    CHECK_OK(tg_trainer_step(&t, &report, &err), &err);
    tg_trainer_close(&t);
    tg_batches_free(&b);
    return report.loss;
}

/* The mean over the predicted tokens of all windows, each of which runs alone. */
static double mean_of_windows(const tg_tokens *tokens)
{
    enum { T = 4 };
    tg_model model;
    tg_documents d;
    double *flat, sum = 0;
    int32_t ids[T], targets[T];
    tg_err err;

    small_model_create(&model, small_config(1, 2, 16, 8), 3);
    flat = small_model_params64(&model);
    CHECK_OK(tg_documents_init(&d, tokens, T, false, 0, &err), &err);
    for (size_t w = 0; w < d.n; w++) {
        tg_documents_get(&d, w, &(tg_windows){ids, targets, NULL});
        sum += T * ref_gpt_loss(&model.config, &model.table, flat, ids, targets, 1, T, NULL, NULL);
    }
    free(flat);
    tg_documents_free(&d);
    tg_model_free(&model);
    return sum / PREDICTED;
}

/* Every token that is predicted counts the same, however the windows are divided among passes: in the loss,
 * and in the gradient, whose moments are those of the first step. */
static void every_predicted_token_counts_the_same(void)
{
    tg_tokens tokens = load_documents();
    const double want = mean_of_windows(&tokens);
    static const struct {
        size_t batch, accumulate;
        bool packing;
    } others[] = {{1, 5, false}, {4, 1, true}, {2, 2, true}, {1, 4, true}};
    tg_run one, many;

    CHECK_NEAR(first_step(&one, &tokens, 5, 1, false), want, 1e-6);
    for (size_t n = 0; n < sizeof others / sizeof others[0]; n++) {
        CHECK_NEAR(first_step(&many, &tokens, others[n].batch, others[n].accumulate, others[n].packing), want,
                   1e-6);
        CHECK(check_distance(one.moments.m.floats, many.moments.m.floats, one.model.table.floats) < 1e-6);
        for (size_t i = 0; i < one.model.table.floats; i++)
            if (fabs((double)one.moments.m.floats[i]) > 1e-4)
                CHECK_NEAR((double)many.moments.m.floats[i] / (double)one.moments.m.floats[i], 1, 1e-3);
        tg_run_free(&many);
    }
    tg_run_free(&one);
    tg_tokens_free(&tokens);
}

/* ---- evaluation */

static void only_predicted_tokens_are_scored(void)
{
    const int fd = temp_file();
    tg_tokens tokens = load_documents();
    tg_model model;
    tg_eval e;
    tg_tokens_stream stream;
    double want;
    size_t runs = 0;
    tg_err err;

    write_documents(fd, 0, DOCUMENTS);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    small_model_create(&model, small_config(1, 2, 16, 8), 3);
    /* a prefix is not wanted: documents have their own */
    CHECK_OK(tg_eval_open(&e, &model, &(tg_eval_plan){.context = 4, .stride = 4, .prefix = 0}, &err), &err);
    CHECK_OK(tg_tokens_stream_open(&stream, model.tokenizer, fd, &err), &err);
    do {
        CHECK_OK(tg_eval_run(&e, &stream, NULL, NULL, &err), &err);
        runs++;
    } while (tg_tokens_stream_goes_on(&stream));
    tg_tokens_stream_close(&stream);
    close(fd);
    CHECK_EQ(runs, DOCUMENTS);
    CHECK(e.sums.tokens == TOKENS && e.sums.scored == PREDICTED && e.sums.bytes == PREDICTED);
    want = mean_of_windows(&tokens);
    CHECK_NEAR(tg_eval_loss(&e.sums), want, 1e-6);
    tg_eval_close(&e);
    tg_model_free(&model);
    tg_tokens_free(&tokens);
}

int main(void)
{
    RUN(a_mask_is_kept);
    RUN(notes_of_templates);
    RUN(with_and_without_a_mask);
    RUN(windows_of_documents);
    RUN(windows_that_are_shared);
    RUN(held_out_without_first_pieces);
    RUN(documents_that_are_held_out);
    RUN(every_predicted_token_counts_the_same);
    RUN(only_predicted_tokens_are_scored);
    return check_done();
}
