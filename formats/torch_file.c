#include "formats/torch_file.h"

#include <stdio.h>
#include <string.h>

#include "formats/format.h"
#include "lib/base/size.h"

#define PICKLE "data.pkl"

bool tg_torch_recognize(const void *first, size_t n)
{
    return tg_format_zip(first, n) == TG_MEMBER_PICKLE || tg_torch_is_old(first, n);
}

/* Such a file begins with a pickle of the number 0x1950A86A20F9469CFC6C. */
bool tg_torch_is_old(const void *first, size_t n)
{
    static const unsigned char magic[] = {0x80, 0x02, 0x8A, 0x0A, 0x6C, 0xFC, 0x9C,
                                          0x46, 0xF9, 0x20, 0x6A, 0xA8, 0x50, 0x19};

    return n >= sizeof magic && memcmp(first, magic, sizeof magic) == 0;
}

/* ---- the file */

static tg_zip_member *find(const tg_torch *t, tg_span name)
{
    char path[256];

    /* unreached: a prefix has at most 128 bytes, a name 101 */
    if (name.n > sizeof path || t->prefix.n > sizeof path - name.n)
        return NULL;
    memcpy(path, t->prefix.p, t->prefix.n);
    memcpy(path + t->prefix.n, name.p, name.n);
    return tg_zip_index_find(&t->members, (tg_span){path, t->prefix.n + name.n});
}

/* Find the pickle, the only member with its name, and the prefix of all. */
static tg_status find_pickle(tg_torch *t, tg_zip_member **pickle, tg_err *err)
{
    *pickle = NULL;
    for (size_t i = 0; i < t->members.n; i++) {
        tg_zip_member *const m = &t->members.member[i];

        if (!tg_span_ends(m->name, "/" PICKLE))
            continue;
        if (*pickle)
            return tg_fail(err, TG_EDATA, "a zip file with several members */" PICKLE);
        *pickle = m;
    }
    if (!*pickle)
        return tg_fail(err, TG_EDATA, "a zip file without */" PICKLE ", which PyTorch writes");
    t->prefix = (tg_span){(*pickle)->name.p, (*pickle)->name.n - strlen(PICKLE)};
    if (t->prefix.n > 128)
        return tg_fail(err, TG_EDATA, "the name of " PICKLE " has %zu bytes, expected at most %d",
                       (*pickle)->name.n, 128);
    return TG_OK;
}

/* Files written on a big-endian machine, and TorchScript's. */
static tg_status check_kind(const tg_torch *t, tg_err *err)
{
    tg_zip_member *const order = find(t, (tg_span){"byteorder", 9});

    if (find(t, (tg_span){"constants.pkl", 13}))
        return tg_fail(err, TG_EDATA, "a TorchScript program; save its state_dict() instead");
    if (!find(t, (tg_span){"version", 7}))
        return tg_fail(err, TG_EDATA, "the member version is missing");
    if (order && (order->n != 6 || memcmp(order->data, "little", 6) != 0))
        return tg_fail(err, TG_EDATA, "its numbers are not little-endian");
    return TG_OK;
}

tg_status tg_torch_open(tg_torch *t, const void *file, size_t n, tg_err *err)
{
    tg_zip_member *pickle;
    tg_status status;

    *t = (tg_torch){.file = file};
    if (tg_torch_is_old(file, n))
        return tg_fail(err, TG_EDATA,
                       "PyTorch's old format, not a zip file; load it and save it again with PyTorch 1.6 or"
                       " later");
    if ((status = tg_zip_index_read(&t->members, file, n, err)) || (status = find_pickle(t, &pickle, err)) ||
        (status = check_kind(t, err)) || (status = tg_zip_member_check(pickle, err)))
        return status;
    return tg_pickle_read(&t->pickle, pickle->data, pickle->n, err);
}

void tg_torch_close(tg_torch *t)
{
    tg_zip_index_free(&t->members);
    tg_pickle_free(&t->pickle);
    *t = (tg_torch){0};
}

/* ---- the layout of a tensor */

typedef enum layout { ADJACENT, TRANSPOSED, OTHER } layout;

static layout layout_of(const tg_pickle_tensor *t)
{
    size_t want = 1;
    bool adjacent = true;

    for (size_t i = t->ndim; i-- > 0;) {
        if (t->shape[i] == 0)
            return ADJACENT;
        adjacent = adjacent && (t->shape[i] == 1 || t->stride[i] == want);
        want = tg_size_mul_sat(want, t->shape[i]);
    }
    if (adjacent)
        return ADJACENT;
    return t->ndim == 2 && t->stride[0] == 1 && t->stride[1] == t->shape[0] ? TRANSPOSED : OTHER;
}

/* The number of elements from the first one of the storage to the last one of the tensor. */
static size_t reach(const tg_pickle_tensor *t)
{
    size_t last = t->offset;

    for (size_t i = 0; i < t->ndim; i++) {
        if (t->shape[i] == 0)
            return t->offset;
        last = tg_size_add_sat(last, tg_size_mul_sat(t->shape[i] - 1, t->stride[i]));
    }
    return tg_size_add_sat(last, 1);
}

/* ---- the list */

/* A level of the walk. */
typedef struct frame {
    const tg_pickle_value *value;
    size_t next; /* item */
    size_t name; /* bytes of its name */
} frame;

typedef struct walk {
    tg_status status; /* of the first failure */
    tg_err *err;
    tg_tensor_list *list;
    tg_torch *t;
    bool transposed; /* allowed */
    frame path[TG_PICKLE_DEPTH];
    size_t depth;
    char name[2 * TG_NAME_MAX]; /* [name_n] of the value at hand; cut, which is still too long for a tensor */
    size_t name_n;
} walk;

