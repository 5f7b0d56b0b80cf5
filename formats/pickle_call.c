/* The names that a pickle may use, and what is made of their arguments. */
#include <stdbool.h>

#include "formats/pickle_heap.h"

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

uint32_t tg_pickle_global(tg_pickle_heap *h, tg_span module, tg_span name)
{
    char module_text[TG_SHOWN_MAX], name_text[TG_SHOWN_MAX];

    for (size_t i = 0; i < GLOBALS; i++)
        if (tg_span_is(module, globals[i].module) && tg_span_is(name, globals[i].name))
            return tg_pickle_add(h, (tg_pickle_value){.kind = TG_PICKLE_GLOBAL, .of.integer = (int64_t)i});
    tg_pickle_fail(h,
                   "the pickle calls %s.%s: refused; only tensors, numbers, strings, lists, tuples and"
                   " dicts are read",
                   tg_shown(module_text, module), tg_shown(name_text, name));
    return TG_PICKLE_NOTHING;
}

static const struct global *global_of(const tg_pickle_heap *h, uint32_t at)
{
    return &globals[h->value[at].of.integer];
}

/* ---- arguments */

#define ARGUMENTS_MAX 8

/* Copy the items of a tuple.  TG_EDATA, and false: it is no tuple of min to max items, max <=
 * ARGUMENTS_MAX. */
static bool take_tuple(tg_pickle_heap *h, uint32_t out[ARGUMENTS_MAX], uint32_t tuple, size_t min, size_t max,
                       const char *what)
{
    const tg_pickle_value *const v = &h->value[tuple];
    uint32_t link = v->of.links.first;

    if (v->kind != TG_PICKLE_TUPLE)
        tg_pickle_fail(h, "%s: expected a tuple, got %s", what, tg_pickle_kind_text(v->kind));
    else if (v->n < min || v->n > max)
        tg_pickle_fail(h, "%s: expected %zu to %zu values, got %u", what, min, max, v->n);
    if (h->status)
        return false;
    for (size_t i = 0; i < v->n; i++, link = h->link[link].next)
        out[i] = h->link[link].value;
    return true;
}

static bool expect(tg_pickle_heap *h, uint32_t at, tg_pickle_kind kind, const char *what)
{
    if (h->value[at].kind != kind)
        tg_pickle_fail(h, "%s: expected %s, got %s", what, tg_pickle_kind_text(kind),
                       tg_pickle_kind_text(h->value[at].kind));
    return !h->status;
}

static size_t take_size(tg_pickle_heap *h, uint32_t at, const char *what)
{
    const int64_t integer = expect(h, at, TG_PICKLE_INT, what) ? h->value[at].of.integer : 0;

    /* unreached: integer > SIZE_MAX, where a size_t has 64 bits */
    if (integer < 0 || (uint64_t)integer > SIZE_MAX)
        tg_pickle_fail(h, "%s is %lld", what, (long long)integer);
    return (size_t)integer;
}

/* ---- storages: ("storage", torch.FloatStorage, "0", "cpu", 1024) */

uint32_t tg_pickle_persistent(tg_pickle_heap *h, uint32_t id)
{
    uint32_t part[ARGUMENTS_MAX];

    if (!take_tuple(h, part, id, 5, 5, "a persistent identifier"))
        return TG_PICKLE_NOTHING;
    if (!tg_pickle_is_text(&h->value[part[0]], "storage"))
        tg_pickle_fail(h, "a persistent identifier that does not name a storage");
    if (expect(h, part[1], TG_PICKLE_GLOBAL, "a storage's type") &&
        global_of(h, part[1])->function != STORAGE)
        tg_pickle_fail(h, "a storage's type: got %s.%s", global_of(h, part[1])->module,
                       global_of(h, part[1])->name);
    expect(h, part[2], TG_PICKLE_TEXT, "a storage's key");
    expect(h, part[3], TG_PICKLE_TEXT, "a storage's device");
    (void)take_size(h, part[4], "a storage's number of elements");
    return tg_pickle_add(h, (tg_pickle_value){.kind = TG_PICKLE_STORAGE, .of.first = id});
}

