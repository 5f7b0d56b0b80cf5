/* PyTorch's files: what is listed, layouts, damaged ZIPs, cut ones, and with memory failing. */
#include "formats/torch_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formats/zip.h"
#include "tests/unit/check.h"
#include "tests/unit/failing.h"
#include "tests/unit/torch_zip.h"

static const float storage0[6] = {0, 1, 2, 3, 4, 5}, storage2[6] = {10, 11, 12, 13, 14, 15};
static const uint16_t storage1[2] = {0x3F80, 0xC000}; /* 1, -2 */

static void put_storages(torch_zip *z)
{
    torch_zip_put(z, "ckpt/data/0", storage0, sizeof storage0);
    torch_zip_put(z, "ckpt/data/1", storage1, sizeof storage1);
    torch_zip_put(z, "ckpt/data/2", storage2, sizeof storage2);
    torch_zip_end(z);
}

static void make(torch_zip *z)
{
    torch_zip_begin(z, torch_zip_pickle, torch_zip_pickle_n);
    put_storages(z);
}

typedef struct opened {
    unsigned char *copy; /* ends where the file does */
    tg_torch t;
    tg_tensor_list list;
} opened;

static tg_status open_bytes(opened *o, const unsigned char *bytes, size_t n, tg_err *err)
{
    tg_status status;

    *o = (opened){.copy = malloc(n + 1)};
    memcpy(o->copy + 1, bytes, n);
    if ((status = tg_torch_open(&o->t, o->copy + 1, n, err)))
        return status;
    return tg_torch_list(&o->list, &o->t, o->t.pickle.root, true, err);
}

static void close_opened(opened *o)
{
    tg_tensor_list_free(&o->list);
    tg_torch_close(&o->t);
    free(o->copy);
}

