/* torch_zip: ZIP files laid out as PyTorch lays them out, for tests: sizes in descriptors after the
 * data, which begin on multiples of 64 bytes, and a central directory. */
#ifndef TG_TESTS_TORCH_ZIP_H
#define TG_TESTS_TORCH_ZIP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TORCH_ZIP_MAX 65536
#define TORCH_ZIP_MEMBERS 40

typedef struct torch_zip {
    bool wide;  /* sizes and offsets in zip64 fields, and zip64 end records */
    bool sized; /* sizes in local headers, no descriptors */
    unsigned char bytes[TORCH_ZIP_MAX];
    size_t n;
    struct {
        char name[160];
        size_t header, data, size;
        uint32_t crc;
    } member[TORCH_ZIP_MEMBERS];
    size_t members;
    size_t directory; /* offset, once ended */
} torch_zip;

void torch_zip_put(torch_zip *z, const char *name, const void *data, size_t n);
void torch_zip_end(torch_zip *z);

/* The members of every such file, then torch_zip_put() of storages and torch_zip_end(). */
void torch_zip_begin(torch_zip *z, const void *pickle, size_t n);

/* Correct the checksums in the directory of a file that may be damaged. */
void torch_zip_repair(unsigned char *bytes, size_t n);

/* A pickle of {"model": {"w": [2,3] of storage 0, "t": its transpose, "v": [2] of storage 0 at 4,
 * "b": [2] bfloat16 of storage 1}, "model_args": {"n_head": 2, "bias": False}}; storage 0 has 6 float32. */
extern const char torch_zip_pickle[];
extern const size_t torch_zip_pickle_n;

#endif
