/* --ablate: the change in loss without some heads. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/ablate.h"
#include "cmd/cli/heads.h"
#include "cmd/lines/table.h"
#include "lib/heads/ablate.h"

static const char *wanted; /* the argument of --ablate */

/* ---- which heads: L.H or L.*, separated by commas, or all */

static bool is_all(void)
{
    return strcmp(wanted, "all") == 0;
}

static int check(const attn_options *o)
{
    if (is_all())
        return CLI_OK;
    if (o->filter.layer != TG_ATTN_ALL || o->filter.head != TG_ATTN_ALL)
        return cli_usage("--layer and --head go with --ablate all: '%s' already names its heads", wanted);
    if (!cli_heads_given(wanted))
        return cli_usage("--ablate must be LAYER.HEAD or LAYER.*, separated by commas, or all, got '%s'",
                         wanted);
    return CLI_OK;
}

/* List the heads that a filter keeps; the caller frees *out. */
static tg_status filter_heads(tg_ablate_head **out, size_t *n, const tg_attn_filter *filter, size_t L,
                              size_t H, tg_err *err)
{
    tg_ablate_head *heads = *out = malloc(L * H * sizeof *heads);

    *n = 0;
    if (!heads)
        return tg_fail_memory(err, L * H * sizeof *heads, "the heads");
    for (size_t h = 0; h < L * H; h++)
        if (tg_attn_keeps(filter->layer, h / H) && tg_attn_keeps(filter->head, h % H))
            heads[(*n)++] = (tg_ablate_head){h / H, h % H};
    return TG_OK;
}

static tg_status find_heads(tg_ablate_head **out, size_t *n, const attn_options *o, const tg_config *c,
                            tg_err *err)
{
    tg_status status;

    if (!is_all())
        return cli_heads_find(out, n, wanted, c, err);
    if ((status = tg_attn_filter_check(&o->filter, c->n_layer, c->n_head, 1, err)))
        return status;
    return filter_heads(out, n, &o->filter, c->n_layer, c->n_head, err);
}

/* ---- progress */

struct timing {
    double begun, shown;
};

static void show_progress(void *context, const tg_ablate_progress *p)
{
    struct timing *t = context;
    char line[256];

    if (!cli_progress_wanted(t->begun, &t->shown))
        return;
    if (p->cases == 1)
        snprintf(line, sizeof line, "%s tokens, %s", cli_count(p->tokens), cli_duration(t->shown - t->begun));
    else
        snprintf(line, sizeof line, "%s tokens, the next %s: %s of %s heads, %s", cli_count(p->tokens),
                 cli_count(p->batch), cli_count(p->done), cli_count(p->cases),
                 cli_duration(t->shown - t->begun));
    cli_progress(line);
}

/* ---- output */

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

static void print_case(const table *t, const tg_ablate *a, const char *heads, size_t number)
{
    const double loss = tg_ablate_baseline(a), ablated = tg_ablate_loss(a, number);
    const table_cell cells[] = {{.text = heads},
                                {.size = (size_t)a->tokens},
                                {.real = loss},
                                {.real = ablated},
                                {.real = ablated - loss}};

    if (t->format == TABLE_TEXT)
        printf("%7s %11.7f %11.7f %+12.7f\n", heads, loss, ablated, ablated - loss);
    else
        table_print_line(t, cells);
}

static void print_all(const tg_ablate *a, const attn_options *o, const tg_config *c)
{
    const table t = {.format = o->format,
                     .n = 5,
                     .column = {{"heads", "", TABLE_STRING, 0, 0, 0},
                                {"tokens", "", TABLE_SIZE, 0, 0, 0},
                                {"loss", "", TABLE_DOUBLE, 0, 0, 0},
                                {"ablated", "", TABLE_DOUBLE, 0, 0, 0},
                                {"change", "", TABLE_DOUBLE, 0, 0, 0}}};

    if (t.format == TABLE_TEXT && !o->no_header)
        print_header(a, c);
    else if (!o->no_header)
        table_print_titles(&t);
    for (size_t n = 0; n < a->cases; n++) {
        const tg_ablate_head *h = &a->heads.head[n];
        char name[48];

        snprintf(name, sizeof name, "%zu.%zu", h->layer, h->head);
        print_case(&t, a, is_all() ? name : wanted, n);
    }
}

