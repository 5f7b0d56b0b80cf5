/*
 * A driver for fuzzing targets without libFuzzer: it runs every file that is named, and mutations of it.
 *
 *     NAME [-N] FILE...
 *
 * N mutations of each file, the same in every run; -1000 prints how many inputs it ran.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/input.h"

#pragma weak LLVMFuzzerCustomMutator

static uint32_t state;

static size_t below(size_t n)
{
    state = state * 1664525u + 1013904223u;
    return n > 0 ? (state >> 8) % n : 0;
}

/* One small change. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max)
{
    static const uint8_t odd[] = {0, 1, 0x7F, 0x80, 0xFF};
    const size_t at = below(size), room = size - at;
    const size_t n = 1 + below(room < 16 ? room : 16);

    if (size == 0)
        return 0;
    switch (below(6)) {
    case 0:
        data[at] ^= (uint8_t)(1u << below(8));
        return size;
    case 1:
        data[at] = odd[below(sizeof odd)];
        return size;
    case 2: /* a number, at once */
        memset(data + at, odd[below(sizeof odd)], room < 4 ? room : 4);
        return size;
    case 3: /* remove */
        if (n > room)
            return at;
        memmove(data + at, data + at + n, room - n);
        return size - n;
    case 4: /* repeat */
        if (n > room || size + n > max)
            return size;
        memmove(data + at + n, data + at, room);
        return size + n;
    default: /* copy from another place */
        memmove(data + at, data + below(size - n + 1), n <= room ? n : room);
        return size;
    }
}

/* Run an exact copy. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *const copy = malloc(size > 0 ? size : 1);

    must(copy != NULL);
    memcpy(copy, data, size);
    (void)LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

int main(int argc, char **argv)
{
    static uint8_t file[INPUT_MAX], mutant[INPUT_MAX];
    const int named = argc > 1 && argv[1][0] == '-';
    const unsigned mutations = named ? (unsigned)strtoul(argv[1] + 1, NULL, 10) : 0;
    unsigned long inputs = 0;

    for (int i = 1 + named; i < argc; i++) {
        FILE *const f = fopen(argv[i], "rb");
        size_t size;

        if (!f) {
            perror(argv[i]);
            return 3;
        }
        size = fread(file, 1, sizeof file, f);
        fclose(f);
        run(file, size);
        inputs++;
        for (unsigned m = 0; m < mutations; m++, inputs++) {
            state = m;
            memcpy(mutant, file, size);
            run(mutant, LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(mutant, size, INPUT_MAX, m)
                                                : LLVMFuzzerMutate(mutant, size, INPUT_MAX));
        }
    }
    printf("%lu inputs\n", inputs);
    return inputs == 0;
}
