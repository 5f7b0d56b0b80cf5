/* safetensors: what is written is read; damaged and hostile files; the index of several files. */
#define _GNU_SOURCE /* memfd_create */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/safetensors.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"

/* A file with this header, and n bytes of data, each the low byte of its offset; to be freed. */
static unsigned char *make(const char *header, size_t n, size_t *size)
{
    const size_t length = strlen(header);
    unsigned char *file;

    *size = 8 + length + n;
    file = malloc(*size);
    for (size_t i = 0; i < 8; i++)
        file[i] = (unsigned char)((uint64_t)length >> 8 * i);
    memcpy(file + 8, header, length);
    for (size_t i = 0; i < n; i++)
        file[8 + length + i] = (unsigned char)i;
    return file;
}

/* Read a copy of exactly n bytes, so that a sanitizer sees what is read beyond them. */
static tg_status try(const unsigned char *file, size_t n, tg_err *err)
{
    unsigned char *copy = malloc(n + 1);
    tg_tensor_list list;
    tg_metadata metadata;
    tg_status status;

    memcpy(copy + 1, file, n);
    status = tg_safetensors_read(&list, &metadata, copy + 1, n, err);
    tg_tensor_list_free(&list);
    tg_metadata_free(&metadata);
    free(copy);
    return status;
}

static void expect_refused(const char *header, size_t n, const char *message)
{
    size_t size;
    unsigned char *file = make(header, n, &size);
    tg_err err = {0};

    CHECK_EQ(try(file, size, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    CHECK(!strchr(err.message, '\n'));
    free(file);
}

#define A "\"a\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}"
#define B "\"b\":{\"dtype\":\"BF16\",\"shape\":[],\"data_offsets\":[24,26]}"
#define E "\"e\":{\"dtype\":\"I64\",\"shape\":[0,9],\"data_offsets\":[24,24]}"
#define META "\"__metadata__\":{\"z\":\"1\",\"format\":\"pt\"}"

static void a_file(void)
{
    size_t size;
    unsigned char *file = make("{" B ",\n " META "," E "," A "}   ", 26, &size);
    tg_tensor_list list;
    tg_metadata metadata;
    const tg_stored *s;
    tg_err err = {0};

    CHECK_OK(tg_safetensors_read(&list, &metadata, file, size, &err), &err);
    CHECK_EQ(list.n, 3);
    CHECK(strcmp(list.tensor[0].array.name, "a") == 0 && strcmp(list.tensor[2].array.name, "b") == 0);
    s = tg_tensor_list_find(&list, "a");
    CHECK(tg_dtype_equal(s->array.dtype, TG_F32) && s->array.ndim == 2 && s->array.shape[1] == 3);
    CHECK(s->stored == 24 && s->at == file + size - 26 && s->array.data == s->at && s->offset == size - 26);
    s = tg_tensor_list_find(&list, "b");
    CHECK(tg_dtype_equal(s->array.dtype, TG_BF16) && s->array.ndim == 0 && s->array.count == 1);
    CHECK(*s->at == 24);
    CHECK_EQ(metadata.n, 2);
    CHECK(strcmp(metadata.pair[0].key, "format") == 0 && strcmp(metadata.pair[0].value, "pt") == 0);
    CHECK(strcmp(metadata.pair[1].value, "1") == 0);
    tg_tensor_list_free(&list);
    tg_metadata_free(&metadata);
    free(file);
    file = make("{}", 0, &size); /* no tensors */
    CHECK_OK(try(file, size, &err), &err);
    free(file);
}

/* Cut anywhere, it is refused. */
static void truncated(void)
{
    size_t size;
    unsigned char *file = make("{" META "," A "," B "}", 26, &size);
    tg_err err = {0};

    CHECK_OK(try(file, size, &err), &err);
    for (size_t n = 0; n < size; n++) {
        err.message[0] = '\0';
        CHECK_EQ(try(file, n, &err), TG_EDATA);
        CHECK(err.message[0] != '\0');
    }
    free(file);
}

static void wrong_places(void)
{
    expect_refused("{" A "}", 25, "the tensors end at offset");
    expect_refused("{" A "}", 23, "expected a place in 23 bytes");
    expect_refused("{" A "," B "," B "}", 26, "two tensors b");
    expect_refused("{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[23,24]}}", 24, "overlaps");
    expect_refused("{" A ",\"b\":{\"dtype\":\"F32\",\"shape\":[6],\"data_offsets\":[0,24]}}", 24,
                   "expected"); /* the same place */
    expect_refused("{" A ",\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[25,26]}}", 26,
                   "expected"); /* a gap */
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,2]}}", 2, "expected");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1,0]}}", 2, "1 to 0");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2, "room for 2 bytes");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0]}}", 3, "expected 2");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,3,3]}}", 3, "more than 2");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[0,18446744073709551616]}}", 3,
                   "line 1");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[-1,3]}}", 3, "line 1");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[18446744073709551615],\"data_offsets\":[0,3]}}", 3,
                   "memory");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]}}", 0,
                   "memory");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[4611686018427387904,0],\"data_offsets\":[0,0]}}", 0,
                   "memory");
    expect_refused("{\"a\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],\"data_offsets\":[0,1]}}", 1,
                   "more than 8");
}

