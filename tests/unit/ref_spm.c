#include "tests/unit/ref_spm.h"

#include <stdlib.h>
#include <string.h>

#include "lib/base/utf8.h"
#include "tests/unit/check.h"

void ref_spm_begin(ref_spm *v, tg_spm_prefix prefix)
{
    memset(v, 0, sizeof *v);
    v->view = (tg_spm_vocab){.prefix = prefix,
                             .ends = v->ends,
                             .tokens = v->tokens,
                             .scores = v->scores,
                             .types = v->types,
                             .special = v->special};
}

static uint32_t add(ref_spm *v, const void *text, size_t n, tg_spm_type type, double score)
{
    const size_t id = v->view.n, at = id > 0 ? v->ends[id - 1] : 0;

    CHECK(id < REF_SPM_PIECES && at + n <= sizeof v->tokens);
    memcpy(v->tokens + at, text, n);
    v->ends[id] = (uint32_t)(at + n);
    v->types[id] = (unsigned char)type;
    v->scores[id] = (float)score;
    if (type == TG_SPM_CONTROL || type == TG_SPM_UNKNOWN)
        v->special[v->view.n_special++] = (uint32_t)id;
    v->view.n++;
    return (uint32_t)id;
}

uint32_t ref_spm_add(ref_spm *v, const char *text, tg_spm_type type, double score)
{
    return add(v, text, strlen(text), type, score);
}

void ref_spm_add_bytes(ref_spm *v)
{
    for (unsigned b = 0; b < 256; b++)
        (void)add(v, &(unsigned char){(unsigned char)b}, 1, TG_SPM_BYTE, 0);
}

static const unsigned char *piece(const ref_spm *v, size_t id, size_t *n)
{
    const size_t at = id > 0 ? v->ends[id - 1] : 0;

    *n = v->ends[id] - at;
    return v->tokens + at;
}

uint32_t ref_spm_find(const ref_spm *v, const unsigned char *text, size_t n)
{
    size_t length;

    for (size_t id = 0; id < v->view.n; id++) {
        const unsigned char *p = piece(v, id, &length);

        if ((v->types[id] == TG_SPM_NORMAL || v->types[id] == TG_SPM_UNUSED) && n > 0 && length == n &&
            memcmp(p, text, n) == 0)
            return (uint32_t)id;
    }
    return UINT32_MAX;
}

const tg_tokenizer *ref_spm_tokenizer(const ref_spm *v)
{
    const tg_tokenizer *tok;
    tg_err err = {0};

    CHECK_OK(tg_spm_create(&tok, &v->view, &err), &err);
    return tok;
}

/* ---- the definition */

/* A symbol: its text, its id (-1: no piece), and if it was merged, its parts. */
struct symbol {
    const unsigned char *text;
    size_t n;
    long id;
    bool frozen; /* user-defined */
    struct symbol *parts[2];
};

struct work {
    const ref_spm *v;
    struct symbol **row; /* [n] */
    size_t n;
    int32_t *ids;
    size_t n_ids;
    bool unknown, lacks;
    short (*memo)[REF_SPM_PIECES]; /* what two pieces make, + 1; 0: not known yet */
};

/* The text with U+2581 for spaces. */
static size_t normalize(unsigned char *out, bool prefix, const unsigned char *text, size_t n)
{
    size_t put = 0;

    if (prefix && n > 0)
        put += (size_t)TG_SPM_SPACE_BYTES * (memcpy(out, TG_SPM_SPACE, TG_SPM_SPACE_BYTES) != NULL);
    for (size_t i = 0; i < n; i++)
        if (text[i] == ' ')
            put += (size_t)TG_SPM_SPACE_BYTES * (memcpy(out + put, TG_SPM_SPACE, TG_SPM_SPACE_BYTES) != NULL);
        else
            out[put++] = text[i];
    return put;
}

/* The longest user-defined piece that text begins with; -1: none. */
static long user_defined(const ref_spm *v, const unsigned char *text, size_t n, size_t *length)
{
    long found = -1;
    size_t size;

    *length = 0;
    for (size_t id = 0; id < v->view.n; id++) {
        const unsigned char *p;

        if (v->types[id] != TG_SPM_USER_DEFINED)
            continue;
        p = piece(v, id, &size);
        if (size > *length && size <= n && memcmp(p, text, size) == 0) {
            *length = size;
            found = (long)id;
        }
    }
    return found;
}

static struct symbol *new_symbol(const unsigned char *text, size_t n, long id, bool frozen)
{
    struct symbol *s = calloc(1, sizeof *s);

    CHECK(s != NULL);
    *s = (struct symbol){.text = text, .n = n, .id = id, .frozen = frozen};
    return s;
}

