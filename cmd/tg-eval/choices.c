/* --choices: which of several continuations a model takes for the most probable one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tg-eval/job.h"
#include "formats/json.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"

/* A continuation of the context. */
struct choice {
    size_t tokens, bytes;
    double log_prob; /* of all its tokens */
    bool greedy;     /* each of them is the most probable one */
};

/* A line of the file. */
struct item {
    unsigned char *text; /* [context + a continuation] owned */
    size_t context, capacity;
    struct choice *choice; /* [n] owned */
    size_t n, choices_capacity;
    size_t label; /* SIZE_MAX: not given */
};

struct sums {
    uint64_t items, labelled, right, right_per_byte, cut;
};

/* ---- one continuation */

/* The ids of the context with the continuation, and how many of them are the context: as many as it has
 * alone. White space at its end belongs to the continuation.  So it is in lm-eval's requests. */
static tg_status divide(tg_tokens_prompt *whole, size_t *context, const eval_job *job,
                        const struct item *item, size_t n, tg_err *err)
{
    const tg_tokenizer *tok = job->m.model.tokenizer;
    size_t before = item->context;
    tg_tokens_prompt alone;
    tg_status status;

    while (before > 0 && strchr(" \t\r\n", item->text[before - 1]))
        before--;
    if ((status = tg_tokens_prompt_text(whole, tok, item->text, n, err)))
        return status;
    if ((status = tg_tokens_prompt_text(&alone, tok, item->text, before, err))) {
        tg_tokens_prompt_free(whole);
        return status;
    }
    *context = tg_size_min(alone.n, whole->n);
    tg_tokens_prompt_free(&alone);
    return TG_OK;
}

/* Score the ids from `context` on, with a token before all where the plan has one.  Of a text that is longer
 * than a window the beginning is left out. */
static tg_status score(eval_job *job, struct choice *choice, struct sums *sums, const tg_tokens_prompt *p,
                       size_t context, tg_err *err)
{
    const int32_t prefix = job->eval.plan.prefix;
    const size_t all = p->n + (prefix >= 0), room = job->eval.plan.context + 1,
                 cut = all > room ? all - room : 0;
    int32_t *ids = calloc(all, sizeof *ids);
    unsigned char *mask = calloc(all, 1);
    tg_tokens_stream stream;
    tg_status status;

    if (!ids || !mask) {
        status = tg_fail_memory(err, all * (sizeof *ids + 1), "a text");
        goto done;
    }
    ids[0] = prefix;
    memcpy(ids + (prefix >= 0), p->ids, p->n * sizeof *ids);
    context += prefix >= 0;
    if (context == 0 || context == all) {
        status = context == 0
                     ? tg_fail(err, TG_EDATA, "a continuation without a token before it: nothing predicts it")
                     : tg_fail(err, TG_EDATA,
                               "the context has as many tokens alone as with a continuation: "
                               "there is nothing to score");
        goto done;
    }
    memset(mask + context, TG_MASK_PREDICTED, all - context);
    mask[cut] = TG_MASK_FIRST;
    if (cut >= context) {
        status = tg_fail(err, TG_EDATA, "a continuation has %zu tokens, expected at most %zu, a window",
                         all - context, room - 1);
        goto done;
    }
    sums->cut += cut > 0;
    job->eval.sums = (tg_eval_sums){0};
    tg_tokens_stream_open_document(&stream, job->m.model.tokenizer, ids + cut, mask + cut, all - cut);
    status = tg_eval_run(&job->eval, &stream, NULL, NULL, err);
    tg_tokens_stream_close(&stream);
    choice->tokens = job->eval.sums.scored;
    choice->log_prob = job->eval.sums.log_prob;
    choice->greedy = job->eval.sums.right == job->eval.sums.scored;
done:
    free(ids);
    free(mask);
    return status;
}

