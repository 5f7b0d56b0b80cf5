#include "lib/results/tables.h"

#include "lib/patch/ablation_write.h"

static const tg_results_row lens[] = {
    {.name = "ids", .type = 'i', .dims = "T"},
    {.name = "text", .type = 'S', .dims = "T", .optional = true},
    {.name = "n_layer", .type = 'i', .dims = ""},
    {.name = "layers", .type = 'i', .dims = "M", .bound = "n_layer", .limit = TG_RESULTS_STEPS},
    {.name = "positions", .type = 'i', .dims = "N", .bound = "T", .limit = TG_RESULTS_PLACES},
    {.name = "target", .type = 'i', .dims = "N", .none = true},
    {.name = "target_text", .type = 'S', .dims = "N", .optional = true},
    {.name = "rank", .type = 'i', .dims = "MN", .none = true},
    {.name = "logit", .type = 'f', .dims = "MN"},
    {.name = "kl", .type = 'f', .dims = "MN"},
    {.name = "entropy", .type = 'f', .dims = "MN"},
    {.name = "sum", .type = 'f', .dims = "MN"},
    {.name = "top_ids", .type = 'i', .dims = "MNK", .optional = true},
    {.name = "top_logits", .type = 'f', .dims = "MNK", .optional = true},
    {.name = "top_text", .type = 'S', .dims = "MNK", .optional = true},
    {.name = NULL},
};

static const tg_results_row attribution[] = {
    {.name = "ids", .type = 'i', .dims = "T"},
    {.name = "text", .type = 'S', .dims = "T", .optional = true},
    {.name = "position", .type = 'i', .dims = "", .bound = "T", .limit = TG_RESULTS_BELOW},
    {.name = "token", .type = 'i', .dims = ""},
    {.name = "token_text", .type = 'S', .dims = "", .optional = true},
    {.name = "minus", .type = 'i', .dims = "", .none = true},
    {.name = "minus_text", .type = 'S', .dims = "", .optional = true},
    {.name = "logit", .type = 'f', .dims = ""},
    {.name = "capped", .type = 'f', .dims = ""},
    {.name = "sum", .type = 'f', .dims = ""},
    {.name = "scale", .type = 'f', .dims = ""},
    {.name = "embedding", .type = 'f', .dims = ""},
    {.name = "position_embedding", .type = 'f', .dims = ""},
    {.name = "norm_bias", .type = 'f', .dims = ""},
    {.name = "head_bias", .type = 'f', .dims = ""},
    {.name = "head", .type = 'f', .dims = "LH"},
    {.name = "key", .type = 'f', .dims = "LHT"},
    {.name = "att_bias", .type = 'f', .dims = "L"},
    {.name = "mlp", .type = 'f', .dims = "L"},
    {.name = "unit", .type = 'f', .dims = "LU"},
    {.name = "mlp_bias", .type = 'f', .dims = "L"},
    {.name = NULL},
};

/* The tokens that the metric is of. */
#define ANSWERS                                                                                              \
    {.name = "answer", .type = 'i', .dims = "", .none = true, .optional = true},                             \
        {.name = "answer_text", .type = 'S', .dims = "", .optional = true},                                  \
        {.name = "wrong", .type = 'i', .dims = "", .none = true, .optional = true},                          \
    {                                                                                                        \
        .name = "wrong_text", .type = 'S', .dims = "", .optional = true                                      \
    }

/* How patches were made, of a site or of edges. */
#define SETTINGS                                                                                             \
    {.name = "metric", .type = 'S', .dims = "", .choices = TG_PATCH_METRIC_NAMES},                           \
        {.name = "direction", .type = 'S', .dims = "", .choices = TG_PATCH_DIRECTIONS},                      \
        {.name = "method", .type = 'S', .dims = "", .choices = TG_PATCH_METHODS},                            \
        {.name = "steps", .type = 'i', .dims = ""}, {.name = "pairs", .type = 'i', .dims = ""}, ANSWERS,     \
        {.name = "clean", .type = 'f', .dims = ""},                                                          \
    {                                                                                                        \
        .name = "corrupt", .type = 'f', .dims = ""                                                           \
    }

