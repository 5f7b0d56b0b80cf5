/* What tg-attn-dump shows: an example, arrays, or a model on a text. */
#include <stdlib.h>
#include <string.h>

#include "cmd/tg-attn-dump/attn_dump.h"
#include "lib/attn/example.h"
#include "lib/base/size.h"

static tg_status open_example(attn_subject *s, const attn_options *o, tg_err *err)
{
    const tg_attn_example *e = tg_attn_example_get(o->example);
    tg_attn_view view = e->view;
    const size_t floats = tg_attn_example_floats(e);
    tg_status status = o->heads == ATTN_NONE ? TG_OK : tg_attn_set_heads(&view, o->heads, err);

    if (status)
        return status;
    if (floats > 0) {
        if (!(s->numbers = calloc(floats, sizeof *s->numbers)))
            return tg_fail_memory(err, floats * sizeof *s->numbers, "the example");
        tg_attn_example_fill(&view, s->numbers);
    }
    tg_attn_layers_given(&s->layers, &view);
    snprintf(s->title, sizeof s->title, "%s", e->title);
    s->remark = e->filled;
    return TG_OK;
}

static tg_status open_qkv(attn_subject *s, const attn_options *o, tg_err *err)
{
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, o->qkv, err)))
        return status;
    status = tg_attn_qkv_read(&s->qkv, fd, err);
    cli_close_input(fd);
    if (status)
        return tg_err_in(err, cli_input_name(o->qkv));
    if (o->heads != ATTN_NONE && (status = tg_attn_set_heads(&s->qkv.view, o->heads, err)))
        return status;
    tg_attn_layers_given(&s->layers, &s->qkv.view);
    s->path = o->qkv;
    snprintf(s->title, sizeof s->title, "q, k and v as given");
    return TG_OK;
}

/* ---- a model on a text */

/* The tokens' texts, quoted and escaped: "T", "\n". */
static tg_status make_labels(attn_subject *s, tg_err *err)
{
    const tg_prompt *p = &s->prompt;
    const unsigned char *text;
    size_t n;

    s->label = calloc(p->n, sizeof *s->label);
    if (!s->label)
        return tg_fail_memory(err, p->n * sizeof *s->label, "the tokens' texts");
    for (size_t t = 0; t < p->n; t++) {
        char *label = s->label[t];

        text = tg_tokenizer_token(s->model.model.tokenizer, p->ids[t], &n);
        label[0] = '"';
        cli_escape(label + 1, ATTN_LABEL_SIZE - 2, text, n);
        strcat(label, "\"");
        s->label_width = tg_size_max(s->label_width, strlen(label));
    }
    return TG_OK;
}

tg_status attn_no_text(tg_err *err)
{
    return tg_fail(err, TG_EUSAGE,
                   "the model is not trained, and so has no text of its own to show: give one with -p TEXT "
                   "or on standard input");
}

tg_attn_labels attn_labels(const attn_subject *s)
{
    return (tg_attn_labels){s->label ? s->label[0] : NULL, ATTN_LABEL_SIZE, s->label_width};
}

/* Tokens of a dump. */
static tg_status take_ids(tg_prompt *p, const tg_model *model, const attn_options *o, tg_err *err)
{
    int32_t *ids = calloc(o->n_ids, sizeof *ids);
    tg_status status = TG_OK;

    if (!ids)
        return tg_fail_memory(err, o->n_ids * sizeof *ids, "the tokens");
    for (size_t t = 0; t < o->n_ids && !status; t++) {
        ids[t] = (int32_t)o->ids[t];
        if (o->ids[t] < 0 || o->ids[t] > INT32_MAX)
            status = tg_fail(err, TG_EDATA, "token %zu of the dump is %lld", t, (long long)o->ids[t]);
    }
    if (!status)
        status = tg_prompt_ids(p, model, ids, o->n_ids, err);
    free(ids);
    return status;
}

/* The text that was given, else the probe. */
static tg_status find_text(tg_prompt *p, const cli_model *m, const attn_options *o, tg_err *err)
{
    const tg_model *model = &m->model;
    tg_status status = o->ids ? take_ids(p, model, o, err) : cli_model_prompt(m, p, o->text, err);

    if (status || p->ids)
        return status;
    if (model->probe_count == 0)
        return attn_no_text(err);
    return tg_prompt_ids(p, model, model->probe, model->probe_count, err);
}

static tg_status check_length(const tg_prompt *p, const tg_model *model, tg_err *err)
{
    const size_t n_ctx = model->config.n_ctx;
    size_t bytes = 0, n;

    if (p->n == 0)
        return tg_fail(err, TG_EDATA, "the text has no tokens");
    if (p->n <= n_ctx)
        return TG_OK;
    for (size_t t = 0; t < n_ctx; t++, bytes += n)
        (void)tg_tokenizer_token(model->tokenizer, p->ids[t], &n);
    return tg_fail(err, TG_EDATA,
                   "the text has %zu tokens, the model's context is %zu: give less, as with head -c %zu",
                   p->n, n_ctx, bytes);
}

static tg_status prepare_text(attn_subject *s, const attn_options *o, tg_err *err)
{
    const tg_model *model = &s->model.model;
    const tg_config *c = &model->config;
    tg_status status;

    if ((status = find_text(&s->prompt, &s->model, o, err)) ||
        (status = check_length(&s->prompt, model, err)) || (status = make_labels(s, err)))
        return status;
    snprintf(s->title, sizeof s->title, "%zu token%s through %zu layer%s of %zu head%s", s->prompt.n,
             cli_plural(s->prompt.n), c->n_layer, cli_plural(c->n_layer), c->n_head, cli_plural(c->n_head));
    s->remark = o->layout == TG_ATTN_BTHD
                    ? "q, k, v are the slices of [1,T,3C]; offsets count within a slice"
                    : "q, k, v are slices of [1,T,3C], copied heads first; offsets count in a copy";
    return tg_attn_layers_model(&s->layers, model, s->prompt.ids, s->prompt.n, err);
}

tg_status attn_open_model(cli_model *m, const attn_options *o, tg_err *err)
{
    tg_status status = cli_model_open(
        m, o->model, "make a model with tg-tokenize < text | tg-train, or see --example " TG_ATTN_EXAMPLES,
        err);

    if (status || o->heads == ATTN_NONE || !(status = tg_model_set_heads(&m->model, o->heads, err)))
        return status;
    cli_model_close(m);
    return status;
}

static tg_status open_model(attn_subject *s, const attn_options *o, tg_err *err)
{
    tg_status status = attn_open_model(&s->model, o, err);

    if (status)
        return status;
    s->has_model = true;
    s->path = s->model.path;
    return prepare_text(s, o, err);
}

/* ---- */

tg_status attn_subject_open(attn_subject *s, const attn_options *o, tg_err *err)
{
    tg_status status;

    *s = (attn_subject){0};
    if (o->example != ATTN_NONE)
        status = open_example(s, o, err);
    else if (o->qkv)
        status = open_qkv(s, o, err);
    else
        status = open_model(s, o, err);
    if (status)
        attn_subject_close(s);
    s->layers.layout = (tg_attn_layout)o->layout;
    return status;
}

void attn_subject_close(attn_subject *s)
{
    tg_attn_layers_close(&s->layers);
    free(s->label);
    free(s->numbers);
    tg_attn_qkv_free(&s->qkv);
    tg_prompt_free(&s->prompt);
    if (s->has_model)
        cli_model_close(&s->model);
}
