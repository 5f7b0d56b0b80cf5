/*
 * The rules gpt2 and gpt2-digits.
 *
 *   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
 *
 * A run of letters, of numbers or of others is a piece, and takes a ' ' before it; the rest of a
 * run of white space is a piece.  So a run begins a piece, unless it follows a ' '.  A run of white
 * space begins a piece, and so does its last character if anything follows: either it is a ' ' and
 * the next piece takes it, or it is a separate piece.
 *
 * A contraction is matched only where a piece begins with the apostrophe: at the beginning of a run
 * of others, and not after a ' '.  Letters after a contraction begin a piece, so its own letters do
 * not count as letters here.
 *
 * gpt2-digits first isolates each number: no ' ' joins a number, and white space before a number is
 * split as at the end of a text.
 */
#include "lib/split/split_rules.h"

enum { DIGITS = 1 };

static inline uint64_t word(tg_split_pass *p, const tg_masks *m)
{
    tg_split_before *b = &p->before;
    const uint64_t joined = tg_split_after(m->blank, b->blank);
    const uint64_t others = m->other & ~tg_split_after(m->other, b->other);
    const uint64_t after_space = tg_split_after(m->space, b->space);
    const uint64_t candidates = m->apostrophe & others & ~joined;
    uint64_t letter = m->letter, runs, alone, next;

    if (candidates | p->contracted)
        letter &= ~tg_split_contractions(p, candidates, false, false);
    runs = others | (letter & ~tg_split_after(letter, b->letter));
    alone = m->space & ~after_space;
    next = (m->letter | m->other) & after_space;
    if (p->how == DIGITS) {
        alone |= m->number & ~m->continued;
    } else {
        runs |= m->number & ~tg_split_after(m->number, b->number);
        next |= m->number & after_space;
    }
    tg_split_mark_previous(p, next, m->continued);
    b->letter = letter >> p->last & 1;
    b->other = m->other >> p->last & 1;
    b->number = m->number >> p->last & 1;
    b->space = m->space >> p->last & 1;
    b->blank = m->blank >> p->last & 1;
    return (runs & ~joined) | alone;
}

/* White space at the end may or may not be its run's last character. */
static size_t settled(uint32_t state, const unsigned char *text, size_t n)
{
    tg_unicode_class class;
    size_t length;

    (void)state;
    n = tg_split_whole(text, n);
    if (n == 0)
        return 0;
    length = tg_split_last(&class, text, n);
    return class == TG_UNICODE_SPACE ? n - length : n;
}

static void mark(unsigned how, uint32_t *state, uint64_t *starts, const unsigned char *text, size_t settled,
                 size_t n)
{
    tg_split_run(word, how, state, starts, text, settled, n);
}

const tg_split_rule tg_split_gpt2 = {"gpt2", settled, mark, 0};
const tg_split_rule tg_split_gpt2_digits = {"gpt2-digits", settled, mark, DIGITS};
