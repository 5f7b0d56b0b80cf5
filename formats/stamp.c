#include "formats/stamp.h"

#include "formats/path.h"

tg_status tg_stamp_take(tg_stamp *stamp, const char *path, tg_err *err)
{
    struct stat st;
    bool exists;
    const tg_status status = tg_path_examine(path, &st, &exists, err);

    *stamp = (tg_stamp){.exists = exists,
                        .device = st.st_dev,
                        .inode = st.st_ino,
                        .size = st.st_size,
                        .seconds = st.st_mtim.tv_sec,
                        .nanoseconds = st.st_mtim.tv_nsec};
    return status;
}

bool tg_stamp_replaced(const tg_stamp *before, const tg_stamp *now)
{
    if (!now->exists)
        return false;
    return !before->exists || before->device != now->device || before->inode != now->inode ||
           before->size != now->size || before->seconds != now->seconds ||
           before->nanoseconds != now->nanoseconds;
}
