#include "lib/results/results.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tg/array.h"
#include "lib/base/choice.h"
#include "lib/base/finite.h"
#include "lib/base/size.h"
#include "lib/results/tables.h"

/* What is read. */
struct reading {
    tg_results *results;
    tg_archive_reader *r;
    const tg_results_row *table;
    char kind[TG_CHOICE_SIZE];
};

/* ---- shapes */

static tg_status wrong(const struct reading *rd, const tg_array *a, const tg_results_row *row, tg_err *err)
{
    const char *type = row->type == 'i' ? "i8" : row->type == 'f' ? "f8 or f4" : "S";
    size_t shape[TG_RESULTS_DIMS];
    char got[TG_ARRAY_TEXT_MAX], want[TG_ARRAY_TEXT_MAX];

    for (size_t d = 0; d < strlen(row->dims); d++) {
        shape[d] = rd->results->size[row->dims[d] - 'A'];
        if (shape[d] == 0) /* any */
            return tg_fail(err, TG_EDATA,
                           "array %s is %c%zu of shape %s, expected %s in %zu dimension%s, none of size 0",
                           a->name, a->dtype.kind, a->dtype.size, tg_shape_text(got, a->ndim, a->shape), type,
                           strlen(row->dims), strlen(row->dims) == 1 ? "" : "s");
    }
    return tg_fail(err, TG_EDATA, "array %s is %c%zu of shape %s, expected %s of shape %s", a->name,
                   a->dtype.kind, a->dtype.size, tg_shape_text(got, a->ndim, a->shape), type,
                   tg_shape_text(want, strlen(row->dims), shape));
}

static bool has_type(const tg_array *a, const tg_results_row *row)
{
    if (row->type == 'S')
        return a->dtype.kind == 'S' && a->dtype.size > 0;
    if (row->type == 'i')
        return tg_dtype_equal(a->dtype, TG_I64);
    return tg_dtype_equal(a->dtype, TG_F64) || tg_dtype_equal(a->dtype, TG_F32);
}

/* Check type and shape; letters that are new get their sizes. */
static tg_status check_array(struct reading *rd, const tg_array *a, const tg_results_row *row, tg_err *err)
{
    size_t *size = rd->results->size;

    if (!has_type(a, row) || a->ndim != strlen(row->dims) || a->count == 0)
        return wrong(rd, a, row, err);
    for (size_t d = 0; d < a->ndim; d++) {
        const size_t letter = (size_t)(row->dims[d] - 'A');

        if (size[letter] != 0 && size[letter] != a->shape[d])
            return wrong(rd, a, row, err);
        size[letter] = a->shape[d];
    }
    return TG_OK;
}

/* ---- numbers and texts */

static tg_status keep_reals(struct reading *rd, tg_results_array *kept, const tg_array *a, tg_err *err)
{
    size_t bytes, bad;
    tg_status status;

    if (!tg_size_mul(&bytes, a->count, sizeof *kept->real) || !(kept->real = malloc(bytes)))
        return tg_fail_memory(err, a->bytes, a->name);
    if ((status = tg_archive_read(rd->r, kept->real, a->bytes, err)))
        return status;
    for (size_t i = a->count; a->dtype.size == sizeof(float) && i-- > 0;) { /* the last one first: in place */
        float x;

        memcpy(&x, (const char *)kept->real + i * sizeof x, sizeof x);
        kept->real[i] = (double)x;
    }
    bad = tg_find_not_finite64(kept->real, a->count);
    return bad == a->count ? TG_OK : tg_fail_not_finite(a->name, bad, kept->real[bad], err);
}

