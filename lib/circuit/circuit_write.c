#include "lib/circuit/circuit_write.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "formats/archive.h"
#include "lib/base/choice.h"
#include "lib/base/size.h"

/* ---- what both have */

struct writer {
    tg_archive_writer *archive;
    const tg_circuit_kept *kept;
    size_t layers, heads; /* that are kept */
    double *value;        /* [layers,heads] or [layers,heads,L,H] of an array */
};

static double finite(double x)
{
    return isfinite(x) ? x : 0;
}

static bool keeps(size_t kept, size_t number)
{
    return kept == TG_CIRCUIT_ALL || kept == number;
}

/* The layers or heads, which are `kept` of n. */
static tg_status put_axis(const struct writer *w, const char *name, size_t kept, size_t n, tg_err *err)
{
    int64_t *number = malloc(n * sizeof *number);
    size_t used = 0;
    tg_status status;

    if (!number)
        return tg_fail_memory(err, n * sizeof *number, "the heads");
    for (size_t i = 0; i < n; i++)
        if (keeps(kept, i))
            number[used++] = (int64_t)i;
    status = tg_archive_put(w->archive, name, TG_I64, 1, &used, number, err);
    free(number);
    return status;
}

static tg_status begin(struct writer *w, int fd, tg_err *err)
{
    const tg_circuit_kept *kept = w->kept;
    tg_status status;

    if ((status = tg_archive_create(&w->archive, fd, err)) ||
        (status = tg_archive_put_text(w->archive, "kind", "circuit", err)) ||
        (status = tg_archive_put_i64(w->archive, "version", TG_CIRCUIT_VERSION, err)) ||
        (status = tg_archive_put_i64(w->archive, "circuit/n_layer", (int64_t)kept->L, err)) ||
        (status = tg_archive_put_i64(w->archive, "circuit/n_head", (int64_t)kept->H, err)) ||
        (status = put_axis(w, "circuit/layers", kept->layer, kept->L, err)))
        return status;
    return put_axis(w, "circuit/heads", kept->head, kept->H, err);
}

/* `each`: the numbers of a kept head. */
static tg_status make_room(struct writer *w, const tg_circuit_kept *kept, size_t each, tg_err *err)
{
    size_t bytes;

    *w = (struct writer){.kept = kept,
                         .layers = kept->layer == TG_CIRCUIT_ALL ? kept->L : 1,
                         .heads = kept->head == TG_CIRCUIT_ALL ? kept->H : 1};
    bytes = tg_size_mul_sat(tg_size_mul_sat(w->layers * w->heads, each), sizeof *w->value);
    w->value = malloc(bytes);
    return w->value ? TG_OK : tg_fail_memory(err, bytes, "the numbers of heads");
}

static tg_status end(struct writer *w, tg_status status, tg_err *err)
{
    status = tg_archive_end(w->archive, status, err);
    free(w->value);
    return status;
}

/* ---- heads */

static const struct {
    const char *name;
    size_t offset;
    bool of_positions;
} columns[] = {
    {"circuit/ov_norm", offsetof(tg_head_numbers, ov_norm), false},
    {"circuit/qk_norm", offsetof(tg_head_numbers, qk_norm), false},
    {"circuit/copying", offsetof(tg_head_numbers, copying), false},
    {"circuit/positive", offsetof(tg_head_numbers, positive), false},
    {"circuit/duplicate", offsetof(tg_head_numbers, duplicate), false},
    {"circuit/previous", offsetof(tg_head_numbers, previous), true},
    {"circuit/diagonal", offsetof(tg_head_numbers, diagonal), true},
};

/* The number at this offset of a head's. */
static double number_at(const tg_head_numbers *numbers, size_t offset)
{
    double x;

    memcpy(&x, (const char *)numbers + offset, sizeof x);
    return finite(x);
}

static tg_status put_column(const struct writer *w, const tg_head_numbers *numbers, const char *name,
                            size_t offset, tg_err *err)
{
    const tg_circuit_kept *kept = w->kept;
    const size_t shape[] = {w->layers, w->heads};
    size_t n = 0;

    for (size_t l = 0; l < kept->L; l++)
        for (size_t h = 0; h < kept->H; h++)
            if (keeps(kept->layer, l) && keeps(kept->head, h))
                w->value[n++] = number_at(&numbers[l * kept->H + h], offset);
    return tg_archive_put(w->archive, name, TG_F64, 2, shape, w->value, err);
}

tg_status tg_circuit_write_heads(int fd, const tg_circuit_kept *kept, const tg_head_numbers *numbers,
                                 bool positions, tg_err *err)
{
    struct writer w;
    tg_status status;

    if (!(status = make_room(&w, kept, 1, err)))
        status = begin(&w, fd, err);
    for (size_t i = 0; i < sizeof columns / sizeof columns[0] && !status; i++)
        if (positions || !columns[i].of_positions)
            status = put_column(&w, numbers, columns[i].name, columns[i].offset, err);
    return end(&w, status, err);
}

/* ---- pairs */

/* [layers,heads,L,H] */
static tg_status put_scores(const struct writer *w, const tg_compose *c, size_t type, tg_err *err)
{
    static const char *const name[TG_COMPOSITIONS] = {"circuit/q", "circuit/k", "circuit/v"};
    const tg_circuit_kept *kept = w->kept;
    const size_t shape[] = {w->layers, w->heads, kept->L, kept->H};
    size_t n = 0;

    for (size_t to = 0; to < c->N; to++) {
        if (!keeps(kept->layer, to / c->H) || !keeps(kept->head, to % c->H))
            continue;
        for (size_t from = 0; from < c->N; from++)
            w->value[n++] = from / c->H < to / c->H ? finite(c->score[type][from * c->N + to]) : 0;
    }
    return tg_archive_put(w->archive, name[type], TG_F64, 4, shape, w->value, err);
}

tg_status tg_circuit_write_pairs(int fd, const tg_circuit_kept *kept, const tg_compose *c, double baseline,
                                 tg_err *err)
{
    struct writer w;
    tg_status status;

    if (!(status = make_room(&w, kept, c->N, err)))
        status = begin(&w, fd, err);
    if (!status)
        status = tg_archive_put_f64(w.archive, "circuit/baseline", baseline, err);
    for (size_t type = 0; type < TG_COMPOSITIONS && !status; type++)
        status = put_scores(&w, c, type, err);
    return end(&w, status, err);
}
