#include "tests/unit/hf_directory.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/unit/check.h"

char hf_directory[64] = "/tmp/test_hf.XXXXXX";

bool hf_begin(void)
{
    return mkdtemp(hf_directory) != NULL;
}

const char *hf_in_directory(const char *name)
{
    static char path[sizeof hf_directory + 256];

    snprintf(path, sizeof path, "%s/%s", hf_directory, name);
    return path;
}

int hf_done(void)
{
    DIR *directory = opendir(hf_directory);

    for (struct dirent *e; directory && (e = readdir(directory));)
        if (e->d_name[0] != '.')
            unlink(hf_in_directory(e->d_name));
    if (directory)
        closedir(directory);
    rmdir(hf_directory);
    return check_done();
}
