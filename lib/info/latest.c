/* Steps that a log has twice, because a run went back to what it had saved. */
#include "lib/info/info.h"

size_t tg_info_history_latest(tg_info_history *h)
{
    const size_t all = h->n;
    size_t n = 0;

    for (size_t i = 0; i < all; i++) {
        while (n > 0 && h->step[n - 1] >= h->step[i])
            n--;
        h->step[n] = h->step[i];
        h->loss[n] = h->loss[i];
        if (h->val_loss)
            h->val_loss[n] = h->val_loss[i];
        n++;
    }
    h->n = n;
    return all - n;
}
