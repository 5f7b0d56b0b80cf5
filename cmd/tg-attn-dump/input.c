/* What tg-attn-dump shows: a worked example, given arrays, or a model and its text. */
#include "cmd/tg-attn-dump/input.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-attn-dump/example.h"
#include "lib/base/size.h"
#include "lib/gpt/family.h"

/* Read the example's channels as `heads` heads, or as it has them. */
static tg_status divide_example(tg_qkv_view *view, const worked_example *e, size_t heads, tg_err *err)
{
    if (heads == NOT_GIVEN || heads == view->H)
        return TG_OK;
    if (e->q_steps.projected || view->KV < view->H)
        return tg_fail(err, TG_EUSAGE, "the %zu head%s of the example cannot be read as %zu: %s", view->H,
                       cli_plural(view->H), heads,
                       e->q_steps.projected ? "q and k are rotated by their width" : "they share keys");
    return tg_attn_set_heads(view, heads, err);
}

static tg_status open_example(attn_input *in, const attn_options *o, tg_err *err)
{
    const worked_example *e = example_get(o->example);
    tg_qkv_view view = e->view;
    const size_t floats = example_floats(e);
    tg_status status = divide_example(&view, e, o->heads, err);

    if (status)
        return status;
    if (floats > 0) {
        if (!(in->numbers = calloc(floats, sizeof *in->numbers)))
            return tg_fail_memory(err, floats * sizeof *in->numbers, "the example");
        example_fill(&view, in->numbers);
    }
    tg_attn_layers_given(&in->layers, &view);
    in->layers.given_q = e->q_steps;
    in->layers.given_k = e->k_steps;
    snprintf(in->title, sizeof in->title, "%s", e->title);
    in->remark = e->filled;
    return TG_OK;
}

static tg_status open_qkv(attn_input *in, const attn_options *o, tg_err *err)
{
    tg_status status;
    int fd;

    if ((status = cli_open_input(&fd, o->qkv, err)))
        return status;
    status = tg_attn_qkv_read(&in->qkv, fd, err);
    cli_close_input(fd);
    if (status)
        return tg_err_in(err, cli_input_name(o->qkv));
    if (o->heads != NOT_GIVEN && (status = tg_attn_set_heads(&in->qkv.view, o->heads, err)))
        return status;
    tg_attn_layers_given(&in->layers, &in->qkv.view);
    in->path = o->qkv;
    snprintf(in->title, sizeof in->title, "q, k and v as given");
    return TG_OK;
}

/* ---- a model on a text */

static tg_status take_ids(tg_tokens_prompt *p, const tg_model *model, const tg_dump *dump, tg_err *err)
{
    int32_t *ids = calloc(dump->T, sizeof *ids);
    tg_status status = TG_OK;

    if (!ids)
        return tg_fail_memory(err, dump->T * sizeof *ids, "the tokens");
    for (size_t t = 0; t < dump->T && !status; t++) {
        ids[t] = (int32_t)dump->ids[t];
        if (dump->ids[t] < 0 || dump->ids[t] > INT32_MAX)
            status = tg_fail(err, TG_EDATA, "token %zu of the dump is %lld: expected 0 to %ld", t,
                             (long long)dump->ids[t], (long)INT32_MAX);
    }
    if (!status)
        status = tg_tokens_prompt_ids(p, model->tokenizer, ids, dump->T, err);
    free(ids);
    return status;
}

tg_status input_open_model(cli_model *m, const attn_options *o, tg_err *err)
{
    tg_status status = cli_model_open(m, o->model, false, ", or see  --example " EXAMPLES, err);

    if (status || o->heads == NOT_GIVEN || !(status = tg_model_set_heads(&m->model, o->heads, err)))
        return status;
    cli_model_close(m);
    return status;
}

/* What q, k and v are in memory. */
static const char *remark_of(const tg_family *family, tg_attn_layout layout)
{
    if (!family->qkv)
        return layout == TG_ATTN_BTHD
                   ? "q, k, v are arrays, as attention reads them; offsets count in each"
                   : "q, k, v are as attention reads them, copied heads first; offsets count in a copy";
    return layout == TG_ATTN_BTHD
               ? "q, k, v are the slices of [1,T,3C]; offsets count within a slice"
               : "q, k, v are slices of [1,T,3C], copied heads first; offsets count in a copy";
}

