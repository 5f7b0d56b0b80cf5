/* How training went, in a few lines. */
#include "cmd/cli/cli.h"
#include "cmd/tg-info/show.h"

static void print_losses(const char *label, const info_curve *c)
{
    if (c->n > 0)
        printf("%-12s%s to %s, least %s at step %.0f\n", label, info_loss(c->loss[0]),
               info_loss(c->loss[c->n - 1]), info_loss(c->loss[c->least]), c->step[c->least]);
}

/* A log has many lines; a model keeps one step in a power of two. */
static void print_steps(const tg_info_history *h, size_t repeated)
{
    const double every = h->n > 1 ? h->step[1] - h->step[0] : 1;

    printf("%-12s%.0f to %.0f", "steps", h->step[0], h->step[h->n - 1]);
    if (h->val_loss)
        printf(", in %s line%s", cli_count(h->n), cli_plural(h->n));
    else if (every > 1)
        printf(", one in %.0f", every);
    if (repeated > 0)
        printf(", and %s that later ones replace", cli_count(repeated));
    putchar('\n');
}

void info_show_history(const info_run *run)
{
    const tg_info_history *h = &run->info->history;

    if (h->n == 0)
        return;
    print_steps(h, run->repeated);
    print_losses("loss", &run->loss);
    print_losses("validation", &run->val_loss);
}
