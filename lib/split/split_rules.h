/*
 * split_rules: code shared by the files that implement a rule of lib/split/split.h.
 *
 * A pass reads the text as masks (lib/kernels/masks.h), 64 bytes at a time, and computes the 64 bits
 * of `starts`.  Its state is a few bits about the preceding bytes (tg_split_before).  A start that is
 * recognized later is marked afterwards.
 */
#ifndef TG_SPLIT_SPLIT_RULES_H
#define TG_SPLIT_SPLIT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/kernels/masks.h"
#include "lib/unicode/unicode.h"

/* A rule; "none" has only a name. */
typedef struct tg_split_rule {
    const char *name;

    /* How many bytes of text [n] are settled: no further text can change their starts.  `state`
     * describes what precedes text.  The settled bytes end with a whole character. */
    size_t (*settled)(uint32_t state, const unsigned char *text, size_t n);

    /* Mark the starts in the first `settled` bytes of text [n]; starts is zeroed before.  *state
     * describes what precedes text[0], and is updated to what precedes text[settled]. */
    void (*mark)(unsigned how, uint32_t *state, uint64_t *starts, const unsigned char *text, size_t settled,
                 size_t n);
    unsigned how; /* what tells rules with the same functions apart */
} tg_split_rule;

extern const tg_split_rule tg_split_gpt2, tg_split_gpt2_digits;              /* split_gpt2.c */
extern const tg_split_rule tg_split_cl100k, tg_split_llama3, tg_split_qwen2; /* split_cl100k.c */
extern const tg_split_rule tg_split_o200k;                                   /* split_o200k.c */

/* The bytes of the character that ends at text + n, n >= 1, and its class. */
size_t tg_split_last_high(tg_unicode_class *class, const unsigned char *text, size_t n);

static inline size_t tg_split_last(tg_unicode_class *class, const unsigned char *text, size_t n)
{
    if (text[n - 1] > 0x7F)
        return tg_split_last_high(class, text, n);
    *class = tg_unicode_class_of(text[n - 1]);
    return 1;
}

/* The length of text [n] without a character cut by its end, and without an apostrophe at its end that
 * may begin a contraction. */
size_t tg_split_whole(const unsigned char *text, size_t n);

/* The bytes of the contraction at text [n], which begins with an apostrophe: 's 't 'm 'd 're 've
 * 'll; 0 for none.  any_case: capitals too, and U+017F, whose capital is S. */
size_t tg_split_contraction(const unsigned char *text, size_t n, bool any_case);

/* ---- mask_reader.c: a text as masks (lib/kernels/masks.h) that cover all its characters */

typedef struct tg_mask_reader {
    const unsigned char *next; /* text [n] not yet read */
    size_t n;
    void (*kernel)(tg_masks *masks, const unsigned char *text, size_t words);
    /* for a character cut by the end of the last 64 bytes: how many of its bytes remain; its class */
    unsigned spilled, class;
} tg_mask_reader;

void tg_mask_reader_start(tg_mask_reader *r, const unsigned char *text, size_t n);

/*
 * Write the masks of the next bytes into masks [words], 64 bytes per word; after the text's end all
 * bits are 0.  letter is \p{L} (lower Ll, upper Lu and Lt), number \p{N}, space White_Space, mark
 * \p{M}; a byte that is not part of a character counts as other.
 */
void tg_mask_reader_read(tg_mask_reader *r, tg_masks *masks, size_t words);

/* ---- what precedes */

/* What the previous byte belongs to: each 0 or 1, except number. */
typedef struct tg_split_before {
    uint64_t letter, other;
    uint64_t number; /* if numbers are grouped: how many are in the group, 1 to 3 */
    uint64_t space, blank, line;
    uint64_t tail;     /* the line ends that end a piece of others */
    uint64_t prefix;   /* a single other that a letter would take */
    uint64_t lowered;  /* within a word: a lower-case letter, or a character after one */
    uint64_t caseless; /* within a word: a letter without case, before any lower-case one */
} tg_split_before;

static inline tg_split_before tg_split_unpack(uint32_t state)
{
    return (tg_split_before){
        .letter = state & 1,
        .other = state >> 1 & 1,
        .space = state >> 2 & 1,
        .blank = state >> 3 & 1,
        .line = state >> 4 & 1,
        .tail = state >> 5 & 1,
        .prefix = state >> 6 & 1,
        .lowered = state >> 7 & 1,
        .caseless = state >> 8 & 1,
        .number = state >> 9,
    };
}

static inline uint32_t tg_split_pack(const tg_split_before *b)
{
    return (uint32_t)(b->letter | b->other << 1 | b->space << 2 | b->blank << 3 | b->line << 4 |
                      b->tail << 5 | b->prefix << 6 | b->lowered << 7 | b->caseless << 8 | b->number << 9);
}

/* ---- a pass */