static tg_status open_model(attn_input *in, const attn_options *o, const tg_dump *dump, tg_err *err)
{
    const tg_model *model = &in->model.model;
    const tg_config *c = &model->config;
    tg_status status;
    bool is_probe;

    if ((status = input_open_model(&in->model, o, err)))
        return status;
    in->has_model = true;
    in->path = in->model.path;
    is_probe = !dump && cli_text_is_probe(&o->text, &in->model);
    if ((status = dump ? take_ids(&in->prompt, model, dump, err)
                       : cli_text_or_probe(&o->text, &in->prompt, &in->model, err)) ||
        (status = cli_text_check_length(&in->prompt, model, err)) ||
        (status = labels_make(&in->labels, model->tokenizer, in->prompt.ids, in->prompt.n, err)) ||
        (o->format != TABLE_TEXT && (status = labels_make_values(&in->values, o->format, model->tokenizer,
                                                                 in->prompt.ids, in->prompt.n, err))))
        return status;
    snprintf(in->title, sizeof in->title, "%zu token%s%s through %zu layer%s of %zu head%s", in->prompt.n,
             cli_plural(in->prompt.n), is_probe ? " of the model's probe" : "", c->n_layer,
             cli_plural(c->n_layer), c->n_head, cli_plural(c->n_head));
    in->remark = remark_of(tg_config_family(c), o->layout);
    return tg_attn_layers_model(&in->layers, model, in->prompt.ids, in->prompt.n, err);
}

/* ---- all of them */

tg_status input_open(attn_input *in, const attn_options *o, const tg_dump *dump, tg_err *err)
{
    tg_status status;

    *in = (attn_input){0};
    if (o->example != NOT_GIVEN)
        status = open_example(in, o, err);
    else if (o->qkv)
        status = open_qkv(in, o, err);
    else
        status = open_model(in, o, dump, err);
    if (!status)
        status = tg_attn_layers_select(&in->layers, &o->filter, err);
    if (status)
        input_close(in);
    in->layers.layout = o->layout;
    return status;
}

void input_close(attn_input *in)
{
    tg_attn_layers_close(&in->layers);
    labels_free(&in->labels);
    labels_free(&in->values);
    free(in->numbers);
    tg_attn_qkv_free(&in->qkv);
    tg_tokens_prompt_free(&in->prompt);
    if (in->has_model)
        cli_model_close(&in->model);
}

void input_watch(attn_input *in)
{
    in->layers.watch = cli_job_begin(&in->job, "attention");
}

/* Lines on a terminal are their own progress; in a pipe their reader may be a pager, which has the screen. */
static bool lines_go_to_a_file(void)
{
    struct stat st;

    return fstat(STDOUT_FILENO, &st) == 0 && S_ISREG(st.st_mode);
}

tg_status input_run(const job *what, const attn_options *o, tg_err *err)
{
    attn_input in;
    tg_status status = input_open(&in, o, NULL, err);

    if (status)
        return status;
    if (lines_go_to_a_file())
        input_watch(&in);
    status = what->show(&in, o, err);
    cli_progress_end();
    if (status == TG_EDATA && in.path)
        status = tg_err_in(err, cli_input_name(in.path));
    input_close(&in);
    return status;
}

/* ---- what jobs ask of it */

columns_of input_columns(const attn_input *in, const attn_options *o)
{
    return (columns_of){
        .stage = o->stage,
        .view = tg_attn_layers_shape(&in->layers),
        .L = in->layers.L,
        .format = o->format,
        .mask = o->mask,
        .labels = o->format == TABLE_TEXT ? in->labels : in->values,
    };
}

tg_status input_check_stage(const attn_input *in, const attn_options *o, tg_err *err)
{
    if (o->stage == TG_ATTN_EVERY || tg_attn_layers_have(&in->layers, o->stage))
        return TG_OK;
    if (!in->has_model)
        return tg_fail(err, TG_EUSAGE,
                       "stage %s needs a model: arrays have only q, k, v, scores, probs and att",
                       tg_attn_stage_name(o->stage));
    return tg_fail(err, TG_EUSAGE, "the model has no stage %s: its family is %s",
                   tg_attn_stage_name(o->stage), tg_config_family(&in->model.model.config)->name);
}

void input_print_title(const attn_input *in)
{
    printf("# %s\n", in->title);
    if (in->remark)
        printf("# %s\n", in->remark);
}

tg_status input_pack_text(token_labels *packed, const attn_input *in, tg_err *err)
{
    *packed = (token_labels){.size = 1};
    if (!in->labels.text)
        return TG_OK;
    return cli_token_texts(&packed->text, &packed->size, in->model.model.tokenizer, in->prompt.ids,
                           in->prompt.n, err);
}

tg_status input_find_target(size_t *target, const attn_options *o, const tg_model *model, tg_err *err)
{
    int32_t id = 0;
    const tg_status status = o->target ? cli_text_token(&id, model, "--target", o->target, err) : TG_OK;

    *target = o->target ? (size_t)id : o->target_id;
    return status;
}
