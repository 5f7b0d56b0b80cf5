#include "lib/split/split_lines.h"

#include <string.h>

uint64_t tg_split_decide(tg_split_pass *p, size_t *pending, uint64_t open, uint64_t run, uint64_t refused)
{
    uint64_t starts = 0;

    if (*pending != TG_SPLIT_NOWHERE && ~run) {
        if (~refused >> tg_split_lowest(~run) & 1)
            tg_split_mark_at(p, *pending);
        *pending = TG_SPLIT_NOWHERE;
    }
    for (; open; open &= open - 1) {
        const unsigned first = tg_split_lowest(open);
        const uint64_t beyond = ~run & ~(uint64_t)0 << first;

        if (!beyond)
            *pending = p->at + first;
        else if (~refused >> tg_split_lowest(beyond) & 1)
            starts |= open & -open;
    }
    return starts;
}

/* The same as below, character by character. */
static uint64_t count_triples(tg_split_pass *p, const tg_masks *m)
{
    uint64_t starts = 0, count = p->before.number;

    for (uint64_t left = m->number & ~m->continued; left; left &= left - 1) {
        const uint64_t bit = left & -left;

        if (bit > 1 && !(m->number & bit >> 1))
            count = 0;
        if (count == 0 || count == 3) {
            starts |= bit;
            count = 0;
        }
        count++;
    }
    p->before.number = m->number >> p->last & 1 ? count : 0;
    return starts;
}

uint64_t tg_split_triples(tg_split_pass *p, const tg_masks *m)
{
    const uint64_t number = m->number, count = p->before.number;
    const uint64_t room = number & number << 1 & number << 2; /* two numbers before, of this word */
    uint64_t starts = number & ~tg_split_after(number, count > 0), more;

    if (number & m->continued)
        return count_triples(p, m);
    if (count > 0)
        starts |= number & ~(number + 1) & (uint64_t)1 << (3 - count);
    while ((more = starts << 3 & room & ~starts))
        starts |= more;
    if (~number >> p->last & 1)
        p->before.number = 0;
    else if (starts) /* the last one is of the run that ends the word */
        p->before.number = p->last - (63 - (unsigned)__builtin_clzll(starts)) + 1;
    else
        p->before.number = count + p->last + 1;
    return starts;
}

size_t tg_split_settled_lines(uint32_t state, const unsigned char *text, size_t n)
{
    tg_unicode_class class = TG_UNICODE_OTHER;
    size_t i, length = 0, last = 0;

    n = tg_split_whole(text, n);
    for (i = n; i > 0; i -= length) {
        for (; i > 8 && memcmp(text + i - 8, "        ", 8) == 0; i -= 8)
            last = last ? last : 1;
        length = tg_split_last(&class, text, i);
        if (class != TG_UNICODE_SPACE || text[i - 1] == '\r' || text[i - 1] == '\n')
            break;
        last = last ? last : length;
    }
    if (i == n)
        return n;
    /* after a line end all depends on what ends the white space, otherwise its last character */
    if (i > 0 ? class == TG_UNICODE_SPACE : tg_split_unpack(state).line)
        return i;
    return n - last;
}
