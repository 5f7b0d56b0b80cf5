/* The end of reading a pickle: its values become a tree; and what reads that tree. */
#include <stdlib.h>

#include "formats/pickle_heap.h"
#include "lib/base/grow.h"

/* ---- the walk from the root */

#define OPEN 255 /* in `levels`: its items are being visited; else 0 or its levels */

_Static_assert(TG_PICKLE_DEPTH < OPEN, "levels fit in a byte");

typedef struct frame {
    uint32_t value, next; /* next: the number of the item to visit */
    uint32_t steps;       /* that a walk of it takes, so far */
    unsigned char levels; /* of it, so far */
} frame;

typedef struct walk {
    tg_pickle_heap *h;
    tg_pickle *p;
    size_t items;
    unsigned char *levels; /* [values] */
    uint32_t *steps;       /* [values] once its items have been visited; at most steps_max */
    uint32_t steps_max;
    size_t keys_capacity;
    const tg_pickle_value **sorted; /* [keys_capacity] the keys of a dict */
    frame path[TG_PICKLE_DEPTH];
    size_t depth;
} walk;

/* ---- keys */

static int compare_keys(const void *a, const void *b)
{
    const tg_pickle_value *const x = *(const tg_pickle_value *const *)a;
    const tg_pickle_value *const y = *(const tg_pickle_value *const *)b;
    const tg_span s = tg_pickle_text(x), t = tg_pickle_text(y);

    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->kind == TG_PICKLE_INT)
        return (x->of.integer > y->of.integer) - (x->of.integer < y->of.integer);
    return tg_span_compare(&s, &t);
}

static void check_keys(walk *w, const tg_pickle_value *dict)
{
    const size_t n = dict->n / 2;
    char text[TG_SHOWN_MAX];

    if ((w->h->status = tg_grow(&w->sorted, &w->keys_capacity, n, sizeof(tg_pickle_value *),
                                "the keys of a dict", w->h->err)))
        return;
    for (size_t i = 0; i < n; i++) {
        const tg_pickle_value *const key = &w->h->value[w->p->item[dict->of.first + 2 * i]];

        if (key->kind != TG_PICKLE_TEXT && key->kind != TG_PICKLE_INT)
            tg_pickle_fail(w->h, "a dict's key: expected a string or an integer, got %s",
                           tg_pickle_kind_text(key->kind));
        w->sorted[i] = key;
    }
    if (w->h->status)
        return;
    if (n > 1)
        qsort(w->sorted, n, sizeof(tg_pickle_value *), compare_keys);
    for (size_t i = 1; i < n; i++) {
        const tg_pickle_value *const key = w->sorted[i];

        if (compare_keys(&w->sorted[i - 1], &w->sorted[i]) != 0)
            continue;
        if (key->kind == TG_PICKLE_INT)
            tg_pickle_fail(w->h, "a dict has the key %lld twice", (long long)key->of.integer);
        else
            tg_pickle_fail(w->h, "a dict has the key \"%s\" twice", tg_shown(text, tg_pickle_text(key)));
    }
}

/* ---- values */

/* Begin to visit a container: give its items their places. */
static void enter(walk *w, uint32_t at)
{
    tg_pickle_value *const v = &w->h->value[at];
    uint32_t link = v->n > 0 ? v->of.links.first : TG_PICKLE_NOTHING;

    if (w->depth == TG_PICKLE_DEPTH) {
        tg_pickle_fail(w->h, "more than %d levels of lists, tuples and dicts", TG_PICKLE_DEPTH);
        return;
    }
    w->levels[at] = OPEN;
    w->path[w->depth++] = (frame){.value = at, .steps = 1, .levels = 2}; /* even if it is empty */
    v->of.first = (uint32_t)w->items;
    for (; link != TG_PICKLE_NOTHING; link = w->h->link[link].next)
        w->p->item[w->items++] = w->h->link[link].value;
    if (v->kind == TG_PICKLE_DICT)
        check_keys(w, v);
}

static void visit(walk *w, uint32_t at)
{
    const tg_pickle_value *const v = &w->h->value[at];

    if (w->levels[at] == OPEN) {
        tg_pickle_fail(w->h, "%s contains itself", tg_pickle_kind_text(v->kind));
    } else if (w->levels[at] > 0) {
        if (w->depth + w->levels[at] - 1 > TG_PICKLE_DEPTH)
            tg_pickle_fail(w->h, "more than %d levels of lists, tuples and dicts", TG_PICKLE_DEPTH);
    } else if (v->kind == TG_PICKLE_TUPLE || v->kind == TG_PICKLE_LIST || v->kind == TG_PICKLE_DICT) {
        enter(w, at);
    } else if (v->kind == TG_PICKLE_GLOBAL || v->kind == TG_PICKLE_STORAGE) {
        tg_pickle_fail(w->h, "%s where a value is expected", tg_pickle_kind_text(v->kind));
    } else {
        w->levels[at] = 1;
        w->steps[at] = 1;
    }
}

