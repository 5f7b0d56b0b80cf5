/* heat: the map of an archive, by its kind. */
#include <string.h>

#include "cmd/tg-attn-view/heat.h"
#include "lib/base/choice.h"

/* The list that `show` must be in; *what: of what it is. */
static const char *shows_of(const tg_results *r, const char **what)
{
    static const char *const lists[TG_RESULTS_KINDS] = {[TG_RESULTS_LENS] = HEAT_LENS,
                                                        [TG_RESULTS_ATTRIBUTION] = HEAT_ATTRIBUTION,
                                                        [TG_RESULTS_PATCH] = HEAT_PATCH,
                                                        [TG_RESULTS_EDGES] = HEAT_PATCH,
                                                        [TG_RESULTS_ABLATION] = HEAT_ABLATION};
    static const char *const texts[TG_RESULTS_KINDS] = {"a lens",    "an attribution", "patches",
                                                        "a circuit", "edges",          "ablations"};

    *what = texts[r->kind];
    if (r->kind != TG_RESULTS_CIRCUIT)
        return lists[r->kind];
    if (!tg_results_find(r, "k"))
        return HEAT_HEADS;
    return tg_results_find(r, "baseline") ? HEAT_EXCESS "|" HEAT_PAIRS : HEAT_PAIRS;
}

tg_status heat_make(heat *h, const tg_results *r, const heat_want *want, tg_err *err)
{
    static tg_status (*const make[TG_RESULTS_KINDS])(heat *, const tg_results *, const heat_want *,
                                                     const char *, tg_err *) = {
        heat_of_lens, heat_of_attribution, heat_of_patch, heat_of_circuit, heat_of_edges, heat_of_ablation};
    char first[TG_CHOICE_SIZE];
    const char *what, *shows = shows_of(r, &what);
    const char *show = want->show ? want->show : tg_choice_name(first, shows, 0);
    size_t number;

    *h = (heat){.decimals = 2};
    if (!tg_choice_find(&number, shows, show))
        return tg_fail(err, TG_EUSAGE, "--show %s is not of %s: expected one of %s", show, what, shows);
    if (want->scale_given && strcmp(show, "probs") != 0)
        return tg_fail(err, TG_EUSAGE, "--scale is for probabilities, not for --show %s", show);
    return make[r->kind](h, r, want, show, err);
}
