/* A model from its files: all of it in memory, or lent. */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS, madvise */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/base/convert.h"
#include "lib/base/finite.h"
#include "lib/base/rng.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/kernels/kernels.h"
#include "lib/models/model_format.h"
#include "lib/text/bare_ids.h"

#define FLOATS_ALIGNED (TG_ALIGN / sizeof(float))

/* The config, the tokenizer and the probe; no tensors. */
static tg_status begin(tg_model *m, const tg_model_file *f, tg_err *err)
{
    const tg_tokenizer *ids = NULL;
    tg_status status;

    if (!f->tokenizer && (status = tg_bare_ids_create(&ids, f->config.vocab_size, err)))
        return status;
    status = tg_model_begin(m, &f->config, ids ? ids : f->tokenizer, err);
    tg_tokenizer_free(ids);
    if (status)
        return status;
    memcpy(m->probe, f->own.probe, sizeof m->probe);
    m->probe_count = f->own.probe_count;
    m->chat = tg_model_file_chat(f);
    return TG_OK;
}

/* ---- all of it in memory */

static void close_files(void *files)
{
    tg_model_file *f = files;

    tg_model_file_close(f);
    free(f);
}

/* Use the values in place, or copy them. */
static tg_status take_values(tg_model *m, const tg_model_file *f, size_t i, bool flat, tg_err *err)
{
    const tg_param *p = &m->table.entry[i];
    const float *direct = flat ? NULL : tg_model_file_direct(f, i);
    float *where;
    tg_status status;

    if (direct) {
        m->weight[i] = direct;
        return tg_check_finite(p->name, direct, p->count, err);
    }
    if ((status = tg_model_place(m, p, &where, err)))
        return status;
    return tg_model_file_read(where, f, i, false, err);
}

static tg_status build(tg_model *m, tg_model_file *f, bool flat, tg_err *err)
{
    tg_model_file *kept;
    tg_status status = begin(m, f, err);

    for (size_t i = 0; i < f->table.n && !status; i++) {
        status = take_values(m, f, i, flat, err);
        if (flat || !tg_model_file_direct(f, i)) /* it has been copied */
            tg_model_file_release(f, i);
    }
    if (status || flat)
        return status;
    if (!(kept = malloc(sizeof *kept)))
        return tg_fail_memory(err, sizeof *kept, "the list of files");
    *kept = *f;
    *f = (tg_model_file){0};
    m->source = kept;
    m->close_source = close_files;
    return TG_OK;
}

tg_status tg_model_file_to_model(tg_model *m, tg_model_file *f, bool flat, tg_err *err)
{
    tg_status status;

    *m = (tg_model){0};
    if ((status = build(m, f, flat, err)))
        tg_model_free(m);
    tg_model_file_close(f);
    return status;
}

/* ---- lent */

/* The matrices of a kind share a place, where one layer's are at a time; a vector has one of its own.  Values
 * that can be used where they are mapped stay there, and leave memory when the next of their kind is used. */
struct lending {
    tg_model_file file;
    /* A mapping, [floats], whose pages the system provides when they are first written.  It is no arena,
     * which asks for large pages: each row of the embedding would take one. */
    float *memory;
    size_t floats;
    float **place;     /* [table.n] of each entry that is the first in its place */
    size_t *converted; /* [table.n] likewise: 1 + the entry that is there; 0: none */
    size_t *mapped;    /* [table.n] likewise: 1 + the one that is used where it is mapped */
    bool trained;      /* all values change: they are a run's (lib/models/halves.h) */
    bool *row;         /* [V] rows of the token embedding that are in its place */
    size_t rows;       /* their number */
    size_t head;       /* the entry of the output head */
    float *strip;      /* of rows of the head: room for all, of which few are used */
    size_t checked;    /* rows of the head that are finite, or of which that has been told */
    tg_bf16 *halves;   /* a mapping, [floats], of what has been rounded, likewise; NULL: nothing is */
    size_t *rounded;   /* [table.n] of each place: 1 + the entry that is there; 0: none */
    tg_rng rng;        /* for rounding */
    tg_status status;  /* of what has been read */
    tg_err err;
};

static void close_lending(void *source)
{
    struct lending *l = source;

    if (l->memory)
        munmap(l->memory, l->floats * sizeof *l->memory);
    if (l->halves)
        munmap(l->halves, l->floats * sizeof *l->halves);
    free(l->rounded);
    free(l->place);
    free(l->converted);
    free(l->mapped);
    free(l->row);
    tg_model_file_close(&l->file);
    free(l);
}