/* ---- the run */

static tg_status run_text(tg_ablate *a, const cli_model *m, const attn_options *o, tg_err *err)
{
    struct timing timing = {.begun = cli_now(), .shown = cli_now()};
    cli_stream text;
    tg_status status = cli_text_bos(&a->prefix, &o->text, m, cli_text_is_probe(&o->text, m), err);

    if (status || (status = cli_text_stream(&o->text, &text, m, err)))
        return status;
    if ((status = tg_ablate_run(a, &text.stream, show_progress, &timing, err)))
        (void)tg_err_in(err, text.name);
    cli_stream_close(&text);
    return status;
}

static tg_status ablate(const cli_model *m, const tg_ablate_heads *heads, const attn_options *o, tg_err *err)
{
    tg_ablate a;
    tg_status status = team_settle(o->team, tg_ablate_open(&a, &m->model, heads, err), err);

    if (!status)
        status = run_text(&a, m, o, err);
    if (!status && (status = tg_ablate_check_finite(&a, err)))
        (void)tg_err_in(err, cli_input_name(m->path));
    if (!status) {
        cli_progress_end();
        print_all(&a, o, &m->model.config);
    }
    tg_ablate_close(&a);
    return status;
}

/* The model, for all processes, or none of them. */
static tg_status open_model(cli_model *m, const attn_options *o, tg_err *err)
{
    const bool wants_stdin = cli_is_dash(cli_model_path(o->model)) || !cli_text_given(&o->text);
    tg_status own, status = team_broadcast_stdin(o->team, wants_stdin, err);

    if (status)
        return status;
    own = input_open_model(m, o, err);
    if (!(status = team_settle(o->team, own, err)))
        status = team_compare_models(o->team, &m->model, err);
    if (status && !own)
        cli_model_close(m);
    return status;
}

static tg_status run(const attn_options *o, tg_err *err)
{
    tg_ablate_head *list = NULL;
    tg_ablate_heads heads = {.in_turn = is_all(), .team = o->team};
    cli_model m;
    tg_status status = open_model(&m, o, err);

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

/* ---- for a dump */

static tg_status run_ids(double *changes, const attn_input *in, const tg_ablate_heads *heads, tg_err *err)
{
    struct timing timing = {.begun = cli_now(), .shown = cli_now()};
    tg_tokens_stream text;
    tg_ablate a;
    tg_status status;

    if ((status = tg_ablate_open(&a, &in->model.model, heads, err)))
        return status;
    tg_tokens_stream_open_ids(&text, in->model.model.tokenizer, in->prompt.ids, in->prompt.n);
    if (!(status = tg_ablate_run(&a, &text, show_progress, &timing, err)))
        status = tg_ablate_check_finite(&a, err);
    for (size_t n = 0; n < heads->n && !status; n++)
        changes[heads->head[n].layer * in->layers.H + heads->head[n].head] =
            tg_ablate_loss(&a, n) - tg_ablate_baseline(&a);
    cli_progress_end();
    tg_tokens_stream_close(&text);
    tg_ablate_close(&a);
    return status;
}

tg_status ablate_changes(double **changes, const attn_input *in, tg_err *err)
{
    const size_t L = in->layers.L, H = in->layers.H;
    const tg_attn_filter layers = {in->layers.filter.layer, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL};
    tg_ablate_head *list = NULL;
    tg_ablate_heads heads = {.in_turn = true};
    tg_status status;

    if (!(*changes = calloc(L * H, sizeof **changes)))
        return tg_fail_memory(err, L * H * sizeof **changes, "the heads");
    if (!(status = filter_heads(&list, &heads.n, &layers, L, H, err))) {
        heads.head = list;
        status = run_ids(*changes, in, &heads, err);
    }
    free(list);
    return status;
}

/* ---- the job */

static const cli_option own[] = {
    CLI_TEXT_OPTION(0, "ablate", &wanted, "L.H,...|all",
                    "the change in loss without these heads, or without each in turn"),
};

const job ablate_job = {
    .options = own,
    .n_options = sizeof own / sizeof own[0],
    .about = "shows the loss of a model on a whole text",
    .in_team = true,
    .accepts = "model|prompt|layer|head|heads|format|no-header|threads",
    .check = check,
    .run = run,
};
