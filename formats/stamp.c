#include "formats/stamp.h"

#include <sys/stat.h>

tg_stamp tg_stamp_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (tg_stamp){0};
    return (tg_stamp){.exists = true,
                      .device = st.st_dev,
                      .inode = st.st_ino,
                      .size = st.st_size,
                      .seconds = st.st_mtim.tv_sec,
                      .nanoseconds = st.st_mtim.tv_nsec};
}

bool tg_stamp_replaced(const tg_stamp *before, const tg_stamp *now)
{
    if (!now->exists)
        return false;
    return !before->exists || before->device != now->device || before->inode != now->inode ||
           before->size != now->size || before->seconds != now->seconds ||
           before->nanoseconds != now->nanoseconds;
}
