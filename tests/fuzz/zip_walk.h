/*
 * zip_walk: a second reader of zip files, from their central directory, for the fuzzers: it shares no code
 * with formats/zip_*.c, and knows what must hold in an archive that those accept.
 */
#ifndef TG_TESTS_FUZZ_ZIP_WALK_H
#define TG_TESTS_FUZZ_ZIP_WALK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What an archive holds: how many arrays, and the CRC-32 of their data, one after another. */
typedef struct zip_sum {
    size_t arrays;
    uint32_t crc;
} zip_sum;

/*
 * Whether data [size] is one zip file of .npy arrays, each with the CRC-32 and the sizes that the directory
 * states, and as many bytes as its shape needs.
 */
bool zip_walk(zip_sum *sum, const uint8_t *data, size_t size);

/* Correct the CRC-32 of each member, stored or deflated, wherever it is written, as far as the structure
 * can be followed from the front. */
void zip_repair(uint8_t *data, size_t size);

/* Change a byte among the last 32 of a member, where an array's data are.  False: there is no member. */
bool zip_change(uint8_t *data, size_t size, unsigned seed);

#endif
