#include "formats/stamp.h"

tg_stamp tg_stamp_of(const char *path)
{
    struct stat st;

    if (stat(path, &st) != 0)
        return (tg_stamp){0};
    return (tg_stamp){true, st.st_dev, st.st_ino, st.st_size, st.st_mtim};
}

bool tg_stamp_replaced(const tg_stamp *before, const tg_stamp *now)
{
    if (!now->exists)
        return false;
    return !before->exists || before->device != now->device || before->inode != now->inode ||
           before->size != now->size || before->modified.tv_sec != now->modified.tv_sec ||
           before->modified.tv_nsec != now->modified.tv_nsec;
}
