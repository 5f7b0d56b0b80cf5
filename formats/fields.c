#include "formats/fields.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/choice.h"
#include "lib/base/decimal.h"

void *tg_field_member(const tg_field *f, const void *object)
{
    return (char *)object + f->offset;
}

static const size_t widths[] = {[TG_FIELD_SIZE] = sizeof(size_t),
                                [TG_FIELD_U64] = sizeof(uint64_t),
                                [TG_FIELD_REAL] = sizeof(double),
                                [TG_FIELD_BOOL] = sizeof(bool),
                                [TG_FIELD_CHOICE] = sizeof(unsigned)};

void tg_field_copy(const tg_field *f, void *to, const void *from)
{
    memcpy(tg_field_member(f, to), tg_field_member(f, from), widths[f->type]);
}

bool tg_field_equal(const tg_field *f, const void *a, const void *b)
{
    return memcmp(tg_field_member(f, a), tg_field_member(f, b), widths[f->type]) == 0;
}

void tg_field_text(char *text, size_t size, const tg_field *f, const void *object)
{
    const void *value = tg_field_member(f, object);
    char name[TG_CHOICE_SIZE];

    switch (f->type) {
    case TG_FIELD_SIZE:
        snprintf(text, size, "%zu", *(const size_t *)value);
        break;
    case TG_FIELD_U64:
        snprintf(text, size, "%llu", (unsigned long long)*(const uint64_t *)value);
        break;
    case TG_FIELD_REAL:
        snprintf(text, size, "%g", *(const double *)value);
        break;
    case TG_FIELD_BOOL:
        snprintf(text, size, "%d", *(const bool *)value);
        break;
    default:
        snprintf(text, size, "%s", tg_choice_name(name, f->choices, *(const unsigned *)value));
    }
}

/* A number of digits alone. */
static bool parse_u64(uint64_t *value, const char *text)
{
    char *end;

    if (text[0] < '0' || text[0] > '9')
        return false;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return errno == 0 && *end == '\0';
}

bool tg_field_parse(const tg_field *f, void *object, const char *text)
{
    void *value = tg_field_member(f, object);
    const char *end = text;
    size_t number;
    uint64_t integer;
    double real;

    switch (f->type) {
    case TG_FIELD_REAL:
        real = tg_decimal_read(text, &end);
        if (end == text || *end != '\0')
            return false;
        *(double *)value = real;
        return true;
    case TG_FIELD_CHOICE:
        if (!tg_choice_find(&number, f->choices, text))
            return false;
        *(unsigned *)value = (unsigned)number;
        return true;
    default:
        break;
    }
    if (!parse_u64(&integer, text) || (f->type == TG_FIELD_SIZE && integer > SIZE_MAX) ||
        (f->type == TG_FIELD_BOOL && integer > 1))
        return false;
    if (f->type == TG_FIELD_U64)
        *(uint64_t *)value = integer;
    else if (f->type == TG_FIELD_SIZE)
        *(size_t *)value = (size_t)integer;
    else
        *(bool *)value = integer != 0;
    return true;
}

/* ---- writing */

static tg_status put(const tg_field *f, const void *value, tg_archive_writer *w, tg_err *err)
{
    switch (f->type) {
    case TG_FIELD_SIZE:
        return tg_archive_put_i64(w, f->name, (int64_t) * (const size_t *)value, err);
    case TG_FIELD_U64:
        return tg_archive_put(w, f->name, (tg_dtype){'u', 8}, 0, NULL, value, err);
    case TG_FIELD_REAL:
        return tg_archive_put_f64(w, f->name, *(const double *)value, err);
    case TG_FIELD_BOOL:
        return tg_archive_put_i64(w, f->name, *(const bool *)value, err);
    default:
        return tg_archive_put_choice(w, f->name, f->choices, *(const unsigned *)value, err);
    }
}

tg_status tg_fields_put(tg_fields table, const void *object, tg_archive_writer *w, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < table.n; i++)
        status = put(&table.row[i], tg_field_member(&table.row[i], object), w, err);
    return status;
}

/* ---- reading */

static tg_status take_value(const tg_field *f, void *value, tg_archive_reader *r, const tg_array *a,
                            tg_err *err)
{
    size_t number;
    tg_status status;

    switch (f->type) {
    case TG_FIELD_SIZE:
        return tg_archive_get_size(r, a, value, err);
    case TG_FIELD_U64:
        if (a->ndim != 0 || a->dtype.kind != 'u' || a->dtype.size != sizeof(uint64_t))
            return tg_fail(err, TG_EDATA, "%s must be a scalar of type <u8", a->name);
        return tg_archive_read(r, value, sizeof(uint64_t), err);
    case TG_FIELD_REAL:
        return tg_archive_get_f64(r, a, value, err);
    case TG_FIELD_BOOL:
        if ((status = tg_archive_get_size(r, a, &number, err)))
            return status;
        if (number > 1)
            return tg_fail(err, TG_EDATA, "%s must be 0 or 1, got %zu", a->name, number);
        *(bool *)value = number == 1;
        return TG_OK;
    default:
        if (!(status = tg_archive_get_choice(r, a, f->choices, &number, err)))
            *(unsigned *)value = (unsigned)number;
        return status;
    }
}

tg_status tg_fields_take(tg_fields table, void *object, uint64_t *seen, tg_archive_reader *r,
                         const tg_array *a, bool *taken, tg_err *err)
{
    assert(table.n <= 64);
    *taken = false;
    for (size_t i = 0; i < table.n; i++) {
        const tg_field *f = &table.row[i];

        if (strcmp(a->name, f->name) != 0)
            continue;
        *taken = true;
        if (seen)
            *seen |= (uint64_t)1 << i;
        return take_value(f, tg_field_member(f, object), r, a, err);
    }
    return TG_OK;
}

/* ---- checks */

tg_status tg_fields_complete(tg_fields table, uint64_t seen, tg_err *err)
{
    for (size_t i = 0; i < table.n; i++)
        if (!(seen >> i & 1))
            return tg_fail(err, TG_EDATA, "%s is missing", table.row[i].name);
    return TG_OK;
}

static bool in_range(const tg_field *f, double x)
{
    return (f->min == 0 && f->max == 0) || (x >= f->min && x <= f->max); /* a NaN is in no range */
}

static tg_status check(const tg_field *f, const void *value, tg_err *err)
{
    char name[TG_CHOICE_SIZE];

    if (f->type == TG_FIELD_SIZE && !in_range(f, (double)*(const size_t *)value))
        return tg_fail(err, TG_EDATA, "%s must be between %.0f and %.0f, got %zu", f->name, f->min, f->max,
                       *(const size_t *)value);
    if (f->type == TG_FIELD_REAL && !in_range(f, *(const double *)value))
        return tg_fail(err, TG_EDATA, "%s must be between %g and %g, got %g", f->name, f->min, f->max,
                       *(const double *)value);
    if (f->type == TG_FIELD_CHOICE && *tg_choice_name(name, f->choices, *(const unsigned *)value) == '\0')
        return tg_fail(err, TG_EDATA, "%s is number %u, expected one of %s", f->name,
                       *(const unsigned *)value, f->choices);
    return TG_OK;
}

tg_status tg_fields_check(tg_fields table, const void *object, tg_err *err)
{
    tg_status status = TG_OK;

    for (size_t i = 0; !status && i < table.n; i++)
        status = check(&table.row[i], tg_field_member(&table.row[i], object), err);
    return status;
}
