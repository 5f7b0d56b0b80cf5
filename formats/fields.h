/*
 * fields: the members of a struct as named scalars of an archive.
 *
 * A table has a row for each member: the array's name, the type, the offset in the struct
 * and the allowed values.  The same table serves to write, read and check them, and to turn
 * them into options (cmd/cli).
 */
#ifndef TG_FORMATS_FIELDS_H
#define TG_FORMATS_FIELDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "formats/archive.h"
#include "lib/base/status.h"

typedef enum tg_field_type {
    TG_FIELD_SIZE,  /* size_t: <i8 */
    TG_FIELD_U64,   /* uint64_t: <u8, all 64 bits */
    TG_FIELD_REAL,  /* double: <f8 */
    TG_FIELD_BOOL,  /* bool: <i8, 0 or 1 */
    TG_FIELD_CHOICE /* an enum: |S, a name of a list (lib/base/choice.h) */
} tg_field_type;

typedef struct tg_field {
    const char *name; /* of the array: "config/n_layer" */
    tg_field_type type;
    size_t offset;       /* of the member */
    double min, max;     /* of TG_FIELD_SIZE and TG_FIELD_REAL; {0, 0}: any value */
    const char *choices; /* of TG_FIELD_CHOICE: "gelu_new|gelu", in the order of the enum */
} tg_field;

/* Rows of a table.  A member whose type is not the row's does not compile. */
#define TG_FIELD(name, kind, object, member, type, min, max, choices)                                        \
    {                                                                                                        \
        name, kind, _Generic(((object *)0)->member, type : offsetof(object, member)), min, max, choices      \
    }
#define TG_SIZE_FIELD(name, object, member, min, max)                                                        \
    TG_FIELD(name, TG_FIELD_SIZE, object, member, size_t, min, max, NULL)
#define TG_U64_FIELD(name, object, member) TG_FIELD(name, TG_FIELD_U64, object, member, uint64_t, 0, 0, NULL)
#define TG_REAL_FIELD(name, object, member, min, max)                                                        \
    TG_FIELD(name, TG_FIELD_REAL, object, member, double, min, max, NULL)
#define TG_BOOL_FIELD(name, object, member) TG_FIELD(name, TG_FIELD_BOOL, object, member, bool, 0, 0, NULL)
#define TG_CHOICE_FIELD(name, object, member, choices)                                                       \
    TG_FIELD(name, TG_FIELD_CHOICE, object, member, unsigned, 0, 0, choices)

/* A table of at most 64 rows, in the order in which they are written. */
typedef struct tg_fields {
    const tg_field *row;
    size_t n;
} tg_fields;

/* The member of an object that a row describes; constant if the object is. */
void *tg_field_member(const tg_field *f, const void *object);

/* Copy a member; compare it, bit by bit; format its value for a message. */
void tg_field_copy(const tg_field *f, void *to, const void *from);
bool tg_field_equal(const tg_field *f, const void *a, const void *b);
void tg_field_text(char *text, size_t size, const tg_field *f, const void *object);

/* Set a member to what a text says, all of it, as the member's type is written; false, with the object
 * unchanged: it says nothing of that type.  Ranges are not checked. */
bool tg_field_parse(const tg_field *f, void *object, const char *text);

/* Write all members.  Fails like tg_archive_put(). */
TG_MUST_CHECK tg_status tg_fields_put(tg_fields table, const void *object, tg_archive_writer *w, tg_err *err);

/*
 * If row i has the name of the current array, read the array into the member and set bit i
 * of *seen (which may be NULL); *taken says whether a row has.  TG_EDATA: the array is not a
 * value of the row's type.  Ranges are not checked.
 */
TG_MUST_CHECK tg_status tg_fields_take(tg_fields table, void *object, uint64_t *seen, tg_archive_reader *r,
                                       const tg_array *a, bool *taken, tg_err *err);

/* Check that every row was seen; otherwise TG_EDATA, with the first missing name. */
TG_MUST_CHECK tg_status tg_fields_complete(tg_fields table, uint64_t seen, tg_err *err);

/* Check that every value is in its range or list; otherwise TG_EDATA, with name, value and range. */
TG_MUST_CHECK tg_status tg_fields_check(tg_fields table, const void *object, tg_err *err);

#endif