static void check_refused(const unsigned char *bytes, size_t n, const char *why)
{
    tg_err err = {0};
    opened o;

    CHECK_EQ(open_bytes(&o, bytes, n, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    close_opened(&o);
}

/* ---- good files */

static void check_tensor(const opened *o, const char *name, size_t n, const float *want)
{
    const tg_stored *const s = tg_tensor_list_find(&o->list, name);
    float got[6];
    tg_err err = {0};

    CHECK(s != NULL);
    if (!s)
        return;
    CHECK_EQ(s->array.count, n);
    CHECK_EQ(s->offset, s->at - (o->copy + 1));
    CHECK_OK(tg_stored_load(got, s, 0, n, &err), &err);
    CHECK(memcmp(got, want, n * sizeof *got) == 0);
}

static void check_good(const torch_zip *z)
{
    tg_err err = {0};
    opened o;
    const tg_pickle_value *args;

    CHECK(tg_torch_recognize(z->bytes, 64));
    CHECK_OK(open_bytes(&o, z->bytes, z->n, &err), &err);
    CHECK_EQ(o.list.n, 4);
    check_tensor(&o, "model.w", 6, storage0);
    check_tensor(&o, "model.t", 6, storage0);
    check_tensor(&o, "model.v", 2, storage2 + 4);
    check_tensor(&o, "model.b", 2, (float[]){1, -2});
    CHECK_EQ(tg_tensor_list_find(&o.list, "model.t")->array.shape[0], 3);
    CHECK(tg_tensor_list_find(&o.list, "model.t")->transposed);
    CHECK(!tg_tensor_list_find(&o.list, "model.w")->transposed);
    args = tg_pickle_find(&o.t.pickle, o.t.pickle.root, "model_args");
    CHECK_EQ(tg_pickle_find(&o.t.pickle, args, "n_head")->of.integer, 2);
    close_opened(&o);
}

static void test_good(void)
{
    static torch_zip z, wide, sized;

    make(&z);
    check_good(&z);
    wide.wide = true;
    make(&wide);
    check_good(&wide);
    sized.sized = true;
    make(&sized);
    check_good(&sized);
}

static void test_part(void)
{
    static torch_zip z;
    tg_tensor_list list = {0};
    tg_err err = {0};
    tg_torch t;
    const tg_pickle_value *model;

    make(&z);
    CHECK_OK(tg_torch_open(&t, z.bytes, z.n, &err), &err);
    model = tg_pickle_find(&t.pickle, t.pickle.root, "model");
    CHECK_EQ(tg_torch_list(&list, &t, model, false, &err), TG_EDATA);
    CHECK_HAS(err.message, "t: its elements are not adjacent (a transposed view)");
    tg_tensor_list_free(&list);
    CHECK_EQ(tg_torch_list(&list, &t, tg_pickle_find(&t.pickle, model, "w"), false, &err), TG_EDATA);
    CHECK_HAS(err.message, "name is empty");
    tg_tensor_list_free(&list);
    tg_torch_close(&t);
}

/* ---- tensors that do not fit their storages */

#define OD "ccollections\nOrderedDict\n)R"
#define ONE(type, key, count, rest)                                                                          \
    "\x80\2}X\1\0\0\0xctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\n" type "\nX\1\0\0\0" key  \
    "X\3\0\0\0cpu" count "tQ" rest "\x89" OD "tRs."

static tg_status open_one(opened *o, const char *pickle, size_t n, tg_err *err)
{
    static torch_zip z;

    z = (torch_zip){0};
    torch_zip_begin(&z, pickle, n);
    put_storages(&z);
    return open_bytes(o, z.bytes, z.n, err);
}

static void check_one(const char *pickle, size_t n, const char *why)
{
    tg_err err = {0};
    opened o;

    if (why) {
        CHECK_EQ(open_one(&o, pickle, n, &err), TG_EDATA);
        CHECK_HAS(err.message, why);
    } else {
        CHECK_OK(open_one(&o, pickle, n, &err), &err);
    }
    close_opened(&o);
}

#define CHECK_ONE(pickle, why) check_one(pickle, sizeof(pickle) - 1, why)
#define FLOAT(rest) ONE("FloatStorage", "0", "K\6", rest)
#define TEN "aaaaaaaaaa"
#define TENSOR(key)                                                                                          \
    "ctorch._utils\n_rebuild_tensor_v2\n((X\7\0\0\0storagectorch\nFloatStorage\n" key                        \
    "X\3\0\0\0cpuK\6tQK\0))\x89" OD "tR"
#define LONG_KEY "\x80\2}X\1\0\0\0x" TENSOR("X\x61\0\0\0" TEN TEN TEN TEN TEN TEN TEN TEN TEN "aaaaaaa") "s."
#define IN_TUPLE                                                                                             \
    "\x80\2}X\1\0\0\0x" TENSOR("X\1\0\0\0"                                                                   \
                               "0") "\x85s."
#define NUMBERED                                                                                             \
    "\x80\2}K\7" TENSOR("X\1\0\0\0"                                                                          \
                        "0") "s."
#define HUGE "\x8A\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x7F"
/* n + 2^60, 2^61 and 2^62, for n < 128; of 4 bytes each, 2^62 + 6 elements have 2^64 + 24 bytes */
#define POWER_60(n) "\x8A\x08" n "\0\0\0\0\0\0\x10"
#define POWER_61(n) "\x8A\x08" n "\0\0\0\0\0\0\x20"
#define POWER_62(n) "\x8A\x08" n "\0\0\0\0\0\0\x40"

static void test_shapes(void)
{
    CHECK_ONE(FLOAT("K\0K\6\x85K\1\x85"), NULL);
    CHECK_ONE(FLOAT("K\6))"), "it ends after its storage; elements of the storage: got 6, expected 7");
    CHECK_ONE(FLOAT("K\5))"), NULL);
    CHECK_ONE(FLOAT("K\0K\7\x85K\1\x85"), "x: it ends after its storage");
    CHECK_ONE(FLOAT("K\1K\6\x85K\1\x85"), "x: it ends after its storage");
    CHECK_ONE(FLOAT("K\0K\3\x85K\2\x85"), "a slice or an expanded view");
    CHECK_ONE(FLOAT("K\0K\6\x85K\0\x85"), "a slice or an expanded view");
    CHECK_ONE(FLOAT("K\0K\2K\2\x86K\3K\1\x86"), "a slice");
    CHECK_ONE(FLOAT("K\0K\2K\2\x86K\1K\3\x86"), "a slice");
    CHECK_ONE(FLOAT("K\0K\1K\6\x86K\7K\1\x86"), NULL); /* the stride of one row says nothing */
    CHECK_ONE(FLOAT("K\0K\6K\1\x86K\1K\7\x86"), NULL);
    CHECK_ONE(FLOAT("K\0K\0\x85K\1\x85"), NULL);
    CHECK_ONE(FLOAT("K\7K\0\x85K\1\x85"), "x: it ends after its storage");
    CHECK_ONE(FLOAT("K\0" HUGE "\x85" HUGE "\x85"), "a slice");
    CHECK_ONE(FLOAT("K\0" HUGE HUGE "\x86" HUGE "K\1\x86"), "x: its shape is too large");
    CHECK_ONE(FLOAT(HUGE "K\1\x85K\1\x85"), "x: it ends after its storage");
    CHECK_ONE(ONE("FloatStorage", "0", "K\5", "K\0))"), "x: bytes of its storage: got 24, expected 20");
    CHECK_ONE(ONE("DoubleStorage", "0", "K\6", "K\0))"), "x: bytes of its storage: got 24, expected 48");
    CHECK_ONE(ONE("FloatStorage", "0", HUGE, "K\0))"), "x: bytes of its storage");
    CHECK_ONE(ONE("FloatStorage", "9", "K\6", "K\0))"), "x: its storage data/9 is missing");
    CHECK_ONE(ONE("FloatStorage", "\n", "K\6", "K\0))"), "x: its storage data/? is missing");
    CHECK_ONE(LONG_KEY, "x: its storage data/" TEN TEN);
}

/* Counts whose bytes are those of the storage, modulo 2^64. */
static void test_overflow(void)
{
#define BYTES "x: bytes of its storage: got 24, expected 18446744073709551615"
    CHECK_ONE(ONE("FloatStorage", "0", POWER_62("\6"), "K\0K\6\x85K\1\x85"), BYTES);
    CHECK_ONE(ONE("FloatStorage", "0", POWER_62("\6"), POWER_61("\0") "K\6\x85K\1\x85"), BYTES);
    CHECK_ONE(ONE("FloatStorage", "0", POWER_62("\6"), POWER_62("\5") "))"), BYTES);
    CHECK_ONE(ONE("DoubleStorage", "0", POWER_61("\3"), "K\0K\3\x85K\1\x85"), BYTES);
    CHECK_ONE(ONE("DoubleStorage", "0", POWER_61("\3"), POWER_60("\0") "))"), BYTES);
    /* a tensor's own bytes, and its end */
    CHECK_ONE(FLOAT("K\0" POWER_62("\0") "\x85K\1\x85"), "x: its shape is too large");
    CHECK_ONE(FLOAT("K\0" POWER_62("\6") "\x85K\1\x85"), "x: its shape is too large");
    CHECK_ONE(FLOAT("K\0" POWER_62("\0") "K\4\x86K\4K\1\x86"), "x: its shape is too large");
    CHECK_ONE(FLOAT("K\0" POWER_61("\0") "K\x08K\0\x87K\0K\1K\1\x87"), "x: its shape is too large");
    CHECK_ONE(FLOAT("K\0K\1K\1\x86" POWER_62("\0") "K\1\x86"), NULL);
    CHECK_ONE(FLOAT(HUGE "))"), "x: it ends after its storage");
#undef BYTES
}

/* Tensors in a tuple, and under a key that is a number. */
static void test_other_names(void)
{
    tg_err err = {0};
    opened o;

    CHECK_OK(open_one(&o, IN_TUPLE, sizeof IN_TUPLE - 1, &err), &err);
    check_tensor(&o, "x.0", 1, storage0);
    close_opened(&o);
    CHECK_OK(open_one(&o, NUMBERED, sizeof NUMBERED - 1, &err), &err);
    check_tensor(&o, "7", 1, storage0);
    close_opened(&o);
}

static void test_overlap(void)
{
    static const char pickle[] =
        "\x80\2]("
        "ctorch._utils\n_rebuild_tensor_v2\nq\1((X\7\0\0\0storageq\2ctorch\nFloatStorage\n"
        "q\3X\1\0\0\0"
        "0X\3\0\0\0cpuK\6tQq\4K\0K\4\x85K\1\x85\x89NtR"
        "h\1(h\4K\2K\4\x85K\1\x85\x89NtRe.";
    tg_err err = {0};
    opened o;

    CHECK_EQ(open_one(&o, pickle, sizeof pickle - 1, &err), TG_EDATA);
    CHECK_HAS(err.message, "overlaps");
    close_opened(&o);
}

static void test_names(void)
{
    static char pickle[1024];
    const char before[] = "\x80\2}X\x80\0\0\0", after[] = FLOAT("K\0))");
    size_t n = sizeof before - 1;

    memcpy(pickle, before, n);
    memset(pickle + n, 'a', 128);
    memcpy(pickle + n + 128, after + 9, sizeof after - 9);
    check_one(pickle, n + 128 + sizeof after - 9 - 1, "a tensor's name has 128 bytes");
    CHECK_ONE("\x80\2}X\1\0\0\0\n"
              "K\0s.",
              NULL);
}

/* ---- damaged ZIP files */

/* A good file, one byte of it changed. */
static void check_byte(size_t at, unsigned char byte, const char *why)
{
    static torch_zip z;

    z = (torch_zip){0};
    make(&z);
    CHECK(z.bytes[at] != byte);
    z.bytes[at] = byte;
    check_refused(z.bytes, z.n, why);
}

static void test_zip_fields(void)
{
    static torch_zip z;
    size_t entry, end, local;

    make(&z);
    entry = z.directory;
    end = z.n - 22;
    local = z.member[0].header;
    check_byte(end + 3, 0, "no zip directory at the end");
    check_byte(end + 4, 1, "several parts");
    check_byte(end + 8, 99, "several parts");
    check_byte(end + 12, 0, "expected its end at");
    check_byte(end + 16, 0, "expected its end at");
    check_byte(entry + 2, 0, "no entry of the zip directory");
    check_byte(entry + 8, 0x09, "encrypted");
    check_byte(entry + 10, 8, "\"ckpt/data.pkl\": it is compressed");
    check_byte(entry + 16, (unsigned char)~z.bytes[entry + 16], "ckpt/data.pkl\": damaged: the CRC-32");
    check_byte(entry + 20, 0, "stored with two sizes");
    check_byte(entry + 28, 0xFF, "its header has another name");
    check_byte(entry + 29, 0xFF, "is truncated");
    check_byte(entry + 42, 1, "no header where the directory says");
    check_byte(entry + 45, 0x7F, "its header is beyond the directory");
    check_byte(local + 3, 0, "no header where the directory says");
    check_byte(local + 6, 0, "its header has other flags");
    check_byte(local + 8, 8, "its header has other flags");
    check_byte(local + 26, 1, "its header has another name");
    check_byte(local + 30, 'C', "its header has another name");
    check_byte(local + 29, 0xFF, "its header has another name");
    check_byte(z.member[3].data, 1, "ckpt/data/0\": damaged: the CRC-32");
    z.bytes[entry + 22] = z.bytes[entry + 26] = 1; /* both sizes */
    check_refused(z.bytes, z.n, "ckpt/data.pkl\": truncated, or longer than the file");
}

/* Two members in one place; two of a name. */
static void test_zip_overlap(void)
{
    static torch_zip z;

    torch_zip_begin(&z, torch_zip_pickle, torch_zip_pickle_n);
    torch_zip_put(&z, "ckpt/data/0", storage0, sizeof storage0);
    torch_zip_put(&z, "ckpt/data/0", storage0, sizeof storage0);
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "\"ckpt/data/0\": two members of this name");
    z = (torch_zip){0};
    torch_zip_begin(&z, torch_zip_pickle, torch_zip_pickle_n);
    torch_zip_put(&z, "ckpt/data/0", storage0, sizeof storage0);
    z.member[z.members] = z.member[z.members - 1];
    z.members++;
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "\"ckpt/data/0\": it overlaps another member");
}

