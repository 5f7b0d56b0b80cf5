/* make_family NAME: write an archive of one of the models of bodies.h to stdout. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "lib/models/model_archive.h"
#include "tests/unit/bodies.h"

static int write_model(size_t i)
{
    tg_model m;
    tg_err err = {0};
    tg_status status;

    body_create(&m, i);
    if ((status = tg_model_write(&m, STDOUT_FILENO, &err)))
        fprintf(stderr, "make_family: %s\n", err.message);
    tg_model_free(&m);
    return (int)status;
}

int main(int argc, char **argv)
{
    for (size_t i = 0; argc == 2 && i < BODIES; i++)
        if (strcmp(argv[1], body_name(i)) == 0)
            return write_model(i);
    fprintf(stderr, "usage: make_family NAME\n");
    return 2;
}
