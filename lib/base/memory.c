#define _GNU_SOURCE /* MAP_ANONYMOUS, MAP_NORESERVE */
#include "lib/base/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "lib/base/size.h"

#define PATH_SIZE 4096

/* The number that follows `name` at the beginning of a line of a file, times `unit`; SIZE_MAX: there is none.
 */
static size_t number_in(const char *path, const char *name, size_t unit)
{
    FILE *f = fopen(path, "re");
    const size_t n = strlen(name);
    size_t bytes = SIZE_MAX;
    char line[256], *end;

    if (!f)
        return SIZE_MAX;
    while (bytes == SIZE_MAX && fgets(line, sizeof line, f)) {
        const uint64_t number = strncmp(line, name, n) == 0 ? strtoull(line + n, &end, 10) : 0;

        if (number > 0 && number <= SIZE_MAX && (*end == ' ' || *end == '\n'))
            bytes = tg_size_mul_sat((size_t)number, unit);
    }
    fclose(f);
    return bytes;
}

/* ---- control groups */

/* Where a version of control groups has its files, and what they are called. */
struct groups {
    const char *line;  /* what the line of /proc/self/cgroup has before the path */
    const char *mount; /* below /sys/fs/cgroup */
    const char *limit; /* a file with the limit */
    const char *used;  /* in memory.stat, what programs have and cannot give back */
};

/* What the limit of a group's folder leaves. */
static size_t left_in(const char *folder, const struct groups *g)
{
    char path[PATH_SIZE + 64];
    size_t limit, used;

    snprintf(path, sizeof path, "%s/%s", folder, g->limit);
    if ((limit = number_in(path, "", 1)) == SIZE_MAX)
        return SIZE_MAX;
    snprintf(path, sizeof path, "%s/memory.stat", folder);
    used = number_in(path, g->used, 1);
    return used == SIZE_MAX ? limit : limit - tg_size_min(limit, used);
}

/* The least that a group and those above it leave.  The path may be one that a container does not see: then
 * only the folders of the mount's own are there. */
static size_t left_in_groups(const char *root, const char *path, const struct groups *g)
{
    char folder[PATH_SIZE];
    size_t bytes, mount;
    char *cut;

    snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s", root, g->mount);
    mount = strlen(folder);
    snprintf(folder + mount, sizeof folder - mount, "%s", strstr(path, "..") ? "" : path);
    bytes = left_in(folder, g);
    while ((cut = strrchr(folder + mount, '/'))) {
        *cut = '\0';
        bytes = tg_size_min(bytes, left_in(folder, g));
    }
    return bytes;
}

size_t tg_memory_groups(const char *root)
{
    static const struct groups versions[] = {{"0::", "", "memory.max", "anon "},
                                             {":memory:", "/memory", "memory.limit_in_bytes", "total_rss "}};
    char line[PATH_SIZE];
    size_t bytes = SIZE_MAX;
    FILE *f;

    snprintf(line, sizeof line, "%s/proc/self/cgroup", root);
    if (!(f = fopen(line, "re")))
        return SIZE_MAX;
    while (fgets(line, sizeof line, f)) {
        const bool second = strncmp(line, "0::", 3) == 0;
        const struct groups *g = &versions[second ? 0 : 1];
        const char *at = second ? line : strstr(line, g->line);

        line[strcspn(line, "\n")] = '\0';
        if (at)
            bytes = tg_size_min(bytes, left_in_groups(root, at + strlen(g->line), g));
    }
    fclose(f);
    return bytes;
}

/* ---- addresses */

/* Whether so many bytes can be mapped. */
static bool can_map(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (at == MAP_FAILED)
        return false;
    munmap(at, bytes);
    return true;
}

size_t tg_memory_addresses(void)
{
    const size_t page = 4096;
    struct rlimit limit;
    size_t can = 0, cannot;

    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    cannot = (size_t)limit.rlim_cur / page + 1;
    while (cannot - can > 1) {
        const size_t pages = can + (cannot - can) / 2;

        if (can_map(pages * page))
            can = pages;
        else
            cannot = pages;
    }
    return can * page;
}

size_t tg_memory_available(void)
{
    const size_t bytes = tg_size_min(number_in("/proc/meminfo", "MemAvailable:", 1024), tg_memory_groups(""));

    return tg_size_min(bytes, tg_memory_addresses());
}
