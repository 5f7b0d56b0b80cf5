/*
 * The files of tg-convert --map.
 *
 * Each row of a map that is read has two names, and the first is found by the second's rule.
 */
#include <string.h>

#include "lib/models/model_format.h"
#include "tests/fuzz/input.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const int fd = input_file(data, size);
    tg_name_map map;
    char path[32];
    tg_err err = {0};

    if (tg_name_map_read(&map, input_path(path, fd), &err)) {
        must(err.message[0] != '\0');
        return 0;
    }
    for (size_t i = 0; i < map.names.n; i++) {
        size_t layer;

        must(map.row[i].pattern[0] != '\0' && map.row[i].part < TG_NAME_PARTS);
        if (!strchr(map.row[i].pattern, 'N'))
            must(tg_names_find(&map.names, map.row[i].pattern, &layer) != NULL);
    }
    tg_name_map_free(&map);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    static const char text[] =
        "# THEIRS OURS\nemb wte.weight\nblocks.N.attn.W h.N.attn.c_attn.weight transposed\n"
        "b.N.q h.N.attn.q_proj.weight # a third\nblocks.N.mask -\nfinal/g ln_f.weight\n";

    (void)seed;
    return LLVMFuzzerMutate(data, size < 10 ? input_seed(data, max, text) : size, max);
}
