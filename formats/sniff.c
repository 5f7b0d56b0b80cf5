#include "formats/sniff.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "lib/base/size.h"

static const struct {
    const char *bytes;
    size_t n;
    const char *what;
} known[] = {
    {"PK\3\4", 4, "a zip file"},
    {"PK\5\6", 4, "a zip file without members"},
    {"PK\7\10", 4, "a zip file split in parts"},
    {"\x93NUMPY", 6, "a single .npy array; put it in an .npz (np.savez)"},
    {"GGUF", 4, "a GGUF model"},
    {"\xC6\xD7\x34\x01", 4, "an llm.c model"},
    {"\x88\xD8\x34\x01", 4, "llm.c tokens"},
    {"\xC8\xD7\x34\x01", 4, "an llm.c tokenizer"},
    {"\x1F\x8B", 2, "gzip data; decompress it first"},
    {"BZh", 3, "bzip2 data; decompress it first"},
    {"\xFD"
     "7zXZ",
     5, "xz data; decompress it first"},
    {"\x28\xB5\x2F\xFD", 4, "zstd data; decompress it first"},
    {"\x80\x02", 2, "a Python pickle, perhaps an old PyTorch file"},
    {"\x80\x03", 2, "a Python pickle"},
    {"\x80\x04", 2, "a Python pickle"},
    {"\x80\x05", 2, "a Python pickle"},
    {"\x89HDF\r\n", 6, "an HDF5 file"},
    {"\x7F"
     "ELF",
     4, "a program"},
};

/* A u64 length of at most 100,000,000, then the JSON's opening brace. */
static bool is_safetensors(const unsigned char *p, size_t n)
{
    uint64_t length = 0;

    if (n < 9 || p[8] != '{')
        return false;
    for (size_t i = 8; i-- > 0;)
        length = length << 8 | p[i];
    return length >= 2 && length <= 100000000;
}

/* Text in any encoding that extends ASCII: no control bytes but the usual ones. */
static bool is_text(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == 0x7F || (p[i] < 0x20 && !strchr("\a\b\t\n\v\f\r\x1B", p[i])) || p[i] == 0)
            return false;
    return n > 0;
}

const char *tg_sniff(const void *first, size_t n)
{
    const unsigned char *p = first;

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (n >= known[i].n && memcmp(p, known[i].bytes, known[i].n) == 0)
            return known[i].what;
    if (is_safetensors(p, n))
        return "a safetensors file";
    if (is_text(p, tg_size_min(n, TG_SNIFF_BYTES)))
        return "plain text";
    return NULL;
}