static tg_status keep_texts(struct reading *rd, tg_results_array *kept, const tg_array *a,
                            const tg_results_row *row, tg_err *err)
{
    size_t number;
    char text[TG_CHOICE_SIZE];
    tg_status status;

    if (!(kept->text = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, a->name);
    kept->size = a->dtype.size;
    if ((status = tg_archive_read(rd->r, kept->text, a->bytes, err)) || !row->choices)
        return status;
    tg_results_text(text, sizeof text, kept, 0);
    return tg_choice_find(&number, row->choices, text)
               ? TG_OK
               : tg_fail(err, TG_EDATA, "%s is \"%s\", expected one of %s", a->name, text, row->choices);
}

static tg_status keep_array(struct reading *rd, tg_results_array *kept, const tg_array *a,
                            const tg_results_row *row, tg_err *err)
{
    if (kept->count > 0) /* unreached: archives have no two arrays of one name */
        return tg_fail(err, TG_EDATA, "array %s was given before", a->name);
    kept->dims = a->ndim;
    memcpy(kept->shape, a->shape, a->ndim * sizeof *a->shape);
    kept->count = a->count;
    if (row->type == 'f')
        return keep_reals(rd, kept, a, err);
    if (row->type == 'S')
        return keep_texts(rd, kept, a, row, err);
    if (!(kept->whole = malloc(a->bytes)))
        return tg_fail_memory(err, a->bytes, a->name);
    return tg_archive_read(rd->r, kept->whole, a->bytes, err);
}

/* Other arrays are skipped. */
static tg_status read_array(struct reading *rd, const tg_array *a, tg_err *err)
{
    const size_t n = strlen(rd->kind);
    tg_status status;

    if (strncmp(a->name, rd->kind, n) != 0 || a->name[n] != '/')
        return TG_OK;
    for (const tg_results_row *row = rd->table; row->name; row++)
        if (strcmp(a->name + n + 1, row->name) == 0) {
            if ((status = check_array(rd, a, row, err)))
                return status;
            return keep_array(rd, &rd->results->array[row - rd->table], a, row, err);
        }
    return TG_OK;
}

/* ---- when all is there */

/* The number that bounds a row's; SIZE_MAX: none. */
static size_t bound_of(const struct reading *rd, const tg_results_row *row)
{
    size_t size;

    if (!row->bound)
        return SIZE_MAX;
    if (strlen(row->bound) > 1)
        return (size_t)tg_results_whole(rd->results, row->bound);
    size = rd->results->size[row->bound[0] - 'A'];
    return size > 0 ? size : SIZE_MAX;
}

static tg_status check_numbers(const struct reading *rd, const tg_results_row *row,
                               const tg_results_array *kept, tg_err *err)
{
    const bool includes = row->limit == TG_RESULTS_UP_TO || row->limit == TG_RESULTS_STEPS;
    const bool ascends = row->limit == TG_RESULTS_PLACES || row->limit == TG_RESULTS_STEPS;
    const size_t bound = bound_of(rd, row);

    for (size_t i = 0; i < kept->count; i++) {
        const int64_t x = kept->whole[i];

        if (x == -1 && row->none && (!ascends || kept->count == 1))
            continue;
        if (x < 0 || (uint64_t)x > bound || (!includes && (uint64_t)x == bound))
            return tg_fail(err, TG_EDATA, "%s/%s[%zu] is %" PRId64 ", which is out of range", rd->kind,
                           row->name, i, x);
        if (ascends && i > 0 && x <= kept->whole[i - 1])
            return tg_fail(err, TG_EDATA, "%s/%s[%zu] is %" PRId64 ", expected an ascending order", rd->kind,
                           row->name, i, x);
    }
    return TG_OK;
}

/* Of circuits: numbers of heads, or of pairs, for all layers and heads of the model. */
static tg_status check_circuit(const struct reading *rd, tg_err *err)
{
    const tg_results *r = rd->results;
    const size_t L = r->size['L' - 'A'], H = r->size['H' - 'A'];

    if (!tg_results_find(r, "copying") && !tg_results_find(r, "k"))
        return tg_fail(err, TG_EDATA, "circuit/copying and circuit/k are missing: expected one of them");
    if (L == 0 || (L == (size_t)tg_results_whole(r, "n_layer") && H == (size_t)tg_results_whole(r, "n_head")))
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "circuit/k has %zu layers of %zu heads, but circuit/n_layer is %" PRId64
                   " and circuit/n_head %" PRId64,
                   L, H, tg_results_whole(r, "n_layer"), tg_results_whole(r, "n_head"));
}

