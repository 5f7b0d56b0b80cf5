#include "cmd/cli/model.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cmd/cli/cli.h"

tg_status cli_model_open(cli_model *m, const char *given, const char *remedy, tg_err *err)
{
    tg_status status;

    *m = (cli_model){.path = cli_model_path(given)};
    if ((status = cli_open_input(&m->fd, m->path, err))) {
        if (err->sys != ENOENT)
            return status;
        (void)tg_fail(err, TG_EIO, "no such file; %s", remedy);
        return tg_err_in(err, m->path);
    }
    if (!tg_model_read(&m->model, m->fd, false, NULL, NULL, err))
        return TG_OK;
    cli_close_input(m->fd);
    return tg_err_in(err, cli_input_name(m->path));
}

void cli_model_close(cli_model *m)
{
    tg_model_free(&m->model);
    cli_close_input(m->fd);
}

/* Where the text comes from.  NOWHERE: it is not given, and the model has no probe. */
enum source { OPTION, STDIN, PROBE, NOWHERE };

static enum source find_source(const cli_model *m, const char *text)
{
    if (text)
        return OPTION;
    if (!cli_is_dash(m->path) && cli_stdin_has_data())
        return STDIN;
    return m->model.probe_count > 0 ? PROBE : NOWHERE;
}

static tg_status read_stdin(const cli_model *m, tg_prompt *p, tg_err *err)
{
    return tg_prompt_read(p, &m->model, STDIN_FILENO, err) ? tg_err_in(err, "standard input") : TG_OK;
}

static tg_status no_text(tg_err *err)
{
    return tg_fail(err, TG_EUSAGE,
                   "the model is not trained and has no text of its own: give one with -p TEXT or on "
                   "standard input");
}

tg_status cli_model_prompt(const cli_model *m, tg_prompt *p, const char *text, tg_err *err)
{
    *p = (tg_prompt){0};
    switch (find_source(m, text)) {
    case OPTION:
        return tg_prompt_text(p, &m->model, text, strlen(text), err);
    case STDIN:
        return read_stdin(m, p, err);
    case PROBE:
    case NOWHERE:
        break;
    }
    return TG_OK;
}

tg_status cli_model_text(const cli_model *m, tg_prompt *p, const char *text, tg_err *err)
{
    const tg_model *model = &m->model;

    *p = (tg_prompt){0};
    switch (find_source(m, text)) {
    case OPTION:
    case STDIN:
        return cli_model_prompt(m, p, text, err);
    case PROBE:
        return tg_prompt_ids(p, model, model->probe, model->probe_count, err);
    case NOWHERE:
        break;
    }
    return no_text(err);
}

tg_status cli_model_stream(const cli_model *m, cli_stream *s, const char *text, tg_err *err)
{
    const tg_model *model = &m->model;
    tg_status status;

    *s = (cli_stream){.name = "the text"};
    switch (find_source(m, text)) {
    case OPTION:
        if ((status = tg_prompt_text(&s->prompt, model, text, strlen(text), err)))
            return status;
        tg_stream_open_ids(&s->stream, model, s->prompt.ids, s->prompt.n);
        return TG_OK;
    case STDIN:
        s->name = "standard input";
        status = tg_stream_open(&s->stream, model, STDIN_FILENO, err);
        return status ? tg_err_in(err, s->name) : TG_OK;
    case PROBE:
        tg_stream_open_ids(&s->stream, model, model->probe, model->probe_count);
        return TG_OK;
    case NOWHERE:
        break;
    }
    return no_text(err);
}

void cli_stream_close(cli_stream *s)
{
    tg_stream_close(&s->stream);
    tg_prompt_free(&s->prompt);
}
