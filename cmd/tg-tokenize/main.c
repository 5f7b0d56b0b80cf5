/* tg-tokenize: text to tokens and back, in constant memory. */
#include <unistd.h>

#include "cmd/cli/model.h"
#include "cmd/tg-tokenize/job.h"
#include "lib/models/model_file.h"

/* ---- the tokenizer */

/* The model that is to learn examples, whose settings apply to them. */
static tg_status open_model(tokenize_job *job, tg_err *err)
{
    const char *path = job->o->model;
    tg_model_file f;
    tg_status status = tg_model_file_open(&f, path, NULL, err);

    if (status)
        return status;
    job->model_bos = (int32_t)f.config.bos_token - 1;
    job->adds_bos = f.config.add_bos;
    job->context = f.config.n_ctx;
    if (f.tokenizer)
        job->tok = tg_tokenizer_ref(f.tokenizer);
    else
        status = tg_fail(err, TG_EDATA, "%s: %s without a tokenizer", path, f.kind);
    tg_model_file_close(&f);
    return status;
}

static tg_status open_tokenizer(tokenize_job *job, tg_err *err)
{
    const tokenize_options *o = job->o;

    if (o->characters)
        return collect_characters(job, err);
    if (o->model && o->examples)
        return open_model(job, err);
    if (o->model)
        return cli_tokenizer_of(&job->tok, o->model, NULL, err);
    return cli_tokenizer_open(&job->tok, o->tokenizer, o->split, err);
}

/* The token before each document; -1: none. */
static int32_t find_bos(const tokenize_job *job)
{
    const tokenize_options *o = job->o;

    if (o->no_bos || (!o->bos && !job->adds_bos))
        return -1;
    return job->model_bos >= 0 ? job->model_bos : tg_tokenizer_start_of_text(job->tok);
}

static tg_status find_ends(tokenize_job *job, tg_err *err)
{
    const tokenize_options *o = job->o;

    job->bos = find_bos(job);
    job->eot = o->eot ? tg_tokenizer_end_of_text(job->tok) : -1;
    if (o->bos && job->bos < 0)
        return tg_fail(err, TG_EUSAGE, "tokenizer \"%s\" has no token that begins a text for --bos",
                       tg_tokenizer_kind_name(job->tok));
    if (o->eot && job->eot < 0)
        return tg_fail(err, TG_EUSAGE, "tokenizer \"%s\" has no end-of-text token for --eot",
                       tg_tokenizer_kind_name(job->tok));
    return TG_OK;
}

static tg_status write_tokenizer(const tokenize_job *job, tg_err *err)
{
    const tg_status status = tg_vocab_file_write(job->out.fd, job->tok, job->o->format, err);

    return status == TG_EIO ? tg_err_in(err, job->out.name) : status;
}

/* ---- the work */

static tg_status work(tokenize_job *job, tg_err *err)
{
    tg_status status;

    if (!job->o->examples && job->o->work < WORK_DECODE)
        cli_note_json_lines(job->o->files.path, job->o->files.n,
                            "--chat reads conversations, --prompt-completion examples");
    switch (job->o->work) {
    case WORK_CONVERT:
        return write_tokenizer(job, err);
    case WORK_DECODE:
    case WORK_UNLIST:
        job->on_terminal = isatty(job->out.fd);
        status = decode_files(job, err);
        break;
    case WORK_ARCHIVE:
        status = job->o->examples ? encode_examples(job, err) : encode_files(job, err);
        break;
    default:
        status = job->o->examples ? encode_examples(job, err) : list_files(job, err);
        break;
    }
    return status ? status : finish_output(job, err);
}

static cli_content content_of(const tokenize_options *o)
{
    if (o->work == WORK_CONVERT)
        return cli_vocab_content(o->format);
    return o->work == WORK_ARCHIVE ? CLI_OUT_TOKENS : CLI_OUT_TEXT;
}

/* Check that the output is not a file that is read. */
static tg_status check_output_differs(const tokenize_options *o, tg_err *err)
{
    const char *file = tokenizer_file(o);
    tg_status status = file ? cli_check_output_differs_model(o->output, file, err) : TG_OK;

    for (size_t i = 0; !status && i < o->files.n; i++)
        status = cli_check_output_differs(o->output, o->files.path[i], err);
    return status;
}

static tg_status run(const tokenize_options *o, tg_err *err)
{
    tokenize_job job = {.o = o, .model_bos = -1, .progress = {.begun = cli_now(), .shown = cli_now()}};
    tg_status status;

    choose_output(&job);
    if ((o->characters && (status = open_spools(&job, err))) || (status = cli_confine(err)) ||
        (status = check_output_differs(o, err)) || (status = cli_begin_text(o->threads, err)) ||
        (status = open_tokenizer(&job, err)) || (status = find_ends(&job, err)) ||
        (o->work != WORK_COUNT && (status = cli_output_begin(&job.out, o->output, content_of(o), err))) ||
        (status = work(&job, err)))
        goto done;
    cli_progress_end();
    status = cli_output_commit(&job.out, err);

done:
    cli_output_abort(&job.out);
    output_free(&job);
    input_free(&job);
    tg_parallel_free(job.encoder);
    tg_encoder_free(job.one);
    tg_chat_close(&job.chat);
    tg_tokenizer_free(job.tok);
    return status;
}

int main(int argc, char **argv)
{
    tokenize_options o;
    tg_err err = {0};

    cli_init("tg-tokenize");
    if (parse_options(argc, argv, &o))
        return CLI_USAGE;
    if (run(&o, &err))
        return cli_report(&err);
    return cli_close_stdout();
}
