/* The .npy header: what is read, what is refused, what is written. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "formats/npy.h"
#include "tests/unit/check.h"

/* Wrap `dict` in a header, unchanged. */
static size_t wrap(unsigned char *out, const char *dict)
{
    size_t n = strlen(dict);

    memcpy(out, "\x93NUMPY\1\0", 8);
    out[8] = (unsigned char)(n & 0xFF);
    out[9] = (unsigned char)(n >> 8);
    memcpy(out + 10, dict, n);
    return n + 10;
}

static tg_status parse(const char *dict, tg_array *a, tg_err *err)
{
    unsigned char head[TG_NPY_HEAD_MAX];
    size_t n = wrap(head, dict), length = 0;
    tg_status status = tg_npy_length(head, &length, err);

    *a = (tg_array){0};
    if (status != TG_OK)
        return status;
    CHECK_EQ(length, n);
    return tg_npy_parse(head, n, a, err);
}

static void reads(const char *dict, char kind, size_t size, size_t ndim, size_t count)
{
    tg_array a;
    tg_err err = {0};

    CHECK_OK(parse(dict, &a, &err), &err);
    CHECK_EQ(a.dtype.kind, kind);
    CHECK_EQ(a.dtype.size, size);
    CHECK_EQ(a.ndim, ndim);
    CHECK_EQ(a.count, count);
    CHECK_EQ(a.bytes, count * size);
}

static void refuses(const char *dict, const char *why)
{
    tg_array a;
    tg_err err = {0};

    CHECK_EQ(parse(dict, &a, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
}

static void test_reads(void)
{
    reads("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }  \n", 'f', 4, 2, 6);
    reads("{'shape':(2,3),'fortran_order':False,'descr':'<f4'}\n", 'f', 4, 2, 6);
    reads("{\"descr\": \"|u1\", \"fortran_order\": False, \"shape\": ()}\n", 'u', 1, 0, 1);
    reads("{'descr': '|b1', 'fortran_order': True, 'shape': (7,)}\n", 'b', 1, 1, 7);
    reads("{'descr': '<i8', 'fortran_order': True, 'shape': (1, 7, 1)}\n", 'i', 8, 3, 7);
    reads("{'descr': '|S12', 'fortran_order': False, 'shape': ()}\n", 'S', 12, 0, 1);
    reads("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 0, 5)}\n", 'f', 8, 3, 0);
    reads("{'descr': '<f8', 'fortran_order': True,\t'shape':\r\n(3, 0, 5)}\n", 'f', 8, 3, 0);
    reads("{'descr': '<f2', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,2,)}\n", 'f', 2, 8, 2);
}

static void test_refuses(void)
{
    refuses("{'descr': '>f4', 'fortran_order': False, 'shape': (2,)}\n", "big-endian");
    refuses("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3)}\n", "Fortran order");
    refuses("{'descr': '|O', 'fortran_order': False, 'shape': (2,)}\n", "Python objects");
    refuses("{'descr': '<U5', 'fortran_order': False, 'shape': ()}\n", "'<U5'");
    refuses("{'descr': '<f16', 'fortran_order': False, 'shape': ()}\n", "'<f16'");
    refuses("{'descr': '|S0', 'fortran_order': False, 'shape': ()}\n", "'|S0'");
    refuses("{'descr': '|f4', 'fortran_order': False, 'shape': ()}\n", "no byte order");
    refuses("{'descr': '<f99999999999999999999', 'fortran_order': False, 'shape': ()}\n", "is not one of u1");
    refuses("{'descr': '', 'fortran_order': False, 'shape': ()}\n", "element type");
    refuses("{'descr': '<', 'fortran_order': False, 'shape': ()}\n", "element type");
    refuses("{'descr': '<f4 ', 'fortran_order': False, 'shape': ()}\n", "element type");
    refuses("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': ()}\n", "structured");
    refuses("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}\n", "fortran_order");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2)}\n", "shape");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (,)}\n", "shape");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}\n", "shape");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3)}\n", "shape");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1)}\n", "8 dimensions");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,)}\n", "shape");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}\n",
            "expected less than 2^63 bytes");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296)}\n",
            "expected less than 2^63 bytes");
    refuses("{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,)}\n",
            "expected less than 2^63 bytes");
    refuses("{'descr': '<f4', 'fortran_order': False}\n", "lacks 'shape'");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': ()}\n", "duplicate key 'shape'");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}\n", "unknown key 'more'");
    refuses("{'descr': '<f4' 'fortran_order': False, 'shape': ()}\n", "three keys");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': ()", "three keys");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': ()} x\n", "newline");
    refuses("{'descr': '<f4', 'fortran_order': False, 'shape': ()}", "newline");
    refuses("[1, 2]\n", "not a dictionary");
}