static tg_status add_choice(eval_job *job, struct item *item, struct sums *sums, tg_span text, tg_err *err)
{
    struct choice *choice;
    tg_tokens_prompt whole;
    size_t context;
    tg_status status;

    if ((status = tg_grow(&item->choice, &item->choices_capacity, item->n + 1, sizeof *choice, "the choices",
                          err)) ||
        (status = tg_grow(&item->text, &item->capacity, item->context + text.n, 1, "a text", err)))
        return status;
    memcpy(item->text + item->context, text.p, text.n);
    choice = &item->choice[item->n++];
    *choice = (struct choice){.bytes = text.n};
    if ((status = divide(&whole, &context, job, item, item->context + text.n, err)))
        return status;
    status = score(job, choice, sums, &whole, context, err);
    tg_tokens_prompt_free(&whole);
    return status;
}

/* ---- a line */

enum { CONTEXT, CONTINUATIONS, LABEL, MEMBERS };

static tg_status read_context(struct item *item, tg_json *j, tg_err *err)
{
    const tg_span text = tg_json_get_text(j);
    const tg_status status =
        j->status ? j->status
                  : tg_grow(&item->text, &item->capacity, tg_size_max(text.n, 1), 1, "a text", err);

    if (status)
        return status;
    memcpy(item->text, text.p, text.n);
    item->context = text.n;
    return TG_OK;
}

static tg_status read_choices(eval_job *job, struct item *item, struct sums *sums, tg_json *j, tg_err *err)
{
    tg_status status = TG_OK;

    tg_json_enter(j, TG_JSON_ARRAY);
    while (!status && tg_json_element(j)) {
        const tg_span text = tg_json_get_text(j);

        if (!j->status && text.n == 0)
            return tg_json_fail(j, "a continuation is empty");
        if (!j->status)
            status = add_choice(job, item, sums, text, err);
    }
    if (!status && !j->status && item->n == 0)
        return tg_json_fail(j, "there are no continuations");
    return status ? status : j->status;
}

static tg_status read_item(eval_job *job, struct item *item, struct sums *sums, tg_json *j, tg_err *err)
{
    static const char *const names[] = {
        [CONTEXT] = "context", [CONTINUATIONS] = "continuations", [LABEL] = "label"};
    size_t at[MEMBERS];
    tg_status status;

    tg_json_members(j, names, MEMBERS, at);
    tg_json_end(j);
    for (size_t i = 0; i < LABEL; i++)
        if (!j->status && at[i] == 0)
            return tg_json_fail(j, "no \"%s\"", names[i]);
    (void)tg_json_go(j, at[CONTEXT]);
    if ((status = read_context(item, j, err)))
        return status;
    (void)tg_json_go(j, at[CONTINUATIONS]);
    if ((status = read_choices(job, item, sums, j, err)) || at[LABEL] == 0)
        return status;
    (void)tg_json_go(j, at[LABEL]);
    item->label = tg_json_get_size(j);
    if (!j->status && item->label >= item->n)
        return tg_json_fail(j, "label %zu, expected 0 to %zu", item->label, item->n - 1);
    return j->status;
}

/* ---- the output */

/* The most probable choice, or by log-probability per byte; the first of equals. */
static size_t best(const struct item *item, bool per_byte)
{
    size_t most = 0;
    double greatest = -HUGE_VAL;

    for (size_t i = 0; i < item->n; i++) {
        const struct choice *c = &item->choice[i];
        const double value = c->log_prob / (per_byte ? (double)c->bytes : 1);

        if (value > greatest) {
            greatest = value;
            most = i;
        }
    }
    return most;
}

static void print_rows(const struct item *item, uint64_t number)
{
    for (size_t i = 0; i < item->n; i++) {
        const struct choice *c = &item->choice[i];

        printf("%" PRIu64 "\t%zu\t%zu\t%zu\t%.9g\t%d\t", number, i, c->tokens, c->bytes, c->log_prob,
               c->greedy);
        if (item->label != SIZE_MAX)
            printf("%d", item->label == i);
        putchar('\n');
    }
}

static void print_object(const struct item *item, uint64_t number)
{
    printf("{\"item\":%" PRIu64 ",\"choices\":[", number);
    for (size_t i = 0; i < item->n; i++) {
        const struct choice *c = &item->choice[i];

        printf("%s{\"tokens\":%zu,\"bytes\":%zu,\"log_prob\":", i > 0 ? "," : "", c->tokens, c->bytes);
        cli_put_json_number(c->log_prob);
        printf(",\"greedy\":%s}", c->greedy ? "true" : "false");
    }
    printf("],\"best\":%zu,\"best_per_byte\":%zu", best(item, false), best(item, true));
    if (item->label != SIZE_MAX)
        printf(",\"label\":%zu", item->label);
    puts("}");
}

