/*
 * probe: texts on which heads show what they do, for a model that one has no text for.
 *
 *     repeat   TG_PROBE_PERIOD distinct tokens in random order, then the same again.  Nothing predicts the
 *              first half; in the second, a model with induction heads knows what follows.
 *              Source: Olsson et al. 2022, arXiv:2209.11895.
 *     names    "When Mary and John went to the store, John gave a drink to": what follows is the name
 *              that comes once.  Source: Wang et al. 2022, arXiv:2211.00593.
 *     text     three English sentences with a name that comes twice, two numbers and punctuation
 *
 * A probe is the same for every model with the same tokenizer and context.
 */
#ifndef TG_HEADS_PROBE_H
#define TG_HEADS_PROBE_H

#include "lib/gpt/model.h"
#include "lib/tokens/stream.h"

#define TG_PROBE_PERIOD 24

typedef enum tg_probe { TG_PROBE_REPEAT, TG_PROBE_NAMES, TG_PROBE_TEXT } tg_probe;
#define TG_PROBES "repeat|names|text" /* in the order of the enum */

/*
 * The ids of a probe, no more than the model's context.
 *
 * The tokens of `repeat` are words: letters of ASCII, with or without a space before them; in a
 * tokenizer with less than a period of those, or without text, any that are not special.  If the
 * context or the tokenizer is too small for a period, it is shorter.
 *
 * TG_EUSAGE: `names` or `text`, and the tokenizer has no text; `repeat`, and the context is 1, or there
 * is no token.  TG_EDATA: the tokenizer cannot express the text.  TG_ENOMEM.  After a failure *p needs
 * no free.
 */
TG_MUST_CHECK tg_status tg_probe_make(tg_tokens_prompt *p, const tg_model *model, tg_probe probe,
                                      tg_err *err);

#endif
