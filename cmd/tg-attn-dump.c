/* tg-attn-dump: every score and probability of attention, with the place of each number. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli.h"
#include "cmd/cli_model.h"
#include "lib/attn/attn.h"
#include "lib/attn/columns.h"
#include "lib/attn/example.h"
#include "lib/attn/qkv.h"
#include "lib/base/size.h"

#define NONE SIZE_MAX  /* an option that was not given */
#define INDEX_MAX 1e15 /* what --layer and the like take before the model is known */
#define LABEL_SIZE 64  /* a token's text as shown, quotes and NUL included */
#define ATT_WIDEST 8   /* show the weighted sum of heads up to this wide */
#define STDOUT_BUFFER (1u << 18)

enum format { FORMAT_TEXT, FORMAT_TSV };

struct options {
    const char *model, *text, *qkv;
    size_t example, heads, format, threads;
    tg_attn_pick pick;
};

static int parse(int argc, char **argv, struct options *o)
{
    cli_option options[] = {
        {'m', "model", CLI_TEXT, &o->model, "FILE",
         "the model ('-': standard input); else $TG_MODEL, else model.npz", 0, 0, NULL},
        {'p', "prompt", CLI_TEXT, &o->text, "TEXT",
         "the text to run; else standard input, text or tokens; else the model's probe", 0, 0, NULL},
        {'l', "layer", CLI_SIZE, &o->pick.layer, "L", "only this layer, from 0", 0, INDEX_MAX, NULL},
        {'a', "head", CLI_SIZE, &o->pick.head, "H", "only this head, from 0", 0, INDEX_MAX, NULL},
        {'i', "query", CLI_SIZE, &o->pick.query, "I", "only this query position, from 0", 0, INDEX_MAX, NULL},
        {'j', "key", CLI_SIZE, &o->pick.key, "J", "only this key position, from 0", 0, INDEX_MAX, NULL},
        {'H', "heads", CLI_SIZE, &o->heads, "H",
         "read the channels as this many heads; must divide their number", 1, INDEX_MAX, NULL},
        {'f', "format", CLI_CHOICE, &o->format, "text|tsv", "aligned columns, or tab-separated values", 0, 0,
         NULL},
        {0, "example", CLI_CHOICE, &o->example, TG_ATTN_EXAMPLES, "a small worked example; needs no model", 0,
         0, NULL},
        {0, "qkv", CLI_TEXT, &o->qkv, "FILE", "arrays q, k and v [B,T,C] from an .npz; needs no model", 0, 0,
         NULL},
        {0, "threads", CLI_SIZE, &o->threads, "N",
         "threads, which do not change a number; 0 for one a processor", 0, 1024, NULL},
        {0},
    };
    const cli_tool tool = {
        .name = "tg-attn-dump",
        .usage = "[-m MODEL] [-p TEXT] [OPTION]...",
        .summary = "Print every attention score and probability, with the place of each number in memory.",
        .examples = "  $ tg-attn-dump | less\n"
                    "  $ tg-attn-dump -p 'To be' --layer 0 --head 0 --query 4\n"
                    "  $ head -c 16 text | tg-attn-dump --heads 2 --format tsv\n"
                    "  $ tg-attn-dump --example baseline",
        .options = options,
    };
    const int n = cli_parse(argc, argv, &tool);

    if (n < 0)
        return CLI_USAGE;
    if (n > 0)
        return cli_usage("unexpected operand '%s': text is given with -p or on standard input", argv[1]);
    if ((o->example != NONE) + (o->qkv != NULL) + (o->model != NULL || o->text != NULL) > 1)
        return cli_usage("--example, --qkv, and -m or -p, each say what to show: give one");
    if (o->text && *o->text == '\0')
        return cli_usage("--prompt is empty");
    return CLI_OK;
}

/* ---- rows */

