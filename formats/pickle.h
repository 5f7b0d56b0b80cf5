/*
 * pickle: reads a Python pickle as PyTorch writes it, and calls nothing.
 *
 * A pickle is a program for a small stack machine, and may name any function of any Python module.
 * This reader knows the opcodes that plain values need (protocols 2 to 5) and the names that
 * tensors need; it refuses every other opcode and name, and its message says which.  The names:
 *
 *     collections.OrderedDict      a dict; what is set as its attributes is dropped
 *     torch.Size                   a tuple
 *     torch.FloatStorage, ...      only inside a tensor
 *     torch._utils._rebuild_tensor_v2, torch._utils._rebuild_parameter
 *
 * The result is a tree of values.  Nothing is recursive, here or in its use: the tree has at most
 * TG_PICKLE_DEPTH levels.  A value may have several parents, but a walk from the root takes a
 * number of steps that is proportional to the bytes of the pickle.  Memory: at most
 * TG_PICKLE_VALUES values and as many of everything else, a few dozen bytes each.
 *
 * Source: the comments of Python's own Lib/pickletools.py, which document every opcode.
 */
#ifndef TG_FORMATS_PICKLE_H
#define TG_FORMATS_PICKLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/tg/array.h"
#include "formats/span.h"
#include "lib/base/status.h"

#define TG_PICKLE_BYTES ((size_t)16 << 20) /* maximum bytes of a pickle */
#define TG_PICKLE_VALUES ((size_t)1 << 20)
#define TG_PICKLE_TENSORS ((size_t)1 << 16)
#define TG_PICKLE_DEPTH 32

typedef enum tg_pickle_kind {
    TG_PICKLE_NONE,
    TG_PICKLE_BOOL,
    TG_PICKLE_INT,
    TG_PICKLE_FLOAT,
    TG_PICKLE_TEXT,
    TG_PICKLE_TUPLE,
    TG_PICKLE_LIST,
    TG_PICKLE_DICT, /* keys are texts or integers, all different */
    TG_PICKLE_TENSOR,
    TG_PICKLE_GLOBAL, /* this and the next: only while reading */
    TG_PICKLE_STORAGE
} tg_pickle_kind;

typedef struct tg_pickle_value {
    tg_pickle_kind kind;
    uint32_t n; /* a text's bytes; items of a tuple or list; twice the entries of a dict */
    union {
        bool truth;
        int64_t integer;
        double real;
        const char *text; /* [n] UTF-8, in the pickle's own bytes; no NUL at the end */
        uint32_t first;   /* position of the first item; of a tensor */
        struct {
            uint32_t first, last;
        } links; /* while reading */
    } of;
} tg_pickle_value;

/* A tensor: a view of a storage, whose bytes are elsewhere.  No dimension is checked against it. */
typedef struct tg_pickle_tensor {
    tg_span storage;      /* its key */
    size_t storage_count; /* its elements */
    tg_dtype dtype;
    size_t offset; /* of the tensor's first element, in elements, like the strides */
    size_t ndim, shape[TG_DIMS_MAX], stride[TG_DIMS_MAX];
} tg_pickle_tensor;

typedef struct tg_pickle {
    const tg_pickle_value *root;
    tg_pickle_value *value;   /* owned, like the other two */
    uint32_t *item;           /* what is in tuples, lists and dicts (key, value, key, ...) */
    tg_pickle_tensor *tensor; /* that of a value v is tensor[v->of.first] */
} tg_pickle;

/*
 * Read the pickle bytes [n], which must outlive the result.  TG_EDATA: it is damaged, too large, or
 * asks for what the reader does not do, with the byte's offset.  TG_ENOMEM.  *p can be freed either way.
 */
TG_MUST_CHECK tg_status tg_pickle_read(tg_pickle *p, const void *bytes, size_t n, tg_err *err);

/* A zeroed pickle is fine. */
void tg_pickle_free(tg_pickle *p);

/* Item i < v->n of a tuple, list or dict. */
const tg_pickle_value *tg_pickle_item(const tg_pickle *p, const tg_pickle_value *v, size_t i);

/* What a dict has under a key that is a text; NULL: nothing, or v is no dict.  A linear search. */
const tg_pickle_value *tg_pickle_find(const tg_pickle *p, const tg_pickle_value *v, const char *key);

static inline tg_span tg_pickle_text(const tg_pickle_value *v)
{
    return (tg_span){v->of.text, v->n};
}
bool tg_pickle_is_text(const tg_pickle_value *v, const char *text);

/* "a dict", "None", ... for messages. */
const char *tg_pickle_kind_text(tg_pickle_kind kind);

#endif
