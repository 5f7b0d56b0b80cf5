/*
 * The reader of attention dumps.
 *
 * Every input is read as a file and as a stream, and both must agree.  Every row of an accepted dump is
 * computed, and a part of it is read alone.
 */
#define _XOPEN_SOURCE 700
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/archive.h"
#include "lib/dump/dump_rows.h"
#include "tests/fuzz/input.h"

#define ROWS_MAX 4096 /* max rows of a dump to compute: thousands of heads would add nothing */

/* The result of reading. */
typedef struct outcome {
    tg_status status;
    size_t layers, rows;
    uint32_t crc; /* of the messages and the rows */
} outcome;

static void add(outcome *o, const void *p, size_t n)
{
    if (p && n > 0)
        o->crc = (uint32_t)crc32(o->crc, p, (uInt)n);
}

/* All rows; those in the dump must be finite. */
static void take_rows(outcome *o, const tg_dump *dump, const tg_dump_layer *layer, tg_attn_stage show)
{
    float *row = calloc(dump->T, sizeof *row);
    double *scratch = calloc(tg_dump_row_scratch(dump), sizeof *scratch);
    const size_t all = dump->B * dump->H * dump->T;

    must(row && scratch);
    for (size_t n = 0; n < all && n < ROWS_MAX && tg_dump_has_rows(layer, show); n++) {
        const size_t i = n % dump->T;

        tg_dump_row(row, dump, layer, show, n / dump->T / dump->H, n / dump->T % dump->H, i, scratch);
        must(!layer->data[show] || isfinite(row[i]));
        add(o, row, (i + 1) * sizeof *row);
        o->rows++;
    }
    free(row);
    free(scratch);
}

static void take_layer(outcome *o, const tg_dump *dump, const tg_dump_layer *layer)
{
    const tg_qkv_view view = tg_dump_shape(dump);

    must(layer->number < dump->n_layer);
    for (tg_attn_stage stage = TG_ATTN_RESID; stage < TG_ATTN_STAGE_COUNT; stage++) {
        tg_attn_shape shape;

        tg_attn_stage_shape(&shape, stage, &view);
        add(o, layer->data[stage], tg_attn_shape_count(&shape) * sizeof(float));
    }
    take_rows(o, dump, layer, TG_ATTN_SCORES);
    take_rows(o, dump, layer, TG_ATTN_PROBS);
}

/* One layer, and the stages that rows of probabilities are made of: as in the whole. */
static void read_part(int fd, const tg_dump *whole)
{
    const size_t number = whole->layer[whole->n / 2].number;
    const tg_dump_want want = {number, tg_dump_rows_stages(TG_ATTN_PROBS), false};
    const tg_dump_layer *const from = tg_dump_find(whole, number), *layer;
    const tg_qkv_view view = tg_dump_shape(whole);
    tg_attn_shape shape;
    tg_dump part;

    must(lseek(fd, 0, SEEK_SET) == 0 && tg_dump_read(&part, fd, want, NULL) == TG_OK);
    must((layer = tg_dump_find(&part, number)) != NULL && !tg_dump_find(&part, part.n_layer));
    for (tg_attn_stage stage = TG_ATTN_RESID; stage < TG_ATTN_STAGE_COUNT; stage++) {
        const bool wanted = want.stages & TG_DUMP_BIT(stage);

        must((layer->data[stage] != NULL) == (wanted && from->data[stage]));
        tg_attn_stage_shape(&shape, stage, &view);
        if (layer->data[stage])
            must(memcmp(layer->data[stage], from->data[stage], tg_attn_shape_count(&shape) * sizeof(float)) ==
                 0);
    }
    tg_dump_free(&part);
}