#define TG_SPLIT_NOWHERE SIZE_MAX

typedef struct tg_split_pass {
    unsigned how; /* the rule's */
    tg_split_before before;
    uint64_t contracted; /* bits of the next 64 bytes that belong to the end of a contraction */
    uint64_t continued;  /* tg_masks.continued of the previous 64 bytes */
    size_t line_start;   /* of white space after a line end: a start unless a line end follows */
    size_t capitals;     /* after letters without case: a start unless a letter follows */
    uint64_t *all;       /* starts */
    uint64_t *starts;    /* of the current 64 bytes */
    uint64_t *starts_before;
    const unsigned char *text; /* from the current 64 bytes on */
    size_t n;                  /* bytes from there to the text's end */
    size_t at;                 /* offset of the current 64 bytes */
    unsigned last;             /* index of the last of them: 63, or less at the end */
} tg_split_pass;

typedef uint64_t tg_split_word(tg_split_pass *p, const tg_masks *m);

/* Bytes whose predecessor is in x; before: whether the first byte's is. */
static inline uint64_t tg_split_after(uint64_t x, uint64_t before)
{
    return x << 1 | before;
}

/* The bits of `through` from each seed to the end of its run; the seeds are a subset of `through`. */
static inline uint64_t tg_split_fill(uint64_t seeds, uint64_t through)
{
    return seeds | (through & ~(through + seeds));
}

static inline unsigned tg_split_lowest(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

static inline void tg_split_mark_at(tg_split_pass *p, size_t i)
{
    p->all[i / 64] |= (uint64_t)1 << i % 64;
}

/* Mark the start of each character that ends before a byte of `next`. */
static inline void tg_split_mark_previous(tg_split_pass *p, uint64_t next, uint64_t continued)
{
    uint64_t here = next >> 1, there = next << 63;

    while ((here & continued) | (there & p->continued)) {
        const uint64_t back = here & continued, far = there & p->continued;

        here = (here ^ back) | back >> 1;
        there = (there ^ far) | far >> 1 | back << 63;
    }
    *p->starts |= here;
    *p->starts_before |= there;
}

/*
 * The bytes of the contractions that begin at `candidates`, which are apostrophes, and of one that began
 * earlier.  separate: a contraction may not directly follow another.
 */
static inline uint64_t tg_split_contractions(tg_split_pass *p, uint64_t candidates, bool any_case,
                                             bool separate)
{
    uint64_t taken = p->contracted;

    p->contracted = 0;
    for (; candidates; candidates &= candidates - 1) {
        const unsigned i = tg_split_lowest(candidates);
        size_t length;

        /* unreached: `separate` is constant: true in o200k, false in the other rules */
        if (separate && i > 0 && taken >> (i - 1) & 1)
            continue;
        length = tg_split_contraction(p->text + i, p->n - i, any_case);
        taken |= (((uint64_t)1 << length) - 1) << i;
        if (i + length > 64)
            p->contracted = ((uint64_t)1 << (i + length - 64)) - 1;
    }
    return taken;
}

/* Run `word` over the first `settled` bytes of text [n]. */
static inline __attribute__((always_inline)) void tg_split_run(tg_split_word word, unsigned how,
                                                               uint32_t *state, uint64_t *starts,
                                                               const unsigned char *text, size_t settled,
                                                               size_t n)
{
    enum { WORDS = 32 };
    uint64_t nothing = 0;
    tg_mask_reader reader;
    tg_masks m[WORDS];
    tg_split_pass p = {
        .how = how,
        .before = tg_split_unpack(*state),
        .line_start = TG_SPLIT_NOWHERE,
        .capitals = TG_SPLIT_NOWHERE,
        .all = starts,
        .starts_before = &nothing,
    };

    tg_mask_reader_start(&reader, text, settled);
    for (size_t at = 0; at < settled;) {
        const size_t words = (settled - at + 63) / 64 < WORDS ? (settled - at + 63) / 64 : WORDS;

        tg_mask_reader_read(&reader, m, words);
        for (size_t w = 0; w < words; w++, at += 64) {
            uint64_t marks;

            p.at = at;
            p.text = text + at;
            p.n = n - at;
            p.last = settled - at < 64 ? (unsigned)(settled - at) - 1 : 63;
            p.starts = starts + at / 64;
            marks = word(&p, m + w);
            *p.starts |= marks;
            p.starts_before = p.starts;
            p.continued = m[w].continued;
        }
    }
    /* unreached: in gpt2 and gpt2-digits, to which a line end is white space like any other */
    if (p.line_start != TG_SPLIT_NOWHERE)
        tg_split_mark_at(&p, p.line_start);
    /* unreached: except in o200k, the only rule that divides words at capitals */
    if (p.capitals != TG_SPLIT_NOWHERE)
        tg_split_mark_at(&p, p.capitals);
    *state = tg_split_pack(&p.before);
}

#endif
