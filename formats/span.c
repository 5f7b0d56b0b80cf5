#include "formats/span.h"

#include <string.h>

#include "lib/base/size.h"

bool tg_span_is(tg_span s, const char *word)
{
    return s.n == strlen(word) && memcmp(s.p, word, s.n) == 0;
}

bool tg_span_ends(tg_span s, const char *word)
{
    const size_t n = strlen(word);

    return s.n >= n && memcmp(s.p + s.n - n, word, n) == 0;
}

int tg_span_compare(const void *a, const void *b)
{
    const tg_span *const s = a, *const t = b;
    const int order = memcmp(s->p, t->p, tg_size_min(s->n, t->n));

    return order != 0 ? order : (s->n > t->n) - (s->n < t->n);
}

const char *tg_shown(char out[TG_SHOWN_MAX], tg_span s)
{
    size_t i = 0;

    for (; i < s.n && i < TG_SHOWN_MAX - 1; i++) {
        out[i] = '?';
        if (s.p[i] >= ' ' && s.p[i] < 0x7F)
            out[i] = s.p[i];
    }
    out[i] = '\0';
    return out;
}
