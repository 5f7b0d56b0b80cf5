/* Members of a struct as named scalars of an archive. */
#define _GNU_SOURCE /* memfd_create */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "formats/fields.h"
#include "tests/unit/check.h"

enum color { RED, GREEN, BLUE };

struct thing {
    bool on;
    size_t size;
    enum color color;
    uint64_t bits;
    double real;
};

static const tg_field rows[] = {
    TG_SIZE_FIELD("thing/size", struct thing, size, 1, 100),
    TG_BOOL_FIELD("thing/on", struct thing, on),
    TG_CHOICE_FIELD("thing/color", struct thing, color, "red|green|blue"),
    TG_U64_FIELD("thing/bits", struct thing, bits),
    TG_REAL_FIELD("thing/real", struct thing, real, -1, 1e-3),
};
static const tg_fields table = {rows, sizeof rows / sizeof rows[0]};

static const struct thing some = {
    .on = true, .size = 7, .color = BLUE, .bits = UINT64_MAX - 1, .real = -0.25};

/* Finish the archive, and open it for reading. */
static tg_archive_reader *turn(tg_archive_writer *w, int fd)
{
    tg_archive_reader *r;
    tg_err err;

    CHECK_OK(tg_archive_finish(w, &err), &err);
    tg_archive_abandon(w);
    CHECK(lseek(fd, 0, SEEK_SET) == 0);
    CHECK_OK(tg_archive_open(&r, fd, &err), &err);
    return r;
}

static tg_archive_writer *begin(int *fd)
{
    tg_archive_writer *w;
    tg_err err;

    *fd = memfd_create("fields", 0);
    CHECK_OK(tg_archive_create(&w, *fd, &err), &err);
    return w;
}

static void what_is_written_is_read(void)
{
    static const char *const names[] = {"thing/size", "thing/on",   "thing/color",
                                        "thing/bits", "thing/real", "thing/other"};
    struct thing got = {0};
    tg_archive_reader *r;
    tg_archive_writer *w;
    uint64_t seen = 0;
    tg_archive_event event;
    tg_array a;
    bool taken;
    tg_err err;
    int fd;

    w = begin(&fd);
    CHECK_OK(tg_fields_put(table, &some, w, &err), &err);
    CHECK_OK(tg_archive_put_i64(w, "thing/other", 1, &err), &err);
    r = turn(w, fd);
    for (size_t i = 0; i < 6; i++) {
        CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
        CHECK(strcmp(a.name, names[i]) == 0); /* in the table's order */
        CHECK_OK(tg_fields_take(table, &got, &seen, r, &a, &taken, &err), &err);
        CHECK_EQ(taken, i < 5);
        CHECK_EQ(seen, ((uint64_t)1 << (i < 5 ? i + 1 : 5)) - 1);
        CHECK_EQ(tg_fields_complete(table, seen, &err), i < 4 ? TG_EDATA : TG_OK);
        if (i == 1)
            CHECK(strcmp(err.message, "thing/color is missing") == 0);
    }
    CHECK(got.on && got.size == 7 && got.color == BLUE && got.bits == UINT64_MAX - 1 && got.real == -0.25);
    tg_archive_close(r);
    close(fd);
}

/* The only array of an archive is not taken, which leaves the members as they were. */
static void not_taken(tg_archive_writer *w, int fd, const char *why)
{
    struct thing got = some;
    tg_archive_reader *r = turn(w, fd);
    tg_archive_event event;
    tg_array a;
    bool taken;
    tg_err err;

    CHECK_OK(tg_archive_next(r, &a, &event, &err), &err);
    CHECK_EQ(tg_fields_take(table, &got, NULL, r, &a, &taken, &err), TG_EDATA);
    CHECK_HAS(err.message, why);
    CHECK(got.on && got.size == 7 && got.color == BLUE && got.bits == UINT64_MAX - 1 && got.real == -0.25);
    tg_archive_close(r);
    close(fd);
}

/* An array of that name with a value of another type, or out of its type's values. */
static void refused(const char *name, const char *why)
{
    tg_err err;
    int fd;
    tg_archive_writer *w = begin(&fd);

    if (strcmp(name, "thing/color") == 0)
        CHECK_OK(tg_archive_put_text(w, name, "pink", &err), &err);
    else
        CHECK_OK(tg_archive_put_i64(w, name, -2, &err), &err);
    not_taken(w, fd, why);
}

static void other_types_are_refused(void)
{
    refused("thing/size", "negative");
    refused("thing/on", "negative");
    refused("thing/color", "thing/color is \"pink\", expected one of red|green|blue");
    refused("thing/bits", "thing/bits must be a scalar of type <u8");
    refused("thing/real", "thing/real");
}

/* A number of 64 bits is a scalar, and not of 32. */
static void other_numbers_are_refused(void)
{
    const uint64_t value = 3;

    for (size_t i = 0; i < 2; i++) {
        tg_err err;
        int fd;
        tg_archive_writer *w = begin(&fd);

        CHECK_OK(tg_archive_put(w, "thing/bits", (tg_dtype){'u', i == 0 ? 8 : 4}, i == 0, (size_t[]){1},
                                &value, &err),
                 &err);
        not_taken(w, fd, "thing/bits must be a scalar of type <u8");
    }
}

static void out_of_range(struct thing t, const char *why)
{
    tg_err err = {0};

    CHECK_EQ(tg_fields_check(table, &t, &err), TG_EDATA);
    CHECK(strcmp(err.message, why) == 0);
}

static void ranges_are_checked(void)
{
    struct thing t = some;
    tg_err err;

    CHECK_OK(tg_fields_check(table, &t, &err), &err);
    t.size = 0;
    out_of_range(t, "thing/size must be between 1 and 100, got 0");
    t.size = (size_t)1 << 62;
    out_of_range(t, "thing/size must be between 1 and 100, got 4611686018427387904");
    t = some;
    t.real = 0.002;
    out_of_range(t, "thing/real must be between -1 and 0.001, got 0.002");
    t.real = (double)NAN;
    out_of_range(t, "thing/real must be between -1 and 0.001, got nan");
    t = some;
    t.color = (enum color)3;
    out_of_range(t, "thing/color is number 3, expected one of red|green|blue");
}

static void members_one_by_one(void)
{
    static const char *const texts[] = {"7", "1", "blue", "18446744073709551614", "-0.25"};
    struct thing t = {0};
    char text[32];

    for (size_t i = 0; i < table.n; i++) {
        CHECK(!tg_field_equal(&rows[i], &t, &some));
        tg_field_copy(&rows[i], &t, &some);
        CHECK(tg_field_equal(&rows[i], &t, &some));
        for (size_t j = i + 1; j < table.n; j++)
            CHECK(!tg_field_equal(&rows[j], &t, &some));
        tg_field_text(text, sizeof text, &rows[i], &t);
        CHECK(strcmp(text, texts[i]) == 0);
    }
    CHECK(tg_field_member(&rows[4], &t) == (void *)&t.real);
}

int main(void)
{
    RUN(what_is_written_is_read);
    RUN(other_types_are_refused);
    RUN(other_numbers_are_refused);
    RUN(ranges_are_checked);
    RUN(members_one_by_one);
    return check_done();
}
