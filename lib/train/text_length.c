#include "lib/train/text_length.h"

#include "lib/base/size.h"
#include "lib/train/documents.h"
#include "lib/train/recipe.h"

tg_status tg_run_text_length(const tg_run *run, size_t *tokens, tg_settings *asked, bool given[TG_SETTINGS],
                             const tg_tokens *text, const tg_tokens *val, tg_err *err)
{
    const tg_origin origin = tg_recipe_origin(&run->model);
    const bool packing = given[TG_SET_PACKING] ? asked->packing : run->settings.packing;
    const bool chosen = origin == TG_ORIGIN_TRAINED && run->step == 0 && !given[TG_SET_CONTEXT];
    size_t T = tg_recipe_context(&run->model, origin, asked->context, given[TG_SET_CONTEXT]);
    tg_documents d;
    tg_status status;

    *tokens = text->count;
    if (!text->mask)
        return TG_OK;
    if (run->step == 0) /* documents have none, unless it is asked for, and refused */
        given[TG_SET_FIRST_CONTEXT] = true;
    if (chosen) {
        if ((status = tg_recipe_shorten(&T, text, val, packing, err)))
            return status;
        asked->context = T;
        given[TG_SET_CONTEXT] = true;
    }
    if ((status = tg_documents_init(&d, text, T, packing, 0, err)))
        return status;
    *tokens = tg_size_mul_sat(d.n, d.T);
    tg_documents_free(&d);
    return TG_OK;
}
