/* cli: which process has the lock of a file. */
#include "cmd/cli/cli.h"
#include "cmd/cli/private.h"

tg_status cli_in_use(const char *path, long holder, const char *work, tg_err *err)
{
    return holder > 0 ? tg_fail(err, TG_EIO, "%s: process %ld is %s it", path, holder, work)
                      : tg_fail(err, TG_EIO, "%s: another process is %s it", path, work);
}

tg_status cli_check_unlocked(const char *path, tg_err *err)
{
    bool held;
    long holder;
    const tg_status status = tg_lock_examine(path, &held, &holder, err);

    if (status) /* without a target there is no lock, and the output itself will say why */
        return status == TG_ENOMEM ? status : TG_OK;
    return held ? cli_in_use(path, holder, "training", err) : TG_OK;
}
