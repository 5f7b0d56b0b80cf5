#include "formats/tensors.h"

#define MAGIC 9 /* bytes by which every format below is recognized */

/* The first is also the fallback: its open() says what kind of file no container reads. */
static const tg_container *const containers[] = {&tg_archive_container};

#define CONTAINERS (sizeof containers / sizeof containers[0])

tg_status tg_tensors_open(tg_tensors *t, tg_source *source, tg_err *err)
{
    const tg_container *container = containers[0];
    tg_format format;
    tg_status status = tg_source_peek(source, MAGIC, err);

    *t = (tg_tensors){0};
    if (status) {
        tg_source_close(source);
        return status;
    }
    format = tg_format_recognize(source->next, source->ready);
    for (size_t i = 0; i < CONTAINERS; i++)
        if (containers[i]->format == format)
            container = containers[i];
    if (!(status = container->open(&t->reader, source, err)))
        t->container = container;
    return status;
}

tg_status tg_tensors_next(tg_tensors *t, tg_array *array, bool *more, tg_err *err)
{
    return t->container->next(t->reader, array, more, err);
}

tg_status tg_tensors_read(tg_tensors *t, void *dst, size_t bytes, tg_err *err)
{
    return t->container->read(t->reader, dst, bytes, err);
}

uint64_t tg_tensors_max_bytes(const tg_tensors *t)
{
    return t->container->max_bytes(t->reader);
}

void tg_tensors_close(tg_tensors *t)
{
    if (t->container)
        t->container->close(t->reader);
    *t = (tg_tensors){0};
}
