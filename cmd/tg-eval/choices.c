/* --choices: which of several continuations a model takes for the most probable one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* What is read, and what has come of it. */
struct choices {
    eval_job *job;
    struct item item; /* the current one */
    uint64_t items, labelled, right, right_per_byte,
        cut; /* cut: continuations, whose contexts were too long */
};

/* ---- one continuation */

/* The ids of the context, and after them those of the continuation: of both together, all after as many as
 * the context has alone.  White space at its end belongs to the continuation.  So it is in lm-eval's
 * requests, also where a token of both together crosses the border. */
static tg_status divide(tg_tokens_prompt *whole, size_t *context, const struct choices *c, size_t n,
                        tg_err *err)
{
    const tg_tokenizer *tok = c->job->m.model.tokenizer;
    const struct item *item = &c->item;
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
    memcpy(whole->ids, alone.ids, *context * sizeof *whole->ids);
    tg_tokens_prompt_free(&alone);
    return TG_OK;
}

/* Score the ids from `context` on, with a token before all where the plan has one.  Of a text that is longer
 * than a window the beginning is left out. */
static tg_status score(struct choices *c, struct choice *choice, const tg_tokens_prompt *p, size_t context,
                       tg_err *err)
{
    eval_job *job = c->job;
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
    c->cut += cut > 0;
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

static tg_status add_choice(struct choices *c, tg_span text, tg_err *err)
{
    struct item *item = &c->item;
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
    if ((status = divide(&whole, &context, c, item->context + text.n, err)))
        return status;
    status = score(c, choice, &whole, context, err);
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

static tg_status read_choices(struct choices *c, tg_json *j, tg_err *err)
{
    tg_status status = TG_OK;

    tg_json_enter(j, TG_JSON_ARRAY);
    while (!status && tg_json_element(j)) {
        const tg_span text = tg_json_get_text(j);

        if (!j->status && text.n == 0)
            return tg_json_fail(j, "a continuation is empty");
        if (!j->status)
            status = add_choice(c, text, err);
    }
    if (!status && !j->status && c->item.n == 0)
        return tg_json_fail(j, "there are no continuations");
    return status ? status : j->status;
}

static tg_status read_item(struct choices *c, tg_json *j, tg_err *err)
{
    static const char *const names[] = {
        [CONTEXT] = "context", [CONTINUATIONS] = "continuations", [LABEL] = "label"};
    struct item *item = &c->item;
    size_t at[MEMBERS];
    tg_status status;

    item->n = 0;
    item->label = SIZE_MAX;
    tg_json_members(j, names, MEMBERS, at);
    tg_json_end(j);
    for (size_t i = 0; i < LABEL; i++)
        if (!j->status && at[i] == 0)
            return tg_json_fail(j,
                                "no \"%s\": expected {\"context\": \"...\", \"continuations\": [\"...\", "
                                "\"...\"], \"label\": 0}",
                                names[i]);
    (void)tg_json_go(j, at[CONTEXT]);
    if ((status = read_context(item, j, err)))
        return status;
    (void)tg_json_go(j, at[CONTINUATIONS]);
    if ((status = read_choices(c, j, err)) || at[LABEL] == 0)
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

static void add_item(struct choices *c)
{
    const struct item *item = &c->item;
    const bool is_labelled = item->label != SIZE_MAX;

    if (c->job->o->format == EVAL_TSV)
        print_rows(item, c->items);
    else if (c->job->o->format == EVAL_JSONL)
        print_object(item, c->items);
    c->items++;
    c->labelled += is_labelled;
    c->right += is_labelled && best(item, false) == item->label;
    c->right_per_byte += is_labelled && best(item, true) == item->label;
}

static void print_sums(const struct choices *c)
{
    const double n = (double)c->labelled, accuracy = (double)c->right / n;
    const double per_byte = (double)c->right_per_byte / n;

    cli_progress_end();
    if (c->cut > 0)
        cli_say("%s continuation%s not fit a window of %zu tokens together with the context, whose "
                "beginning is left out",
                cli_count(c->cut), c->cut == 1 ? " does" : "s do", c->job->eval.plan.context);
    if (c->job->o->format == EVAL_TEXT) {
        printf("items       %s, %s of them with a label\n", cli_count(c->items), cli_count(c->labelled));
        if (c->labelled == 0)
            return;
        printf("accuracy    %.4f, standard error %.4f\n", accuracy,
               sqrt(accuracy * (1 - accuracy) / fmax(n - 1, 1)));
        printf("per byte    %.4f, by log-probability per byte\n", per_byte);
    } else if (c->labelled > 0) {
        cli_note("accuracy %.4f on %s item%s with a label, of %s; by log-probability per byte %.4f", accuracy,
                 cli_count(c->labelled), cli_plural(c->labelled), cli_count(c->items), per_byte);
    }
}

/* In place of that of tokens. */
static void show_items(const struct choices *c)
{
    eval_job *job = c->job;
    char line[64];

    if (!cli_progress_wanted(job->begun, &job->shown))
        return;
    snprintf(line, sizeof line, "%s items, %s", cli_count(c->items), cli_duration(job->shown - job->begun));
    cli_progress(line);
}

/* ---- the file */

static tg_status take_line(void *context, char *line, size_t n, size_t number, tg_err *err)
{
    struct choices *c = context;
    tg_json j;
    tg_status status, closed;

    if (cli_stdout_failed() || strspn(line, " \t\r") == n)
        return TG_OK;
    tg_json_open(&j, line, n, err);
    j.line = number;
    if ((status = read_item(c, &j, err)) && !j.status)
        (void)tg_json_err_in(&j);
    closed = tg_json_close(&j);
    if (status || closed)
        return status ? status : closed;
    add_item(c);
    show_items(c);
    return TG_OK;
}

tg_status eval_choices(eval_job *job, tg_err *err)
{
    const char *path = job->o->choices;
    struct choices c = {.job = job};
    tg_status status;

    if (job->o->format == EVAL_TSV && !job->o->no_header)
        puts("item\tchoice\ttokens\tbytes\tlogprob\tgreedy\tlabel");
    status = cli_each_line(path, take_line, &c, err);
    free(c.item.text);
    free(c.item.choice);
    if (!status && c.items == 0) {
        status = tg_fail(err, TG_EDATA, "no lines, expected JSON objects");
        (void)tg_err_in(err, cli_input_name(path));
    }
    if (cli_model_check(&job->m, err))
        return err->code;
    if (!status)
        print_sums(&c);
    return status;
}
