/* The change in loss without some heads. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "cmd/tg-attn-dump/record.h"
#include "lib/attn/ablate.h"
#include "lib/gpt/stream.h"

/* ---- which heads: L.H or L.*, with commas between, or all */

static bool is_all(const attn_options *o)
{
    return strcmp(o->ablate, "all") == 0;
}

/* The next item into *pick, whose head is all for L.*; false: there is none. */
static bool take_item(const char **at, tg_attn_pick *pick)
{
    *pick = TG_ATTN_PICK_ALL;
    if (!cli_take_size(at, &pick->layer) || *(*at)++ != '.')
        return false;
    if (**at == '*')
        ++*at;
    else if (!cli_take_size(at, &pick->head))
        return false;
    return **at == '\0' || (**at == ',' && *++*at != '\0');
}

int attn_ablate_check(const attn_options *o)
{
    const char *at = o->ablate;
    tg_attn_pick pick;

    if (o->example != ATTN_NONE || o->qkv)
        return cli_usage("--ablate needs a model: arrays alone have no loss");
    if (is_all(o))
        return CLI_OK;
    if (o->pick.layer != TG_ATTN_ALL || o->pick.head != TG_ATTN_ALL)
        return cli_usage("--layer and --head choose from --ablate all: '%s' names its heads itself",
                         o->ablate);
    do {
        if (!take_item(&at, &pick))
            return cli_usage(
                "--ablate takes heads as LAYER.HEAD or LAYER.*, with commas between, or all: got '%s'",
                o->ablate);
    } while (*at != '\0');
    return CLI_OK;
}

static void mark(bool *marked, const tg_attn_pick *pick, const tg_config *c)
{
    for (size_t l = 0; l < c->n_layer; l++)
        for (size_t h = 0; h < c->n_head; h++)
            if (tg_attn_picks(pick->layer, l) && tg_attn_picks(pick->head, h))
                marked[l * c->n_head + h] = true;
}

static tg_status mark_items(bool *marked, const attn_options *o, const tg_config *c, tg_err *err)
{
    const char *at = o->ablate;
    tg_attn_pick pick = o->pick;
    tg_status status;

    do {
        if (!is_all(o) && !take_item(&at, &pick))
            break; /* attn_ablate_check() has looked */
        if ((status = tg_attn_pick_check(&pick, c->n_layer, c->n_head, 1, err)))
            return status;
        mark(marked, &pick, c);
    } while (!is_all(o) && *at != '\0');
    return TG_OK;
}

/* The heads that are meant, in ascending order; *out is the caller's to free. */
static tg_status find_heads(tg_ablate_head **out, size_t *n, const attn_options *o, const tg_config *c,
                            tg_err *err)
{
    const size_t most = c->n_layer * c->n_head;
    tg_ablate_head *heads = malloc(most * sizeof *heads);
    bool *marked = calloc(most, sizeof *marked);
    tg_status status = TG_OK;

    *n = 0;
    if (!heads || !marked)
        status = tg_fail_memory(err, most * (sizeof *heads + sizeof *marked), "the heads");
    if (!status && !(status = mark_items(marked, o, c, err))) {
        for (size_t i = 0; i < most; i++)
            if (marked[i])
                heads[(*n)++] = (tg_ablate_head){i / c->n_head, i % c->n_head};
    }
    free(marked);
    *out = heads;
    return status;
}

/* ---- the text */

struct text {
    const char *name; /* for messages */
    tg_prompt prompt; /* -p's */
    tg_stream stream;
};

static void close_text(struct text *t)
{
    tg_stream_close(&t->stream);
    tg_prompt_free(&t->prompt);
}

/* -p TEXT, else standard input, else the model's probe. */
static tg_status open_text(struct text *t, const cli_model *m, const attn_options *o, tg_err *err)
{
    const tg_model *model = &m->model;
    tg_status status;

    *t = (struct text){.name = "the text"};
    if (o->text) {
        if ((status = tg_prompt_text(&t->prompt, model, o->text, strlen(o->text), err)))
            return status;
        tg_stream_open_ids(&t->stream, model, t->prompt.ids, t->prompt.n);
        return TG_OK;
    }
    if (cli_model_has_input(m)) {
        t->name = "standard input";
        status = tg_stream_open(&t->stream, model, STDIN_FILENO, err);
        return status ? tg_err_in(err, t->name) : TG_OK;
    }
    if (model->probe_count == 0)
        return attn_no_text(err);
    tg_stream_open_ids(&t->stream, model, model->probe, model->probe_count);
    return TG_OK;
}

/* ---- progress, for who waits */

struct progress {
    const tg_ablate *a;
    double begun, shown;
};

static void show_progress(void *context, size_t done)
{
    struct progress *p = context;
    char line[256];

    if (!cli_progress_due(&p->shown))
        return;
    if (p->a->cases == 1)
        snprintf(line, sizeof line, "%s tokens, %s", cli_count(p->a->tokens), cli_duration(p->shown - p->begun));
    else
        snprintf(line, sizeof line, "%s tokens, the next %s: %s of %s heads, %s", cli_count(p->a->tokens),
                 cli_count(p->a->pass.acts.B * p->a->pass.acts.T), cli_count(done), cli_count(p->a->cases),
                 cli_duration(p->shown - p->begun));
    cli_progress(line);
}

