/* cli: the lock of a file that a tool replaces again and again. */
#include <errno.h>
#include <sys/stat.h>

#include "cmd/cli/private.h"
#include "formats/path.h"

/* What keeps the lock file from being made usually also keeps the tool from saving. */
static tg_status explain(const tg_lock *lock, const char *path, const char *work, tg_err *err)
{
    tg_err why = *err;

    if (err->sys == EWOULDBLOCK)
        return cli_in_use(path, lock->holder, work, err);
    if (cli_output_check(path, 0, err))
        return err->code;
    return tg_fail(err, why.code, "%s: %s; --no-lock runs without it", path, why.message);
}

tg_status cli_lock(tg_lock *lock, const char *path, const char *work, tg_err *err)
{
    struct stat st;
    sigset_t old;
    bool exists;
    tg_status status;

    *lock = (tg_lock){.fd = -1};
    if (cli_is_dash(path))
        return TG_OK;
    if ((status = tg_path_examine(path, &st, &exists, err)))
        return status;
    if (exists && !S_ISREG(st.st_mode)) /* a device, a pipe or a directory is not replaced */
        return TG_OK;
    cli_hold_ends(&old);
    if (!(status = tg_lock_take(lock, path, err)))
        cli_keep_file(CLI_LOCK_FILE, lock->path);
    cli_release_ends(&old);
    return status ? explain(lock, path, work, err) : TG_OK;
}

void cli_unlock(tg_lock *lock)
{
    sigset_t old;

    cli_hold_ends(&old);
    tg_lock_release(lock);
    cli_forget_file(CLI_LOCK_FILE);
    cli_release_ends(&old);
}
