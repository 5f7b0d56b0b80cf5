/*
 * choice: one of a few names, which a list like "text|tsv|jsonl" has in the order of their
 * numbers.  Options, archives and messages share such a list.
 */
#ifndef TG_BASE_CHOICE_H
#define TG_BASE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#define TG_CHOICE_ROOM 32 /* bytes of a name, with the NUL */

/* The number of a name; false: it is not in the list, and *number stays. */
bool tg_choice_find(size_t *number, const char *list, const char *name);

/* The name of that number, in `room`, which is returned; "" when the list has no such number. */
const char *tg_choice_name(char room[TG_CHOICE_ROOM], const char *list, size_t number);

#endif
