#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "tests/fuzz/folder.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/fuzz/input.h"

static char roots[FOLDERS][64];

/* Those of a program that a sanitizer ends stay. */
static void remove_all(void)
{
    for (int i = 0; i < FOLDERS; i++)
        if (roots[i][0])
            (void)rmdir(roots[i]);
}

static const char *root(int folder)
{
    char *const path = roots[folder];

    if (path[0])
        return path;
    if (!roots[0][0] && !roots[1][0])
        must(atexit(remove_all) == 0);
    strcpy(path, "/dev/shm/fuzz.XXXXXX");
    if (!mkdtemp(path)) {
        strcpy(path, "/tmp/fuzz.XXXXXX");
        must(mkdtemp(path) != NULL);
    }
    return path;
}

const char *folder_path(int folder, const char *name)
{
    static char paths[3][128];
    static unsigned last;
    char *const path = paths[last = (last + 1) % 3];

    must(snprintf(path, sizeof paths[0], "%s%s%s", root(folder), *name ? "/" : "", name) < 128);
    return path;
}

int folder_create(int folder, const char *name)
{
    const int fd = open(folder_path(folder, name), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

    must(fd >= 0);
    return fd;
}

void folder_make_directory(int folder, const char *name)
{
    must(mkdir(folder_path(folder, name), 0700) == 0);
}

void folder_make_device(int folder, const char *name)
{
    must(symlink("/dev/null", folder_path(folder, name)) == 0);
}

void folder_remove(int folder, const char *name)
{
    const char *const path = folder_path(folder, name);

    if (unlink(path) != 0 && (errno == EISDIR || errno == EPERM))
        must(rmdir(path) == 0);
}