static void test_zip_counts(void)
{
    static torch_zip z, wide;

    make(&z);
    z.bytes[z.n - 22 + 8] = z.bytes[z.n - 22 + 10] = 0xFF; /* members */
    z.bytes[z.n - 22 + 9] = z.bytes[z.n - 22 + 11] = 0xFF;
    check_refused(z.bytes, z.n, "cannot list 65535 members");
    z.bytes[z.n - 22 + 8] = z.bytes[z.n - 22 + 10] = 5;
    z.bytes[z.n - 22 + 9] = z.bytes[z.n - 22 + 11] = 0;
    check_refused(z.bytes, z.n, "has data after its 5 members");
    wide.wide = true;
    make(&wide);
    memset(wide.bytes + wide.n - 22 - 20 - 56 + 24, 0xFF, 16);
    check_refused(wide.bytes, wide.n, "cannot list 18446744073709551615 members");
}

/* A good file with zip64 fields, one byte of it changed. */
static void check_wide_byte(size_t at, unsigned char byte, const char *why)
{
    static torch_zip z;

    z = (torch_zip){.wide = true};
    make(&z);
    CHECK(z.bytes[at] != byte);
    z.bytes[at] = byte;
    check_refused(z.bytes, z.n, why);
}

static void test_zip64_fields(void)
{
    static torch_zip z = {.wide = true}, sized = {.sized = true};
    size_t end, extra;

    make(&z);
    end = z.n - 22 - 20 - 56;
    check_wide_byte(end + 2, 0, "the zip64 end record at offset");
    check_wide_byte(end + 16, 1, "the zip64 end record at offset");
    check_wide_byte(end + 24, 99, "the zip64 end record at offset");
    extra = z.directory + 46 + strlen(z.member[0].name);
    check_wide_byte(extra, 2, "ckpt/data.pkl\": a zip64 size is missing");
    check_wide_byte(extra + 2, 8, "ckpt/data.pkl\": a zip64 size is missing");
    check_wide_byte(extra + 2, 16, "ckpt/data.pkl\": a zip64 size is missing");
    make(&sized);
    sized.bytes[sized.member[0].header + 22]++;
    check_refused(sized.bytes, sized.n, "ckpt/data.pkl\": its header has another size or CRC-32");
}