static tg_status check_complete(const struct reading *rd, tg_err *err)
{
    tg_status status;

    for (const tg_results_row *row = rd->table; row->name; row++)
        if (!row->optional && rd->results->array[row - rd->table].count == 0)
            return tg_fail(err, TG_EDATA, "array %s/%s is missing", rd->kind, row->name);
    for (const tg_results_row *row = rd->table; row->name; row++) {
        const tg_results_array *kept = &rd->results->array[row - rd->table];

        if (row->type == 'i' && kept->count > 0 && (status = check_numbers(rd, row, kept, err)))
            return status;
    }
    return rd->results->kind == TG_RESULTS_CIRCUIT ? check_circuit(rd, err) : TG_OK;
}

static tg_status read_all(struct reading *rd, tg_err *err)
{
    tg_archive_event event;
    tg_array a;
    tg_status status = tg_archive_next(rd->r, &a, &event, err);

    if (status)
        return status;
    if (event != TG_ARCHIVE_ARRAY)
        return tg_fail(err, TG_EDATA, "archive ends after \"kind\": \"version\" is missing");
    if ((status = tg_archive_expect_version(rd->r, &a, TG_RESULTS_VERSION, err)))
        return status;
    while (!(status = tg_archive_next(rd->r, &a, &event, err)) && event == TG_ARCHIVE_ARRAY)
        if ((status = read_array(rd, &a, err)))
            return status;
    if (status || (status = check_complete(rd, err)) || (status = tg_archive_next(rd->r, &a, &event, err)))
        return status;
    return event == TG_ARCHIVE_EOF ? TG_OK
                                   : tg_fail(err, TG_EDATA, "data follows the archive: expected one archive");
}

tg_status tg_results_read(tg_results *results, tg_results_kind kind, tg_archive_reader *reader, tg_err *err)
{
    struct reading rd = {.results = results, .r = reader, .table = tg_results_table(kind)};
    tg_status status;

    *results = (tg_results){.kind = kind};
    (void)tg_choice_name(rd.kind, TG_RESULTS_KIND_NAMES, kind);
    if ((status = read_all(&rd, err)))
        tg_results_free(results);
    return status;
}

tg_status tg_results_read_any(tg_results *results, int fd, tg_err *err)
{
    tg_archive_reader *r;
    size_t kind;
    tg_status status = tg_archive_open(&r, fd, err);

    if (status)
        return status;
    if (!(status = tg_archive_read_kind(r, TG_RESULTS_KIND_NAMES, &kind, err)))
        status = tg_results_read(results, (tg_results_kind)kind, r, err);
    tg_archive_close(r);
    return status;
}

void tg_results_free(tg_results *results)
{
    for (size_t i = 0; i < TG_RESULTS_ARRAYS; i++) {
        free(results->array[i].real);
        free(results->array[i].whole);
        free(results->array[i].text);
    }
    *results = (tg_results){.kind = results->kind};
}

/* ---- what was read */

const tg_results_array *tg_results_find(const tg_results *results, const char *name)
{
    const tg_results_row *table = tg_results_table(results->kind), *row = table;

    while (strcmp(row->name, name) != 0)
        row++;
    return results->array[row - table].count > 0 ? &results->array[row - table] : NULL;
}

double tg_results_real(const tg_results *results, const char *name)
{
    const tg_results_array *array = tg_results_find(results, name);

    return array ? array->real[0] : 0;
}

int64_t tg_results_whole(const tg_results *results, const char *name)
{
    const tg_results_array *array = tg_results_find(results, name);

    return array ? array->whole[0] : 0;
}

void tg_results_text(char *out, size_t size, const tg_results_array *texts, size_t element)
{
    snprintf(out, size, "%.*s", texts ? (int)tg_size_min(texts->size, size - 1) : 0,
             texts ? texts->text + element * texts->size : "");
}
