#include "formats/base64.h"

#include <stdint.h>

size_t tg_base64_encode(char *out, const void *data, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const unsigned char *in = data;
    char *at = out;

    for (; n >= 3; n -= 3, in += 3) {
        const uint32_t x = (uint32_t)in[0] << 16 | (uint32_t)in[1] << 8 | in[2];

        *at++ = digits[x >> 18];
        *at++ = digits[x >> 12 & 63];
        *at++ = digits[x >> 6 & 63];
        *at++ = digits[x & 63];
    }
    if (n > 0) {
        const uint32_t x = (uint32_t)in[0] << 16 | (n > 1 ? (uint32_t)in[1] << 8 : 0);

        *at++ = digits[x >> 18];
        *at++ = digits[x >> 12 & 63];
        *at++ = (char)(n > 1 ? digits[x >> 6 & 63] : '=');
        *at++ = '=';
    }
    return (size_t)(at - out);
}