static void add_item(const eval_job *job, struct sums *sums, const struct item *item)
{
    const bool is_labelled = item->label != SIZE_MAX;

    if (job->o->format == EVAL_TSV)
        print_rows(item, sums->items);
    else if (job->o->format == EVAL_JSONL)
        print_object(item, sums->items);
    sums->items++;
    sums->labelled += is_labelled;
    sums->right += is_labelled && best(item, false) == item->label;
    sums->right_per_byte += is_labelled && best(item, true) == item->label;
}

static void print_sums(const eval_job *job, const struct sums *s)
{
    const double n = (double)s->labelled;

    cli_progress_end();
    if (s->cut > 0)
        cli_say("%s continuation%s not fit a window of %zu tokens together with the context, whose beginning "
                "is left "
                "out",
                cli_count(s->cut), s->cut == 1 ? " does" : "s do", job->eval.plan.context);
    if (job->o->format != EVAL_TEXT) {
        if (s->labelled > 0)
            cli_note("accuracy %.4f on %s item%s with a label, of %s; by log-probability per byte %.4f",
                     (double)s->right / n, cli_count(s->labelled), cli_plural(s->labelled),
                     cli_count(s->items), (double)s->right_per_byte / n);
        return;
    }
    printf("items       %s, %s of them with a label\n", cli_count(s->items), cli_count(s->labelled));
    if (s->labelled == 0)
        return;
    printf("accuracy    %.4f, standard error %.4f\n", (double)s->right / n,
           sqrt((double)s->right / n * (1 - (double)s->right / n) / fmax(n - 1, 1)));
    printf("per byte    %.4f, by log-probability per byte\n", (double)s->right_per_byte / n);
}

/* ---- the file */

static tg_status run_line(eval_job *job, struct item *item, struct sums *sums, const char *line, size_t n,
                          size_t number, tg_err *err)
{
    tg_json j;
    tg_status status, closed;

    item->n = 0;
    item->label = SIZE_MAX;
    tg_json_open(&j, line, n, err);
    j.line = number;
    status = read_item(job, item, sums, &j, err);
    if (status && !j.status)
        (void)tg_json_err_in(&j);
    closed = tg_json_close(&j);
    if (status || closed)
        return status ? status : closed;
    add_item(job, sums, item);
    return TG_OK;
}

static tg_status run_lines(eval_job *job, FILE *file, struct sums *sums, tg_err *err)
{
    struct item item = {0};
    char *line = NULL;
    size_t size = 0, number = 0;
    ssize_t n;
    tg_status status = TG_OK;

    while (!status && !cli_stdout_failed() && (n = getline(&line, &size, file)) >= 0) {
        number++;
        if (strspn(line, " \t\r\n") < (size_t)n)
            status = run_line(job, &item, sums, line, (size_t)n, number, err);
        eval_show_progress(job);
    }
    free(line);
    free(item.text);
    free(item.choice);
    if (!status && ferror(file))
        return tg_fail_sys(err, "cannot read");
    if (!status && sums->items == 0)
        return tg_fail(err, TG_EDATA, "no lines, expected JSON objects");
    return status;
}

tg_status eval_choices(eval_job *job, tg_err *err)
{
    const char *path = job->o->choices;
    struct sums sums = {0};
    FILE *file;
    int fd;
    tg_status status;

    if ((status = cli_open_input(&fd, path, err)))
        return status;
    if (!(file = fdopen(fd, "r"))) {
        status = tg_fail_sys(err, "cannot read");
        cli_close_input(fd);
        return status;
    }
    if (job->o->format == EVAL_TSV && !job->o->no_header)
        puts("item\tchoice\ttokens\tbytes\tlogprob\tgreedy\tlabel");
    if ((status = run_lines(job, file, &sums, err)))
        (void)tg_err_in(err, cli_input_name(path));
    if (fd != STDIN_FILENO)
        (void)fclose(file);
    if (cli_model_check(&job->m, err))
        return err->code;
    if (!status)
        print_sums(job, &sums);
    return status;
}
