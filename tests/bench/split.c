#include "tests/bench/split.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/rng.h"
#include "lib/base/size.h"

enum { BLOCK = 1 << 16 }; /* bytes that a call is given */

struct split {
    tg_split rule;
    uint64_t starts[TG_SPLIT_WORDS(BLOCK)];
    size_t n;
    unsigned char text[4 << 20];
};

void split_text(unsigned char *text, size_t n)
{
    static const char letters[] = "eeeeeeeeeeeetttttttttaaaaaaaaooooooooiiiiiiinnnnnnnsssssshhhhhhrrrrrr"
                                  "ddddllllcccuuummmwwffggyyppbbvk";
    static const char *const ends[] = {", ", ". ", "\n", "'s ", "; ", " 1984 ", ".\n\n", "'t ", " (", ") "};
    const tg_rng rng = {.seed = 1, .purpose = TG_RNG_SAMPLE};
    size_t i = 0;

    for (uint64_t word = 0; i < n; word++) {
        const uint64_t number = tg_rng_u64(&rng, word);
        const size_t length = 1 + (number & 3) + (number >> 2 & 3) + (number >> 4 & 1) * (number >> 5 & 3);
        const char *end =
            (number >> 8 & 7) == 0 ? ends[(number >> 11) % (sizeof ends / sizeof ends[0])] : " ";

        for (size_t k = 0; k < length && i < n; k++)
            text[i++] = (unsigned char)letters[tg_rng_u64(&rng, 16 * word + k + 1) % (sizeof letters - 1)];
        for (size_t k = 0; end[k] && i < n; k++)
            text[i++] = (unsigned char)end[k];
    }
}

struct split *split_open(tg_split rule)
{
    struct split *s = calloc(1, sizeof *s);

    if (!s) {
        fputs("bench: out of memory\n", stderr);
        exit(3);
    }
    s->rule = rule;
    s->n = sizeof s->text;
    split_text(s->text, s->n);
    return s;
}

double split_run(void *context)
{
    struct split *s = context;
    tg_splitter splitter;

    tg_splitter_start(&splitter, s->rule);
    for (size_t at = 0; at < s->n;) {
        const size_t n = tg_size_min(s->n - at, BLOCK);

        at += tg_splitter_mark(&splitter, s->starts, s->text + at, n, at + n == s->n);
    }
    return (double)s->n;
}
