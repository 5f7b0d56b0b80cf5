/* The list of a file's tensors, and their values as float32. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/tensor_list.h"
#include "tests/unit/check.h"

static unsigned char file[4096];

/* A tensor of n bytes (type u8) at an offset of the file. */
static tg_stored place(const char *name, size_t offset, size_t n)
{
    tg_stored s = {.array = {.dtype = TG_U8, .ndim = 1, .shape = {n}}, .offset = offset, .stored = n};

    strcpy(s.array.name, name);
    s.at = file + offset;
    s.array.data = s.at;
    CHECK(tg_array_measure(&s.array));
    return s;
}

static void add(tg_tensor_list *list, const char *name, size_t offset, size_t n)
{
    const tg_stored s = place(name, offset, n);
    tg_err err = {0};

    CHECK_OK(tg_tensor_list_add(list, &s, &err), &err);
}

static void arranging(void)
{
    tg_tensor_list list = {0};
    tg_err err = {0};
    char name[24];

    CHECK(tg_tensor_list_find(&list, "t") == NULL);
    CHECK_OK(tg_tensor_list_arrange(&list, &err), &err); /* an empty one */
    CHECK(tg_tensor_list_find(&list, "t") == NULL);
    for (size_t i = 200; i-- > 0;) {
        snprintf(name, sizeof name, "t.%zu", i);
        add(&list, name, 10 * i, 10);
    }
    add(&list, "empty", 55, 0); /* within another's data, but without any */
    add(&list, "tied", 20, 10); /* the bytes of t.2 */
    CHECK_OK(tg_tensor_list_arrange(&list, &err), &err);
    CHECK_EQ(list.n, 202);
    for (size_t i = 1; i < list.n; i++)
        CHECK(list.tensor[i - 1].offset <= list.tensor[i].offset);
    for (size_t i = 0; i < 200; i++) {
        snprintf(name, sizeof name, "t.%zu", i);
        CHECK(tg_tensor_list_find(&list, name)->offset == 10 * i);
    }
    CHECK(tg_tensor_list_find(&list, "tied")->at == tg_tensor_list_find(&list, "t.2")->at);
    CHECK(tg_tensor_list_find(&list, "t.200") == NULL && tg_tensor_list_find(&list, "") == NULL);
    tg_tensor_list_free(&list);
    CHECK(list.n == 0 && list.tensor == NULL);
}

/* Two tensors that cannot be together. */
static void expect_refused(const char *a, size_t a_offset, size_t a_n, const char *b, size_t b_offset,
                           size_t b_n, const char *message)
{
    tg_tensor_list list = {0};
    tg_err err = {0};

    add(&list, a, a_offset, a_n);
    add(&list, b, b_offset, b_n);
    CHECK_EQ(tg_tensor_list_arrange(&list, &err), TG_EDATA);
    CHECK_HAS(err.message, message);
    tg_tensor_list_free(&list);
}

static void together(void)
{
    expect_refused("a", 0, 10, "b", 9, 10, "b at 9 overlaps a at 0 to 10");
    expect_refused("b", 9, 10, "a", 0, 10, "b at 9 overlaps a at 0 to 10");
    expect_refused("a", 0, 10, "b", 0, 9, "overlaps");
    expect_refused("a", 0, 100, "b", 40, 2, "overlaps");
    expect_refused("a", 0, 10, "a", 10, 10, "two tensors a");
    expect_refused("a", 0, 0, "a", 0, 0, "two tensors a");
}

static void names(void)
{
    tg_tensor_list list = {0};
    tg_stored s = place("", 0, 1);
    tg_err err = {0};
    char name[TG_NAME_MAX + 2];

    CHECK_EQ(tg_tensor_list_add(&list, &s, &err), TG_EDATA);
    CHECK_HAS(err.message, "empty");
    s = place("a b", 0, 1);
    CHECK_EQ(tg_tensor_list_add(&list, &s, &err), TG_EDATA);
    CHECK_HAS(err.message, "\\x20");
    s = place("a\xC3\xA9", 0, 1);
    CHECK_EQ(tg_tensor_list_add(&list, &s, &err), TG_EDATA);
    CHECK_HAS(err.message, "\\xC3");
    memset(name, 'x', sizeof name);
    CHECK_EQ(tg_stored_set_name(&s, name, TG_NAME_MAX + 1, &err), TG_EDATA);
    CHECK_HAS(err.message, "128 bytes, expected at most 127");
    CHECK_EQ(tg_stored_set_name(&s, "a\0b", 3, &err), TG_EDATA);
    CHECK_HAS(err.message, "\\x00");
    CHECK_OK(tg_stored_set_name(&s, name, TG_NAME_MAX, &err), &err);
    CHECK_OK(tg_tensor_list_add(&list, &s, &err), &err);
    CHECK_OK(tg_tensor_list_arrange(&list, &err), &err);
    name[TG_NAME_MAX] = '\0';
    CHECK(tg_tensor_list_find(&list, name) == &list.tensor[0]);
    tg_tensor_list_free(&list);
}