struct dump {
    const tg_attn_view *view;
    bool tsv;
    tg_attn_columns columns;
    char (*label)[LABEL_SIZE]; /* [T] the tokens as shown, or NULL: there are none */
    size_t label_width;
    size_t layer, head, b; /* whose titles were printed last */
    tg_status status;      /* why print_row() ended the walk */
    tg_err *err;
};

/* Once for each head, so that they are in sight of the numbers. */
static void print_titles(struct dump *d, const tg_attn_row *row)
{
    tg_attn_line l = {0};

    if (d->layer == row->layer && d->head == row->h && d->b == row->b)
        return;
    d->layer = row->layer;
    d->head = row->h;
    d->b = row->b;
    tg_attn_put_titles(&l, &d->columns);
    printf("\n%.*s%s\n", (int)l.n, l.text, d->label ? "  token i, token j" : "");
}

static void put_labels(tg_attn_line *l, const struct dump *d, size_t i, size_t j)
{
    tg_attn_put_text(l, "  ");
    tg_attn_put_text(l, d->label[i]);
    for (size_t n = strlen(d->label[i]); n < d->label_width + 2; n++)
        tg_attn_put_text(l, " ");
    tg_attn_put_text(l, d->label[j]);
}

/* The weighted sum lies in att [B,T,C] where q's row lies in q. */
static void print_att(const tg_attn_row *row)
{
    const tg_attn_view *a = row->view;
    size_t D = a->C / a->H, base = tg_attn_base(a, row->b, row->i, row->h);

    if (D > ATT_WIDEST)
        return;
    printf("# att.data[%zu..%zu] =", base, base + D - 1);
    for (size_t d = 0; d < D; d++)
        printf(" %.8f", row->att[d]);
    putchar('\n');
}

/* Weights that are finite, but huge, overflow on the way. */
static bool is_finite(const tg_attn_row *row)
{
    const size_t D = row->view->C / row->view->H;
    bool finite = true;

    for (size_t j = 0; j <= row->i; j++)
        finite = finite && isfinite(row->scores[j]) && isfinite(row->probs[j]);
    for (size_t d = 0; d < D; d++)
        finite = finite && isfinite(row->att[d]);
    return finite;
}

static bool print_row(void *context, const tg_attn_row *row)
{
    struct dump *d = context;
    tg_attn_line l = {0};
    size_t shared;

    if (!is_finite(row)) {
        d->status = tg_fail(d->err, TG_EDATA, "layer %zu, head %zu, position %zu: attention is not finite",
                            row->layer, row->h, row->i);
        return false;
    }
    if (!d->tsv)
        print_titles(d, row);
    tg_attn_put_row(&l, &d->columns, row);
    shared = l.n;
    for (size_t j = row->j_begin; j < row->j_end; j++) {
        l.n = shared;
        tg_attn_put_element(&l, &d->columns, row, j);
        if (d->label && !d->tsv)
            put_labels(&l, d, row->i, j);
        fwrite(l.text, 1, l.n, stdout);
        putchar('\n');
    }
    if (!d->tsv)
        print_att(row);
    return !ferror(stdout);
}

/* ---- the header */

static void print_formulas(const tg_attn_view *a)
{
    size_t B = a->B, T = a->T, C = a->C, H = a->H, D = C / H;

    printf("# q, k, v, att [B,T,C] = [%zu,%zu,%zu]", B, T, C);
    if (H == 1) {
        printf("   scores, probs [B,T,T] = [%zu,%zu,%zu]   one head\n", B, T, T);
        printf("# q base = (b*T + i)*C = (b*%zu + i)*%zu\n# k base = (b*T + j)*C = (b*%zu + j)*%zu\n", T, C,
               T, C);
        printf("# offset of scores[b,i,j] = (b*T + i)*T + j = (b*%zu + i)*%zu + j\n", T, T);
    } else {
        printf(" seen as [B,T,H,D] = [%zu,%zu,%zu,%zu]   scores, probs [B,H,T,T] = [%zu,%zu,%zu,%zu]\n", B, T,
               H, D, B, H, T, T);
        printf("# q base = ((b*T + i)*H + h)*D = ((b*%zu + i)*%zu + h)*%zu\n", T, H, D);
        printf("# k base = ((b*T + j)*H + h)*D = ((b*%zu + j)*%zu + h)*%zu\n", T, H, D);
        printf("# offset of scores[b,h,i,j] = ((b*H + h)*T + i)*T + j = ((b*%zu + h)*%zu + i)*%zu + j\n", H,
               T, T);
    }
    printf("# score = scale * (q.data[q base + d] * k.data[k base + d], summed over d = 0 to %zu)\n", D - 1);
    printf("# scale = 1/sqrt(D) = 1/sqrt(%zu) = %.8f\n", D, 1.0 / sqrt((double)D));
    printf("# mask  = 1 where j > i: the score is -1e9 instead, and the probability 0\n");
    printf("# prob  = exp(score), divided by its sum over j\n");
    if (D <= ATT_WIDEST)
        printf("# att   = prob * v.data[v base + d], summed over j; v base = k base, att base = q base\n");
}