static void test_length(void)
{
    unsigned char head[TG_NPY_PREFIX] = "\x93NUMPY\1\0\x10\x27";
    size_t length;
    tg_err err = {0};

    CHECK_OK(tg_npy_length(head, &length, &err), &err);
    CHECK_EQ(length, 10010);
    head[8]++;
    CHECK_EQ(tg_npy_length(head, &length, &err), TG_EDATA);
    CHECK_HAS(err.message, "10001 bytes, expected 2 to 10000");
    head[6] = 2;
    head[8]--;
    CHECK_OK(tg_npy_length(head, &length, &err), &err);
    CHECK_EQ(length, 10012);
    head[10] = 1;
    CHECK_EQ(tg_npy_length(head, &length, &err), TG_EDATA);
    head[6] = 3;
    CHECK_EQ(tg_npy_length(head, &length, &err), TG_EDATA);
    CHECK_HAS(err.message, "version 3.0");
}

static void writes(tg_array a, const char *dict)
{
    unsigned char head[TG_NPY_FORMAT_MAX];
    tg_array back = {0};
    tg_err err = {0};
    size_t n = tg_npy_format(head, &a), length;

    CHECK_EQ(n % 64, 0);
    CHECK(memcmp(head + 10, dict, strlen(dict)) == 0);
    CHECK_EQ(head[n - 1], '\n');
    CHECK_OK(tg_npy_length(head, &length, &err), &err);
    CHECK_EQ(length, n);
    CHECK_OK(tg_npy_parse(head, n, &back, &err), &err);
    CHECK_EQ(back.ndim, a.ndim);
    CHECK_EQ(back.dtype.size, a.dtype.size);
    CHECK(memcmp(back.shape, a.shape, sizeof a.shape) == 0);
}

static void test_writes(void)
{
    tg_array longest = {.dtype = {'S', 1000000000000000000u}, .ndim = 8};

    writes((tg_array){.dtype = TG_F32, .ndim = 2, .shape = {2, 3}},
           "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } ");
    writes((tg_array){.dtype = TG_U8, .ndim = 1, .shape = {5}},
           "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), } ");
    writes((tg_array){.dtype = {'S', 6}}, "{'descr': '|S6', 'fortran_order': False, 'shape': (), } ");
    for (size_t i = 0; i < 8; i++)
        longest.shape[i] = i == 0 ? 0 : 1;
    writes(longest, "{'descr': '|S1000000000000000000'");
}

/* An .npy has no bfloat16, neither as tg names it nor as others do. */
static void test_no_bfloat16(void)
{
    CHECK(tg_npy_holds(TG_F16) && tg_npy_holds(TG_F32) && !tg_npy_holds(TG_BF16));
    CHECK(!tg_npy_holds((tg_dtype){'f', 3}));
    refuses("{'descr': '<B2', 'fortran_order': False, 'shape': (2,)}\n", "element type '<B2' is not one of");
    refuses("{'descr': '<V2', 'fortran_order': False, 'shape': (2,)}\n", "element type '<V2' is not one of");
    refuses("{'descr': 'bf16', 'fortran_order': False, 'shape': (2,)}\n",
            "element type 'bf16' is not one of");
}

/* The widest numbers stay within the buffer. */
static void test_writes_widest(void)
{
    unsigned char head[TG_NPY_FORMAT_MAX];
    tg_array a = {.dtype = {'S', SIZE_MAX}, .ndim = 8};

    for (size_t i = 0; i < 8; i++)
        a.shape[i] = SIZE_MAX;
    CHECK(tg_npy_format(head, &a) <= sizeof head);
}

int main(void)
{
    RUN(test_reads);
    RUN(test_refuses);
    RUN(test_length);
    RUN(test_writes);
    RUN(test_no_bfloat16);
    RUN(test_writes_widest);
    return check_done();
}
