/*
 * A driver for fuzzing targets without libFuzzer: it runs every file that is named, and mutations of it.
 *
 *     NAME [-N] FILE...
 *     NAME -failing[N] FILE...
 *
 * N mutations of each file, the same in every run.
 *
 * -failing: each file again and again, with the n-th allocation, mapping or read of an input by the library
 * failing, n = 1, 2, ... until none fails any more, and all from the n-th on; with a step of N instead of 1,
 * from another n for each file.
 * With the address sanitizer no memory may be lost then, except by a fuzzer that is abandoned where it
 * expects success.
 *
 * Prints how many inputs it ran, and how often a call failed.
 */
#define _GNU_SOURCE /* close_range */
#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fuzz/input.h"
#include "tests/unit/failing.h"

#pragma weak LLVMFuzzerCustomMutator

/* Of the address sanitizer, where there is one: bytes of the heap. */
size_t __sanitizer_get_current_allocated_bytes(void);
#pragma weak __sanitizer_get_current_allocated_bytes

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

/* Run an exact copy.  False: it was abandoned. */
static bool run(const uint8_t *data, size_t size)
{
    uint8_t *const copy = malloc(size > 0 ? size : 1);
    volatile bool ended = false;

    must(copy != NULL);
    memcpy(copy, data, size);
    if (setjmp(input_abandoned) == 0) {
        (void)LLVMFuzzerTestOneInput(copy, size);
        ended = true;
    }
    free(copy);
    return ended;
}

static size_t heap_bytes(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes() : 0;
}

/* Whether a call failed.  What an abandoned fuzzer has left open is closed, from the descriptor `after` on.
 */
static bool run_failing(const uint8_t *data, size_t size, size_t n, bool all, int after)
{
    const size_t before = heap_bytes();
    bool failed;

    if (all)
        failing_after((long)n - 1);
    else
        failing_once_after((long)n - 1);
    if (run(data, size) && heap_bytes() != before) {
        fprintf(stderr, "call %zu failed: %zu bytes of memory before, %zu after\n", n, before, heap_bytes());
        abort();
    }
    failed = failing_failed();
    failing_after(-1);
    input_forget();
    must(close_range((unsigned)after, ~0u, 0) == 0);
    return failed;
}

static unsigned long fail_calls(const uint8_t *data, size_t size, size_t first, size_t step)
{
    unsigned long failures = 0;
    const int after = dup(0);

    must(after >= 0 && close(after) == 0);
    for (int all = 0; all < 2; all++)
        for (size_t n = first; run_failing(data, size, n, all, after); n += step)
            failures++;
    return failures;
}

static unsigned long mutate(const uint8_t *data, size_t size, unsigned long mutations)
{
    static uint8_t mutant[INPUT_MAX];

    for (unsigned m = 0; m < mutations; m++) {
        state = m;
        memcpy(mutant, data, size);
        (void)run(mutant, LLVMFuzzerCustomMutator ? LLVMFuzzerCustomMutator(mutant, size, INPUT_MAX, m)
                                                  : LLVMFuzzerMutate(mutant, size, INPUT_MAX));
    }
    return mutations;
}

int main(int argc, char **argv)
{
    static uint8_t file[INPUT_MAX];
    const bool named = argc > 1 && argv[1][0] == '-';
    const bool failing = named && strncmp(argv[1], "-failing", 8) == 0;
    const unsigned long n = named ? strtoul(argv[1] + (failing ? 8 : 1), NULL, 10) : 0, step = n > 0 ? n : 1;
    unsigned long inputs = 0, failures = 0;

    for (int i = 1 + named; i < argc; i++) {
        FILE *const f = fopen(argv[i], "rb");
        size_t size;

        if (!f) {
            perror(argv[i]);
            return 3;
        }
        size = fread(file, 1, sizeof file, f);
        fclose(f);
        (void)run(file, size);
        inputs++;
        if (failing)
            failures += fail_calls(file, size, 1 + (unsigned)i % step, step);
        else
            inputs += mutate(file, size, n);
    }
    printf("%lu inputs", inputs);
    if (failing)
        printf(", %lu failures", failures);
    putchar('\n');
    return inputs == 0;
}