/* The first line or lines say what is shown; then what all have in common. */
static void print_header(struct dump *d, size_t L, const char *what, const char *more)
{
    tg_attn_line l = {0};

    setvbuf(stdout, NULL, _IOFBF, STDOUT_BUFFER);
    tg_attn_columns_set(&d->columns, d->view, L, d->tsv);
    if (d->tsv) {
        tg_attn_put_titles(&l, &d->columns);
        printf("%.*s\n", (int)l.n, l.text);
        return;
    }
    printf("# %s\n", what);
    if (more)
        printf("# %s\n", more);
    print_formulas(d->view);
}

/* ---- what to show: an example, arrays, or a model on a text */

static tg_status dump_view(const tg_attn_view *view, const struct options *o, const char *what,
                           const char *more, tg_err *err)
{
    struct dump d = {.view = view, .tsv = o->format == FORMAT_TSV, .layer = NONE, .err = err};
    tg_arena arena = {0};
    tg_attn_work work;
    tg_status status = tg_attn_pick_check(&o->pick, 1, view->H, view->T, err);

    if (status)
        return status;
    tg_attn_place(&arena, &work, view->T, view->C / view->H);
    if ((status = tg_arena_alloc(&arena, err)))
        return status;
    tg_attn_place(&arena, &work, view->T, view->C / view->H);
    print_header(&d, 1, what, more);
    tg_attn_walk(view, 0, &o->pick, &work, print_row, &d);
    tg_arena_free(&arena);
    return d.status;
}

static tg_status dump_example(const struct options *o, tg_err *err)
{
    const tg_attn_example *e = tg_attn_example_get(o->example);
    tg_attn_view view = e->view;
    tg_status status = o->heads == NONE ? TG_OK : tg_attn_set_heads(&view, o->heads, err);

    return status ? status : dump_view(&view, o, e->title, e->filled, err);
}

static tg_status dump_qkv(const struct options *o, tg_err *err)
{
    tg_attn_qkv qkv;
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, o->qkv, err)))
        return status;
    status = tg_attn_qkv_read(&qkv, fd, err);
    cli_close_input(fd);
    if (status)
        return tg_err_in(err, cli_input_name(o->qkv));
    if (o->heads != NONE)
        status = tg_attn_set_heads(&qkv.view, o->heads, err);
    if (!status)
        status = dump_view(&qkv.view, o, "q, k and v as given", NULL, err);
    if (status == TG_EDATA)
        status = tg_err_in(err, cli_input_name(o->qkv));
    tg_attn_qkv_free(&qkv);
    return status;
}

/* The tokens' texts, quoted and escaped: "T", "\n". */
static tg_status make_labels(struct dump *d, const tg_model *model, const tg_prompt *p, tg_err *err)
{
    unsigned char text[TG_TOKEN_BYTES_MAX];
    size_t n;

    d->label = calloc(p->n, sizeof *d->label);
    if (!d->label)
        return tg_fail_memory(err, p->n * sizeof *d->label, "the tokens' texts");
    for (size_t t = 0; t < p->n; t++) {
        char *label = d->label[t];

        n = tg_tokenizer_decode(&model->tokenizer, text, p->ids[t]);
        label[0] = '"';
        cli_escape(label + 1, LABEL_SIZE - 2, text, n);
        strcat(label, "\"");
        d->label_width = tg_size_max(d->label_width, strlen(label));
    }
    return TG_OK;
}

