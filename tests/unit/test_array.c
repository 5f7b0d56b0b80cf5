/* What an array is, and which format a file has. */
#include <stdlib.h>
#include <string.h>

#include "lib/tg/array.h"
#include "formats/format.h"
#include "tests/unit/check.h"

/* ---- arrays */

static void expect_measure(tg_dtype dtype, size_t ndim, size_t rows, size_t columns, size_t bytes)
{
    tg_array a = {.dtype = dtype, .ndim = ndim, .shape = {rows, columns}};

    CHECK(tg_array_measure(&a));
    CHECK_EQ(a.bytes, bytes);
    CHECK_EQ(a.count * dtype.size, bytes);
}

static void measuring(void)
{
    tg_array huge = {.dtype = TG_F32, .ndim = 2, .shape = {SIZE_MAX / 4, 1}};

    expect_measure(TG_F32, 2, 2, 3, 24);
    expect_measure(TG_F16, 2, 2, 3, 12);
    expect_measure(TG_BF16, 2, 2, 3, 12);
    expect_measure(TG_BF16, 0, 0, 0, 2);
    expect_measure(TG_F64, 1, 0, 0, 0);
    CHECK(!tg_array_measure(&huge)); /* beyond PTRDIFF_MAX */
    huge.shape[1] = 5;
    CHECK(!tg_array_measure(&huge)); /* beyond SIZE_MAX */
    huge.shape[1] = 0;
    CHECK(!tg_array_measure(&huge)); /* the other dimension alone is too large */
    /* 2^64 + 16 bytes; 2^63 and the most below it */
    CHECK(!tg_array_measure(&(tg_array){.dtype = TG_F32, .ndim = 1, .shape = {SIZE_MAX / 4 + 5}}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = TG_F64, .ndim = 2, .shape = {SIZE_MAX / 8 + 3, 1}}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = {'S', SIZE_MAX / 2 + 9}, .ndim = 1, .shape = {2}}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = TG_U8, .ndim = 1, .shape = {(size_t)PTRDIFF_MAX + 1}}));
    CHECK(tg_array_measure(&(tg_array){.dtype = TG_U8, .ndim = 1, .shape = {PTRDIFF_MAX}}));
    CHECK(tg_array_measure(&(tg_array){.dtype = TG_F32, .ndim = TG_DIMS_MAX}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = TG_F32, .ndim = TG_DIMS_MAX + 1}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = {'B', 4}}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = {'f', 1}}));
    CHECK(!tg_array_measure(&(tg_array){.dtype = {'S', 0}}));
}

static void types_in_words(void)
{
    char text[TG_ARRAY_TEXT_MAX];

    CHECK(strcmp(tg_dtype_text(text, TG_F32), "<f4") == 0);
    CHECK(strcmp(tg_dtype_text(text, TG_U8), "|u1") == 0);
    CHECK(strcmp(tg_dtype_text(text, TG_F16), "<f2") == 0);
    CHECK(strcmp(tg_dtype_text(text, TG_BF16), "bf16") == 0);
    CHECK(strcmp(tg_dtype_text(text, (tg_dtype){'S', 6}), "|S6") == 0);
    CHECK(strcmp(tg_shape_text(text, 0, NULL), "()") == 0);
    CHECK(strcmp(tg_shape_text(text, 1, (size_t[]){5}), "(5,)") == 0);
    CHECK(strcmp(tg_shape_text(text, 2, (size_t[]){2, 3}), "(2, 3)") == 0);
    CHECK(tg_dtype_equal(TG_BF16, TG_BF16) && !tg_dtype_equal(TG_BF16, TG_F16));
}

/* ---- formats */

#define RECOGNIZE(bytes) tg_format_recognize(bytes, sizeof(bytes) - 1)

