#include "formats/format.h"

#include <stdbool.h>
#include <string.h>

#include "formats/span.h"
#include "formats/zip.h"
#include "lib/base/size.h"

static const char *const texts[TG_FORMATS] = {
    [TG_FORMAT_UNKNOWN] = NULL,
    [TG_FORMAT_ZIP] = "a zip file",
    [TG_FORMAT_ZIP_EMPTY] = "a zip file without members",
    [TG_FORMAT_ZIP_SPLIT] = "one part of a split zip file",
    [TG_FORMAT_NPY] = "a single .npy array; put it in an .npz (np.savez)",
    [TG_FORMAT_SAFETENSORS] = "a safetensors file",
    [TG_FORMAT_GGUF] = "a GGUF model",
    [TG_FORMAT_LLMC_MODEL] = "an llm.c model",
    [TG_FORMAT_LLMC_TOKENS] = "llm.c tokens",
    [TG_FORMAT_LLMC_TOKENIZER] = "an llm.c tokenizer",
    [TG_FORMAT_LLAMA2C_MODEL] = "a llama2.c model",
    [TG_FORMAT_PICKLE] = "a Python pickle",
    [TG_FORMAT_PICKLE_2] = "a Python pickle, perhaps an old PyTorch file",
    [TG_FORMAT_HDF5] = "an HDF5 file",
    [TG_FORMAT_GZIP] = "gzip data; decompress it first",
    [TG_FORMAT_BZIP2] = "bzip2 data; decompress it first",
    [TG_FORMAT_XZ] = "xz data; decompress it first",
    [TG_FORMAT_ZSTD] = "zstd data; decompress it first",
    [TG_FORMAT_ELF] = "an ELF executable",
    [TG_FORMAT_TEXT] = "plain text",
};

static const struct magic {
    const char *bytes;
    size_t n;
    tg_format format;
} magics[] = {
    {"PK\3\4", 4, TG_FORMAT_ZIP},
    {"PK\5\6", 4, TG_FORMAT_ZIP_EMPTY},
    {"PK\7\10", 4, TG_FORMAT_ZIP_SPLIT},
    {"\x93NUMPY", 6, TG_FORMAT_NPY},
    {"GGUF", 4, TG_FORMAT_GGUF},
    {"\xC6\xD7\x34\x01", 4, TG_FORMAT_LLMC_MODEL},
    {"\x88\xD8\x34\x01", 4, TG_FORMAT_LLMC_TOKENS},
    {"\xC8\xD7\x34\x01", 4, TG_FORMAT_LLMC_TOKENIZER},
    {"\x1F\x8B", 2, TG_FORMAT_GZIP},
    {"BZh", 3, TG_FORMAT_BZIP2},
    {"\xFD\x37zXZ", 5, TG_FORMAT_XZ},
    {"\x28\xB5\x2F\xFD", 4, TG_FORMAT_ZSTD},
    {"\x80\x02", 2, TG_FORMAT_PICKLE_2},
    {"\x80\x03", 2, TG_FORMAT_PICKLE},
    {"\x80\x04", 2, TG_FORMAT_PICKLE},
    {"\x80\x05", 2, TG_FORMAT_PICKLE},
    {"\x89HDF\r\n", 6, TG_FORMAT_HDF5},
    {"\x7F\x45LF", 4, TG_FORMAT_ELF},
};

/* A 64-bit length of at most 100,000,000, then the opening brace of the JSON header. */
static bool is_safetensors(const unsigned char *p, size_t n)
{
    return n >= 9 && p[8] == '{' && tg_get64(p) >= 2 && tg_get64(p) <= 100000000;
}

/* 0x616B3432, which is text, then a version below 65536, which is none. */
static bool is_llama2c(const unsigned char *p, size_t n)
{
    return n >= 8 && memcmp(p, "24ka", 4) == 0 && tg_get16(p + 6) == 0;
}

static bool is_text(const unsigned char *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] >= 0x20 ? p[i] == 0x7F : p[i] == 0 || !strchr("\a\b\t\n\v\f\r\x1B", p[i]))
            return false;
    return n > 0;
}

tg_format tg_format_recognize(const void *first, size_t n)
{
    const unsigned char *p = first;

    for (size_t i = 0; i < sizeof magics / sizeof magics[0]; i++)
        if (n >= magics[i].n && memcmp(p, magics[i].bytes, magics[i].n) == 0)
            return magics[i].format;
    if (is_safetensors(p, n))
        return TG_FORMAT_SAFETENSORS;
    if (is_llama2c(p, n))
        return TG_FORMAT_LLAMA2C_MODEL;
    return is_text(p, tg_size_min(n, TG_FORMAT_BYTES)) ? TG_FORMAT_TEXT : TG_FORMAT_UNKNOWN;
}

tg_format_member tg_format_zip(const void *first, size_t n)
{
    static const char kind[] = "kind.npy";
    const unsigned char *const p = first;
    tg_span name;

    if (n < TG_ZIP_LOCAL || !tg_zip_magic(first, n))
        return TG_MEMBER_NONE;
    if (n >= TG_ZIP_LOCAL + strlen(kind) && memcmp(p + TG_ZIP_LOCAL, kind, strlen(kind)) == 0)
        return TG_MEMBER_KIND; /* whatever its length says: that will be refused */
    name = (tg_span){(const char *)p + TG_ZIP_LOCAL, tg_get16(p + 26)};
    if (name.n < 5 || name.n > n - TG_ZIP_LOCAL)
        return TG_MEMBER_ODD;
    return tg_span_ends(name, ".npy")        ? TG_MEMBER_ARRAY
           : tg_span_ends(name, "/data.pkl") ? TG_MEMBER_PICKLE
                                             : TG_MEMBER_OTHER;
}

const char *tg_format_text(tg_format format)
{
    return texts[format];
}