static void too_many(void)
{
    tg_tensor_list list = {0};
    tg_stored s;
    tg_err err = {0};
    char name[16];

    for (size_t i = 0; i < TG_NAMES_MAX; i++) {
        snprintf(name, sizeof name, "%zu", i);
        s = place(name, i % 64, 0);
        CHECK_OK(tg_tensor_list_add(&list, &s, &err), &err);
    }
    s = place("more", 0, 0);
    CHECK_EQ(tg_tensor_list_add(&list, &s, &err), TG_EDATA);
    CHECK_HAS(err.message, "more than 4096 tensors");
    CHECK_OK(tg_tensor_list_arrange(&list, &err), &err);
    tg_tensor_list_free(&list);
}

/* ---- values */

#define N 1300 /* more than two of the blocks that are converted at once */

/* Values of some type at an odd address; all parts of them, against the whole. */
static void expect_values(tg_dtype dtype, const void *values, const float *want)
{
    unsigned char *raw = malloc(N * dtype.size + 1);
    tg_stored s = {.array = {.name = "x", .dtype = dtype, .ndim = 2, .shape = {13, 100}}, .at = raw + 1};
    float got[N];
    tg_err err = {0};

    CHECK(tg_array_measure(&s.array));
    s.stored = s.array.bytes;
    memcpy(raw + 1, values, s.stored);
    for (size_t first = 0; first < N; first += 1 + first / 7)
        for (size_t n = 0; first + n <= N; n = 2 * n + 1) {
            memset(got, 0xFF, sizeof got);
            CHECK_OK(tg_stored_load(got, &s, first, n, &err), &err);
            CHECK(memcmp(got, want + first, n * sizeof *got) == 0);
            CHECK(n == N || isnan(got[n])); /* nothing else is written */
        }
    free(raw);
}

static void values(void)
{
    uint16_t half[N], bfloat[N];
    float f32[N], from_half[N], from_bfloat[N], from_double[N];
    double f64[N];

    for (size_t i = 0; i < N; i++) {
        f64[i] = check_random(1, i);
        f32[i] = (float)check_random(2, i);
        half[i] = (uint16_t)(0x3C00 + i % 1024); /* 1 to 2 */
        bfloat[i] = (uint16_t)(0x3F80 + i % 128);
        from_double[i] = (float)f64[i];
        from_half[i] = 1 + (float)(i % 1024) / 1024;
        from_bfloat[i] = 1 + (float)(i % 128) / 128;
    }
    expect_values(TG_F32, f32, f32);
    expect_values(TG_F64, f64, from_double);
    expect_values(TG_F16, half, from_half);
    expect_values(TG_BF16, bfloat, from_bfloat);
}

static void not_numbers(void)
{
    static const tg_dtype types[] = {{'u', 1}, {'i', 8}, {'b', 1}};
    static const char *const words[] = {"u8", "i64", "bool"};
    float out[1];
    tg_err err = {0};

    for (size_t i = 0; i < 3; i++) {
        tg_stored s = {.array = {.name = "x", .dtype = types[i], .ndim = 1, .shape = {1}}, .at = file};

        CHECK(tg_array_measure(&s.array));
        CHECK_EQ(tg_stored_load(out, &s, 0, 1, &err), TG_EDATA);
        CHECK_HAS(err.message, words[i]);
    }
}

int main(void)
{
    RUN(arranging);
    RUN(together);
    RUN(names);
    RUN(too_many);
    RUN(values);
    RUN(not_numbers);
    return check_done();
}
