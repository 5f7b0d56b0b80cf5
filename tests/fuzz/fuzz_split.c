/* Fuzzer: a text split in parts, against its expression; its normal form, in parts and at once. */
#include <stdint.h>
#include <string.h>

#include "lib/base/size.h"
#include "lib/unicode/normalize.h"
#include "lib/split/split.h"
#include "tests/fuzz/input.h"
#include "tests/unit/ref_split.h"

enum { MAX = 1 << 12 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void split(tg_split rule, const unsigned char *text, size_t n, size_t part)
{
    static uint64_t want[TG_SPLIT_WORDS(MAX)], got[TG_SPLIT_WORDS(MAX)], starts[TG_SPLIT_WORDS(MAX)];
    tg_splitter s;
    size_t at = 0, end = 0;

    memset(want, 0, sizeof want);
    memset(got, 0, sizeof got);
    ref_split(want, rule, text, n);
    tg_splitter_start(&s, rule);
    do {
        size_t decided;

        end = tg_size_min(end + part, n);
        decided = tg_splitter_mark(&s, starts, text + at, end - at, end == n);
        for (size_t i = 0; i < decided; i++)
            got[(at + i) / 64] |= (starts[i / 64] >> i % 64 & 1) << (at + i) % 64;
        at += decided;
    } while (end < n);
    must(at == n && memcmp(got, want, sizeof got) == 0);
}

static size_t normalize(unsigned char *out, const unsigned char *text, size_t n, size_t part)
{
    size_t used = 0, end = 0;
    tg_nfc *nfc;

    must(tg_nfc_create(&nfc, NULL) == TG_OK);
    for (size_t at = 0; at == 0 || at < n; at = end) {
        const unsigned char *normal;
        size_t normal_n;

        end = tg_size_min(at + part, n);
        must(tg_nfc_next(nfc, &normal, &normal_n, text + at, end - at, end == n, NULL) == TG_OK);
        if (normal_n > 0)
            memcpy(out + used, normal, normal_n);
        used += normal_n;
        if (end == n)
            break;
    }
    tg_nfc_free(nfc);
    return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static unsigned char out[2][4 * MAX];
    size_t n, part, normal_n;

    if (size < 2 || size > MAX)
        return 0;
    part = 1 + data[1];
    n = size - 2;
    split((tg_split)(data[0] % TG_SPLITS), data + 2, n, part);
    normal_n = normalize(out[0], data + 2, n, n + 1);
    must(normalize(out[1], data + 2, n, part) == normal_n && memcmp(out[0], out[1], normal_n) == 0);
    must(normalize(out[1], out[0], normal_n, part) == normal_n && memcmp(out[0], out[1], normal_n) == 0);
    return 0;
}