static void recognizing(void)
{
    CHECK_EQ(RECOGNIZE("PK\3\4....."), TG_FORMAT_ZIP);
    CHECK_EQ(RECOGNIZE("PK\5\6"), TG_FORMAT_ZIP_EMPTY);
    CHECK_EQ(RECOGNIZE("PK\7\10"), TG_FORMAT_ZIP_SPLIT);
    CHECK_EQ(RECOGNIZE("\x93NUMPY\1\0"), TG_FORMAT_NPY);
    CHECK_EQ(RECOGNIZE("GGUF\3\0\0\0"), TG_FORMAT_GGUF);
    CHECK_EQ(RECOGNIZE("\xC6\xD7\x34\x01"), TG_FORMAT_LLMC_MODEL);
    CHECK_EQ(RECOGNIZE("\x88\xD8\x34\x01"), TG_FORMAT_LLMC_TOKENS);
    CHECK_EQ(RECOGNIZE("\xC8\xD7\x34\x01"), TG_FORMAT_LLMC_TOKENIZER);
    CHECK_EQ(RECOGNIZE("24ka\1\0\0\0"), TG_FORMAT_LLAMA2C_MODEL);
    CHECK_EQ(RECOGNIZE("24ka\0\0\1\0"), TG_FORMAT_UNKNOWN);
    CHECK_EQ(RECOGNIZE("24karat gold"), TG_FORMAT_TEXT);
    CHECK_EQ(RECOGNIZE("\x1F\x8B\x08"), TG_FORMAT_GZIP);
    CHECK_EQ(RECOGNIZE("BZh9"), TG_FORMAT_BZIP2);
    CHECK_EQ(RECOGNIZE("\xFD\x37zXZ\0"), TG_FORMAT_XZ);
    CHECK_EQ(RECOGNIZE("\x28\xB5\x2F\xFD"), TG_FORMAT_ZSTD);
    CHECK_EQ(RECOGNIZE("\x80\x02}"), TG_FORMAT_PICKLE_2);
    CHECK_EQ(RECOGNIZE("\x80\x04\x95"), TG_FORMAT_PICKLE);
    CHECK_EQ(RECOGNIZE("\x89HDF\r\n\x1a\n"), TG_FORMAT_HDF5);
    CHECK_EQ(RECOGNIZE("\x7F\x45LF\2"), TG_FORMAT_ELF);
    CHECK_EQ(RECOGNIZE("plain\ttext\n"), TG_FORMAT_TEXT);
    CHECK_EQ(RECOGNIZE("K\xC3\xB6ln"), TG_FORMAT_TEXT);
    CHECK_EQ(RECOGNIZE("PK"), TG_FORMAT_TEXT);
    CHECK_EQ(RECOGNIZE(""), TG_FORMAT_UNKNOWN);
    CHECK_EQ(RECOGNIZE("text\0"), TG_FORMAT_UNKNOWN);
    CHECK_EQ(RECOGNIZE("\x02\x03"), TG_FORMAT_UNKNOWN);
}

/* The header's length counts: it must be one that a reader would accept. */
static void recognizing_safetensors(void)
{
    CHECK_EQ(RECOGNIZE("\x02\0\0\0\0\0\0\0{}"), TG_FORMAT_SAFETENSORS);
    CHECK_EQ(RECOGNIZE("\0\xE1\xF5\x05\0\0\0\0{"), TG_FORMAT_SAFETENSORS); /* 100,000,000 */
    CHECK_EQ(RECOGNIZE("\1\xE1\xF5\x05\0\0\0\0{"), TG_FORMAT_UNKNOWN);
    CHECK_EQ(RECOGNIZE("\1\0\0\0\0\0\0\0{"), TG_FORMAT_UNKNOWN);
    CHECK_EQ(RECOGNIZE("\x02\0\0\0\0\0\0\0["), TG_FORMAT_UNKNOWN);
    CHECK_EQ(RECOGNIZE("\x02\0\0\0\0\0\0\0"), TG_FORMAT_UNKNOWN);
}

/* Text is judged by TG_FORMAT_BYTES bytes, whatever follows them. */
static void recognizing_long_text(void)
{
    char text[TG_FORMAT_BYTES + 1];

    memset(text, 'a', sizeof text);
    text[TG_FORMAT_BYTES] = '\0';
    CHECK_EQ(tg_format_recognize(text, sizeof text), TG_FORMAT_TEXT);
    text[TG_FORMAT_BYTES - 1] = '\0';
    CHECK_EQ(tg_format_recognize(text, sizeof text), TG_FORMAT_UNKNOWN);
}

static void formats_in_words(void)
{
    CHECK(!tg_format_text(TG_FORMAT_UNKNOWN));
    for (tg_format format = TG_FORMAT_UNKNOWN + 1; format < TG_FORMATS; format++)
        CHECK(tg_format_text(format) && strlen(tg_format_text(format)) > 0);
    CHECK_HAS(tg_format_text(TG_FORMAT_GZIP), "decompress it first");
}

int main(void)
{
    RUN(measuring);
    RUN(types_in_words);
    RUN(recognizing);
    RUN(recognizing_safetensors);
    RUN(recognizing_long_text);
    RUN(formats_in_words);
    return check_done();
}