/* A value has been visited: count it in its parent. */
static void add_to_parent(walk *w, uint32_t at)
{
    frame *const parent = w->depth > 0 ? &w->path[w->depth - 1] : NULL;

    if (!parent)
        return;
    if (w->steps[at] > w->steps_max - parent->steps)
        tg_pickle_fail(w->h, "values are repeated so often that there are more than %u", w->steps_max);
    parent->steps += w->steps[at];
    if (w->levels[at] >= parent->levels)
        parent->levels = (unsigned char)(w->levels[at] + 1);
}

static void visit_all(walk *w, uint32_t root)
{
    visit(w, root);
    while (!w->h->status && w->depth > 0) {
        frame *const f = &w->path[w->depth - 1];
        const tg_pickle_value *const v = &w->h->value[f->value];

        if (f->next < v->n) {
            const uint32_t item = w->p->item[v->of.first + f->next++];
            const size_t depth = w->depth;

            visit(w, item);
            if (!w->h->status && w->depth == depth)
                add_to_parent(w, item);
        } else {
            w->levels[f->value] = f->levels;
            w->steps[f->value] = f->steps;
            w->depth--;
            add_to_parent(w, f->value);
        }
    }
}

void tg_pickle_settle(tg_pickle *p, tg_pickle_heap *h, uint32_t root)
{
    walk w = {.h = h, .p = p, .steps_max = (uint32_t)(8 * h->n + 64)};
    const size_t bytes = h->values * (sizeof *w.levels + sizeof *w.steps) + h->links * sizeof *p->item;

    _Static_assert(8 * TG_PICKLE_BYTES + 64 < UINT32_MAX, "steps fit");
    w.levels = calloc(h->values, sizeof *w.levels);
    w.steps = calloc(h->values, sizeof *w.steps);
    p->item = calloc(h->links + 1, sizeof *p->item);
    if (!w.levels || !w.steps || !p->item)
        h->status = tg_fail_memory(h->err, bytes, "the values of a pickle");
    else
        visit_all(&w, root);
    if (!h->status) {
        p->value = h->value;
        p->root = &p->value[root];
        p->tensor = h->tensor;
        h->value = NULL;
        h->tensor = NULL;
    } else {
        tg_pickle_free(p);
    }
    free(w.levels);
    free(w.steps);
    free(w.sorted);
}

/* ---- reading the tree */

void tg_pickle_free(tg_pickle *p)
{
    free(p->value);
    free(p->item);
    free(p->tensor);
    *p = (tg_pickle){0};
}

const tg_pickle_value *tg_pickle_item(const tg_pickle *p, const tg_pickle_value *v, size_t i)
{
    return &p->value[p->item[v->of.first + i]];
}

const tg_pickle_value *tg_pickle_find(const tg_pickle *p, const tg_pickle_value *v, const char *key)
{
    if (v->kind != TG_PICKLE_DICT)
        return NULL;
    for (size_t i = 0; i < v->n; i += 2)
        if (tg_pickle_is_text(tg_pickle_item(p, v, i), key))
            return tg_pickle_item(p, v, i + 1);
    return NULL;
}

bool tg_pickle_is_text(const tg_pickle_value *v, const char *text)
{
    return v->kind == TG_PICKLE_TEXT && tg_span_is(tg_pickle_text(v), text);
}

const char *tg_pickle_kind_text(tg_pickle_kind kind)
{
    static const char *const texts[] = {
        [TG_PICKLE_NONE] = "None",         [TG_PICKLE_BOOL] = "True or False",
        [TG_PICKLE_INT] = "an integer",    [TG_PICKLE_FLOAT] = "a number",
        [TG_PICKLE_TEXT] = "a string",     [TG_PICKLE_TUPLE] = "a tuple",
        [TG_PICKLE_LIST] = "a list",       [TG_PICKLE_DICT] = "a dict",
        [TG_PICKLE_TENSOR] = "a tensor",   [TG_PICKLE_GLOBAL] = "a function",
        [TG_PICKLE_STORAGE] = "a storage",
    };

    return texts[kind];
}
