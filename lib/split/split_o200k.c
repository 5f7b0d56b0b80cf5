/*
 * The rule o200k.
 *
 *   [^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *   |[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?
 *   |\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * See lib/split/split_lines.h; a tail may have slashes.  A contraction belongs to the word before it,
 * which is not itself a contraction; its letters do not count as letters, and what follows begins a
 * new piece.
 *
 * A word is a run of letters and marks.  A capital begins a piece if it follows a lower-case
 * letter, with or without caseless letters and marks between them: the first alternative's second
 * set, once begun, takes no capital.  If there was no lower-case letter, the first alternative gives
 * back the capitals at the end of the word, up to the last caseless letter: so a capital after a
 * caseless letter begins a piece if only capitals follow in the word.
 *
 * A mark is one of a word's letters, except in a run of others that has begun without it: there it is
 * an other.  It cannot be such a run's second character unless the first took a ' ', because otherwise
 * letters take the first.
 */
#include "lib/split/split_lines.h"

/* The marks that are others. */
static uint64_t marks_in_runs(const tg_split_before *b, const tg_masks *m)
{
    enum { ELSE, BLANK, PREFIX, RUN, TAIL } last = ELSE;
    const uint64_t all = m->letter | m->number | m->space | m->other;
    uint64_t in = 0, before;

    if (b->tail)
        last = TAIL;
    else if (b->other)
        last = b->prefix ? PREFIX : RUN;
    else if (b->blank)
        last = BLANK;
    before = last == RUN;
    for (uint64_t left = all & ~m->continued; left; left &= left - 1) {
        const uint64_t bit = left & -left;

        if (m->mark & bit) {
            in |= last == RUN ? bit : 0;
            last = last == RUN ? RUN : ELSE;
        } else if (m->line & bit) {
            last = last >= PREFIX ? TAIL : ELSE;
        } else if (m->other & bit) {
            if (last != TAIL || !(m->slash & bit))
                last = last == ELSE || last == TAIL ? PREFIX : RUN;
        } else {
            last = m->blank & bit ? BLANK : ELSE;
        }
    }
    return m->mark & tg_split_whole_characters(in, before, m->continued);
}

/* The starts inside words, which are at capitals. */
static uint64_t capitals(tg_split_pass *p, const tg_masks *m, uint64_t letter, uint64_t taken)
{
    tg_split_before *b = &p->before;
    const uint64_t upper = m->upper & ~taken, lower = m->lower & ~taken;
    const uint64_t caseless = letter & ~upper & ~lower;
    const uint64_t lowered = lower | tg_split_fill(caseless & tg_split_after(lower, b->lowered), caseless);
    const uint64_t open = upper & tg_split_after(caseless & ~lowered, b->caseless);
    uint64_t starts = upper & tg_split_after(lowered, b->lowered);

    if (open || p->capitals != TG_SPLIT_NOWHERE)
        starts |= tg_split_decide(p, &p->capitals, open, upper, letter);
    b->lowered = lowered >> p->last & 1;
    b->caseless = (caseless & ~lowered) >> p->last & 1;
    return starts;
}

static inline uint64_t word(tg_split_pass *p, const tg_masks *m)
{
    tg_split_before *b = &p->before;
    const uint64_t marks = m->mark ? m->mark & ~marks_in_runs(b, m) : 0;
    const uint64_t any_other = m->other & ~marks, after_other = tg_split_after(any_other, b->other);
    const uint64_t ends = (m->line & after_other) | ((m->line | m->slash) & b->tail);
    const uint64_t tail = tg_split_fill(ends, m->line | m->slash);
    const uint64_t within = m->space & ~tail & ~m->line, other = any_other & ~tail;
    const uint64_t candidates = m->apostrophe & tg_split_after(m->letter | marks, b->letter);
    uint64_t letter = m->letter | marks, taken = 0, others, prefix, joined, starts;

    if (candidates | p->contracted)
        taken = tg_split_contractions(p, candidates, true, true);
    letter &= ~taken;
    others = other & ~tg_split_after(other, b->other) & ~tg_split_after(m->blank, b->blank) & ~taken;
    prefix = tg_split_whole_characters(others, b->prefix, m->continued);
    joined = tg_split_after(prefix, b->prefix) | tg_split_after(within, b->space & ~b->line);
    starts = others | (letter & ~tg_split_after(letter, b->letter) & ~joined);
    starts |= capitals(p, m, letter, taken) | tg_split_spaces(p, m, tail, within);
    if (m->number | b->number)
        starts |= tg_split_triples(p, m);
    b->letter = letter >> p->last & 1;
    b->other = other >> p->last & 1;
    tg_split_remember(p, m, tail, prefix);
    return starts;
}

/* Capitals that end the text after a letter without case may or may not end a word. */
static size_t settled(uint32_t state, const unsigned char *text, size_t n)
{
    tg_unicode_class class = TG_UNICODE_OTHER;
    size_t i, length = 0;

    n = tg_split_settled_lines(state, text, n);
    for (i = n; i > 0; i -= length) {
        length = tg_split_last(&class, text, i);
        if (class != TG_UNICODE_UPPER)
            break;
    }
    if (i == 0)
        return tg_split_unpack(state).caseless ? 0 : n;
    return class == TG_UNICODE_LETTER || class == TG_UNICODE_MARK ? i : n;
}

static void mark(unsigned how, uint32_t *state, uint64_t *starts, const unsigned char *text, size_t settled,
                 size_t n)
{
    tg_split_run(word, how, state, starts, text, settled, n);
}

const tg_split_rule tg_split_o200k = {"o200k", settled, mark, 0};
