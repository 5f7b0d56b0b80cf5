#include "formats/base64.h"

#include <stdint.h>

size_t tg_base64_encode(char *out, const void *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = data;
    char *at = out;

    for (size_t i = 0; i < n; i += 3) {
        const size_t left = n - i;
        const uint32_t x = (uint32_t)in[i] << 16 | (left > 1 ? (uint32_t)in[i + 1] << 8 : 0) |
                           (left > 2 ? (uint32_t)in[i + 2] : 0);

        *at++ = digits[x >> 18];
        *at++ = digits[x >> 12 & 63];
        *at++ = (char)(left > 1 ? digits[x >> 6 & 63] : '=');
        *at++ = (char)(left > 2 ? digits[x & 63] : '=');
    }
    return (size_t)(at - out);
}

/* 0 to 63; 64: not a digit. */
static uint32_t value_of(char digit)
{
    if (digit >= 'A' && digit <= 'Z')
        return (uint32_t)(digit - 'A');
    if (digit >= 'a' && digit <= 'z')
        return (uint32_t)(digit - 'a') + 26;
    if (digit >= '0' && digit <= '9')
        return (uint32_t)(digit - '0') + 52;
    return digit == '+' ? 62 : digit == '/' ? 63 : 64;
}

bool tg_base64_decode(void *out, size_t *bytes, const char *text, size_t n)
{
    unsigned char *at = out;
    size_t padding = 0;

    if (n % 4 != 0)
        return false;
    while (padding < 2 && padding < n && text[n - 1 - padding] == '=')
        padding++;
    for (size_t i = 0; i < n; i += 4) {
        const size_t left_out = i + 4 == n ? padding : 0;
        uint32_t x = 0;

        for (size_t d = 0; d < 4; d++) {
            const uint32_t value = d < 4 - left_out ? value_of(text[i + d]) : 0;

            if (value == 64)
                return false;
            x = x << 6 | value;
        }
        if (x & (((uint32_t)1 << 8 * left_out) - 1))
            return false;
        for (size_t b = 0; b < 3 - left_out; b++)
            *at++ = (unsigned char)(x >> (16 - 8 * b));
    }
    *bytes = (size_t)(at - (unsigned char *)out);
    return true;
}
