#include "formats/crc.h"

#include <libdeflate.h>

uint32_t tg_crc32(uint32_t crc, const void *bytes, size_t n)
{
    return n == 0 ? crc : libdeflate_crc32(crc, bytes, n);
}
