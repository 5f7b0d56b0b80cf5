/* split_text RULE: the pieces of the text on standard input, as their bytes' numbers, one a line:
 * for tests/judges.  With a number after the rule the text is given in parts of so many bytes. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/split/split.h"

static unsigned char *read_all(size_t *n)
{
    size_t capacity = 1 << 16, got;
    unsigned char *text = malloc(capacity);

    *n = 0;
    while (text && (got = fread(text + *n, 1, capacity - *n, stdin)) > 0) {
        *n += got;
        if (*n == capacity)
            text = realloc(text, capacity *= 2);
    }
    return text;
}

int main(int argc, char **argv)
{
    tg_splitter splitter;
    tg_split split;
    size_t n, part, piece = 0, at = 0, end;
    unsigned char *text;
    uint64_t *starts;

    if (argc < 2 || !tg_split_find(&split, argv[1]))
        return 2;
    text = read_all(&n);
    starts = calloc(TG_SPLIT_WORDS(n) + 1, sizeof *starts);
    part = argc > 2 ? strtoull(argv[2], NULL, 10) : n;
    if (!text || !starts)
        return 3;
    tg_splitter_start(&splitter, split);
    for (end = tg_size_min(part, n);; end = tg_size_min(end + part, n)) {
        const size_t settled = tg_splitter_mark(&splitter, starts, text + at, end - at, end == n);

        for (size_t i = 0; i < settled; i++) {
            if (at + i > 0 && starts[i / 64] >> i % 64 & 1) {
                printf("%zu\n", at + i - piece);
                piece = at + i;
            }
        }
        at += settled;
        if (end == n)
            break;
    }
    if (n > 0)
        printf("%zu\n", n - piece);
    free(starts);
    free(text);
    return 0;
}
