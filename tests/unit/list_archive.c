/*
 * list_archive [FILE]: one line for each array: name, element type, shape and the
 * CRC-32 of its data, between tabs; "end" after each archive.  Exits with the
 * tg_status of what went wrong, its message on stderr.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/archive.h"
#include "lib/tg/array.h"
#include "lib/base/size.h"

static tg_status list_array(tg_archive_reader *r, const tg_array *a, tg_err *err)
{
    static unsigned char piece[10007];
    char dtype[TG_ARRAY_TEXT_MAX], shape[TG_ARRAY_TEXT_MAX];
    uLong crc = 0;

    for (size_t left = a->bytes, n; left > 0; left -= n) {
        tg_status status;

        n = tg_size_min(left, sizeof piece);
        status = tg_archive_read(r, piece, n, err);
        if (status != TG_OK)
            return status;
        crc = crc32_z(crc, piece, n);
    }
    printf("%s\t%s\t%s\t%08lx\n", a->name, tg_dtype_text(dtype, a->dtype),
           tg_shape_text(shape, a->ndim, a->shape), crc);
    return TG_OK;
}

static tg_status list(int fd, tg_err *err)
{
    tg_archive_reader *r;
    tg_array a;
    tg_archive_event event = TG_ARCHIVE_END;
    tg_status status = tg_archive_open(&r, fd, err);

    while (status == TG_OK && event != TG_ARCHIVE_EOF) {
        status = tg_archive_next(r, &a, &event, err);
        if (status == TG_OK && event == TG_ARCHIVE_ARRAY)
            status = list_array(r, &a, err);
        else if (status == TG_OK && event == TG_ARCHIVE_END)
            puts("end");
    }
    tg_archive_close(r);
    return status;
}

int main(int argc, char **argv)
{
    int fd = argc > 1 ? open(argv[1], O_RDONLY) : STDIN_FILENO;
    tg_err err = {0};
    tg_status status;

    if (fd < 0) {
        perror(argv[1]);
        return 3;
    }
    status = list(fd, &err);
    if (status != TG_OK)
        fprintf(stderr, "list_archive: %s\n", err.message);
    return (int)status;
}
