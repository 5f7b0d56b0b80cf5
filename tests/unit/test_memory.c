/* The memory that limits leave: files of control groups in a folder, and an address space. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "lib/base/memory.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/check.h"

#define MIB ((size_t)1 << 20)

static char root[64];

/* Make the folders of a path below root, and the file with this text; "": remove it. */
static void put(const char *name, const char *text)
{
    char path[512];
    int n = snprintf(path, sizeof path, "%s", root);
    FILE *f;

    for (const char *at = name; *at != '\0'; at++) {
        if (*at == '/')
            (void)mkdir(path, 0777);
        path[n++] = *at;
        path[n] = '\0';
    }
    if (*text == '\0') {
        (void)unlink(path);
        return;
    }
    f = fopen(path, "w");
    CHECK(f && fputs(text, f) >= 0 && fclose(f) == 0);
}

#define GROUP "/sys/fs/cgroup"

static void no_groups(void)
{
    CHECK_EQ(tg_memory_groups(root), SIZE_MAX);
    put("/proc/self/cgroup", "0::/a/b\n");
    CHECK_EQ(tg_memory_groups(root), SIZE_MAX);
}

static void version_2(void)
{
    put("/proc/self/cgroup", "1:name=systemd:/\n0::/a/b\n");
    put(GROUP "/a/b/memory.max", "max\n");
    CHECK_EQ(tg_memory_groups(root), SIZE_MAX);
    put(GROUP "/a/b/memory.max", "104857600\n");
    CHECK_EQ(tg_memory_groups(root), 100 * MIB);
    put(GROUP "/a/b/memory.stat", "file 83886080\nanon 10485760\n");
    CHECK_EQ(tg_memory_groups(root), 90 * MIB);
    /* a group above has less, and then the namespace's root */
    put(GROUP "/a/memory.max", "52428800\n");
    CHECK_EQ(tg_memory_groups(root), 50 * MIB);
    put(GROUP "/memory.max", "41943040\n");
    CHECK_EQ(tg_memory_groups(root), 40 * MIB);
    put(GROUP "/a/b/memory.stat", "anon 209715200\n");
    CHECK_EQ(tg_memory_groups(root), 0);
    /* a path outside the namespace: only its root is seen */
    put("/proc/self/cgroup", "0::/../a/b\n");
    CHECK_EQ(tg_memory_groups(root), 40 * MIB);
    put(GROUP "/memory.max", "");
}

static void version_1(void)
{
    put("/proc/self/cgroup", "5:devices:/docker/x\n4:memory:/docker/x\n0::/\n");
    CHECK_EQ(tg_memory_groups(root), SIZE_MAX);
    /* a container has mounted its own group there */
    put(GROUP "/memory/memory.limit_in_bytes", "31457280\n");
    put(GROUP "/memory/memory.stat", "rss 1\ntotal_cache 20971520\ntotal_rss 10485760\n");
    CHECK_EQ(tg_memory_groups(root), 20 * MIB);
    put(GROUP "/memory/docker/x/memory.limit_in_bytes", "9223372036854771712\n");
    CHECK_EQ(tg_memory_groups(root), 20 * MIB);
    put(GROUP "/memory/docker/x/memory.limit_in_bytes", "15728640\n");
    CHECK_EQ(tg_memory_groups(root), 15 * MIB);
}

#ifndef CHECK_SANITIZED
/* With memory that is taken, but not used, what is left becomes less. */
static void addresses(void)
{
    struct rlimit old, limit;
    size_t left, less;
    void *at;

    CHECK(getrlimit(RLIMIT_AS, &old) == 0);
    if (old.rlim_cur == RLIM_INFINITY)
        CHECK_EQ(tg_memory_addresses(), SIZE_MAX);
    limit = (struct rlimit){1024 * MIB, old.rlim_max};
    CHECK(setrlimit(RLIMIT_AS, &limit) == 0);
    left = tg_memory_addresses();
    at = mmap(NULL, 256 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    less = tg_memory_addresses();
    if (at != MAP_FAILED)
        munmap(at, 256 * MIB);
    CHECK(setrlimit(RLIMIT_AS, &old) == 0);
    CHECK(at != MAP_FAILED);
    CHECK(left > 512 * MIB && left < 1024 * MIB);
    CHECK_EQ(left - less, 256 * MIB);
    CHECK(tg_memory_available() > 0);
}
#endif

static int remove_entry(const char *path, const struct stat *unused, int type, struct FTW *place)
{
    (void)unused, (void)type, (void)place;
    return remove(path);
}

int main(void)
{
    snprintf(root, sizeof root, "memory-XXXXXX");
    if (!mkdtemp(root))
        return 1;
    RUN(no_groups);
    RUN(version_2);
    RUN(version_1);
#ifndef CHECK_SANITIZED
    RUN(addresses);
#endif
    CHECK(nftw(root, remove_entry, 8, FTW_DEPTH | FTW_PHYS) == 0);
    return check_done();
}
