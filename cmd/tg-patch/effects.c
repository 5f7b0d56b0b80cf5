/* What patches do to the metric, of one pair of prompts or of many. */
#include <math.h>
#include <stdlib.h>

#include "cmd/cli/token_text.h"
#include "cmd/tg-patch/job.h"
#include "lib/base/choice.h"
#include "lib/base/finite.h"

tg_status patch_effects_make(patch_effects *e, patch_job *job, size_t n, tg_err *err)
{
    *e = (patch_effects){.job = job, .n = n, .sum = calloc(n, sizeof *e->sum)};
    e->values = calloc(n, sizeof *e->values);
    return e->sum && e->values ? TG_OK : tg_fail_memory(err, 2 * n * sizeof *e->sum, "the effects");
}

void patch_effects_free(patch_effects *e)
{
    free(e->sum);
    free(e->values);
}

static patch_sides run_prompts(patch_effects *e, const patch_pair *pair)
{
    const bool noise = e->job->o->noise;
    tg_patch_kept *kept = e->job->patch.kept;
    const patch_sides sides = {patch_keep_pair(e->job, pair),
                               &kept[noise ? TG_PATCH_CLEAN : TG_PATCH_CORRUPT],
                               &kept[noise ? TG_PATCH_CORRUPT : TG_PATCH_CLEAN]};

    e->clean += tg_patch_measure(&sides.metric, kept[TG_PATCH_CLEAN].logits);
    e->corrupt += tg_patch_measure(&sides.metric, kept[TG_PATCH_CORRUPT].logits);
    return sides;
}

tg_status patch_effects_estimated(patch_effects *e, const patch_sides *sides, tg_err *err)
{
    const double base = tg_patch_measure(&sides->metric, sides->base->logits);

    for (size_t i = 0; i < e->n; i++)
        e->values[i] += base;
    if (tg_model_check_lent(&e->job->m.model, err))
        return err->code;
    return tg_find_not_finite64(e->values, e->n) == e->n
               ? TG_OK
               : tg_fail(err, TG_EDATA, "the gradient is not finite");
}

static tg_status check_scale(const patch_effects *e, tg_err *err)
{
    if (e->clean < e->corrupt || e->clean > e->corrupt)
        return TG_OK;
    return tg_fail(err, TG_EDATA,
                   "the clean and the corrupt prompt have the same metric: effects have no scale");
}

tg_status patch_effects_of_pairs(patch_effects *e, patch_find_values *find, void *context, tg_err *err)
{
    tg_status status;

    for (size_t i = 0; i < e->job->pairs; i++) {
        const tg_watch *watch = cli_job_begin(&e->job->progress, "patching");
        const patch_sides sides = run_prompts(e, &e->job->pair[i]);

        if ((status = find(context, e, &sides, watch, err)))
            return status;
        for (size_t k = 0; k < e->n; k++)
            e->sum[k] += e->values[k];
    }
    return check_scale(e, err);
}

double patch_fraction(const patch_options *o, double fraction)
{
    const bool for_the_eye = o->format == TABLE_TEXT && !o->output;

    return fabs(fraction) <= (for_the_eye ? 5e-6 : 0) ? 0 : fraction;
}

double patch_effect(const patch_effects *e, size_t i)
{
    return patch_fraction(e->job->o, (e->sum[i] - e->corrupt) / (e->clean - e->corrupt));
}

/* What the metric of a line is. */
static const char *method(const patch_options *o)
{
    if (!o->attributes)
        return "after the patch";
    return o->steps > 0 ? "estimated by integrated gradients" : "estimated to first order";
}

void patch_effects_header(const patch_effects *e)
{
    const patch_options *o = e->job->o;
    const double pairs = (double)e->job->pairs;
    char metric[TG_CHOICE_SIZE];

    printf("# %s of the last prediction: clean %.6f, corrupt %.6f",
           tg_choice_name(metric, TG_PATCH_METRIC_NAMES, o->metric), e->clean / pairs, e->corrupt / pairs);
    printf(e->job->pairs > 1 ? ", means of %zu pairs\n" : "\n", e->job->pairs);
    printf(o->path ? "# metric   %s: in the %s run the receiver reads what the sender writes in the %s one\n"
                   : "# metric   %s, of the %s run with a part of the %s one\n",
           method(o), o->noise ? "clean" : "corrupt", o->noise ? "corrupt" : "clean");
    printf("# effect   (metric - corrupt) / (clean - corrupt)\n");
}

/* ---- archives */

tg_patch_settings patch_effects_finish(patch_effects *e)
{
    const patch_options *o = e->job->o;
    const double pairs = (double)e->job->pairs;

    for (size_t i = 0; i < e->n; i++) {
        e->values[i] = e->sum[i] / pairs;
        e->sum[i] = patch_effect(e, i);
    }
    return (tg_patch_settings){.metric = o->metric,
                               .noise = o->noise,
                               .estimated = o->attributes,
                               .steps = o->steps,
                               .pairs = e->job->pairs,
                               .clean = e->clean / pairs,
                               .corrupt = e->corrupt / pairs,
                               .answer = e->job->pair[0].answer,
                               .wrong = e->job->pair[0].wrong,
                               .tok = e->job->m.model.tokenizer,
                               .text_of = cli_token_text_of};
}

tg_status patch_check_output(const patch_job *job, tg_err *err)
{
    const patch_options *o = job->o;
    tg_status status;

    if (!o->output)
        return TG_OK;
    status = cli_archive_check(o->output, job->m.path, CLI_OUT_PATCH, err);
    return status || !o->pairs ? status : cli_check_output_differs(o->output, o->pairs, err);
}
