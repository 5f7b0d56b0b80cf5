#include "lib/base/grow.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"

#define LEAST 64 /* elements */

tg_status tg_grow_more(void *array, size_t *capacity, size_t need, size_t each, const char *what, tg_err *err)
{
    const size_t room = tg_size_max(tg_size_max(need, LEAST), tg_size_mul_sat(*capacity, 2));
    const size_t bytes = tg_size_mul_sat(room, each);
    void *old, *grown;

    memcpy(&old, array, sizeof old); /* a pointer of any type */
    if (bytes > PTRDIFF_MAX || !(grown = realloc(old, bytes)))
        return tg_fail_memory(err, bytes, what);
    memcpy(array, &grown, sizeof grown);
    *capacity = room;
    return TG_OK;
}
