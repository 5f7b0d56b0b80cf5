#include "formats/sha256.h"

#include <stdint.h>
#include <string.h>

#define BLOCK 64

/* The first 32 bits of the fractions of the cube roots of the first 64 primes. */
static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* The same of the square roots of the first 8 primes. */
static const uint32_t start[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotate(uint32_t x, unsigned n)
{
    return x >> n | x << (32 - n);
}

static void expand(uint32_t w[64], const unsigned char *block)
{
    for (size_t t = 0; t < 16; t++) {
        const unsigned char *p = block + 4 * t;

        w[t] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    }
    for (size_t t = 16; t < 64; t++) {
        const uint32_t x = w[t - 15], y = w[t - 2];

        w[t] = w[t - 16] + (rotate(x, 7) ^ rotate(x, 18) ^ x >> 3) + w[t - 7] +
               (rotate(y, 17) ^ rotate(y, 19) ^ y >> 10);
    }
}

/* Add one block to the state. */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];

    expand(w, block);
    for (size_t t = 0; t < 64; t++) {
        const uint32_t choice = (e & f) ^ (~e & g), majority = (a & b) ^ (a & c) ^ (b & c);
        const uint32_t t1 =
            h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + choice + round_constants[t] + w[t];
        const uint32_t t2 = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + majority;

        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

void tg_sha256(unsigned char hash[TG_SHA256_SIZE], const void *data, size_t n)
{
    const unsigned char *bytes = data;
    unsigned char tail[2 * BLOCK] = {0};
    const uint64_t bits = (uint64_t)n * 8;
    const size_t rest = n % BLOCK, blocks = rest + 9 > BLOCK ? 2 : 1;
    uint32_t state[8];

    memcpy(state, start, sizeof state);
    for (size_t at = 0; at + BLOCK <= n; at += BLOCK)
        compress(state, bytes + at);
    if (rest > 0)
        memcpy(tail, bytes + n - rest, rest);
    tail[rest] = 0x80;
    for (size_t i = 0; i < 8; i++)
        tail[blocks * BLOCK - 1 - i] = (unsigned char)(bits >> 8 * i);
    for (size_t i = 0; i < blocks; i++)
        compress(state, tail + i * BLOCK);
    for (size_t i = 0; i < TG_SHA256_SIZE; i++)
        hash[i] = (unsigned char)(state[i / 4] >> (24 - i % 4 * 8));
}
