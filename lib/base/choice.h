/*
 * choice: lists of names such as "text|tsv|jsonl", numbered from 0.  Options, archives and
 * messages use the same lists.
 */
#ifndef TG_BASE_CHOICE_H
#define TG_BASE_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#define TG_CHOICE_SIZE 32 /* bytes of a name, with the NUL */

/* The number of a name.  False, with *number unchanged, when the name is not in the list. */
bool tg_choice_find(size_t *number, const char *list, const char *name);

/* Copy the name with that number to `name`, which is returned; "" when the list has fewer. */
const char *tg_choice_name(char name[TG_CHOICE_SIZE], const char *list, size_t number);

#endif