static void divide(struct work *w, bool due, const unsigned char *text, size_t n)
{
    static const unsigned char space[] = TG_SPM_SPACE;
    const tg_spm_prefix prefix = w->v->view.prefix;

    for (size_t at = 0, length; at < n; at += length) {
        const long user = user_defined(w->v, text + at, n - at, &length);
        uint32_t code, id;

        if (user >= 0) {
            w->row[w->n++] = new_symbol(text + at, length, user, true);
            due = prefix == TG_SPM_PREFIX_DIVIDED || prefix == TG_SPM_PREFIX_METASPACE;
            continue;
        }
        if (due && (prefix == TG_SPM_PREFIX_DIVIDED || memcmp(text + at, space, TG_SPM_SPACE_BYTES) != 0)) {
            id = ref_spm_find(w->v, space, TG_SPM_SPACE_BYTES);
            w->row[w->n++] = new_symbol(space, TG_SPM_SPACE_BYTES, id == UINT32_MAX ? -1 : (long)id, false);
        }
        due = false;
        if ((length = tg_utf8_decode(&code, text + at, n - at)) == 0)
            length = 1;
        id = ref_spm_find(w->v, text + at, length);
        w->row[w->n++] = new_symbol(text + at, length, id == UINT32_MAX ? -1 : (long)id, false);
    }
}

/* The piece that symbols a and b make together; -1: none. */
static long joined(struct work *w, const struct symbol *a, const struct symbol *b)
{
    const bool known = a->id >= 0 && b->id >= 0;
    short *memo = known ? &w->memo[a->id][b->id] : NULL;
    unsigned char both[512];
    uint32_t id;

    if (a->frozen || b->frozen)
        return -1;
    if (memo && *memo != 0)
        return *memo - 2;
    memcpy(both, a->text, a->n);
    memcpy(both + a->n, b->text, b->n);
    id = ref_spm_find(w->v, both, a->n + b->n);
    if (memo)
        *memo = id == UINT32_MAX ? 1 : (short)(id + 2);
    return id == UINT32_MAX ? -1 : (long)id;
}

static void merge(struct work *w)
{
    for (;;) {
        size_t best = SIZE_MAX;
        const unsigned char *text;
        long made = -1;
        struct symbol *s;
        size_t n;

        for (size_t i = 0; i + 1 < w->n; i++) {
            const long id = joined(w, w->row[i], w->row[i + 1]);

            if (id >= 0 && (made < 0 || w->v->scores[id] > w->v->scores[made])) {
                best = i;
                made = id;
            }
        }
        if (made < 0)
            return;
        text = piece(w->v, (size_t)made, &n);
        s = new_symbol(text, n, made, false);
        s->parts[0] = w->row[best];
        s->parts[1] = w->row[best + 1];
        w->row[best] = s;
        memmove(w->row + best + 1, w->row + best + 2, (w->n - best - 2) * sizeof *w->row);
        w->n--;
    }
}

static void put(struct work *w, long id)
{
    w->ids[w->n_ids++] = (int32_t)id;
    w->unknown = false;
}

static long find_type(const ref_spm *v, tg_spm_type type)
{
    for (size_t id = 0; id < v->view.n; id++)
        if (v->types[id] == type)
            return (long)id;
    return -1;
}

/* A character that is no piece. */
static void put_character(struct work *w, const struct symbol *s)
{
    const long first_byte = find_type(w->v, TG_SPM_BYTE), unknown = find_type(w->v, TG_SPM_UNKNOWN);

    for (size_t i = 0; first_byte >= 0 && i < s->n; i++)
        put(w, first_byte + s->text[i]); /* they are in order */
    if (first_byte >= 0)
        return;
    if (unknown < 0)
        w->lacks = true;
    else if (!w->unknown)
        put(w, unknown);
    w->unknown = true;
}

static void put_symbol(struct work *w, struct symbol *s)
{
    if (s->id >= 0 && w->v->types[s->id] == TG_SPM_UNUSED && s->parts[0]) {
        put_symbol(w, s->parts[0]);
        put_symbol(w, s->parts[1]);
    } else if (s->id < 0) {
        put_character(w, s);
    } else {
        put(w, s->id);
    }
}

static void free_symbol(struct symbol *s)
{
    if (s->parts[0]) {
        free_symbol(s->parts[0]);
        free_symbol(s->parts[1]);
    }
    free(s);
}

long ref_spm_text(const ref_spm *v, bool prefix, int32_t *ids, const unsigned char *text, size_t n)
{
    struct work w = {.v = v, .ids = ids};
    const bool divided = v->view.prefix >= TG_SPM_PREFIX_DIVIDED;
    unsigned char *normal = malloc(TG_SPM_SPACE_BYTES * (n + 2));

    w.row = malloc(TG_SPM_SPACE_BYTES * (n + 1) * sizeof *w.row); /* prefixes included */
    w.memo = calloc(REF_SPM_PIECES, sizeof *w.memo);
    CHECK(normal && w.row && w.memo);
    divide(&w, prefix && divided, normal, normalize(normal, prefix && !divided, text, n));
    merge(&w);
    for (size_t i = 0; i < w.n; i++) {
        put_symbol(&w, w.row[i]);
        free_symbol(w.row[i]);
    }
    free(normal);
    free(w.row);
    free(w.memo);
    return w.lacks ? -1 : (long)w.n_ids;
}
