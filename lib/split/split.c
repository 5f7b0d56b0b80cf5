#include "lib/split/split.h"

#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/utf8.h"
#include "lib/split/split_rules.h"

/* ---- the rules */

static const tg_split_rule none = {.name = "none"};

static const tg_split_rule *const rules[TG_SPLITS] = {
    [TG_SPLIT_NONE] = &none,
    [TG_SPLIT_GPT2] = &tg_split_gpt2,
    [TG_SPLIT_GPT2_DIGITS] = &tg_split_gpt2_digits,
    [TG_SPLIT_CL100K] = &tg_split_cl100k,
    [TG_SPLIT_LLAMA3] = &tg_split_llama3,
    [TG_SPLIT_QWEN2] = &tg_split_qwen2,
    [TG_SPLIT_O200K] = &tg_split_o200k,
};

const char *tg_split_name(tg_split split)
{
    return rules[split]->name;
}

bool tg_split_find(tg_split *split, const char *name)
{
    size_t number;

    if (!tg_choice_find(&number, TG_SPLIT_NAMES, name))
        return false;
    *split = (tg_split)number;
    return true;
}

void tg_splitter_start(tg_splitter *s, tg_split split)
{
    *s = (tg_splitter){.split = split};
}

size_t tg_splitter_mark(tg_splitter *s, uint64_t *starts, const unsigned char *text, size_t n, bool last)
{
    const tg_split_rule *rule = rules[s->split];
    const size_t settled = last || !rule->settled ? n : rule->settled(s->state, text, n);

    memset(starts, 0, TG_SPLIT_WORDS(n) * sizeof *starts);
    if (rule->mark)
        rule->mark(rule->how, &s->state, starts, text, settled, n);
    else if (n > 0 && s->state == 0) /* the text has not begun, and is one piece */
        starts[0] = s->state = 1;
    if (last)
        s->state = 0;
    return settled;
}

/* ---- where a text may be cut */

/*
 * Whether a piece begins at text[p] whatever precedes, as at the start of a text.
 *
 * A ' ' after any character that is not white space begins a run of white space.  That is a start in
 * every rule, and nothing before it affects what follows: in no rule does white space other than line
 * ends join what precedes it, and what precedes ends the same way whether white space or nothing
 * follows.  The same holds for a line end in gpt2's rules, which treat line ends like other white
 * space.
 *
 * In the other rules, the character after a line end begins a piece, unless it is white space or a
 * slash, which may belong to a tail in o200k.  The line end before it ends a piece just as it would
 * at the end of a text.
 */
static bool may_cut(tg_split split, const unsigned char *text, size_t n, size_t p)
{
    const bool lines = split != TG_SPLIT_GPT2 && split != TG_SPLIT_GPT2_DIGITS;
    tg_unicode_class class;
    uint32_t code;

    if (text[p] == ' ' || (text[p] == '\n' && !lines)) {
        (void)tg_split_last(&class, text, p);
        return class != TG_UNICODE_SPACE;
    }
    return lines && text[p - 1] == '\n' && text[p] != '/' && tg_utf8_decode(&code, text + p, n - p) > 0 &&
           tg_unicode_class_of(code) != TG_UNICODE_SPACE;
}

size_t tg_split_cut(tg_split split, const unsigned char *text, size_t n, size_t reach)
{
    const size_t least = n > reach ? n - reach : 0;

    if (split == TG_SPLIT_NONE)
        return 0;
    for (size_t p = n; p-- > least + TG_UTF8_MAX;)
        if (may_cut(split, text, n, p))
            return p;
    return 0;
}