/* TG_EDATA, with the tensor's name. */
static void bad(walk *w, const char *what, size_t got, size_t expected)
{
    char name[TG_SHOWN_MAX];

    if (!w->status)
        w->status = tg_fail(w->err, TG_EDATA, "%s: %s: got %zu, expected %zu",
                            tg_shown(name, (tg_span){w->name, w->name_n}), what, got, expected);
}

/* The data of a tensor's storage, checked; NULL after a failure. */
static const unsigned char *find_storage(walk *w, const tg_pickle_tensor *t)
{
    char key[TG_SHOWN_MAX + 5] = "data/", name[TG_SHOWN_MAX];
    tg_zip_member *storage = NULL;
    size_t bytes;

    if (t->storage.n <= TG_SHOWN_MAX) {
        memcpy(key + 5, t->storage.p, t->storage.n);
        storage = find(w->t, (tg_span){key, 5 + t->storage.n});
    }
    if (!storage) {
        w->status = tg_fail(w->err, TG_EDATA, "%s: its storage data/%s is missing",
                            tg_shown(name, (tg_span){w->name, w->name_n}), tg_shown(key, t->storage));
        return NULL;
    }
    bytes = tg_size_mul_sat(t->storage_count, t->dtype.size);
    if (storage->n != bytes)
        bad(w, "bytes of its storage", storage->n, bytes);
    if (reach(t) > t->storage_count)
        bad(w, "it ends after its storage; elements of the storage", t->storage_count, reach(t));
    if (!w->status && !storage->checked && !(w->status = tg_zip_member_check(storage, w->err)) &&
        w->t->release)
        w->t->release(w->t->context, storage->data, storage->n);
    return w->status ? NULL : storage->data;
}

/* Set name, type and shape. */
static tg_status describe(const walk *w, tg_stored *s, const tg_pickle_tensor *t)
{
    const layout l = layout_of(t);
    tg_status status = tg_stored_set_name(s, w->name, w->name_n, w->err);

    if (status)
        return status;
    if (l == OTHER || (l == TRANSPOSED && !w->transposed))
        return tg_fail(w->err, TG_EDATA, "%s: its elements are not adjacent (%s); save it with .contiguous()",
                       s->array.name, l == OTHER ? "a slice or an expanded view" : "a transposed view");
    s->array.dtype = t->dtype;
    s->array.ndim = t->ndim;
    for (size_t i = 0; i < t->ndim; i++)
        s->array.shape[i] = t->shape[i];
    if (!tg_array_measure(&s->array))
        return tg_fail(w->err, TG_EDATA, "%s: its shape is too large", s->array.name);
    s->transposed = l == TRANSPOSED;
    return TG_OK;
}

static void add_tensor(walk *w, const tg_pickle_tensor *t)
{
    tg_stored s = {0};
    const unsigned char *data;

    if ((w->status = describe(w, &s, t)) || !(data = find_storage(w, t)))
        return;
    s.stored = s.array.bytes;
    s.at = data + tg_size_min(t->offset, t->storage_count) * t->dtype.size;
    s.array.data = s.at;
    s.offset = (uint64_t)(s.at - w->t->file);
    w->status = tg_tensor_list_add(w->list, &s, w->err);
}

/* ---- the walk */

static void visit(walk *w, const tg_pickle_value *v)
{
    if (v->kind == TG_PICKLE_TENSOR)
        add_tensor(w, &w->t->pickle.tensor[v->of.first]);
    else if (v->kind == TG_PICKLE_TUPLE || v->kind == TG_PICKLE_LIST || v->kind == TG_PICKLE_DICT)
        w->path[w->depth++] = (frame){v, 0, w->name_n};
}

static void append(walk *w, tg_span text)
{
    const size_t n = tg_size_min(text.n, sizeof w->name - w->name_n);

    memcpy(w->name + w->name_n, text.p, n);
    w->name_n += n;
}

/* Set the name to the frame's, a dot and a key. */
static void set_name(walk *w, const frame *f, const tg_pickle_value *key, size_t item)
{
    char number[32];
    tg_span text = {number, 0};

    if (key && key->kind == TG_PICKLE_TEXT)
        text = tg_pickle_text(key);
    else
        text.n = (size_t)(key ? snprintf(number, sizeof number, "%lld", (long long)key->of.integer)
                              : snprintf(number, sizeof number, "%zu", item));
    w->name_n = f->name;
    if (w->name_n > 0)
        append(w, (tg_span){".", 1});
    append(w, text);
}

tg_status tg_torch_list(tg_tensor_list *list, tg_torch *t, const tg_pickle_value *root, bool transposed,
                        tg_err *err)
{
    walk w = {.err = err, .list = list, .t = t, .transposed = transposed};
    const tg_pickle *const p = &t->pickle;

    visit(&w, root);
    while (!w.status && w.depth > 0) { /* the next item of the innermost container, or leave it */
        frame *const f = &w.path[w.depth - 1];
        const bool dict = f->value->kind == TG_PICKLE_DICT;
        const size_t at = f->next;

        if (at == f->value->n) {
            w.depth--;
            continue;
        }
        f->next += dict ? 2 : 1;
        set_name(&w, f, dict ? tg_pickle_item(p, f->value, at) : NULL, at);
        visit(&w, tg_pickle_item(p, f->value, dict ? at + 1 : at));
    }
    return w.status ? w.status : tg_tensor_list_arrange(list, err);
}
