/* cli: commands that a message suggests, quoted for the shell. */
#include <string.h>

#include "cmd/cli/cli.h"
#include "lib/base/utf8.h"
#include "lib/view/label.h"

static const char more[] = " ...";
#define SAFE "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:,+@%"

/* The bytes of the character at the start of word [n]; 0: none that a message shows as it is. */
static size_t visible(const char *word, size_t n)
{
    uint32_t code;
    const size_t length = tg_utf8_printable(&code, word, n);

    return length > 0 && !tg_label_hides(code) ? length : 0;
}

/* How the characters of a word are written: as they are; in '...'; or, because one of them cannot be shown,
 * in $'...' with escapes. */
enum quoting { PLAIN, QUOTED, ESCAPED };

static enum quoting quoting_of(const char *word)
{
    enum quoting result = *word == '\0' || strcmp(word, more + 1) == 0 ? QUOTED : PLAIN;

    for (size_t n = strlen(word), taken; n > 0; word += taken, n -= taken) {
        taken = visible(word, n);
        if (taken == 0)
            return ESCAPED;
        if (taken == 1 && !strchr(SAFE, *word))
            result = QUOTED;
    }
    return result;
}

/* Write the character at word, of which n bytes are left; returns the bytes written, at most 4.  *taken:
 * the bytes read. */
static size_t write_character(char out[5], const char *word, size_t n, enum quoting quoting, size_t *taken)
{
    *taken = visible(word, n);
    if (*taken == 0) {
        *taken = 1;
        return (size_t)snprintf(out, 5, "\\%03o", (unsigned char)*word);
    }
    if (quoting == QUOTED && *word == '\'')
        return (size_t)snprintf(out, 5, "'\\''");
    if (quoting == ESCAPED && (*word == '\'' || *word == '\\'))
        return (size_t)snprintf(out, 5, "\\%c", *word);
    memcpy(out, word, *taken);
    return *taken;
}

/* Append n bytes to the `used` ones of a command, if it has room for them.  Returns how many it would have
 * then. */
static size_t append(char *command, size_t room, size_t used, const char *bytes, size_t n)
{
    if (used + n <= room)
        memcpy(command + used, bytes, n);
    return used + n;
}

static bool is_cut(const char *command)
{
    const size_t used = strlen(command);

    return used >= strlen(more) && strcmp(command + used - strlen(more), more) == 0;
}

void cli_command_add(char *command, size_t size, const char *word)
{
    static const char *const opening[] = {"", "'", "$'"}, *const closing[] = {"", "'", "'"};
    const size_t begin = strlen(command), room = size - sizeof more;
    const enum quoting quoting = quoting_of(word);
    size_t used = begin;

    if (is_cut(command))
        return;
    if (begin > 0)
        used = append(command, room, used, " ", 1);
    used = append(command, room, used, opening[quoting], strlen(opening[quoting]));
    for (size_t n = strlen(word), taken; n > 0; word += taken, n -= taken) {
        char character[5];
        const size_t length = write_character(character, word, n, quoting, &taken);

        used = append(command, room, used, character, length);
    }
    used = append(command, room, used, closing[quoting], strlen(closing[quoting]));
    if (used <= room)
        command[used] = '\0';
    else
        snprintf(command + begin, size - begin, "%s", more);
}
