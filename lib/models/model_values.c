/* The values of a parameter, from the tensors where they are stored. */
#include <stdlib.h>

#include "lib/base/finite.h"
#include "lib/base/grow.h"
#include "lib/base/size.h"
#include "lib/base/threads.h"
#include "lib/models/model_format.h"

#define TILE ((size_t)32)    /* rows of a tile that is transposed: 128 bytes of a row of the result */
#define RUN ((size_t)256)    /* its columns: values that are read at once; blocks have at most as many */
#define SPAN ((size_t)65536) /* values that a thread copies at once */

/* A stored matrix, or a vector as a single row; one whose elements have an order, as a single column. */
struct matrix {
    const tg_stored *stored;
    size_t rows, columns;
    tg_row_order order;
};

/* Where row r is stored. */
static size_t stored_row(const tg_row_order *o, size_t r)
{
    size_t in_head;

    if (o->head == 0)
        return r;
    in_head = r % o->head;
    if (o->swapped)
        in_head = (in_head + o->head / 2) % o->head;
    if (o->pairs)
        in_head = in_head % (o->head / 2) * 2 + in_head / (o->head / 2);
    return o->first + r / o->head * o->stride + in_head;
}

/* n values of row r, from column c on.  tg_stored_load() fails only for types that tg_model_file_match()
 * refuses. */
static void load(float *out, const struct matrix *m, size_t r, size_t c, size_t n)
{
    const size_t first = stored_row(&m->order, r) * m->columns + c;
    const tg_status status = tg_stored_load(out, m->stored, first, n, NULL);

    (void)status;
}

struct copying {
    float *out;
    size_t stride;
    const struct matrix *m;
    size_t first; /* row */
};

static void copy_rows(void *context, size_t begin, size_t end)
{
    const struct copying *c = context;
    const struct matrix *m = c->m;

    for (size_t r = begin; r < end; r++)
        load(c->out + r * c->stride, m, c->first + r, 0, m->columns);
}

/* out[r * stride + c] = m[first + r,c] for n rows */
static void copy_some(float *out, size_t stride, const struct matrix *m, size_t first, size_t n)
{
    tg_threads_run(n, tg_size_max(1, SPAN / m->columns), copy_rows, &(struct copying){out, stride, m, first});
}

static void copy(float *out, size_t stride, const struct matrix *m)
{
    copy_some(out, stride, m, 0, m->rows);
}

/* The tile that begins at [r,c]. */
static void transpose_tile(float *out, size_t stride, const struct matrix *m, size_t r, size_t c)
{
    const size_t rows = tg_size_min(TILE, m->rows - r), columns = tg_size_min(RUN, m->columns - c);
    float tile[TILE][RUN];

    for (size_t i = 0; i < rows; i++)
        load(tile[i], m, r + i, c, columns);
    for (size_t j = 0; j < columns; j++)
        for (size_t i = 0; i < rows; i++)
            out[(c + j) * stride + r + i] = tile[i][j];
}

/* Tiles begin .. end-1, in order of their columns and then of their rows. */
static void transpose_tiles(void *context, size_t begin, size_t end)
{
    const struct copying *c = context;
    const size_t down = tg_ceil_div(c->m->rows, TILE);

    for (size_t tile = begin; tile < end; tile++)
        transpose_tile(c->out, c->stride, c->m, tile % down * TILE, tile / down * RUN);
}

/* out[c * stride + r] = m[r,c] */
static void copy_transposed(float *out, size_t stride, const struct matrix *m)
{
    const size_t tiles = tg_ceil_div(m->rows, TILE) * tg_ceil_div(m->columns, RUN);

    tg_threads_run(tiles, SPAN / (TILE * RUN), transpose_tiles, &(struct copying){out, stride, m, 0});
}

/* Piece i of a parameter's values, into its place in out. */
static void read_piece(float *out, const tg_values *v, size_t i, const tg_param *p, bool transposed)
{
    const size_t rows = p->ndim == 1 ? 1 : p->shape[0];
    const size_t all = p->ndim == 1 ? p->shape[0] : p->shape[1], columns = all / v->n;
    const bool turned = v->transposed != transposed && p->ndim == 2;
    const struct matrix m = {v->piece[i], v->transposed ? columns : rows, v->transposed ? rows : columns,
                             v->order};

    transposed = transposed && p->ndim == 2;
    out += transposed ? i * columns * rows : i * columns;
    if (p->ndim == 1 && v->order.head > 0)
        copy(out, 1, &(struct matrix){v->piece[i], all, 1, v->order});
    else if (turned)
        copy_transposed(out, transposed ? rows : all, &m);
    else
        copy(out, transposed ? rows : all, &m);
}

tg_status tg_model_file_read(float *out, const tg_model_file *f, size_t i, bool transposed, tg_err *err)
{
    const tg_values *v = &f->values[i];
    const tg_param *p = &f->table.entry[i];

    for (size_t e = 0; v->n == 0 && e < p->count; e++)
        out[e] = v->fill;
    for (size_t piece = 0; piece < v->n; piece++)
        read_piece(out, v, piece, p, transposed);
    for (size_t a = 0; a < f->n_adapters; a++)
        if (tg_adapter_of(f->adapter[a], p->kind, p->layer))
            f->adapter[a]->apply(f->adapter[a], out, p, transposed);
    if (v->n == 0 || !tg_check_finite(p->name, out, p->count, err))
        return TG_OK;
    return tg_model_file_is_changed(f, i) ? tg_err_in(err, "with its adapter") : TG_EDATA;
}