/* The first entry in the place of entry i. */
static size_t place_of(const struct lending *l, size_t i)
{
    const tg_params *table = &l->file.table;
    const tg_param *p = &table->entry[i];

    return p->ndim == 1 ? i : table->first[p->kind];
}

/* Keep the first error. */
static void keep(struct lending *l, tg_status status, const tg_err *err)
{
    if (!status || l->status)
        return;
    l->status = status;
    l->err = *err;
}

/* Entry i is used where it is mapped.  Whether it was not already. */
static bool use_mapped(struct lending *l, size_t i)
{
    size_t *mapped = &l->mapped[place_of(l, i)];

    if (*mapped == i + 1)
        return false;
    if (*mapped > 0)
        tg_model_file_release(&l->file, *mapped - 1);
    *mapped = i + 1;
    return true;
}

static const float *lend(void *source, size_t i)
{
    struct lending *l = source;
    const tg_model_file *f = &l->file;
    const tg_param *p = &f->table.entry[i];
    const float *direct = tg_model_file_direct(f, i);
    const size_t at = place_of(l, i);
    tg_err err;

    if (direct) {
        if (use_mapped(l, i))
            keep(l, tg_check_finite(p->name, direct, p->count, &err), &err);
        return direct;
    }
    if (l->converted[at] != i + 1) {
        l->converted[at] = i + 1;
        keep(l, tg_model_file_read(l->place[at], f, i, false, &err), &err);
        tg_model_file_release(f, i);
    }
    return l->place[at];
}

struct rounding {
    tg_bf16 *to;
    const float *from;
    size_t at; /* the place of the first among all parameters; even, as is the grain of a range */
    const tg_rng *rng;
};

static void round_values(void *context, size_t begin, size_t end)
{
    const struct rounding *r = context;
    uint32_t words[256]; /* of two numbers each */
    const size_t most = 2 * sizeof words / sizeof *words;

    for (size_t at = begin; at < end; at += most) {
        const size_t n = tg_size_min(most, end - at);

        tg_kernels_get()->random_words(words, r->rng, (r->at + at) / 2, tg_ceil_div(n, 2));
        for (size_t i = 0; i < n; i++)
            r->to[at + i] = tg_bf16_at_random(r->from[at + i], words[i / 2] >> 16 * (i % 2) & 0xFFFF);
    }
}

/* Whether an adapter changes matrix i. */
static bool is_changed_matrix(const struct lending *l, size_t i)
{
    return l->file.table.entry[i].ndim == 2 && tg_model_file_is_changed(&l->file, i);
}

static const tg_bf16 *lend_rounded(void *source, size_t i)
{
    struct lending *l = source;
    const tg_param *p = &l->file.table.entry[i];
    const size_t at = place_of(l, i);
    tg_bf16 *to = l->halves ? l->halves + (l->place[at] - l->memory) : NULL;

    if (!to || !is_changed_matrix(l, i))
        return NULL;
    if (l->rounded[at] != i + 1) {
        l->rounded[at] = i + 1;
        tg_threads_run(p->count, TG_THREADS_ELEMENTS, round_values,
                       &(struct rounding){to, lend(l, i), p->offset, &l->rng});
    }
    return to;
}

static const tg_bf16 *lend16(void *source, size_t i)
{
    struct lending *l = source;
    const tg_param *p = &l->file.table.entry[i];
    const tg_bf16 *direct = tg_model_file_direct16(&l->file, i);
    size_t bad;
    tg_err err;

    if (!direct || !use_mapped(l, i))
        return direct;
    if ((bad = tg_find_not_finite16(direct, p->count)) < p->count)
        keep(l, tg_fail_not_finite(p->name, bad, (double)tg_float_from_bf16(direct[bad]), &err), &err);
    return direct;
}

/* The whole pages of entry i's place leave memory. */
static void empty(struct lending *l, size_t i)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    float *at = l->place[place_of(l, i)];
    const uintptr_t begin = tg_round_up((uintptr_t)at, page);
    const uintptr_t end = (uintptr_t)(at + l->file.table.entry[i].count) / page * page;

    if (begin < end)
        (void)madvise(l->memory + (begin - (uintptr_t)l->memory) / sizeof(float), end - begin, MADV_DONTNEED);
}

