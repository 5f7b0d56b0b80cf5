#include "lib/base/memory.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "lib/base/size.h"

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

size_t tg_memory_available(void)
{
    struct rlimit limit;
    size_t bytes = number_in("/proc/meminfo", "MemAvailable:", 1024);

    bytes = tg_size_min(bytes, number_in("/sys/fs/cgroup/memory.max", "", 1));
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY) {
        const size_t used = number_in("/proc/self/status", "VmSize:", 1024);

        bytes = tg_size_min(bytes, used < limit.rlim_cur ? (size_t)limit.rlim_cur - used : 0);
    }
    return bytes;
}