/* Set what the storage says in *t.  Its identifier has been checked. */
static void take_storage(tg_pickle_heap *h, tg_pickle_tensor *t, uint32_t storage)
{
    uint32_t part[ARGUMENTS_MAX];

    if (!expect(h, storage, TG_PICKLE_STORAGE, "a tensor's storage") ||
        /* unreached: tg_pickle_persistent() has checked it */
        !take_tuple(h, part, h->value[storage].of.first, 5, 5, "a persistent identifier"))
        return;
    t->dtype = global_of(h, part[1])->dtype;
    t->storage = tg_pickle_text(&h->value[part[2]]);
    t->storage_count = take_size(h, part[4], "a storage's number of elements");
}

/* ---- tensors */

/* Returns their number. */
static size_t take_dims(tg_pickle_heap *h, size_t out[TG_DIMS_MAX], uint32_t tuple, const char *what)
{
    uint32_t part[ARGUMENTS_MAX];

    _Static_assert(TG_DIMS_MAX <= ARGUMENTS_MAX, "dimensions are read like arguments");
    if (!take_tuple(h, part, tuple, 0, TG_DIMS_MAX, what))
        return 0;
    for (size_t i = 0; i < h->value[tuple].n; i++)
        out[i] = take_size(h, part[i], what);
    return h->value[tuple].n;
}

/* Whether a value says nothing: None, or a dict without entries. */
static bool says_nothing(const tg_pickle_heap *h, uint32_t at)
{
    return h->value[at].kind == TG_PICKLE_NONE ||
           (h->value[at].kind == TG_PICKLE_DICT && h->value[at].n == 0);
}

/* (storage, offset, size, stride, requires_grad, backward_hooks[, metadata]) */
static uint32_t rebuild_tensor(tg_pickle_heap *h, uint32_t arguments)
{
    uint32_t part[ARGUMENTS_MAX], result;
    tg_pickle_tensor *t;
    size_t strides;

    if (!take_tuple(h, part, arguments, 6, 7, "_rebuild_tensor_v2") ||
        !(t = tg_pickle_add_tensor(h, &result)))
        return TG_PICKLE_NOTHING;
    take_storage(h, t, part[0]);
    t->offset = take_size(h, part[1], "a tensor's offset");
    t->ndim = take_dims(h, t->shape, part[2], "a tensor's shape");
    strides = take_dims(h, t->stride, part[3], "a tensor's strides");
    expect(h, part[4], TG_PICKLE_BOOL, "a tensor's requires_grad");
    if (strides != t->ndim)
        tg_pickle_fail(h, "a tensor with %zu dimensions and %zu strides", t->ndim, strides);
    if (!says_nothing(h, part[5]) || (h->value[arguments].n == 7 && !says_nothing(h, part[6])))
        tg_pickle_fail(h, "a tensor with hooks or metadata: refused");
    return result;
}

uint32_t tg_pickle_call(tg_pickle_heap *h, uint32_t called, uint32_t arguments)
{
    uint32_t part[ARGUMENTS_MAX];

    if (!expect(h, called, TG_PICKLE_GLOBAL, "REDUCE"))
        return TG_PICKLE_NOTHING;
    switch (global_of(h, called)->function) {
    case ORDERED_DICT:
        (void)take_tuple(h, part, arguments, 0, 0, "OrderedDict");
        return tg_pickle_add(h, (tg_pickle_value){.kind = TG_PICKLE_DICT});
    case SIZE:
        if (!take_tuple(h, part, arguments, 1, 1, "torch.Size"))
            return TG_PICKLE_NOTHING;
        expect(h, part[0], TG_PICKLE_TUPLE, "torch.Size");
        return part[0];
    case REBUILD_TENSOR:
        return rebuild_tensor(h, arguments);
    case REBUILD_PARAMETER: /* (tensor, requires_grad, backward_hooks): the tensor */
        if (!take_tuple(h, part, arguments, 3, 3, "_rebuild_parameter"))
            return TG_PICKLE_NOTHING;
        expect(h, part[0], TG_PICKLE_TENSOR, "_rebuild_parameter");
        if (!says_nothing(h, part[2]))
            tg_pickle_fail(h, "a parameter with hooks: refused");
        return part[0];
    default:
        tg_pickle_fail(h, "the pickle calls torch.%s: refused", global_of(h, called)->name);
        return TG_PICKLE_NOTHING;
    }
}
