#include "lib/base/object.h"

#include <stdlib.h>
#include <string.h>

void *tg_object_new(size_t bytes, const char *what, tg_err *err)
{
    void *object = calloc(1, bytes);

    if (!object)
        (void)tg_fail_memory(err, bytes, what);
    return object;
}

tg_status tg_object_begun(void *object, tg_status status)
{
    void *begun, *none = NULL;

    if (status) {
        memcpy(&begun, object, sizeof begun); /* a pointer of any type */
        free(begun);
        memcpy(object, &none, sizeof none);
    }
    return status;
}
