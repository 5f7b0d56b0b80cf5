/*
 * crc: the CRC-32 of ZIP and of zlib (polynomial 0xedb88320, reflected).
 *
 * libdeflate uses the processor's carry-less multiplication and is as fast as memory;
 * zlib takes half a nanosecond per byte.
 */
#ifndef TG_FORMATS_CRC_H
#define TG_FORMATS_CRC_H

#include <stddef.h>
#include <stdint.h>

/* Extend crc, the checksum of all preceding bytes (0: none), by n bytes. */
uint32_t tg_crc32(uint32_t crc, const void *bytes, size_t n);

#endif