static void wrong_json(void)
{
    char deep[400] = "{\"a\":";

    memset(deep + 5, '[', 300);
    expect_refused(deep, 0, "line 1");
    expect_refused("", 0, "line 1");
    expect_refused("[]", 0, "line 1");
    expect_refused("{} x", 0, "line 1");
    expect_refused("{" A ",}", 24, "line 1");
    expect_refused("{\"a\":7}", 0, "line 1");
    expect_refused("{\"a\":{}}", 0, "no \"dtype\"");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[]}}", 0, "no \"data_offsets\"");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4,
                   "twice");
    expect_refused("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[],\"data_offsets\":[0,1]}}", 1, "F8_E4M3");
    expect_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[1.5],\"data_offsets\":[0,4]}}", 4, "1.5");
    expect_refused("{\"\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "name is empty");
    expect_refused("{\"a b\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "\\x20");
    expect_refused("{\"a\\u0000\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, "\\x00");
    expect_refused("{" META "," META "}", 0, "twice");
    expect_refused("{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}", 0, "a key twice");
    expect_refused("{\"__metadata__\":{\"a\":1}}", 0, "line 1");
    expect_refused("{\"__metadata__\":{\"a\":\"\\u0000\"}}", 0, "NUL");
    expect_refused("{\"__metadata__\":[]}", 0, "line 1");
}

static void absurd_lengths(void)
{
    unsigned char file[64] = {0};
    tg_err err = {0};

    memset(file, 0xFF, 8);
    CHECK_EQ(try(file, sizeof file, &err), TG_EDATA);
    CHECK_HAS(err.message, "at most 100000000");
    memset(file, 0, 8);
    file[0] = 57; /* one more than there are */
    CHECK_EQ(try(file, sizeof file, &err), TG_EDATA);
    CHECK_HAS(err.message, "truncated: expected 57 bytes");
}

static size_t put_absurd(char *out, size_t kind, size_t i)
{
    if (kind == 0)
        return (size_t)sprintf(out, "\"%07zu\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]},", i);
    return (size_t)(kind == 1 ? sprintf(out, "\"%07zu\":\"\",", i) : sprintf(out, "1%07zu,", i));
}

/* A header of 20 MB: too many tensors, too many metadata, many shapes; each ends early. */
static void absurd_counts(void)
{
    static const char *const begins[] = {"{", "{\"__metadata__\":{", "{\"a\":{\"dtype\":\"U8\",\"shape\":["};
    static const char *const messages[] = {"more than 4096 tensors", "more than 4096 metadata", "line 1"};
    char *header = malloc(20000000);

    for (size_t k = 0; k < 3; k++) {
        size_t n = (size_t)sprintf(header, "%s", begins[k]);

        for (size_t i = 0; n < 19900000; i++)
            n += put_absurd(header + n, k, i);
        expect_refused(header, 0, messages[k]);
    }
    free(header);
}

/* ---- writing */

static void written(void)
{
    const tg_array arrays[] = {
        {.name = "wte.weight", .dtype = TG_F32, .ndim = 2, .shape = {5, 3}},
        {.name = "a\"quote\\", .dtype = TG_BF16, .ndim = 1, .shape = {7}},
        {.name = "one", .dtype = TG_I64},
        {.name = "none", .dtype = TG_F16, .ndim = 1, .shape = {0}},
    };
    unsigned char data[60 + 14 + 8], *map;
    const int fd = memfd_create("safetensors", 0);
    tg_safetensors_writer w;
    tg_tensor_list list;
    tg_metadata metadata;
    tg_err err = {0};
    size_t size;

    for (size_t i = 0; i < sizeof data; i++)
        data[i] = (unsigned char)(i * 7);
    CHECK_OK(tg_safetensors_begin(&w, fd, arrays, 4, &err), &err);
    CHECK_OK(tg_safetensors_put(&w, data, 61, &err), &err);
    CHECK_OK(tg_safetensors_put(&w, data + 61, sizeof data - 61, &err), &err);
    tg_safetensors_end(&w);
    size = (size_t)lseek(fd, 0, SEEK_END);
    CHECK_EQ((size - sizeof data) % 64, 0);
    map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK_OK(tg_safetensors_read(&list, &metadata, map, size, &err), &err);
    CHECK(metadata.n == 1 && strcmp(metadata.pair[0].key, "format") == 0);
    CHECK(strcmp(metadata.pair[0].value, "pt") == 0);
    CHECK_EQ(list.n, 4);
    for (size_t i = 0; i < 4; i++) {
        const tg_stored *s = tg_tensor_list_find(&list, arrays[i].name);

        CHECK(s && tg_dtype_equal(s->array.dtype, arrays[i].dtype) && s->array.ndim == arrays[i].ndim);
    }
    CHECK(memcmp(map + size - sizeof data, data, sizeof data) == 0);
    CHECK(memcmp(tg_tensor_list_find(&list, "one")->at, data + 74, 8) == 0);
    tg_tensor_list_free(&list);
    tg_metadata_free(&metadata);
    munmap(map, size);
    CHECK_EQ(tg_safetensors_begin(&w, fd, &(tg_array){.name = "s", .dtype = {'S', 3}}, 1, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "no type S3");
    close(fd);
}

static void too_large(void)
{
    tg_array arrays[5];
    tg_safetensors_writer w;
    tg_err err = {0};

    for (size_t i = 0; i < 5; i++) {
        arrays[i] = (tg_array){.dtype = TG_U8, .ndim = 1, .shape = {(size_t)1 << 62}};
        sprintf(arrays[i].name, "a%zu", i);
    }
    CHECK_EQ(tg_safetensors_begin(&w, -1, arrays, 5, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "a3: the sizes exceed the address space");
    arrays[0].shape[0] = SIZE_MAX;
    CHECK_EQ(tg_safetensors_begin(&w, -1, arrays, 1, &err), TG_EUSAGE);
    CHECK_HAS(err.message, "a0: the sizes exceed the address space");
}

/* A header that is longer than a sink's buffer. */
static void long_header(void)
{
    enum { N = 1000 };
    static tg_array arrays[N];
    const int fd = memfd_create("safetensors", 0);
    tg_safetensors_writer w;
    tg_tensor_list list;
    tg_metadata metadata;
    unsigned char *map;
    tg_err err = {0};
    size_t size;

    for (size_t i = 0; i < N; i++) {
        arrays[i] = (tg_array){.dtype = TG_U8, .ndim = 1, .shape = {0}};
        sprintf(arrays[i].name, "a%0100zu", i);
    }
    CHECK_OK(tg_safetensors_begin(&w, fd, arrays, N, &err), &err);
    tg_safetensors_end(&w);
    size = (size_t)lseek(fd, 0, SEEK_END);
    CHECK(size > N * 100 && size % 64 == 0);
    map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    CHECK_OK(tg_safetensors_read(&list, &metadata, map, size, &err), &err);
    CHECK_EQ(list.n, N);
    CHECK(tg_tensor_list_find(&list, arrays[N - 1].name));
    tg_tensor_list_free(&list);
    tg_metadata_free(&metadata);
    munmap(map, size);
    close(fd);
}

static void writes_without_memory(void)
{
    const tg_array array = {.name = "a name", .dtype = TG_F32, .ndim = 2, .shape = {0, 3}};
    const int fd = memfd_create("safetensors", 0);
    tg_safetensors_writer w;
    tg_status status;
    tg_err err = {0};

    failing_after(0);
    status = tg_safetensors_begin(&w, fd, &array, 1, &err);
    failing_after(-1);
    CHECK_OK(status, &err);
    tg_safetensors_end(&w);
    close(fd);
}

/* ---- the index */

static void expect_no_index(const char *text, const char *message)
{
    tg_shards shards;
    tg_err err = {0};

    CHECK_EQ(tg_shards_read(&shards, text, strlen(text), &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_shards_free(&shards);
}

static void indexes(void)
{
    static const char text[] =
        "{\"metadata\": {\"total_size\": 7}, \"weight_map\": {\"b\": \"m-2.safetensors\", "
        "\"c\": \"m-1.safetensors\", \"a\": \"m-2.safetensors\"}}";
    tg_shards shards;
    tg_err err = {0};

    CHECK_OK(tg_shards_read(&shards, text, strlen(text), &err), &err);
    CHECK(shards.n_files == 2 && shards.n_tensors == 3);
    CHECK(strcmp(shards.file[0], "m-2.safetensors") == 0);
    CHECK(strcmp(shards.tensor[0].name, "a") == 0 && shards.tensor[0].file == shards.file[0]);
    CHECK(strcmp(shards.tensor[2].name, "c") == 0 && shards.tensor[2].file == shards.file[1]);
    tg_shards_free(&shards);
    for (size_t n = 0; n < sizeof text - 1; n++) {
        CHECK_EQ(tg_shards_read(&shards, text, n, &err), TG_EDATA);
        tg_shards_free(&shards);
    }
    expect_no_index("{}", "no \"weight_map\"");
    expect_no_index("{\"weight_map\": {}}", "empty");
    expect_no_index("{\"weight_map\": {\"a\": \"x\", \"a\": \"y\"}}", "twice");
    expect_no_index("{\"weight_map\": {\"a\": \"../x\"}}", "same directory");
    expect_no_index("{\"weight_map\": {\"a\": \"/x\"}}", "same directory");
    expect_no_index("{\"weight_map\": {\"a\": \"\"}}", "same directory");
    expect_no_index("{\"weight_map\": {\"a\": \"..\"}}", "same directory");
    expect_no_index("{\"weight_map\": {\"a\": \"x\\u0000y\"}}", "same directory");
    expect_no_index("{\"weight_map\": {\"a\": 1}}", "line 1");
    expect_no_index("{\"weight_map\": {\"a\\u0000\": \"x\"}}", "more than 127 bytes, or a NUL");
}

static void limits_of_indexes(void)
{
    char *text = malloc(200000);
    size_t n = (size_t)sprintf(text, "{\"weight_map\": {\"a\": \"");

    memset(text + n, 'x', 256);
    strcpy(text + n + 256, "\"}}");
    expect_no_index(text, "same directory");
    n = (size_t)sprintf(text, "{\"weight_map\": {");
    for (size_t i = 0; i < 4097; i++)
        n += (size_t)sprintf(text + n, "%s\"%zu\": \"x\"", i > 0 ? ", " : "", i);
    strcpy(text + n, "}}");
    expect_no_index(text, "more than 4096 tensors");
    free(text);
}

int main(void)
{
    RUN(a_file);
    RUN(truncated);
    RUN(wrong_places);
    RUN(wrong_json);
    RUN(absurd_lengths);
    RUN(absurd_counts);
    RUN(written);
    RUN(too_large);
    RUN(long_header);
    RUN(writes_without_memory);
    RUN(indexes);
    RUN(limits_of_indexes);
    return check_done();
}
