/* The names that a pickle may use, and what is made of their arguments. */
#include <stdbool.h>
#include <string.h>

#include "formats/pickle_heap.h"
#include "formats/shown.h"

typedef enum function {
    ORDERED_DICT,
    SIZE,
    REBUILD_TENSOR,
    REBUILD_PARAMETER,
    STORAGE /* this and all later ones */
} function;

static const struct global {
    const char *module, *name;
    function function;
    tg_dtype dtype; /* of a storage */
} globals[] = {
    {"collections", "OrderedDict", ORDERED_DICT, {0}},
    {"torch", "Size", SIZE, {0}},
    {"torch._utils", "_rebuild_tensor_v2", REBUILD_TENSOR, {0}},
    {"torch._utils", "_rebuild_parameter", REBUILD_PARAMETER, {0}},
    {"torch", "FloatStorage", STORAGE, {'f', 4}},
    {"torch", "DoubleStorage", STORAGE, {'f', 8}},
    {"torch", "HalfStorage", STORAGE, {'f', 2}},
    {"torch", "BFloat16Storage", STORAGE, {'B', 2}},
    {"torch", "LongStorage", STORAGE, {'i', 8}},
    {"torch", "IntStorage", STORAGE, {'i', 4}},
    {"torch", "ShortStorage", STORAGE, {'i', 2}},
    {"torch", "CharStorage", STORAGE, {'i', 1}},
    {"torch", "ByteStorage", STORAGE, {'u', 1}},
    {"torch", "BoolStorage", STORAGE, {'b', 1}},
};

#define GLOBALS (sizeof globals / sizeof globals[0])

static bool is(const char *text, size_t n, const char *word)
{
    return n == strlen(word) && memcmp(text, word, n) == 0;
}

tg_status tg_pickle_global(tg_pickle_heap *h, uint32_t *at, const char *module, size_t module_n,
                           const char *name, size_t name_n, tg_err *err)
{
    char module_text[TG_SHOWN_MAX], name_text[TG_SHOWN_MAX];

    for (size_t i = 0; i < GLOBALS; i++)
        if (is(module, module_n, globals[i].module) && is(name, name_n, globals[i].name))
            return tg_pickle_add(h, at, (tg_pickle_value){.kind = TG_PICKLE_GLOBAL, .of.integer = (int64_t)i},
                                 err);
    return tg_pickle_fail(h, err,
                          "the pickle calls %s.%s: refused; only tensors, numbers, strings, lists, tuples and"
                          " dicts are read",
                          tg_shown(module_text, module, module_n), tg_shown(name_text, name, name_n));
}

static const struct global *global_of(const tg_pickle_heap *h, uint32_t at)
{
    return &globals[h->value[at].of.integer];
}

/* ---- arguments */

#define ARGUMENTS_MAX 8

/* Copy the items of a tuple.  TG_EDATA: it is no tuple of min to max items, max <= ARGUMENTS_MAX. */
static tg_status take_tuple(const tg_pickle_heap *h, uint32_t out[ARGUMENTS_MAX], uint32_t tuple, size_t min,
                            size_t max, const char *what, tg_err *err)
{
    const tg_pickle_value *const v = &h->value[tuple];
    uint32_t link = v->of.links.first;

    if (v->kind != TG_PICKLE_TUPLE)
        return tg_pickle_fail(h, err, "%s: expected a tuple, got %s", what, tg_pickle_kind_text(v->kind));
    if (v->n < min || v->n > max)
        return tg_pickle_fail(h, err, "%s: expected %zu to %zu values, got %u", what, min, max, v->n);
    for (size_t i = 0; i < v->n; i++, link = h->link[link].next)
        out[i] = h->link[link].value;
    return TG_OK;
}

static tg_status expect(const tg_pickle_heap *h, uint32_t at, tg_pickle_kind kind, const char *what,
                        tg_err *err)
{
    if (h->value[at].kind == kind)
        return TG_OK;
    return tg_pickle_fail(h, err, "%s: expected %s, got %s", what, tg_pickle_kind_text(kind),
                          tg_pickle_kind_text(h->value[at].kind));
}

static tg_status take_size(const tg_pickle_heap *h, size_t *size, uint32_t at, const char *what, tg_err *err)
{
    const tg_status status = expect(h, at, TG_PICKLE_INT, what, err);
    const int64_t integer = h->value[at].of.integer;

    if (status)
        return status;
    /* unreached: integer > SIZE_MAX, where a size_t has 64 bits */
    if (integer < 0 || (uint64_t)integer > SIZE_MAX)
        return tg_pickle_fail(h, err, "%s is %lld", what, (long long)integer);
    *size = (size_t)integer;
    return TG_OK;
}

/* ---- storages: ("storage", torch.FloatStorage, "0", "cpu", 1024) */

tg_status tg_pickle_persistent(tg_pickle_heap *h, uint32_t *result, uint32_t id, tg_err *err)
{
    uint32_t part[ARGUMENTS_MAX];
    size_t count;
    tg_status status = take_tuple(h, part, id, 5, 5, "a persistent identifier", err);

    if (status)
        return status;
    if (!tg_pickle_is_text(&h->value[part[0]], "storage"))
        return tg_pickle_fail(h, err, "a persistent identifier that does not name a storage");
    if ((status = expect(h, part[1], TG_PICKLE_GLOBAL, "a storage's type", err)))
        return status;
    if (global_of(h, part[1])->function != STORAGE)
        return tg_pickle_fail(h, err, "a storage's type: got %s.%s", global_of(h, part[1])->module,
                              global_of(h, part[1])->name);
    if ((status = expect(h, part[2], TG_PICKLE_TEXT, "a storage's key", err)) ||
        (status = expect(h, part[3], TG_PICKLE_TEXT, "a storage's device", err)) ||
        (status = take_size(h, &count, part[4], "a storage's number of elements", err)))
        return status;
    return tg_pickle_add(h, result, (tg_pickle_value){.kind = TG_PICKLE_STORAGE, .of.first = id}, err);
}

