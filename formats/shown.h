/* shown: bytes of a file that a message quotes. */
#ifndef TG_FORMATS_SHOWN_H
#define TG_FORMATS_SHOWN_H

#include <stddef.h>

#define TG_SHOWN_MAX 96

/* Copy bytes [n] to out, cut if need be, with ? in place of all but printable ASCII.  Returns out. */
const char *tg_shown(char out[TG_SHOWN_MAX], const char *bytes, size_t n);

#endif
