#include "formats/shown.h"

const char *tg_shown(char out[TG_SHOWN_MAX], const char *bytes, size_t n)
{
    size_t i = 0;

    for (; i < n && i < TG_SHOWN_MAX - 1; i++)
        out[i] = bytes[i] >= ' ' && bytes[i] < 0x7F ? bytes[i] : '?';
    out[i] = '\0';
    return out;
}