/* Set what the storage says in *t.  Its identifier has been checked. */
static tg_status take_storage(const tg_pickle_heap *h, tg_pickle_tensor *t, uint32_t storage, tg_err *err)
{
    uint32_t part[ARGUMENTS_MAX];
    tg_status status = expect(h, storage, TG_PICKLE_STORAGE, "a tensor's storage", err);

    if (status ||
        /* unreached: tg_pickle_persistent() has checked it */
        (status = take_tuple(h, part, h->value[storage].of.first, 5, 5, "a persistent identifier", err)))
        return status;
    t->dtype = global_of(h, part[1])->dtype;
    t->storage = h->value[part[2]].of.text;
    t->storage_n = h->value[part[2]].n;
    return take_size(h, &t->storage_count, part[4], "a storage's number of elements", err);
}

/* ---- tensors */

static tg_status take_dims(const tg_pickle_heap *h, size_t out[TG_DIMS_MAX], size_t *n, uint32_t tuple,
                           const char *what, tg_err *err)
{
    uint32_t part[ARGUMENTS_MAX];
    tg_status status = take_tuple(h, part, tuple, 0, TG_DIMS_MAX, what, err);

    _Static_assert(TG_DIMS_MAX <= ARGUMENTS_MAX, "dimensions are read like arguments");
    *n = h->value[tuple].n;
    for (size_t i = 0; !status && i < *n; i++)
        status = take_size(h, &out[i], part[i], what, err);
    return status;
}

/* Whether a value says nothing: None, or a dict without entries. */
static bool says_nothing(const tg_pickle_heap *h, uint32_t at)
{
    return h->value[at].kind == TG_PICKLE_NONE ||
           (h->value[at].kind == TG_PICKLE_DICT && h->value[at].n == 0);
}

/* (storage, offset, size, stride, requires_grad, backward_hooks[, metadata]) */
static tg_status rebuild_tensor(tg_pickle_heap *h, uint32_t *result, uint32_t arguments, tg_err *err)
{
    uint32_t part[ARGUMENTS_MAX];
    tg_pickle_tensor *t;
    size_t strides;
    tg_status status = take_tuple(h, part, arguments, 6, 7, "_rebuild_tensor_v2", err);

    if (status || (status = tg_pickle_add_tensor(h, result, &t, err)) ||
        (status = take_storage(h, t, part[0], err)) ||
        (status = take_size(h, &t->offset, part[1], "a tensor's offset", err)) ||
        (status = take_dims(h, t->shape, &t->ndim, part[2], "a tensor's shape", err)) ||
        (status = take_dims(h, t->stride, &strides, part[3], "a tensor's strides", err)) ||
        (status = expect(h, part[4], TG_PICKLE_BOOL, "a tensor's requires_grad", err)))
        return status;
    if (strides != t->ndim)
        return tg_pickle_fail(h, err, "a tensor with %zu dimensions and %zu strides", t->ndim, strides);
    if (!says_nothing(h, part[5]) || (h->value[arguments].n == 7 && !says_nothing(h, part[6])))
        return tg_pickle_fail(h, err, "a tensor with hooks or metadata: refused");
    return TG_OK;
}

/* (tensor, requires_grad, backward_hooks): the tensor. */
static tg_status rebuild_parameter(tg_pickle_heap *h, uint32_t *result, uint32_t arguments, tg_err *err)
{
    uint32_t part[ARGUMENTS_MAX];
    tg_status status = take_tuple(h, part, arguments, 3, 3, "_rebuild_parameter", err);

    if (status || (status = expect(h, part[0], TG_PICKLE_TENSOR, "_rebuild_parameter", err)))
        return status;
    if (!says_nothing(h, part[2]))
        return tg_pickle_fail(h, err, "a parameter with hooks: refused");
    *result = part[0];
    return TG_OK;
}

tg_status tg_pickle_call(tg_pickle_heap *h, uint32_t *result, uint32_t called, uint32_t arguments,
                         tg_err *err)
{
    uint32_t part[ARGUMENTS_MAX];
    tg_status status = expect(h, called, TG_PICKLE_GLOBAL, "REDUCE", err);

    if (status)
        return status;
    switch (global_of(h, called)->function) {
    case ORDERED_DICT:
        status = take_tuple(h, part, arguments, 0, 0, "OrderedDict", err);
        return status ? status : tg_pickle_add(h, result, (tg_pickle_value){.kind = TG_PICKLE_DICT}, err);
    case SIZE:
        if ((status = take_tuple(h, part, arguments, 1, 1, "torch.Size", err)))
            return status;
        *result = part[0];
        return expect(h, part[0], TG_PICKLE_TUPLE, "torch.Size", err);
    case REBUILD_TENSOR:
        return rebuild_tensor(h, result, arguments, err);
    case REBUILD_PARAMETER:
        return rebuild_parameter(h, result, arguments, err);
    default:
        return tg_pickle_fail(h, err, "the pickle calls torch.%s: refused", global_of(h, called)->name);
    }
}