static void forget_rows(struct lending *l)
{
    memset(l->row, 0, l->file.config.vocab_size * sizeof *l->row);
    l->rows = 0;
}

/* Those of the token embedding that are not there yet; the others leave memory if they become many. */
static const float *lend_embedding(void *source, const int32_t *row, size_t n)
{
    struct lending *l = source;
    const tg_model_file *f = &l->file;
    const size_t i = tg_params_index(&f->table, TG_WTE, 0), cols = f->table.entry[i].shape[1];
    const size_t at = place_of(l, i);
    tg_err err;

    if (l->converted[at] == i + 1 || !tg_model_file_has_rows(f, i))
        return lend(l, i);
    if (l->rows > 0 && (l->rows + n) * cols > TG_STRIP_FLOATS) {
        empty(l, i);
        forget_rows(l);
    }
    for (size_t k = 0; k < n; k++) {
        const size_t r = (size_t)row[k];

        if (l->row[r])
            continue;
        keep(l, tg_model_file_read_row(l->place[at] + r * cols, f, i, r, &err), &err);
        l->row[r] = true;
        l->rows++;
    }
    return l->place[at];
}

static const float *lend_head(void *source, size_t first, size_t n)
{
    struct lending *l = source;
    const tg_param *p = &l->file.table.entry[l->head];
    const size_t cols = p->shape[1];
    size_t bad;
    tg_err err;

    tg_model_file_load_rows(l->strip, &l->file, l->head, first, n);
    tg_model_file_release(&l->file, l->head);
    if (first != l->checked)
        return l->strip;
    l->checked += n;
    if ((bad = tg_find_not_finite(l->strip, n * cols)) < n * cols)
        keep(l, tg_fail_not_finite(p->name, first * cols + bad, (double)l->strip[bad], &err), &err);
    return l->strip;
}

static void forget(void *source, size_t i)
{
    struct lending *l = source;
    const tg_param *p = &l->file.table.entry[i];
    const size_t at = place_of(l, i);

    tg_model_file_release(&l->file, i);
    if (l->mapped[at] == i + 1)
        l->mapped[at] = 0;
    if (p->kind == TG_WTE)
        forget_rows(l);
    if (l->converted[at] != i + 1 && p->kind != TG_WTE)
        return;
    l->converted[at] = 0;
    empty(l, i);
}

/* What has been computed from values that an adapter, or a step, has changed is not current any more. */
static void renew(void *source, uint64_t step)
{
    struct lending *l = source;

    for (size_t i = 0; i < l->file.table.n; i++)
        if (l->trained || tg_model_file_is_changed(&l->file, i))
            l->converted[place_of(l, i)] = l->rounded[place_of(l, i)] = 0;
    if (l->trained)
        forget_rows(l);
    l->rng.step = step;
}

/* Memory for lent values is mapped, and used as they are converted. */
static tg_status no_addresses(size_t bytes, tg_err *err)
{
    return tg_fail(
        err, TG_ENOMEM,
        "out of memory: %zu bytes of address space for the model's converted weights, which a limit "
        "(ulimit -v) may not allow",
        bytes);
}

