/*
 * crc: the CRC-32 of ZIP and of zlib (polynomial 0xedb88320, reflected).
 *
 * libdeflate's, which multiplies polynomials with the processor's own instruction and
 * keeps up with memory; zlib's needs half a nanosecond a byte.
 */
#ifndef TG_FORMATS_CRC_H
#define TG_FORMATS_CRC_H

#include <stddef.h>
#include <stdint.h>

#include <libdeflate.h>

/* The checksum of what crc is the checksum of (0: nothing), followed by n bytes. */
static inline uint32_t tg_crc32(uint32_t crc, const void *bytes, size_t n)
{
    return n == 0 ? crc : libdeflate_crc32(crc, bytes, n);
}

#endif
