#include "lib/base/round16.h"

#include <stdint.h>

#include "lib/base/convert.h"

#define LANE ((size_t)64) /* values at a time, a number for which loops use vectors */

/* Round LANE values; nonzero: some results are not finite. */
typedef unsigned round_lane(uint16_t *restrict out, const float *restrict x);

static unsigned lane_to_half(uint16_t *restrict out, const float *restrict x)
{
    unsigned bits[LANE], bad = 0;

    for (size_t i = 0; i < LANE; i++) {
        bits[i] = tg_half_from_float(x[i]);
        bad |= (bits[i] & 0x7C00) == 0x7C00;
    }
    for (size_t i = 0; i < LANE; i++)
        out[i] = (uint16_t)bits[i];
    return bad;
}

static unsigned lane_to_bf16(uint16_t *restrict out, const float *restrict x)
{
    unsigned bits[LANE], bad = 0;

    for (size_t i = 0; i < LANE; i++) {
        bits[i] = tg_bf16_from_float(x[i]);
        bad |= (bits[i] & 0x7F80) == 0x7F80;
    }
    for (size_t i = 0; i < LANE; i++)
        out[i] = (uint16_t)bits[i];
    return bad;
}

static bool round_all(unsigned char *out, const float *x, size_t n, round_lane *lane)
{
    uint16_t stored[LANE];
    float last[LANE] = {0};
    unsigned bad = 0;

    for (; n >= LANE; n -= LANE, x += LANE, out += sizeof stored) {
        bad |= lane(stored, x);
        memcpy(out, stored, sizeof stored);
    }
    memcpy(last, x, n * sizeof *x);
    bad |= lane(stored, last);
    memcpy(out, stored, n * sizeof *stored);
    return bad == 0;
}

bool tg_round_to_half(void *out, const float *x, size_t n)
{
    return round_all(out, x, n, lane_to_half);
}

bool tg_round_to_bf16(void *out, const float *x, size_t n)
{
    return round_all(out, x, n, lane_to_bf16);
}