/* ---- the loss */

static tg_status check_finite(const tg_ablate *a, tg_err *err)
{
    double loss = tg_ablate_loss(a, TG_ABLATE_NONE);

    for (size_t n = 0; isfinite(loss) && n < a->cases; n++)
        loss = tg_ablate_loss(a, n);
    return isfinite(loss) ? TG_OK : tg_fail(err, TG_EDATA, "the loss is not finite");
}

/* All of the text, as much at a time as there is room for; a piece begins with the token that
 * the one before ended with. */
static tg_status run_text(tg_ablate *a, struct text *t, tg_err *err)
{
    size_t kept = 0, n = 1;

    while (n > 0) {
        if (tg_stream_next(&t->stream, a->ids + kept, a->room + 1 - kept, &n, err))
            return tg_err_in(err, t->name);
        if (n == 0 || kept + n < 2)
            continue; /* to the end */
        tg_ablate_add(a, kept + n - 1);
        a->ids[0] = a->ids[kept + n - 1];
        kept = 1;
    }
    if (a->tokens > 0)
        return TG_OK;
    return tg_fail(err, TG_EDATA, "%s has %s: a loss needs two, one to predict the other from", t->name,
                   t->stream.count == 0 ? "no tokens" : "one token");
}

/* ---- showing it */

static void print_header(const tg_ablate *a, const tg_config *c)
{
    printf("# %s predicted token%s, in windows of at most %s, through %zu layer%s of %zu head%s\n",
           cli_count(a->tokens), cli_plural(a->tokens), cli_count(a->T), c->n_layer, cli_plural(c->n_layer),
           c->n_head, cli_plural(c->n_head));
    printf("# loss     nats a token, of the model as it is\n"
           "# ablated  the same with zeros for what these heads give\n"
           "# change   ablated - loss: above 0 where the heads help\n");
    printf("# heads        loss     ablated       change\n");
}

static void print_text(const tg_ablate *a, const char *heads, size_t number)
{
    const double loss = tg_ablate_loss(a, TG_ABLATE_NONE), ablated = tg_ablate_loss(a, number);

    printf("%7s %11.7f %11.7f %+12.7f\n", heads, loss, ablated, ablated - loss);
}

static void print_record(attn_record *r, const tg_ablate *a, const char *heads, size_t number)
{
    const double loss = tg_ablate_loss(a, TG_ABLATE_NONE), ablated = tg_ablate_loss(a, number);

    attn_put_text(r, "heads", true, heads, strlen(heads));
    attn_put_size(r, "tokens", true, a->tokens);
    attn_put_real(r, "loss", true, loss);
    attn_put_real(r, "ablated", true, ablated);
    attn_put_real(r, "change", true, ablated - loss);
    attn_end_record(r);
}

static void print_all(const tg_ablate *a, const attn_options *o, const tg_config *c)
{
    attn_record record = {.json = o->format == TG_ATTN_JSONL, .titles = true};

    if (o->format == TG_ATTN_TEXT)
        print_header(a, c);
    else if (!record.json)
        print_record(&record, a, "", 0);
    record.titles = false;
    for (size_t n = 0; n < a->cases; n++) {
        const tg_ablate_head *h = &a->heads.head[n];
        char name[48];

        snprintf(name, sizeof name, "%zu.%zu", h->layer, h->head);
        if (o->format == TG_ATTN_TEXT)
            print_text(a, is_all(o) ? name : o->ablate, n);
        else
            print_record(&record, a, is_all(o) ? name : o->ablate, n);
    }
}

/* ---- */

static tg_status ablate(const cli_model *m, const tg_ablate_heads *heads, const attn_options *o, tg_err *err)
{
    struct progress progress = {.begun = cli_now(), .shown = cli_now()};
    struct text text = {0};
    tg_ablate a;
    tg_status status = tg_ablate_open(&a, &m->model, heads, err);

    if (status)
        return status;
    progress.a = &a;
    a.watch = show_progress;
    a.context = &progress;
    if ((status = open_text(&text, m, o, err)) || (status = run_text(&a, &text, err)))
        goto done;
    if ((status = check_finite(&a, err))) {
        status = tg_err_in(err, cli_input_name(m->path));
        goto done;
    }
    cli_progress_end();
    print_all(&a, o, &m->model.config);

done:
    close_text(&text);
    tg_ablate_close(&a);
    return status;
}

tg_status attn_show_ablation(const attn_options *o, tg_err *err)
{
    tg_ablate_head *list = NULL;
    tg_ablate_heads heads = {.in_turn = is_all(o)};
    cli_model m;
    tg_status status = attn_open_model(&m, o, err);

    if (status)
        return status;
    if (!(status = find_heads(&list, &heads.n, o, &m.model.config, err))) {
        heads.head = list;
        status = ablate(&m, &heads, o, err);
    }
    free(list);
    cli_model_close(&m);
    return status;
}
