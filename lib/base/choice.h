/*
 * choice: one name out of a list such as "text|tsv|jsonl", where the first has number 0.
 * Options, archives and messages share such lists.
 */
#ifndef TG_BASE_CHOICE_H
#define TG_BASE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#define TG_CHOICE_SIZE 32 /* bytes of a name, with the NUL */

/* The number of a name.  False, and *number unchanged, when the list lacks it. */
bool tg_choice_find(size_t *number, const char *list, const char *name);

/* Copy the name with that number to `name`, which is returned; "" when the list has fewer. */
const char *tg_choice_name(char name[TG_CHOICE_SIZE], const char *list, size_t number);

#endif
