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
        (void)tg_fail(err, TG_EIO, "there is no such file; %s", remedy);
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

bool cli_model_has_input(const cli_model *m)
{
    return !cli_is_dash(m->path) && cli_stdin_has_data();
}

tg_status cli_model_prompt(const cli_model *m, tg_prompt *p, const char *text, tg_err *err)
{
    *p = (tg_prompt){0};
    if (text)
        return tg_prompt_text(p, &m->model, text, strlen(text), err);
    if (!cli_model_has_input(m))
        return TG_OK;
    return tg_prompt_read(p, &m->model, STDIN_FILENO, err) ? tg_err_in(err, "standard input") : TG_OK;
}
