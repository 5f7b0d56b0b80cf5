/*
 * split: divides a text into pieces, the first step of byte-level BPE.  No token crosses the
 * border of a piece.
 *
 * Each rule is known by a regular expression; here each is a linear pass of its own, which marks
 * where pieces begin.  Text may arrive in parts, cut anywhere, and pieces may have any length.
 *
 * A byte that is not part of a valid UTF-8 character counts as a character of its own that is
 * neither a letter, nor a number, nor white space.
 */
#ifndef TG_TEXT_SPLIT_H
#define TG_TEXT_SPLIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum tg_split {
    TG_SPLIT_NONE,        /* the whole text is one piece */
    TG_SPLIT_GPT2,        /* GPT-2, r50k, p50k; Hugging Face's "ByteLevel" */
    TG_SPLIT_GPT2_DIGITS, /* each number character first alone, then GPT-2's: SmolLM2 */
    TG_SPLIT_CL100K,      /* cl100k_base: llama3 except that white space at a text's end is one piece */
    TG_SPLIT_LLAMA3,      /* Llama 3 */
    TG_SPLIT_QWEN2,       /* Qwen2, 2.5 and 3: llama3 with each number character alone */
    TG_SPLIT_O200K,       /* o200k_base */
    TG_SPLITS             /* their number */
} tg_split;

/* Its name in archives and options: "none", "gpt2", "gpt2-digits", "cl100k", "llama3", "qwen2",
 * "o200k". */
const char *tg_split_name(tg_split split);

/* The rule with this name; false when none has it. */
bool tg_split_find(tg_split *split, const char *name);

typedef struct tg_splitter {
    tg_split split;
    uint32_t state; /* the rule's own; 0 at the start of a text */
} tg_splitter;

/* At the start of a text. */
void tg_splitter_start(tg_splitter *s, tg_split split);

/* Words of a bitmap of n bits. */
#define TG_SPLIT_WORDS(n) (((n) + 63) / 64)

/*
 * Mark the starts of pieces.
 *
 *   starts [TG_SPLIT_WORDS(n)]  written: bit i % 64 of word i / 64 says whether a piece begins at
 *                               text[i]; bits that are not decided are 0
 *   text [n]                    the bytes after those that earlier calls have decided
 *   last                        whether the text ends at text + n
 *
 * Returns the number of bytes that are decided: no further text can change their bits.  The next
 * call's text begins at the first byte that is not decided.  After `last` all are, and the
 * splitter is at the start of another text.
 *
 * At most 16 bytes stay undecided, except where a rule looks ahead without limit: in cl100k,
 * llama3, qwen2 and o200k, from a line's end through the white space after it; in o200k also from
 * a capital through the capitals after it.  Time is linear in the text provided that a call which
 * decides nothing is followed by one with twice the text.
 */
size_t tg_splitter_mark(tg_splitter *s, uint64_t *starts, const unsigned char *text, size_t n, bool last);

/*
 * A place 0 < p < n where text [n] may be cut: whatever comes before and after, a piece begins at
 * p, and the text before p and that from p on are split as texts of their own.  The last such
 * place; 0 when none is found in the last `reach` bytes: a rule knows some, as a ' ' after a
 * letter.
 */
size_t tg_split_cut(tg_split split, const unsigned char *text, size_t n, size_t reach);

#endif
