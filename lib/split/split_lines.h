/*
 * split_lines: what cl100k, qwen2 and o200k share.
 *
 *   [^\r\n\p{L}\p{N}]?LETTERS | \p{N}{1,3} |  ?[^\s\p{L}\p{N}]+[\r\n]* | \s*[\r\n]+ | \s+(?!\S) | \s+
 *
 * Letters take one character before them: white space other than a line end, or a single other that
 * itself begins a piece, so it is the only one in its run and does not follow a ' '.  A run of others
 * takes the ' ' before it and the line ends after it, its tail.
 *
 * The rest of a run of white space is split after its last line end.  After that, its last character
 * begins a piece if anything follows: letters take it, others take it if it is a ' ', and otherwise
 * it is a separate piece.
 */
#ifndef TG_SPLIT_SPLIT_LINES_H
#define TG_SPLIT_SPLIT_LINES_H

#include "lib/split/split_rules.h"

/*
 * Return the bits of `open`, a subset of `run`, whose run ends before a byte that is not in `refused`.
 * A run that continues after this word is kept in *pending until it ends.
 */
uint64_t tg_split_decide(tg_split_pass *p, size_t *pending, uint64_t open, uint64_t run, uint64_t refused);

/* tg_split_rule.settled: some or all of the white space at the end is not. */
size_t tg_split_settled_lines(uint32_t state, const unsigned char *text, size_t n);

/* Every third number of a run, starting with the first. */
uint64_t tg_split_triples(tg_split_pass *p, const tg_masks *m);

/* The starts in white space.  within: white space except tails and line ends. */
static inline uint64_t tg_split_spaces(tg_split_pass *p, const tg_masks *m, uint64_t tail, uint64_t within)
{
    const tg_split_before *b = &p->before;
    const uint64_t space = m->space & ~tail, line = m->line & ~tail;
    const uint64_t open = within & tg_split_after(line, b->line);
    uint64_t starts = space & ~tg_split_after(space, b->space);

    tg_split_mark_previous(
        p, (m->letter | m->number | m->other) & tg_split_after(within, b->space & ~b->line), m->continued);
    if (open || p->line_start != TG_SPLIT_NOWHERE)
        starts |= tg_split_decide(p, &p->line_start, open, within, line);
    return starts;
}

/* All bytes of the characters that begin at `first`. */
static inline uint64_t tg_split_whole_characters(uint64_t first, uint64_t before, uint64_t continued)
{
    return first | tg_split_fill(continued & tg_split_after(first, before), continued);
}

/* Set the rest of p->before for the next bytes, after letter, number and other have been set. */
static inline void tg_split_remember(tg_split_pass *p, const tg_masks *m, uint64_t tail, uint64_t prefix)
{
    tg_split_before *b = &p->before;

    b->space = (m->space & ~tail) >> p->last & 1;
    b->line = (m->line & ~tail) >> p->last & 1;
    b->blank = m->blank >> p->last & 1;
    b->tail = tail >> p->last & 1;
    b->prefix = prefix >> p->last & 1;
}

#endif
