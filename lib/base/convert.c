#include "lib/base/convert.h"

#define LANE ((size_t)64) /* values at a time, a number for which loops use vectors */

#define INLINE inline __attribute__((always_inline)) /* so that its last two arguments are constants */

/* Round LANE values.  `exponent` has the bits that are all set in a result which is not finite; nonzero:
 * there is one. */
static INLINE unsigned round_lane(uint16_t *restrict out, const float *restrict x, uint16_t (*round)(float),
                                  unsigned exponent)
{
    unsigned bits[LANE], bad = 0;

    for (size_t i = 0; i < LANE; i++) {
        bits[i] = round(x[i]);
        bad |= (bits[i] & exponent) == exponent;
    }
    for (size_t i = 0; i < LANE; i++)
        out[i] = (uint16_t)bits[i];
    return bad;
}

static INLINE bool round_all(unsigned char *out, const float *x, size_t n, uint16_t (*round)(float),
                             unsigned exponent)
{
    uint16_t stored[LANE];
    float last[LANE] = {0};
    unsigned bad = 0;

    for (; n >= LANE; n -= LANE, x += LANE, out += sizeof stored) {
        bad |= round_lane(stored, x, round, exponent);
        memcpy(out, stored, sizeof stored);
    }
    memcpy(last, x, n * sizeof *x);
    bad |= round_lane(stored, last, round, exponent);
    memcpy(out, stored, n * sizeof *stored);
    return bad == 0;
}

bool tg_round_to_half(void *out, const float *x, size_t n)
{
    return round_all(out, x, n, tg_half_from_float, 0x7C00);
}

bool tg_round_to_bf16(void *out, const float *x, size_t n)
{
    return round_all(out, x, n, tg_bf16_from_float, 0x7F80);
}
