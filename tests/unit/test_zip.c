/*
 * ZIP files as other programs write them, built by hand: what is read and what is refused.
 * Also the canonical structures of members beyond 4 GiB.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "formats/archive.h"
#include "formats/zip.h"
#include "tests/unit/check.h"

/* ---- a zip builder that can get everything wrong */

typedef struct member {
    const char *name; /* NULL: none */
    unsigned flags, method;
    bool zip64;                        /* local sizes in an extra field, descriptor with 64 bits */
    long size_off, crc_off;            /* added to what the local header says */
    long central_size_off, offset_off; /* ... and to what the central directory says */
    const char *central_name;
} member;

typedef struct zip {
    member m[3];
    bool zip64_end, reversed;
    long count_off, directory_off;
    const char *comment;
    size_t n;
    unsigned char p[8192];
} zip;

static void put(zip *z, unsigned long long value, size_t bytes)
{
    for (; bytes > 0; bytes--, value >>= 8)
        z->p[z->n++] = (unsigned char)(value & 0xFF);
}

static void put_bytes(zip *z, const void *p, size_t n)
{
    memcpy(z->p + z->n, p, n);
    z->n += n;
}

/* An .npy of 6 bytes of data, 134 in all; deflated on demand, into packed [256]. */
static size_t content(const member *m, unsigned char *packed, unsigned *size, unsigned *crc)
{
    static const char dict[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }";
    unsigned char plain[134];
    z_stream s = {0};

    memset(plain, ' ', sizeof plain);
    memcpy(plain, "\x93NUMPY\1\0\x76", 9);
    plain[9] = 0;
    memcpy(plain + 10, dict, strlen(dict));
    memcpy(plain + 127, "\nabcdef", 7);
    *size = sizeof plain;
    *crc = (unsigned)crc32(0, plain, sizeof plain);
    if (m->method != 8) {
        memcpy(packed, plain, sizeof plain);
        return sizeof plain;
    }
    if (deflateInit2(&s, 9, Z_DEFLATED, -15, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        abort();
    s.next_in = plain;
    s.avail_in = sizeof plain;
    s.next_out = packed;
    s.avail_out = 256;
    if (deflate(&s, Z_FINISH) != Z_STREAM_END || deflateEnd(&s) != Z_OK)
        abort();
    return 256 - s.avail_out;
}

static void put_local(zip *z, const member *m)
{
    unsigned char packed[256];
    unsigned size, crc;
    unsigned long long said;
    size_t n = content(m, packed, &size, &crc);
    bool descriptor = (m->flags & 8) != 0;

    said = (unsigned long long)((long)size + m->size_off);
    put_bytes(z, "PK\3\4", 4);
    put(z, 20, 2);
    put(z, m->flags, 2);
    put(z, m->method, 2);
    put(z, 0x58215A00, 4);
    put(z, descriptor ? 0 : (unsigned)((long)crc + m->crc_off), 4);
    put(z, m->zip64 ? 0xFFFFFFFF : descriptor ? 0 : n + (m->method ? 0 : (size_t)m->size_off), 4);
    put(z, m->zip64 ? 0xFFFFFFFF : descriptor ? 0 : said, 4);
    put(z, strlen(m->name), 2);
    put(z, m->zip64 ? 20 : 0, 2);
    put_bytes(z, m->name, strlen(m->name));
    if (m->zip64) {
        put(z, 1, 2);
        put(z, 16, 2);
        put(z, descriptor ? 0 : said, 8);
        put(z, descriptor ? 0 : n, 8);
    }
    put_bytes(z, packed, n);
    if (descriptor) {
        put_bytes(z, "PK\7\10", 4);
        put(z, (unsigned)((long)crc + m->crc_off), 4);
        put(z, n, m->zip64 ? 8 : 4);
        put(z, said, m->zip64 ? 8 : 4);
    }
}

static void put_central(zip *z, const member *m, size_t offset)
{
    unsigned char packed[256];
    unsigned size, crc;
    size_t n = content(m, packed, &size, &crc);
    const char *name = m->central_name ? m->central_name : m->name;

    put_bytes(z, "PK\1\2", 4);
    put(z, 0x0314, 2);
    put(z, 20, 2);
    put(z, m->flags, 2);
    put(z, m->method, 2);
    put(z, 0x58215A00, 4);
    put(z, (unsigned)((long)crc + m->crc_off), 4);
    put(z, n, 4);
    put(z, (unsigned)((long)size + m->size_off + m->central_size_off), 4);
    put(z, strlen(name), 2);
    put(z, 0, 12); /* extra, comment, disk, attributes */
    put(z, (unsigned long long)((long)offset + m->offset_off), 4);
    put_bytes(z, name, strlen(name));
}

static void put_end(zip *z, size_t count, size_t directory)
{
    unsigned long long at = (unsigned long long)((long)directory + z->directory_off), size = z->n - directory;
    size_t comment = z->comment ? strlen(z->comment) : 0, end = z->n;

    count += (size_t)z->count_off;
    if (z->zip64_end) {
        put_bytes(z, "PK\6\6", 4);
        put(z, 44, 8);
        put(z, 45 << 16 | 45, 4);
        put(z, 0, 8);
        put(z, count, 8);
        put(z, count, 8);
        put(z, size, 8);
        put(z, at, 8);
        put_bytes(z, "PK\6\7", 4);
        put(z, 0, 4);
        put(z, end, 8);
        put(z, 1, 4);
    }
    put_bytes(z, "PK\5\6", 4);
    put(z, 0, 4);
    put(z, z->zip64_end ? 0xFFFF : count, 2);
    put(z, z->zip64_end ? 0xFFFF : count, 2);
    put(z, z->zip64_end ? 0xFFFFFFFF : size, 4);
    put(z, z->zip64_end ? 0xFFFFFFFF : at, 4);
    put(z, comment, 2);
    if (comment > 0)
        put_bytes(z, z->comment, comment);
}

static void build(zip *z)
{
    size_t offset[3] = {0}, count = 0, directory;

    z->n = 0;
    for (; count < 3 && z->m[count].name; count++) {
        offset[count] = z->n;
        put_local(z, &z->m[count]);
    }
    directory = z->n;
    for (size_t i = 0; i < count; i++) {
        size_t k = z->reversed ? count - 1 - i : i;

        put_central(z, &z->m[k], offset[k]);
    }
    put_end(z, count, directory);
}

/* ---- reading it, through a pipe and from a file */

static tg_status read_fd(int fd, size_t *arrays, tg_err *err)
{
    unsigned char data[6] = {0};
    tg_archive_reader *r;
    tg_array a;
    tg_archive_event event = TG_ARCHIVE_END;
    tg_status status = tg_archive_open(&r, fd, err);

    *arrays = 0;
    while (status == TG_OK && event != TG_ARCHIVE_EOF) {
        status = tg_archive_next(r, &a, &event, err);
        if (status == TG_OK && event == TG_ARCHIVE_ARRAY) {
            ++*arrays;
            CHECK_EQ(a.bytes, 6);
            status = tg_archive_read(r, data, a.bytes, err);
            CHECK(status != TG_OK || memcmp(data, "abcdef", 6) == 0);
        }
    }
    tg_archive_close(r);
    return status;
}

static tg_status read_zip(const zip *z, bool pipes, size_t *arrays, tg_err *err)
{
    FILE *f = tmpfile();
    int ends[2];
    tg_status status;

    if (!f || pipe(ends) != 0 || fwrite(z->p, 1, z->n, f) != z->n || fflush(f) != 0 ||
        lseek(fileno(f), 0, SEEK_SET) != 0 || write(ends[1], z->p, z->n) != (ssize_t)z->n)
        abort();
    close(ends[1]);
    status = read_fd(pipes ? ends[0] : fileno(f), arrays, err);
    close(ends[0]);
    fclose(f);
    return status;
}

static void reads_built(const zip *z, size_t count)
{
    for (int pipes = 0; pipes < 2; pipes++) {
        size_t arrays;
        tg_err err = {0};

        CHECK_OK(read_zip(z, pipes, &arrays, &err), &err);
        CHECK_EQ(arrays, count);
    }
}

static void reads(zip z, size_t count)
{
    build(&z);
    reads_built(&z, count);
}

static void refuses_built(const zip *z, const char *why)
{
    for (int pipes = 0; pipes < 2; pipes++) {
        size_t arrays;
        tg_err err = {0};

        CHECK_EQ(read_zip(z, pipes, &arrays, &err), TG_EDATA);
        CHECK_HAS(err.message, why);
    }
}

static void refuses(zip z, const char *why)
{
    build(&z);
    refuses_built(&z, why);
}

static void test_foreign(void)
{
    reads((zip){.m = {{.name = "a.npy"}}}, 1);
    reads((zip){.m = {{.name = "a.npy"}, {.name = "b/c.npy", .method = 8}}}, 2);
    reads((zip){.m = {{.name = "a.npy", .zip64 = true}, {.name = "b.npy", .method = 8, .zip64 = true}}}, 2);
    reads((zip){.m = {{.name = "a.npy", .flags = 8, .zip64 = true}, {.name = "b.npy", .flags = 8}}}, 2);
    reads((zip){.m = {{.name = "a.npy", .flags = 8, .method = 8, .zip64 = true},
                      {.name = "b.npy", .flags = 0x808, .method = 8}}},
          2);
    reads((zip){.m = {{.name = "a.npy"}}, .comment = "made elsewhere"}, 1);
    reads((zip){.m = {{.name = "a.npy"}}, .zip64_end = true}, 1);
    /* names of one hash */
    reads((zip){.m = {{.name = "liquid.npy"}, {.name = "costarring.npy"}}}, 2);
    reads((zip){.m = {{.name = "glbpp.npy"}, {.name = "yaczf.npy"}}}, 2);
}

/* Sizes both in the header and in its zip64 field. */
static void test_two_sizes(void)
{
    static const unsigned char size[4] = {134};
    zip z = {.m = {{.name = "a.npy", .zip64 = true}}};

    build(&z);
    memcpy(z.p + 18, size, 4);
    memcpy(z.p + 22, size, 4);
    reads_built(&z, 1);
    z.p[18]++;
    refuses_built(&z, "its zip64 sizes differ from those of its header");
}

static void test_refused_members(void)
{
    refuses((zip){.m = {{.name = "a.npy", .flags = 1}}}, "encrypted");
    refuses((zip){.m = {{.name = "a.npy", .flags = 0x20}}}, "unknown flags 0x0020");
    refuses((zip){.m = {{.name = "a.npy", .method = 12}}}, "compression method 12");
    refuses((zip){.m = {{.name = "a.npy"}, {.name = "a.npy"}}}, "duplicate member \"a.npy\"");
    refuses((zip){.m = {{.name = "/a.npy"}}}, "absolute");
    refuses((zip){.m = {{.name = "a/../b.npy"}}}, "\"..\" part");
    refuses((zip){.m = {{.name = "a b.npy"}}}, "bytes other than");
    refuses((zip){.m = {{.name = "a//b.npy"}}}, "empty part");
    refuses((zip){.m = {{.name = "notes.txt"}}}, "\"notes.txt\" is not an .npy");
    refuses((zip){.m = {{.name = ".npy"}}}, "is not an .npy");
    refuses((zip){.m = {{.name = "archive/data.pkl"}}}, "PyTorch");
    refuses((zip){.m = {{.name = "archive/data.pkl", .flags = 0x808}}}, "PyTorch");
}

static void test_refused_sizes(void)
{
    for (unsigned method = 0; method <= 8; method += 8) {
        refuses((zip){.m = {{.name = "a.npy", .method = method, .crc_off = 1}}}, "CRC-32");
        refuses((zip){.m = {{.name = "a.npy", .method = method, .flags = 8, .crc_off = 1}}}, "CRC-32");
        refuses((zip){.m = {{.name = "a.npy", .method = method, .flags = 8, .size_off = 1}}},
                "descriptor says");
        refuses((zip){.m = {{.name = "a.npy", .method = method, .size_off = -1}}}, "array header says 134");
        refuses((zip){.m = {{.name = "a.npy", .method = method, .size_off = -130}}}, "holds only 4 bytes");
    }
    refuses((zip){.m = {{.name = "a.npy", .size_off = 50}}}, "it holds 184 bytes");
    refuses((zip){.m = {{.name = "a.npy", .method = 8, .size_off = 1}}}, "array header says 134");
    refuses((zip){.m = {{.name = "a.npy", .method = 8, .size_off = 200000}}}, "cannot hold");
    refuses((zip){.m = {{.name = "a.npy", .zip64 = true, .size_off = 1}}},
            "stored 135 bytes in 134, expected equal sizes");
}

static void test_refused_ends(void)
{
    refuses((zip){.m = {{.name = "a.npy", .central_size_off = 1}}}, "says size 135");
    refuses((zip){.m = {{.name = "a.npy"}, {.name = "b.npy", .offset_off = -1}}}, "says offset");
    refuses((zip){.m = {{.name = "a.npy", .central_name = "b.npy"}}}, "a different name");
    refuses((zip){.m = {{.name = "a.npy", .central_name = "bb.npy"}}}, "a name of 6");
    refuses((zip){.m = {{.name = "a.npy"}, {.name = "b.npy"}}, .reversed = true}, "a different name");
    for (int zip64 = 0; zip64 < 2; zip64++) {
        refuses((zip){.m = {{.name = "a.npy"}}, .zip64_end = zip64, .count_off = 1}, "members");
        refuses((zip){.m = {{.name = "a.npy"}}, .zip64_end = zip64, .directory_off = 1}, "offset");
    }
}

static void test_refused_disks(void)
{
    zip z = {.m = {{.name = "a.npy"}}, .zip64_end = true};

    build(&z);
    z.p[z.n - 22 - 4] = 2;
    refuses_built(&z, "the central directory says disks 2, expected 1");
}

/* What the reader of arrays never asks for. */
static void test_member(const member *m, bool maps, const char *why)
{
    zip z = {.m = {*m}};
    FILE *f = tmpfile();
    tg_source source;
    tg_archive_reader *r;
    const tg_zip_entry *e;
    const void *data;
    tg_archive_event event;
    tg_err err = {0};

    build(&z);
    if (!f || fwrite(z.p, 1, z.n, f) != z.n || fflush(f) != 0 || lseek(fileno(f), 0, SEEK_SET) != 0)
        abort();
    CHECK_OK(tg_source_open(&source, fileno(f), &err), &err);
    CHECK_OK(tg_archive_open_source(&r, &source, &err), &err);
    CHECK_OK(tg_zip_next(r, &e, &event, &err), &err);
    CHECK_EQ(event, TG_ARCHIVE_ARRAY);
    CHECK_EQ(maps ? tg_zip_map(r, &data, 135, &err) : tg_zip_verify(r, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    CHECK_EQ(tg_zip_next(r, &e, &event, NULL), TG_EDATA); /* the first failure is kept */
    tg_archive_close(r);
    fclose(f);
}

static void test_members(void)
{
    tg_archive_close(NULL);
    tg_archive_abandon(NULL);
    test_member(&(member){.name = "a.npy"}, false, "134 of its bytes were not read");
    test_member(&(member){.name = "a.npy", .flags = 8}, false, "its size is unknown after 0 bytes");
    test_member(&(member){.name = "a.npy"}, true, "it holds only 134 bytes, expected 135");
}

/* ---- writing */

/* A header that tg would not write, in an archive that is otherwise tg's own. */
static void test_other_header(void)
{
    static const char dict[] = "{'descr': '|u1', 'fortran_order': False, 'shape': (6,), }";
    unsigned char head[10 + 246];
    FILE *f = tmpfile();
    tg_archive_writer *w;
    size_t arrays;
    tg_err err = {0};

    memset(head, ' ', sizeof head);
    memcpy(head, "\x93NUMPY\1\0\xF6", 10);
    memcpy(head + 10, dict, sizeof dict - 1);
    head[sizeof head - 1] = '\n';
    if (!f)
        abort();
    CHECK_OK(tg_archive_create(&w, fileno(f), &err), &err);
    CHECK_OK(tg_zip_put(w, "a.npy", head, sizeof head, "abcdef", 6, &err), &err);
    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    lseek(fileno(f), 0, SEEK_SET);
    CHECK_EQ(read_fd(fileno(f), &arrays, &err), TG_EDATA);
    CHECK_HAS(err.message, "array \"a\": its .npy header differs from what tg writes");
    fclose(f);
}

/* Writing fails where the buffer, 64 KiB, is full: in a member, or in the directory after all members. */
static void test_write_fails(void)
{
    static const unsigned char zeros[65536];
    const int fd = open("/dev/null", O_RDONLY);
    tg_archive_writer *w;
    size_t late = 0;

    for (size_t n = 60000; n <= 65400; n += 10) {
        tg_err err = {0};
        tg_status status;

        CHECK_OK(tg_archive_create(&w, fd, &err), &err);
        CHECK_OK(tg_zip_put(w, "a.npy", zeros, n - 30000, zeros, 30000, &err), &err);
        status = tg_zip_put(w, "b.npy", zeros, 128, zeros, 6, &err);
        late += status == TG_OK;
        if (status == TG_OK)
            status = tg_archive_finish(w, &err);
        CHECK_EQ(status, TG_EIO);
        CHECK_HAS(err.message, "at offset 0: write failed after 0 of");
        tg_archive_abandon(w);
    }
    CHECK(late > 0 && late < 541);
    CHECK_OK(tg_archive_create(&w, fd, NULL), NULL);
    CHECK_EQ(tg_zip_put(w, "a.npy", zeros, sizeof zeros, zeros, sizeof zeros, NULL), TG_EIO);
    CHECK_EQ(tg_zip_put(w, "b.npy", zeros, 0, zeros, 0, NULL), TG_EUSAGE);
    tg_archive_abandon(w);
    close(fd);
}

/* ---- names */

static void test_names(void)
{
    char name[TG_ZIP_NAME_MAX + 1];

    memset(name, 'a', sizeof name);
    CHECK(!tg_zip_name_fault(name, sizeof name - 1));
    CHECK_HAS(tg_zip_name_fault(name, sizeof name), "is longer than 127 bytes plus .npy");
}

/* Foreign archives cut at every byte, and garbage after them. */
static void test_cuts(void)
{
    zip list[] = {
        {.m = {{.name = "a.npy"}, {.name = "b.npy", .method = 8}}},
        {.m = {{.name = "a.npy", .flags = 8, .zip64 = true}, {.name = "b.npy", .method = 8, .flags = 8}}},
        {.m = {{.name = "a.npy"}}, .zip64_end = true, .comment = "x"}};

    for (size_t i = 0; i < 3; i++) {
        size_t whole, arrays;
        tg_err err = {0};

        build(&list[i]);
        whole = list[i].n;
        for (list[i].n = 0; list[i].n < whole; list[i].n++)
            for (int pipes = 0; pipes < 2; pipes++)
                CHECK_EQ(read_zip(&list[i], pipes, &arrays, &err), TG_EDATA);
        list[i].p[list[i].n++] = 0;
        refuses_built(&list[i], "trailing data after the archive");
    }
}

/* Deflate data after its end, or with more output than its header says. */
static void test_deflate_slack(void)
{
    zip z = {.m = {{.name = "a.npy", .method = 8}}};
    unsigned packed;

    build(&z);
    packed = tg_get32(z.p + 18);
    memmove(z.p + 35 + packed + 1, z.p + 35 + packed, z.n - 35 - packed);
    z.p[35 + packed] = 0;
    z.p[18]++;
    z.n++;
    refuses_built(&z, "deflate data ends after");
    build(&z);
    z.p[18]--;
    refuses_built(&z, "without an end mark");
    build(&z);
    z.p[35] |= 6; /* block type 3 */
    refuses_built(&z, "invalid block type");
}

/* ---- beyond 4 GiB */

static void test_wide(void)
{
    unsigned char out[TG_ZIP_LOCAL_MAX];
    tg_zip_entry e = {.name = "a.npy", .size = 0x100000000, .packed = 0x100000000, .offset = 64};
    size_t n = tg_zip_encode_local(out, &e), extra = tg_get16(out + 28);

    CHECK_EQ((64 + n) % 64, 0);
    CHECK_EQ(tg_get16(out + 4), 45);
    CHECK_EQ(tg_get32(out + 18), 0xFFFFFFFF);
    CHECK_EQ(tg_get32(out + 22), 0xFFFFFFFF);
    CHECK_EQ(n, 30 + 5 + extra);
    CHECK_EQ(tg_get16(out + n - 20), 1);
    CHECK_EQ(tg_get16(out + n - 18), 16);
    CHECK_EQ(tg_get64(out + n - 16), e.size);
    n = tg_zip_encode_central(out, &e, 0);
    CHECK_EQ(n, 46 + 5 + 20);
    e.offset = 0xFFFFFFFF;
    n = tg_zip_encode_central(out, &e, 7);
    CHECK_EQ(n, 46 + 5 + 28 + 7);
    CHECK_EQ(tg_get32(out + 42), 0xFFFFFFFF);
    CHECK_EQ(tg_get64(out + n - 8), e.offset);
    e.size = e.packed = 0xFFFFFFFE;
    n = tg_zip_encode_central(out, &e, 0);
    CHECK_EQ(n, 46 + 5 + 12);
    e.offset--;
    CHECK_EQ(tg_zip_encode_central(out, &e, 0), 51);
    CHECK_EQ(tg_get16(out + 6), 20);
    e.size = 10; /* deflate can make content longer */
    e.packed = 0x100000000;
    n = tg_zip_encode_local(out, &e);
    CHECK_EQ(tg_get64(out + n - 16), 10);
    CHECK_EQ(tg_get64(out + n - 8), 0x100000000);
}

static void test_wide_end(void)
{
    unsigned char out[TG_ZIP_END_MAX];

    CHECK_EQ((22 + 0xFFFFFFFEu + tg_zip_last_pad(NULL, 0, 0xFFFFFFFE)) % 64, 0);
    CHECK_EQ((TG_ZIP_END_MAX + 0xFFFFFFFFu + tg_zip_last_pad(NULL, 0, 0xFFFFFFFF)) % 64, 0);
    CHECK_EQ(tg_zip_encode_end(out, 3, 0xFFFFFFFE, 200), 22);
    CHECK_EQ(tg_zip_encode_end(out, 3, 0xFFFFFFFF, 200), 98);
    CHECK_EQ(tg_get64(out + 48), 0xFFFFFFFF);
    CHECK_EQ(tg_get64(out + 64), 0xFFFFFFFF + 200ull);
    CHECK_EQ(tg_get32(out + 76 + 16), 0xFFFFFFFF);
}

int main(void)
{
    RUN(test_foreign);
    RUN(test_two_sizes);
    RUN(test_refused_members);
    RUN(test_refused_sizes);
    RUN(test_refused_ends);
    RUN(test_refused_disks);
    RUN(test_members);
    RUN(test_other_header);
    RUN(test_write_fails);
    RUN(test_names);
    RUN(test_cuts);
    RUN(test_deflate_slack);
    RUN(test_wide);
    RUN(test_wide_end);
    return check_done();
}
