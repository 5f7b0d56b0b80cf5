/*
 * The rules llama3, qwen2 and cl100k.
 *
 *   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*
 *   |\s*[\r\n]+|\s+(?!\S)|\s+
 *
 * in which qwen2 has \p{N} instead of \p{N}{1,3}, and cl100k has \s++$ before \s*[\r\n]+: tiktoken's
 * pattern since version 0.8.  See lib/split/split_lines.h.  A contraction is matched where an
 * apostrophe begins a piece; its letters do not count as letters, as in split_gpt2.c.
 */
#include "lib/split/split_lines.h"

enum { TRIPLES = 1, WHOLE_END = 2 };

/* Whether all of these 64 bytes, or of those before the text's end, are in x. */
static bool is_all(const tg_split_pass *p, uint64_t x)
{
    return !(~x & ~(uint64_t)0 >> (63 - p->last));
}

/* White space that ends the text is not split after its last line end: find the start there. */
static uint64_t start_at_end(tg_split_pass *p, uint64_t line, uint64_t within)
{
    const uint64_t others = ~within & ~(uint64_t)0 >> (63 - p->last);
    const unsigned first = others ? 64 - (unsigned)__builtin_clzll(others) : 0;

    p->line_start = TG_SPLIT_NOWHERE;
    return first < 64 ? within & tg_split_after(line, p->before.line) & (uint64_t)1 << first : 0;
}

static inline uint64_t word(tg_split_pass *p, const tg_masks *m)
{
    const bool ends_whole = p->how & WHOLE_END && p->n <= 64;
    tg_split_before *b = &p->before;
    const uint64_t after_other = tg_split_after(m->other, b->other);
    const uint64_t ends = m->line & (after_other | b->tail);
    const uint64_t tail = tg_split_fill(ends, m->line);
    const uint64_t within = m->space & ~tail & ~m->line;
    const uint64_t others = m->other & ~after_other & ~tg_split_after(m->blank, b->blank);
    const uint64_t prefix = tg_split_whole_characters(others, b->prefix, m->continued);
    const uint64_t candidates = m->apostrophe & others;
    uint64_t letter = m->letter, joined, starts;

    if (candidates | p->contracted)
        letter &= ~tg_split_contractions(p, candidates, true, false);
    joined = tg_split_after(prefix, b->prefix) | tg_split_after(within, b->space & ~b->line);
    starts = others | (letter & ~tg_split_after(letter, b->letter) & ~joined);
    if (ends_whole && is_all(p, within)) /* it began in an earlier word */
        p->line_start = TG_SPLIT_NOWHERE;
    starts |= tg_split_spaces(p, m, tail, within);
    if (ends_whole)
        starts &= ~start_at_end(p, m->line & ~tail, within);
    if (!(p->how & TRIPLES))
        starts |= m->number & ~m->continued;
    else if (m->number | b->number)
        starts |= tg_split_triples(p, m);
    b->letter = letter >> p->last & 1;
    b->other = m->other >> p->last & 1;
    tg_split_remember(p, m, tail, prefix);
    return starts;
}

static void mark(unsigned how, uint32_t *state, uint64_t *starts, const unsigned char *text, size_t settled,
                 size_t n)
{
    tg_split_run(word, how, state, starts, text, settled, n);
}

const tg_split_rule tg_split_llama3 = {"llama3", tg_split_settled_lines, mark, TRIPLES};
const tg_split_rule tg_split_cl100k = {"cl100k", tg_split_settled_lines, mark, TRIPLES | WHOLE_END};
const tg_split_rule tg_split_qwen2 = {"qwen2", tg_split_settled_lines, mark, 0};
