#include "lib/nn/ref/real.h"

void REF(attention_gqa_forward)(real *att, real *probs, real *scores, const real *q, const real *k,
                                const real *v, const tg_attention_rule *rule, size_t B, size_t T, size_t H,
                                size_t KV, size_t D)
{
    for (size_t b = 0; b < B; b++) {
        for (size_t h = 0; h < H; h++) {
            size_t g = h / (H / KV);
            size_t rows = (b * T * KV + g) * D; /* of k and v: row j is at rows + j * KV * D */

            for (size_t i = 0; i < T; i++) {
                size_t row = ((b * T + i) * H + h) * D;
                size_t square = ((b * H + h) * T + i) * T;

                REF(attention_scores_row)(scores + square, q + row, k + rows, KV * D, T, D, i);
                REF(attention_rule_row)(scores + square, rule, D, i);
                REF(softmax_row)(probs + square, scores + square, T);
                REF(attention_values_row)(att + row, probs + square, NULL, v + rows, KV * D, D, i);
            }
        }
    }
}