static const tg_results_row patch[] = {
    {.name = "ids", .type = 'i', .dims = "T", .optional = true},
    {.name = "text", .type = 'S', .dims = "T", .optional = true},
    {.name = "corrupt_ids", .type = 'i', .dims = "T", .optional = true},
    {.name = "corrupt_text", .type = 'S', .dims = "T", .optional = true},
    {.name = "site", .type = 'S', .dims = "", .choices = TG_PATCH_SITE_NAMES},
    SETTINGS,
    {.name = "n_layer", .type = 'i', .dims = ""},
    {.name = "layers", .type = 'i', .dims = "M", .bound = "n_layer", .limit = TG_RESULTS_PLACES},
    {.name = "heads", .type = 'i', .dims = "N", .none = true, .limit = TG_RESULTS_PLACES},
    {.name = "positions", .type = 'i', .dims = "P", .none = true, .bound = "T", .limit = TG_RESULTS_PLACES},
    {.name = "value", .type = 'f', .dims = "MNP"},
    {.name = "effect", .type = 'f', .dims = "MNP"},
    {.name = NULL},
};

static const tg_results_row circuit[] = {
    {.name = "n_layer", .type = 'i', .dims = ""},
    {.name = "n_head", .type = 'i', .dims = ""},
    {.name = "layers", .type = 'i', .dims = "M", .bound = "n_layer", .limit = TG_RESULTS_PLACES},
    {.name = "heads", .type = 'i', .dims = "N", .bound = "n_head", .limit = TG_RESULTS_PLACES},
    {.name = "ov_norm", .type = 'f', .dims = "MN", .optional = true},
    {.name = "qk_norm", .type = 'f', .dims = "MN", .optional = true},
    {.name = "copying", .type = 'f', .dims = "MN", .optional = true},
    {.name = "positive", .type = 'f', .dims = "MN", .optional = true},
    {.name = "duplicate", .type = 'f', .dims = "MN", .optional = true},
    {.name = "previous", .type = 'f', .dims = "MN", .optional = true},
    {.name = "diagonal", .type = 'f', .dims = "MN", .optional = true},
    {.name = "q", .type = 'f', .dims = "MNLH", .optional = true},
    {.name = "k", .type = 'f', .dims = "MNLH", .optional = true},
    {.name = "v", .type = 'f', .dims = "MNLH", .optional = true},
    {.name = "baseline", .type = 'f', .dims = "", .optional = true},
    {.name = NULL},
};

static const tg_results_row edges[] = {
    SETTINGS,
    {.name = "senders", .type = 'S', .dims = "S"},
    {.name = "receivers", .type = 'S', .dims = "R"},
    {.name = "edge", .type = 'i', .dims = "RS"},
    {.name = "value", .type = 'f', .dims = "RS"},
    {.name = "effect", .type = 'f', .dims = "RS"},
    {.name = NULL},
};

static const tg_results_row ablation[] = {
    {.name = "ids", .type = 'i', .dims = "T", .optional = true},
    {.name = "text", .type = 'S', .dims = "T", .optional = true},
    {.name = "corrupt_ids", .type = 'i', .dims = "T", .optional = true},
    {.name = "corrupt_text", .type = 'S', .dims = "T", .optional = true},
    {.name = "metric", .type = 'S', .dims = "", .choices = TG_PATCH_METRIC_NAMES},
    {.name = "by", .type = 'S', .dims = "", .choices = TG_ABLATION_BY},
    {.name = "set", .type = 'S', .dims = "", .choices = TG_ABLATION_SETS},
    {.name = "pairs", .type = 'i', .dims = ""},
    ANSWERS,
    {.name = "model", .type = 'f', .dims = ""},
    {.name = "none", .type = 'f', .dims = ""},
    {.name = "whole", .type = 'f', .dims = "", .optional = true},
    {.name = "named", .type = 'i', .dims = "LP"},
    {.name = "part", .type = 'i', .dims = "LP"},
    {.name = "value", .type = 'f', .dims = "LP"},
    {.name = "faithfulness", .type = 'f', .dims = "LP"},
    {.name = "change", .type = 'f', .dims = "LP"},
    {.name = NULL},
};

const tg_results_row *tg_results_table(tg_results_kind kind)
{
    static const tg_results_row *const tables[TG_RESULTS_KINDS] = {lens,    attribution, patch,
                                                                   circuit, edges,       ablation};

    return tables[kind];
}