static void test_index(void)
{
    static torch_zip z;
    tg_zip_index index = {0};
    tg_zip_member *m;
    tg_err err = {0};

    CHECK(tg_zip_index_find(&index, (tg_span){"a", 1}) == NULL);
    make(&z);
    CHECK_OK(tg_zip_index_read(&index, z.bytes, z.n, &err), &err);
    m = tg_zip_index_find(&index, (tg_span){"ckpt/data/0", 11});
    CHECK(m && !m->checked);
    CHECK_OK(tg_zip_member_check(m, &err), &err);
    CHECK(m->checked);
    CHECK_OK(tg_zip_member_check(m, &err), &err);
    tg_zip_index_free(&index);
}

static void test_kinds(void)
{
    static torch_zip z;
    char name[160];

    memset(name, 'a', 129);
    strcpy(name + 129, "/data.pkl");
    torch_zip_put(&z, name, "\x80\2N.", 4);
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "the name of data.pkl has 138 bytes, expected at most 128");
    z = (torch_zip){0};
    CHECK(!tg_torch_recognize("PK\3\4", 4));
    check_refused((const unsigned char *)"\x80\2\x8A\x0Al\xFC\x9C\x46\xF9 j\xA8P\x19", 14,
                  "PyTorch's old format");
    torch_zip_put(&z, "wte.weight.npy", "x", 1);
    torch_zip_end(&z);
    CHECK(!tg_torch_recognize(z.bytes, z.n));
    check_refused(z.bytes, z.n, "a zip file without */data.pkl");
    z = (torch_zip){0};
    torch_zip_put(&z, "ckpt/data.pkl", "\x80\2N.", 4);
    torch_zip_put(&z, "ckpt/version", "3\n", 2);
    torch_zip_put(&z, "ckpt/byteorder", "big", 3);
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "not little-endian");
    z = (torch_zip){0};
    torch_zip_begin(&z, "\x80\2N.", 4);
    torch_zip_put(&z, "ckpt/constants.pkl", "\x80\2N.", 4);
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "a TorchScript program");
    z = (torch_zip){0};
    torch_zip_put(&z, "ckpt/data.pkl", "\x80\2N.", 4);
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "the member version is missing");
    z = (torch_zip){0};
    torch_zip_put(&z, "ckpt/data.pkl", "\x80\2N.", 4);
    torch_zip_put(&z, "a/data.pkl", "\x80\2N.", 4);
    torch_zip_end(&z);
    check_refused(z.bytes, z.n, "several members */data.pkl");
}