bool tg_model_file_has_rows(const tg_model_file *f, size_t i)
{
    return f->values[i].n == 1 && !f->values[i].transposed;
}

/* A matrix whose rows can be read. */
static struct matrix rows_of(const tg_model_file *f, size_t i)
{
    const tg_values *v = &f->values[i];
    const tg_param *p = &f->table.entry[i];

    return (struct matrix){v->piece[0], p->shape[0], p->shape[1], v->order};
}

void tg_model_file_load_rows(float *out, const tg_model_file *f, size_t i, size_t first, size_t n)
{
    const struct matrix m = rows_of(f, i);

    copy_some(out, m.columns, &m, first, n);
}

tg_status tg_model_file_read_row(float *out, const tg_model_file *f, size_t i, size_t r, tg_err *err)
{
    const tg_param *p = &f->table.entry[i];
    const struct matrix m = rows_of(f, i);
    const size_t columns = m.columns;
    size_t bad;

    load(out, &m, r, 0, columns);
    bad = tg_find_not_finite(out, columns);
    return bad == columns ? TG_OK : tg_fail_not_finite(p->name, r * columns + bad, (double)out[bad], err);
}

tg_status tg_model_file_adapt(tg_model_file *f, tg_adapter **adapter, tg_err *err)
{
    tg_status status = tg_grow(&f->adapter, &f->adapter_capacity, f->n_adapters + 1, sizeof(tg_adapter *),
                               "the list of adapters", err);

    *adapter = status ? NULL : calloc(1, sizeof **adapter);
    if (status)
        return status;
    if (!*adapter)
        return tg_fail_memory(err, sizeof **adapter, "an adapter");
    f->adapter[f->n_adapters++] = *adapter;
    return TG_OK;
}

tg_chat_note tg_model_file_chat(const tg_model_file *f)
{
    for (size_t i = 0; i < f->n_adapters; i++)
        if (f->adapter[i]->chat > 0)
            return f->adapter[i]->chat;
    return f->own.chat;
}

bool tg_model_file_is_changed(const tg_model_file *f, size_t i)
{
    const tg_param *p = &f->table.entry[i];

    for (size_t a = 0; a < f->n_adapters; a++)
        if (tg_adapter_of(f->adapter[a], p->kind, p->layer))
            return true;
    return false;
}

uint64_t tg_model_file_copied(const tg_model_file *f)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < f->table.n; i++)
        if (!tg_model_file_direct(f, i))
            bytes += (uint64_t)f->table.entry[i].count * sizeof(float);
    return bytes;
}

/* Its values where they lie, if they are of that type, and otherwise as the library wants them; or NULL. */
static const void *in_place(const tg_model_file *f, size_t i, tg_dtype type)
{
    const tg_values *v = &f->values[i];
    const tg_stored *s = v->piece[0];

    if (v->n != 1 || tg_model_file_is_changed(f, i) || v->transposed || v->order.head > 0 || s->blocks ||
        s->group > 0 || !tg_dtype_equal(s->array.dtype, type))
        return NULL;
    return (uintptr_t)s->at % type.size == 0 ? s->at : NULL;
}

const float *tg_model_file_direct(const tg_model_file *f, size_t i)
{
    return in_place(f, i, TG_F32);
}

const tg_bf16 *tg_model_file_direct16(const tg_model_file *f, size_t i)
{
    return in_place(f, i, TG_BF16);
}

/* Make room for p's values.  TG_ENOMEM. */
static tg_status grow(tg_float_buffer *buffer, const tg_param *p, tg_err *err)
{
    if (buffer->capacity >= p->count)
        return TG_OK;
    free(buffer->x);
    *buffer = (tg_float_buffer){malloc(p->count * sizeof(float)), p->count};
    if (buffer->x)
        return TG_OK;
    buffer->capacity = 0;
    return tg_fail_memory(err, p->count * sizeof(float), p->name);
}

tg_status tg_model_file_get(const float **values, tg_float_buffer *buffer, const tg_model_file *f, size_t i,
                            bool transposed, tg_err *err)
{
    const tg_param *p = &f->table.entry[i];
    tg_status status;

    *values = transposed && p->ndim == 2 ? NULL : tg_model_file_direct(f, i);
    if (*values)
        return tg_check_finite(p->name, *values, p->count, err);
    if ((status = grow(buffer, p, err)))
        return status;
    *values = buffer->x;
    return tg_model_file_read(buffer->x, f, i, transposed, err);
}

void tg_model_file_release(const tg_model_file *f, size_t i)
{
    const tg_values *v = &f->values[i];

    for (size_t piece = 0; piece < v->n; piece++)
        for (size_t file = 0; file < f->n_files; file++)
            tg_loaded_forget(f->file[file], v->piece[piece]->at, v->piece[piece]->stored);
}

tg_status tg_model_file_is_constant(bool *is, const tg_model_file *f, size_t i, float value, tg_err *err)
{
    tg_float_buffer buffer = {0};
    const float *x;
    tg_status status;

    *is = false;
    if (i == f->table.n)
        return TG_OK;
    if (!(status = tg_model_file_get(&x, &buffer, f, i, false, err))) {
        *is = true;
        for (size_t e = 0; e < f->table.entry[i].count && *is; e++)
            *is = x[e] == value;
    }
    free(buffer.x);
    return status;
}
