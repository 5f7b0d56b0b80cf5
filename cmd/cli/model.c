#include "cmd/cli/model.h"

#include <errno.h>

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
