/*
 * readings: what the library's readers make of a file, as a number that changes when anything changes that
 * a caller can see.
 */
#ifndef TG_TESTS_DAMAGE_READINGS_H
#define TG_TESTS_DAMAGE_READINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lib/base/status.h"

typedef struct reading {
    const char *name;
    const char *kinds; /* of archives that it reads, each between spaces */
    bool first;        /* it is the one that looks at the whole of such an archive */
    tg_status (*read)(int fd, uint32_t *digest, tg_err *err);
} reading;

extern const reading readings[];
extern const size_t n_readings;

/* The text of the array "kind", with which an archive begins, into kind; "arrays" if it has none. */
void reading_kind(char kind[32], int fd);

/* Whether the reading is for archives of that kind. */
bool reading_is_for(const reading *r, const char *kind);

#endif
