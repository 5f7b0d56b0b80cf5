#include "lib/patch/ablation_write.h"

static tg_status put_settings(tg_archive_writer *w, const tg_ablation_grid *g, tg_err *err)
{
    const tg_patch_settings *s = &g->settings;
    tg_status status;

    if ((status = tg_archive_put_choice(w, "ablation/metric", TG_PATCH_METRIC_NAMES, s->metric, err)) ||
        (status = tg_archive_put_choice(w, "ablation/by", TG_ABLATION_BY, g->by, err)) ||
        (status = tg_archive_put_choice(w, "ablation/set", TG_ABLATION_SETS, g->set, err)) ||
        (status = tg_archive_put_i64(w, "ablation/pairs", (int64_t)s->pairs, err)) ||
        (status = tg_patch_answers_put(w, "ablation", s, err)) ||
        (status = tg_archive_put_f64(w, "ablation/model", g->model, err)) ||
        (status = tg_archive_put_f64(w, "ablation/none", g->none, err)))
        return status;
    return g->set == TG_ABLATION_EACH ? TG_OK : tg_archive_put_f64(w, "ablation/whole", g->whole, err);
}

static tg_status put_all(tg_archive_writer *w, const tg_ablation_grid *g, tg_err *err)
{
    const size_t shape[] = {g->L, g->P};
    tg_status status;

    if ((status = tg_archive_put_text(w, "kind", "ablation", err)) ||
        (status = tg_archive_put_i64(w, "version", TG_ABLATION_VERSION, err)) ||
        (status =
             tg_patch_prompts_put(w, "ablation", &g->settings, g->clean_ids, g->corrupt_ids, g->T, err)) ||
        (status = put_settings(w, g, err)) ||
        (status = tg_archive_put(w, "ablation/named", TG_I64, 2, shape, g->named, err)) ||
        (status = tg_archive_put(w, "ablation/part", TG_I64, 2, shape, g->part, err)) ||
        (status = tg_archive_put(w, "ablation/value", TG_F64, 2, shape, g->value, err)) ||
        (status = tg_archive_put(w, "ablation/faithfulness", TG_F64, 2, shape, g->faithfulness, err)))
        return status;
    return tg_archive_put(w, "ablation/change", TG_F64, 2, shape, g->change, err);
}

tg_status tg_ablation_write(int fd, const tg_ablation_grid *g, tg_err *err)
{
    tg_archive_writer *w;
    const tg_status status = tg_archive_create(&w, fd, err);

    return status ? status : tg_archive_end(w, put_all(w, g, err), err);
}
