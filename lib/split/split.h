/*
 * split: splits a text into pieces, the first step of byte-level BPE.  No token crosses from one
 * piece into the next.
 *
 * Each rule is defined by a regular expression, and implemented as a linear pass that marks where
 * pieces begin.  Text may arrive in parts, cut anywhere, and pieces may have any length.
 *
 * A byte that is not part of a valid UTF-8 character counts as a separate character that is
 * neither a letter, nor a number, nor white space.
 */
#ifndef TG_SPLIT_SPLIT_H
#define TG_SPLIT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tg_split {
    TG_SPLIT_NONE,        /* the whole text is one piece */
    TG_SPLIT_GPT2,        /* GPT-2, r50k, p50k; Hugging Face's "ByteLevel" */
    TG_SPLIT_GPT2_DIGITS, /* first isolates each number character, then as GPT-2: SmolLM2 */
    TG_SPLIT_CL100K,      /* cl100k_base: llama3 except that white space at a text's end is one piece */
    TG_SPLIT_LLAMA3,      /* Llama 3 */
    TG_SPLIT_QWEN2,       /* Qwen2, 2.5 and 3: llama3, but each number character is a piece */
    TG_SPLIT_O200K,       /* o200k_base */
    TG_SPLITS             /* their number */
} tg_split;

/* Their names in archives and options, in that order (lib/base/choice.h). */
#define TG_SPLIT_NAMES "none|gpt2|gpt2-digits|cl100k|llama3|qwen2|o200k"
const char *tg_split_name(tg_split split);

/* The rule with this name; false when none has it. */
bool tg_split_find(tg_split *split, const char *name);

typedef struct tg_splitter {
    tg_split split;
    uint32_t state; /* the rule's own; 0 at the start of a text */
} tg_splitter;

/* At the start of a text. */
void tg_splitter_start(tg_splitter *s, tg_split split);

/* The number of words in a bitmap of n bits. */
#define TG_SPLIT_WORDS(n) (((n) + 63) / 64)

/*
 * Mark the starts of pieces.
 *
 *   starts [TG_SPLIT_WORDS(n)]  written: bit i % 64 of word i / 64 says whether a piece begins at
 *                               text[i]; undecided bits are 0
 *   text [n]                    begins after the bytes that earlier calls have decided
 *   last                        whether the text ends at text + n
 *
 * Returns the number of decided bytes: no further text can change their bits.  The next call's text
 * begins at the first undecided byte.  With `last`, all bytes are decided, and the splitter is then
 * at the start of another text.
 *
 * At most 16 bytes remain undecided, except where a rule has unlimited lookahead: in cl100k, llama3,
 * qwen2 and o200k, from a line end through the white space after it; in o200k also from a capital
 * through the capitals after it.  Time is linear in the text, provided that a call which decides
 * nothing is followed by one with twice as much text.
 */
size_t tg_splitter_mark(tg_splitter *s, uint64_t *starts, const unsigned char *text, size_t n, bool last);

/*
 * Return the last place p, 0 < p < n, where text [n] may be cut: whatever comes before and after, a
 * piece begins at p, and splitting the text before p and the text from p on separately gives the same
 * pieces.  0: none was found in the last `reach` bytes.  Each rule recognizes some such places, such
 * as a ' ' after a letter.
 */
size_t tg_split_cut(tg_split split, const unsigned char *text, size_t n, size_t reach);

#endif
