/* cli: archives of results, which -o names. */
#include "cmd/cli/cli.h"

tg_status cli_archive_check(const char *path, const char *model, cli_content content, tg_err *err)
{
    tg_status status;

    if ((status = cli_check_dump_name("-o", path, err)) ||
        (status = cli_check_output_differs_model(path, model, err)) ||
        (status = cli_check_output_differs(path, "-", err))) /* the text */
        return status;
    return cli_output_may_replace(path, content, err);
}

tg_status cli_archive_write(const char *path, cli_content content, cli_archive_put put, void *context,
                            tg_err *err)
{
    cli_output out = {0};
    tg_status status;

    if (!(status = cli_output_begin(&out, path, content, err)) &&
        (status = put(context, out.fd, err)) == TG_EIO)
        (void)tg_err_in(err, out.name);
    if (!status)
        status = cli_output_commit(&out, err);
    cli_output_abort(&out);
    return status;
}