/* ---- cut, damaged, without memory */

static void test_truncated(void)
{
    static torch_zip z;

    make(&z);
    for (size_t n = 0; n < z.n; n++)
        check_refused(z.bytes, n, "truncated");
}

/* Any bit may change, and nothing but a refusal or the same values may come of it. */
static void test_damaged(void)
{
    static torch_zip z;
    tg_err err;
    opened o;

    make(&z);
    for (size_t i = 0; i < z.n; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            tg_status status;

            z.bytes[i] ^= (unsigned char)(1u << bit);
            err = (tg_err){0};
            status = open_bytes(&o, z.bytes, z.n, &err);
            CHECK(status == TG_OK || (status == TG_EDATA && err.message[0] != '\0'));
            if (!status) {
                check_tensor(&o, "model.w", 6, storage0);
                check_tensor(&o, "model.v", 2, storage2 + 4);
            }
            close_opened(&o);
            z.bytes[i] ^= (unsigned char)(1u << bit);
        }
}

/* The same, with the right checksums. */
static void test_damaged_repaired(void)
{
    static torch_zip z, damaged;
    tg_err err;
    opened o;

    make(&z);
    for (size_t i = 0; i < z.directory; i++)
        for (unsigned bit = 0; bit < 8; bit++) {
            damaged = z;
            damaged.bytes[i] ^= (unsigned char)(1u << bit);
            torch_zip_repair(damaged.bytes, damaged.n);
            err = (tg_err){0};
            CHECK(open_bytes(&o, damaged.bytes, damaged.n, &err) == TG_OK || err.message[0] != '\0');
            close_opened(&o);
        }
}

static void test_no_memory(void)
{
    static torch_zip z;
    tg_status status = TG_ENOMEM;
    tg_err err;
    long n = 0;

    make(&z);
    for (; status && n < 100; n++) {
        tg_torch t;
        tg_tensor_list list = {0};

        failing_after(n);
        if (!(status = tg_torch_open(&t, z.bytes, z.n, &err)))
            status = tg_torch_list(&list, &t, t.pickle.root, true, &err);
        failing_after(-1);
        CHECK(status == TG_OK || status == TG_ENOMEM);
        tg_tensor_list_free(&list);
        tg_torch_close(&t);
    }
    CHECK(n > 8 && n < 100);
}

int main(void)
{
    RUN(test_good);
    RUN(test_part);
    RUN(test_shapes);
    RUN(test_overflow);
    RUN(test_overlap);
    RUN(test_names);
    RUN(test_other_names);
    RUN(test_zip_fields);
    RUN(test_zip_overlap);
    RUN(test_zip_counts);
    RUN(test_zip64_fields);
    RUN(test_index);
    RUN(test_kinds);
    RUN(test_truncated);
    RUN(test_damaged);
    RUN(test_damaged_repaired);
    RUN(test_no_memory);
    return check_done();
}
