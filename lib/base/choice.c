#include "lib/base/choice.h"

#include <assert.h>
#include <string.h>

/* The name after this one; NULL after the last. */
static const char *next(const char *at)
{
    const char *bar = strchr(at, '|');

    return bar ? bar + 1 : NULL;
}

static size_t length(const char *at)
{
    return strcspn(at, "|");
}

bool tg_choice_find(size_t *number, const char *list, const char *name)
{
    const size_t n = strlen(name);
    size_t count = 0;

    for (const char *at = list; at; at = next(at), count++) {
        if (length(at) == n && memcmp(at, name, n) == 0) {
            *number = count;
            return true;
        }
    }
    return false;
}

const char *tg_choice_name(char name[TG_CHOICE_SIZE], const char *list, size_t number)
{
    const char *at = list;

    for (; at && number > 0; number--)
        at = next(at);
    if (!at)
        at = "";
    assert(length(at) < TG_CHOICE_SIZE);
    memcpy(name, at, length(at));
    name[length(at)] = '\0';
    return name;
}
