#include "lib/text/ids.h"

size_t tg_ids_width(size_t vocab_size)
{
    if (vocab_size <= (size_t)1 << 8)
        return 1;
    return vocab_size <= (size_t)1 << 16 ? 2 : 4;
}

uint32_t tg_ids_load(const unsigned char *p, size_t width)
{
    uint32_t id = p[0];

    if (width >= 2)
        id |= (uint32_t)p[1] << 8;
    return width == 4 ? id | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24 : id;
}

static void store(unsigned char *p, size_t width, uint32_t id)
{
    for (size_t i = 0; i < width; i++)
        p[i] = (unsigned char)(id >> 8 * i);
}

size_t tg_ids_check(const int32_t *ids, size_t n, size_t vocab_size)
{
    uint32_t greatest = 0;
    size_t t = 0;

    for (size_t i = 0; i < n; i++)
        greatest = (uint32_t)ids[i] > greatest ? (uint32_t)ids[i] : greatest;
    if (n == 0 || greatest < vocab_size)
        return n;
    while ((uint32_t)ids[t] < vocab_size)
        t++;
    return t;
}

size_t tg_ids_check_packed(const void *packed, size_t width, size_t n, size_t vocab_size)
{
    const unsigned char *p = packed;
    size_t t = 0;

    if (width < sizeof(uint32_t) && vocab_size >> 8 * width > 0)
        return n; /* no id of this width is too large */
    while (t < n && tg_ids_load(p + t * width, width) < vocab_size)
        t++;
    return t;
}

bool tg_ids_contain(const uint32_t *ids, size_t n, size_t id)
{
    const size_t end = n;
    size_t low = 0;

    while (low < n) {
        const size_t middle = low + (n - low) / 2;

        if (ids[middle] < id)
            low = middle + 1;
        else
            n = middle;
    }
    return low < end && ids[low] == id;
}

/* One loop per width, so that the compiler can vectorize it. */
void tg_ids_pack(void *packed, size_t width, const int32_t *ids, size_t n)
{
    unsigned char *p = packed;

    if (width == 1)
        for (size_t i = 0; i < n; i++)
            p[i] = (unsigned char)ids[i];
    else if (width == 2)
        for (size_t i = 0; i < n; i++)
            store(p + 2 * i, 2, (uint32_t)ids[i]);
    else
        for (size_t i = 0; i < n; i++)
            store(p + 4 * i, 4, (uint32_t)ids[i]);
}

void tg_ids_unpack(int32_t *ids, const void *packed, size_t width, size_t n)
{
    const unsigned char *p = packed;

    if (width == 1)
        for (size_t i = 0; i < n; i++)
            ids[i] = p[i];
    else if (width == 2)
        for (size_t i = 0; i < n; i++)
            ids[i] = (int32_t)tg_ids_load(p + 2 * i, 2);
    else
        for (size_t i = 0; i < n; i++)
            ids[i] = (int32_t)tg_ids_load(p + 4 * i, 4);
}

void tg_ids_convert(void *to, size_t to_width, const void *from, size_t from_width, size_t n)
{
    unsigned char *out = to;
    const unsigned char *in = from;

    for (size_t i = 0; i < n; i++)
        store(out + i * to_width, to_width, tg_ids_load(in + i * from_width, from_width));
}