static tg_status dump_prompt(const tg_model *model, const tg_prompt *p, const struct options *o, tg_err *err)
{
    const tg_config *c = &model->config;
    const tg_attn_view shape = {.B = 1, .T = p->n, .C = c->n_embd, .H = c->n_head};
    struct dump d = {.view = &shape, .tsv = o->format == FORMAT_TSV, .layer = NONE, .err = err};
    char what[128];
    tg_status status;

    if ((status = tg_attn_pick_check(&o->pick, c->n_layer, c->n_head, p->n, err)) ||
        (status = make_labels(&d, model, p, err)))
        return status;
    snprintf(what, sizeof what, "%zu token%s through %zu layer%s of %zu head%s", p->n, cli_plural(p->n),
             c->n_layer, cli_plural(c->n_layer), c->n_head, cli_plural(c->n_head));
    print_header(&d, c->n_layer, what, "q, k, v are the slices of [1,T,3C]; offsets count within a slice");
    status = tg_attn_walk_model(model, p->ids, p->n, &o->pick, print_row, &d, err);
    free(d.label);
    return status ? status : d.status;
}

/* The text that was given, else the probe. */
static tg_status find_text(tg_prompt *p, const cli_model *m, const struct options *o, tg_err *err)
{
    const tg_model *model = &m->model;
    tg_status status = cli_model_prompt(m, p, o->text, err);

    if (status || p->ids)
        return status;
    if (model->probe_count == 0)
        return tg_fail(
            err, TG_EUSAGE,
            "the model is not trained, and so has no text of its own to show: give one with -p TEXT "
            "or on standard input");
    return tg_prompt_ids(p, model, model->probe, model->probe_count, err);
}

static tg_status check_length(const tg_prompt *p, const tg_model *model, tg_err *err)
{
    const size_t n_ctx = model->config.n_ctx;

    if (p->n == 0)
        return tg_fail(err, TG_EDATA, "the text has no tokens");
    if (p->n > n_ctx)
        return tg_fail(err, TG_EDATA,
                       "the text has %zu tokens, the model's context is %zu: give less, as with head -c %zu",
                       p->n, n_ctx, n_ctx);
    return TG_OK;
}

static tg_status dump_model(const struct options *o, tg_err *err)
{
    cli_model m;
    tg_prompt p = {0};
    tg_status status = cli_model_open(
        &m, o->model, "make a model with tg-tokenize < text | tg-train, or see --example " TG_ATTN_EXAMPLES,
        err);

    if (status)
        return status;
    if ((o->heads != NONE && (status = tg_model_set_heads(&m.model, o->heads, err))) ||
        (status = find_text(&p, &m, o, err)) || (status = check_length(&p, &m.model, err)))
        goto done;
    status = dump_prompt(&m.model, &p, o, err);
    if (status == TG_EDATA)
        status = tg_err_in(err, cli_input_name(m.path));

done:
    tg_prompt_free(&p);
    cli_model_close(&m);
    return status;
}

static tg_status run(const struct options *o, tg_err *err)
{
    tg_status status = cli_begin_compute(o->threads, err);

    if (status)
        return status;
    if (o->example != NONE)
        return dump_example(o, err);
    if (o->qkv)
        return dump_qkv(o, err);
    return dump_model(o, err);
}

int main(int argc, char **argv)
{
    struct options o = {
        .example = NONE,
        .heads = NONE,
        .pick = {TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL, TG_ATTN_ALL},
    };
    tg_err err = {0};

    cli_init("tg-attn-dump");
    cli_init_threads(argv);
    if (parse(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
