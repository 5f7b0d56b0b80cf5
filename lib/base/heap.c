#include "lib/base/heap.h"

/* Move item[i] down until neither of its children is less. */
static void sift_down(tg_heap *h, size_t i)
{
    const uint64_t moved = h->item[i];
    size_t child;

    while ((child = 2 * i + 1) < h->n) {
        child += child + 1 < h->n && h->item[child + 1] < h->item[child];
        if (h->item[child] >= moved)
            break;
        h->item[i] = h->item[child];
        i = child;
    }
    h->item[i] = moved;
}

void tg_heap_make(tg_heap *h)
{
    for (size_t i = h->n / 2; i-- > 0;)
        sift_down(h, i);
}

void tg_heap_push(tg_heap *h, uint64_t item)
{
    size_t i = h->n++;

    for (; i > 0 && h->item[(i - 1) / 2] > item; i = (i - 1) / 2)
        h->item[i] = h->item[(i - 1) / 2];
    h->item[i] = item;
}

uint64_t tg_heap_pop(tg_heap *h)
{
    const uint64_t least = h->item[0];

    h->item[0] = h->item[--h->n];
    if (h->n > 1)
        sift_down(h, 0);
    return least;
}
