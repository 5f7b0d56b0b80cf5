#include "tests/unit/ref_learn.h"

#include <stdlib.h>
#include <string.h>

void ref_learn_begin(ref_learn *r, const unsigned char *text, size_t n, const uint64_t *starts)
{
    if (n > REF_LEARN_TEXT)
        abort();
    r->n = n;
    for (size_t i = 0; i < n; i++) {
        r->ids[i] = text[i];
        r->first[i] = starts[i / 64] >> i % 64 & 1;
    }
    r->n_ids = 256;
    for (size_t i = 0; i < 256; i++)
        r->size[i] = 1;
}

/* Whether a comes before b: more frequent, or equally frequent with smaller ids. */
static int before(ref_learn_pair a, ref_learn_pair b)
{
    if (a.count != b.count)
        return a.count > b.count;
    return a.left != b.left ? a.left < b.left : a.right < b.right;
}

ref_learn_pair ref_learn_count(ref_learn *r, size_t token_max)
{
    ref_learn_pair best = {0, 0, 0};

    memset(r->count, 0, r->n_ids * sizeof r->count[0]);
    for (size_t i = 1; i < r->n; i++)
        if (!r->first[i])
            r->count[r->ids[i - 1]][r->ids[i]]++;
    for (size_t i = 1; i < r->n; i++) {
        const uint32_t a = r->ids[i - 1], b = r->ids[i];
        const ref_learn_pair pair = {a, b, r->count[a][b]};

        if (!r->first[i] && r->size[a] + r->size[b] <= token_max && before(pair, best))
            best = pair;
    }
    return best;
}

void ref_learn_merge(ref_learn *r, ref_learn_pair pair)
{
    size_t to = 0;

    for (size_t from = 0; from < r->n; from++, to++) {
        r->ids[to] = r->ids[from];
        r->first[to] = r->first[from];
        if (from + 1 < r->n && !r->first[from + 1] && r->ids[from] == pair.left &&
            r->ids[from + 1] == pair.right) {
            r->ids[to] = (uint32_t)r->n_ids;
            from++;
        }
    }
    r->n = to;
    r->size[r->n_ids++] = r->size[pair.left] + r->size[pair.right];
}
