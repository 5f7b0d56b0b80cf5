#include "formats/shown.h"

const char *tg_shown(char out[TG_SHOWN_MAX], const char *bytes, size_t n)
{
    size_t i = 0;

    for (; i < n && i < TG_SHOWN_MAX - 1; i++) {
        out[i] = '?';
        if (bytes[i] >= ' ' && bytes[i] < 0x7F)
            out[i] = bytes[i];
    }
    out[i] = '\0';
    return out;
}
