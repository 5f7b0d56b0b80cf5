#include "cmd/tg-sample/attention.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/cli/token_text.h"
#include "cmd/lines/labels.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/dump/dump_write.h"

/* ---- how long a text may be */

tg_status attention_tokens(size_t *tokens, const sample_options *o, const tg_model *model, size_t n,
                           tg_err *err)
{
    const size_t n_ctx = model->config.n_ctx;

    *tokens = o->n;
    if (!o->attention || (n <= n_ctx && o->n <= n_ctx - n))
        return TG_OK;
    if (n > n_ctx)
        return tg_fail(err, TG_EUSAGE,
                       "--attention is of a text that the model sees whole: the prompt has %zu tokens, which "
                       "exceeds the context of %zu; " CLI_LONGER_CONTEXT,
                       n, n_ctx);
    if (o->n_given)
        return tg_fail(err, TG_EUSAGE,
                       "--attention is of a text that the model sees whole: %zu token%s and %zu more exceed "
                       "the context of %zu; give -n %zu, or fewer",
                       n, cli_plural(n), o->n, n_ctx, n_ctx - n);
    *tokens = n_ctx - n;
    return TG_OK;
}

/* ---- lines */

static table_format format_of(const sample_options *o)
{
    return o->format == SAMPLE_JSONL ? TABLE_JSONL : TABLE_TSV;
}

/* Prepare for lines of the text so far. */
static tg_status set_columns(sample_attention *a, tg_err *err)
{
    const tg_model *model = &a->m->model;
    tg_status status;
    columns_of of = {.stage = TG_ATTN_EVERY,
                     .view = tg_attn_growing_shape(&a->growing),
                     .L = model->config.n_layer,
                     .format = format_of(a->o)};

    of.view.T = a->n;
    labels_free(&a->labels);
    if ((status = labels_make_values(&a->labels, of.format, model->tokenizer, a->ids, a->n, err)))
        return status;
    of.labels = a->labels;
    columns_set(&a->columns, &of);
    return tg_grow(&a->text, &a->text_size, table_capacity(&a->columns.table, a->n), 1, "a row of attention",
                   err);
}

static void put_row(void *context, const tg_attn_row *row, size_t thread)
{
    sample_attention *a = context;

    (void)thread;
    a->row = (table_text){a->text, 0};
    if (tg_attn_row_is_finite(row))
        columns_put_row(&a->row, &a->columns, row);
    else
        a->status = tg_attn_not_finite(row->layer, row->h, row->i, &a->err);
}

static bool print_row(void *context, size_t thread)
{
    const sample_attention *a = context;

    (void)thread;
    fwrite(a->row.text, 1, a->row.n, stdout);
    return !a->status && !cli_stdout_failed();
}

static tg_status print_rows(sample_attention *a, int32_t id, tg_err *err)
{
    const tg_attn_visitor visitor = {.row = put_row, .turn = print_row, .context = a};
    tg_status status;

    if ((status = set_columns(a, err)) || (status = tg_attn_growing_add(&a->growing, &id, 1, &visitor, err)))
        return status;
    if (a->status)
        *err = a->err;
    return a->status;
}

static tg_status begin_lines(sample_attention *a, tg_err *err)
{
    tg_status status;

    if ((status = tg_attn_growing_open(&a->growing, &a->m->model, a->capacity, a->n, err)) ||
        (status = tg_attn_growing_add(&a->growing, a->ids, a->n, NULL, err)) ||
        (status = set_columns(a, err)))
        return status;
    if (!a->o->no_header)
        table_print_titles(&a->columns.table);
    return TG_OK;
}

/* ---- a file */

static tg_status begin_file(sample_attention *a, tg_err *err)
{
    const char *path = a->o->attention;
    tg_status status;

    if ((status = cli_check_dump_name("--attention", path, err)) ||
        (status = cli_check_output_differs_model(path, a->m->path, err)) ||
        (status = cli_check_output_differs(path, "-", err)))
        return status;
    return cli_output_begin(&a->out, path, CLI_OUT_DUMP, err);
}

static tg_status write_layers(sample_attention *a, tg_attn_layers *layers, tg_err *err)
{
    char source[TG_DUMP_SOURCE_SIZE];
    const tg_dump_settings dump = {
        .stages = TG_DUMP_BIT(TG_ATTN_Q) | TG_DUMP_BIT(TG_ATTN_K) | TG_DUMP_BIT(TG_ATTN_V),
        .ids = a->ids,
        .text = a->text,
        .text_size = a->text_size,
        .source =
            cli_is_dash(a->m->path) || cli_adapters.n > 0 ? NULL : tg_dump_source(source, "-m", a->m->path)};
    cli_job job;
    tg_status status;

    layers->watch = cli_job_begin(&job, "attention");
    status = tg_dump_write(a->out.fd, layers, &dump, err);
    cli_progress_end();
    return status == TG_EIO     ? tg_err_in(err, a->out.name)
           : status == TG_EDATA ? tg_err_in(err, cli_input_name(a->m->path))
                                : status;
}

static tg_status write_file(sample_attention *a, tg_err *err)
{
    const tg_model *model = &a->m->model;
    tg_attn_layers layers;
    tg_status status;

    if ((status = cli_token_texts(&a->text, &a->text_size, model->tokenizer, a->ids, a->n, err)) ||
        (status = tg_attn_layers_model(&layers, model, a->ids, a->n, err)))
        return status;
    status = write_layers(a, &layers, err);
    tg_attn_layers_close(&layers);
    return status ? status : cli_output_commit(&a->out, err);
}

/* ---- both */

tg_status attention_begin(sample_attention *a, const sample_options *o, const cli_model *m,
                          const int32_t *ids, size_t n, size_t most, tg_err *err)
{
    *a = (sample_attention){.o = o, .m = m, .n = n, .capacity = most};
    if (!o->attention)
        return TG_OK;
    if (!(a->ids = calloc(most, sizeof *a->ids)))
        return tg_fail_memory(err, most * sizeof *a->ids, "the tokens");
    memcpy(a->ids, ids, n * sizeof *ids);
    return sample_prints_attention(o) ? begin_lines(a, err) : begin_file(a, err);
}

void attention_free(sample_attention *a)
{
    cli_output_abort(&a->out);
    tg_attn_growing_close(&a->growing);
    labels_free(&a->labels);
    free(a->text);
    free(a->ids);
    *a = (sample_attention){0};
}

tg_status attention_add(sample_attention *a, int32_t id, tg_err *err)
{
    if (!a->ids)
        return TG_OK;
    a->ids[a->n++] = id;
    if (sample_prints_attention(a->o) && print_rows(a, id, err))
        return err->code == TG_EDATA ? tg_err_in(err, cli_input_name(a->m->path)) : err->code;
    return TG_OK;
}

tg_status attention_end(sample_attention *a, tg_err *err)
{
    return a->out.file ? write_file(a, err) : TG_OK;
}