static tg_status round_changes(void *source, uint64_t seed, size_t *bytes, tg_err *err)
{
    struct lending *l = source;
    void *at;

    if (l->halves)
        return TG_OK;
    at = mmap(NULL, l->floats * sizeof *l->halves, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return no_addresses(l->floats * sizeof *l->halves, err);
    l->halves = at;
    l->rng = (tg_rng){.seed = seed, .purpose = TG_RNG_LEND};
    for (size_t i = 0; i < l->file.table.n; i++)
        if (place_of(l, i) == i && is_changed_matrix(l, i))
            *bytes += l->file.table.entry[i].count * sizeof *l->halves;
    return TG_OK;
}

static tg_status check(const void *source, tg_err *err)
{
    const struct lending *l = source;

    if (l->status && err)
        *err = l->err;
    return l->status;
}

static tg_status make_places(struct lending *l, tg_err *err)
{
    const tg_params *table = &l->file.table;
    float *at;

    l->place = calloc(table->n, sizeof *l->place);
    l->converted = calloc(table->n, sizeof *l->converted);
    l->mapped = calloc(table->n, sizeof *l->mapped);
    l->row = calloc(l->file.config.vocab_size, sizeof *l->row);
    l->rounded = calloc(table->n, sizeof *l->rounded);
    if (!l->place || !l->converted || !l->mapped || !l->row || !l->rounded)
        return tg_fail_memory(err, table->n * sizeof *l->place, "the table of places");
    l->head = tg_params_index(table, tg_head_kind(&l->file.config), 0);
    for (size_t i = 0; i < table->n; i++)
        if (place_of(l, i) == i)
            l->floats += tg_round_up(table->entry[i].count, FLOATS_ALIGNED);
    l->floats += table->entry[l->head].count;
    at = mmap(NULL, l->floats * sizeof *at, PROT_READ | PROT_WRITE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED)
        return no_addresses(l->floats * sizeof *at, err);
    l->memory = at;
    for (size_t i = 0; i < table->n; i++)
        if (place_of(l, i) == i) {
            l->place[i] = at;
            at += tg_round_up(table->entry[i].count, FLOATS_ALIGNED);
        }
    l->strip = at;
    return TG_OK;
}

/* Whether entry i is not used where it is mapped. */
static bool is_converted(const struct lending *l, size_t i)
{
    return !tg_model_file_direct(&l->file, i) &&
           !(l->file.table.entry[i].ndim == 2 && tg_model_file_direct16(&l->file, i));
}

/* The bytes of a place into which values are converted: of an embedding that is only looked up, some rows. */
static size_t place_bytes(const struct lending *l, size_t i, bool by_rows)
{
    const size_t count = l->file.table.entry[i].count;

    return (by_rows ? tg_size_min(count, TG_STRIP_FLOATS) : count) * sizeof(float);
}

static size_t converted_bytes(const struct lending *l)
{
    const size_t wte = tg_params_index(&l->file.table, TG_WTE, 0);
    size_t bytes = 0;

    for (size_t i = 0; i < l->file.table.n; i++)
        if (place_of(l, i) == i && is_converted(l, i))
            bytes += place_bytes(l, i, i == wte && i != l->head && tg_model_file_has_rows(&l->file, i));
    return bytes;
}

/* A tied one is looked up as well. */
static bool split_head(const void *source, size_t *bytes)
{
    const struct lending *l = source;
    const tg_param *p = &l->file.table.entry[l->head];
    const size_t all = place_bytes(l, l->head, false), some = place_bytes(l, l->head, true);
    const size_t needed = p->kind == TG_WTE ? 2 * some : some;

    *bytes = 0;
    if (!p->transposed || !is_converted(l, l->head) || !tg_model_file_has_rows(&l->file, l->head) ||
        tg_model_file_is_changed(&l->file, l->head) || needed >= all)
        return false;
    *bytes = all - needed;
    return true;
}

/* They are few, and a pass can hide that one is not finite. */
static tg_status check_vectors(struct lending *l, tg_err *err)
{
    for (size_t i = 0; i < l->file.table.n; i++)
        if (l->file.table.entry[i].ndim == 1)
            (void)lend(l, i);
    return check(l, err);
}

tg_status tg_model_file_lend_to(tg_model *m, tg_model_file *f, tg_err *err)
{
    static const tg_lender lender = {.lend = lend,
                                     .lend16 = lend16,
                                     .lend_embedding = lend_embedding,
                                     .split_head = split_head,
                                     .lend_head = lend_head,
                                     .renew = renew,
                                     .round_changes = round_changes,
                                     .lend_rounded = lend_rounded,
                                     .forget = forget,
                                     .check = check};
    struct lending *l = calloc(1, sizeof *l);
    tg_status status;

    if (!l) {
        tg_model_file_close(f);
        return tg_fail_memory(err, sizeof *l, "the list of files");
    }
    l->file = *f;
    l->trained = m->halves != NULL;
    *f = (tg_model_file){0};
    m->source = l;
    m->close_source = close_lending;
    m->lender = &lender;
    if (!(status = make_places(l, err)))
        status = check_vectors(l, err);
    m->lent_bytes = converted_bytes(l);
    return status;
}

tg_status tg_model_file_lend(tg_model *m, tg_model_file *f, tg_err *err)
{
    tg_status status;

    *m = (tg_model){0};
    if ((status = begin(m, f, err))) {
        tg_model_file_close(f);
        return status;
    }
    if ((status = tg_model_file_lend_to(m, f, err)))
        tg_model_free(m);
    return status;
}