static outcome read_fd(int fd, bool again)
{
    const tg_dump_want all = {TG_ATTN_ALL, TG_DUMP_EVERY, true};
    outcome o = {0};
    tg_dump dump;
    tg_err err = {0};

    o.status = tg_dump_read(&dump, fd, all, &err);
    must(o.status == TG_OK || (o.status == TG_EDATA && err.message[0] != '\0'));
    if (o.status)
        return o;
    must(dump.H > 0 && dump.C % dump.H == 0 && dump.D == dump.C / dump.H);
    o.layers = dump.n;
    for (size_t l = 0; l < dump.n; l++)
        take_layer(&o, &dump, &dump.layer[l]);
    add(&o, dump.ids, dump.ids ? dump.T * sizeof *dump.ids : 0);
    add(&o, dump.source, strlen(dump.source));
    add(&o, dump.text, dump.text ? dump.T * dump.text_size : 0);
    if (again && dump.n > 0)
        read_part(fd, &dump);
    tg_dump_free(&dump);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    outcome file, piped;

    if (size > INPUT_MAX)
        return 0;
    file = read_fd(input_file(data, size), true);
    piped = read_fd(input_stream(data, size), false);
    must(file.status == piped.status && file.layers == piped.layers && file.rows == piped.rows &&
         file.crc == piped.crc);
    return 0;
}

/* ---- seeds */

enum { B = 2, T = 3, H = 2, D = 2 };

static void put_layer(tg_archive_writer *w, unsigned seed, tg_err *err)
{
    static const float x[B * T * H * D * 3] = {1, 2, 3, 4, -5, 6, 7, -8};
    const size_t bthd[4] = {B, T, H, D}, bhtd[4] = {B, H, T, D}, bhtt[4] = {B, H, T, T};
    const size_t *shape = seed & 1 ? bhtd : bthd;

    must(tg_archive_put(w, "h.1.q", TG_F32, 4, shape, x, err) == TG_OK);
    must(tg_archive_put(w, "h.1.k", TG_F32, 4, shape, x, err) == TG_OK);
    if (seed & 2)
        must(tg_archive_put(w, "h.0.scores", TG_F32, 4, bhtt, x, err) == TG_OK);
    if (seed & 4)
        must(tg_archive_put(w, "h.0.qkv", TG_F32, 3, (size_t[]){B, T, 3 * H * D}, x, err) == TG_OK);
}

static size_t make_seed(uint8_t *out, size_t max, unsigned seed)
{
    static FILE *f;
    static const int64_t ids[T] = {65, 66, 67};
    const size_t tokens = T;
    tg_archive_writer *w;
    tg_err err = {0};

    if (!f)
        f = tmpfile();
    must(f && ftruncate(fileno(f), 0) == 0 && lseek(fileno(f), 0, SEEK_SET) == 0);
    must(tg_archive_create(&w, fileno(f), &err) == TG_OK);
    must(tg_archive_put_text(w, "kind", TG_DUMP_KIND, &err) == TG_OK);
    must(tg_archive_put_i64(w, "version", TG_DUMP_VERSION, &err) == TG_OK);
    must(tg_archive_put_choice(w, "dump/layout", TG_ATTN_LAYOUTS, seed & 1, &err) == TG_OK);
    must(tg_archive_put_i64(w, "dump/n_layer", 2, &err) == TG_OK);
    must(tg_archive_put_i64(w, "dump/n_head", H, &err) == TG_OK);
    must(tg_archive_put_i64(w, "dump/n_embd", (int64_t)H * D, &err) == TG_OK);
    must(tg_archive_put_text(w, "dump/mask", "min", &err) == TG_OK);
    must(tg_archive_put_text(w, "dump/source", "-m model.npz", &err) == TG_OK);
    must(tg_archive_put(w, "dump/ids", TG_I64, 1, &tokens, ids, &err) == TG_OK);
    must(tg_archive_put(w, "dump/text", (tg_dtype){'S', 1}, 1, &tokens, "ABC", &err) == TG_OK);
    put_layer(w, seed, &err);
    must(tg_archive_finish(w, &err) == TG_OK);
    tg_archive_abandon(w);
    return input_take(fileno(f), out, max);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    return input_mutate(data, size < 30 ? make_seed(data, max, seed) : size, max, seed);
}
