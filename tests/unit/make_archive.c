/*
 * make_archive [-z] [-s]: write a test archive to stdout.
 *   -z  deflated   -s  the small one of formats/README.md
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "formats/archive.h"
#include "tests/unit/deflated.h"

static tg_status put_small(tg_archive_writer *w, tg_err *err)
{
    static const unsigned char ids[] = {'T', 'o', ' ', 'b', 'e'};
    tg_status status = tg_archive_put_text(w, "kind", "tokens", err);

    if (status == TG_OK)
        status = tg_archive_put(w, "tokens/00000000", TG_U8, 1, (size_t[]){sizeof ids}, ids, err);
    return status;
}

static tg_status put_more(tg_archive_writer *w, tg_err *err)
{
    static float numbers[1000];
    static unsigned short ids[100];
    tg_status status = put_small(w, err);

    for (size_t i = 0; i < 1000; i++)
        numbers[i] = (float)(i % 10) / 4;
    for (size_t i = 0; i < 100; i++)
        ids[i] = (unsigned short)(i * i);
    if (status == TG_OK)
        status = tg_archive_put_i64(w, "version", -1, err);
    if (status == TG_OK)
        status = tg_archive_put_f64(w, "config/layer_norm_epsilon", 1e-5, err);
    if (status == TG_OK)
        status = tg_archive_put_text(w, "empty", "", err);
    if (status == TG_OK)
        status = tg_archive_put(w, "h.0.attn.c_attn.weight", TG_F32, 3, (size_t[]){10, 20, 5}, numbers, err);
    if (status == TG_OK)
        status = tg_archive_put(w, "none", TG_F32, 2, (size_t[]){0, 7}, NULL, err);
    if (status == TG_OK)
        status = tg_archive_put(w, "ids", TG_U16, 1, (size_t[]){100}, ids, err);
    return status;
}

static void print_deflated(FILE *f)
{
    deflate_archive(fileno(f));
    for (int c; (c = getc(f)) != EOF;)
        putchar(c);
}

int main(int argc, char **argv)
{
    bool small = false, deflated = false;
    FILE *f = NULL; /* of the archive before it is deflated */
    tg_archive_writer *w;
    tg_err err = {0};
    tg_status status;

    for (int i = 1; i < argc; i++) {
        small = small || strcmp(argv[i], "-s") == 0;
        deflated = deflated || strcmp(argv[i], "-z") == 0;
    }
    if (deflated && !(f = tmpfile()))
        return 1;
    status = tg_archive_create(&w, f ? fileno(f) : STDOUT_FILENO, &err);
    if (status == TG_OK) {
        status = small ? put_small(w, &err) : put_more(w, &err);
        if (status == TG_OK)
            status = tg_archive_finish(w, &err);
        tg_archive_abandon(w);
    }
    if (status != TG_OK)
        fprintf(stderr, "make_archive: %s\n", err.message);
    else if (f)
        print_deflated(f);
    return (int)status;
}
