/*
 * ref_ops: the contracts of the reference operations.  Include lib/nn/ref/ref.h,
 * which has the rules for all of them and includes this file once per precision
 * (hence no include guard).  Included alone it is empty.
 */
#ifdef REF

/* ---- embedding */

/*
 * embedding: the token's vector plus the position's.
 *
 *   out[b,t,c] = wte[ids[b,t],c] + wpe[t,c]
 *
 *   out  [B,T,C]  written
 *   ids  [B,T]    read; in [0,V)
 *   wte  [V,C]    read        wpe  [at least T,C]  read
 *
 * Backward: dwte[ids[b,t],c] += dout[b,t,c];  dwpe[t,c] += dout[b,t,c].
 * Source: Radford et al. 2018, "Improving language understanding by generative
 * pre-training", eq. 2 (learned positions).
 */
void REF(embedding_forward)(real *out, const int32_t *ids, const real *wte, const real *wpe, size_t B,
                            size_t T, size_t C);
void REF(embedding_backward)(real *dwte, real *dwpe, const real *dout, const int32_t *ids, size_t B, size_t T,
                             size_t C);

/* ---- linear */

/*
 * linear: a matrix product on the last dimension.
 *
 *   out[n,o] = (sum over c of inp[n,c] * w[c,o]) + bias[o]
 *
 *   out   [N,OC]  written
 *   inp   [N,C]   read
 *   w     [C,OC]  read; [in,out], as in the archive
 *   bias  [OC]    read, or NULL for none
 *
 * Backward: dinp[n,c] += sum over o of dout[n,o] * w[c,o];
 *           dw[c,o]   += sum over n of inp[n,c] * dout[n,o];
 *           dbias[o]  += sum over n of dout[n,o]; dbias NULL for none.
 */
void REF(linear_forward)(real *out, const real *inp, const real *w, const real *bias, size_t N, size_t C,
                         size_t OC);
void REF(linear_backward)(real *dinp, real *dw, real *dbias, const real *dout, const real *inp, const real *w,
                          size_t N, size_t C, size_t OC);

/*
 * linear_transposed: the same with a matrix [out,in].
 *
 *   out[n,o] = (sum over c of inp[n,c] * w[o,c]) + bias[o]
 *
 *   out   [N,OC]  written
 *   inp   [N,C]   read
 *   w     [OC,C]  read
 *   bias  [OC]    read, or NULL for none
 *
 * Forward only.
 */
void REF(linear_transposed_forward)(real *out, const real *inp, const real *w, const real *bias, size_t N,
                                    size_t C, size_t OC);

/*
 * low_rank: a linear layer's change of low rank.
 *
 *   out[n,o] = scale * (sum over r of b[o,r] * (sum over c of a[r,c] * inp[n,c]))
 *
 *   inp   [N,C]   read
 *   a     [R,C]   read        b  [OC,R]  read
 *
 * Backward, of a and b alone: da[r,c] += scale * sum over n and o of dout[n,o] * b[o,r] * inp[n,c];
 *                             db[o,r] += scale * sum over n and c of dout[n,o] * a[r,c] * inp[n,c].
 * Source: Hu et al. 2021, arXiv:2106.09685, eq. 3.
 */
void REF(low_rank_backward)(real *da, real *db, const real *dout, const real *inp, const real *a,
                            const real *b, real scale, size_t N, size_t C, size_t OC, size_t R);

/* ---- slice */

/*
 * slice: a range of the last dimension, copied.
 *
 *   out[n,c] = inp[n,start + c]
 *
 *   out  [N,len]    written
 *   inp  [N,width]  read; start + len <= width
 *
 * Backward: dinp[n,start + c] += dout[n,c]; the rest of dinp is unchanged.
 */
void REF(slice_forward)(real *out, const real *inp, size_t N, size_t width, size_t start, size_t len);
void REF(slice_backward)(real *dinp, const real *dout, size_t N, size_t width, size_t start, size_t len);

/* ---- layernorm */

/*
 * layernorm: normalise each C-vector, then scale and shift.
 *
 *   mean[n]  = (1/C) * sum over c of inp[n,c]
 *   rstd[n]  = 1 / sqrt((1/C) * (sum over c of (inp[n,c] - mean[n])^2) + eps)
 *   norm     = (inp[n,c] - mean[n]) * rstd[n]
 *   out[n,c] = norm * w[c] + bias[c]
 *
 *   out   [N,C]  written; may equal inp
 *   mean  [N]    written; saved for backward
 *   rstd  [N]    written; saved for backward.  The variance is the biased one
 *   inp   [N,C]  read
 *   w     [C]    read, or NULL for ones
 *   bias  [C]    read, or NULL for zeros
 *
 * Backward, with dnorm[c] = dout[n,c] * w[c]:
 *   dinp[n,c] += rstd[n] * (dnorm[c] - average of dnorm - norm[c] * average of (dnorm * norm))
 *   dw[c]     += sum over n of dout[n,c] * norm;  dbias[c] += sum over n of dout[n,c]
 *   dw, dbias: NULL for none.  inp is forward's, so out must not have overwritten it.
 * Source: Ba et al. 2016, arXiv:1607.06450.
 */
void REF(layernorm_forward)(real *out, real *mean, real *rstd, const real *inp, const real *w,
                            const real *bias, size_t N, size_t C, real eps);
void REF(layernorm_backward)(real *dinp, real *dw, real *dbias, const real *dout, const real *mean,
                             const real *rstd, const real *inp, const real *w, size_t N, size_t C);

/* ---- rmsnorm */

/*
 * rmsnorm: divide each C-vector by the root of its mean square, then scale.
 *
 *   rstd[n]  = 1 / sqrt((1/C) * (sum over c of inp[n,c]^2) + eps)
 *   out[n,c] = inp[n,c] * rstd[n] * (offset + w[c])
 *
 *   out   [N,C]  written; may equal inp
 *   rstd  [N]    written; saved for backward
 *   inp   [N,C]  read
 *   w     [C]    read, or NULL for gains of 1, whatever offset is
 *
 * Backward, with norm[c] = inp[n,c] * rstd[n] and dnorm[c] = dout[n,c] * (offset + w[c]):
 *   dinp[n,c] += rstd[n] * (dnorm[c] - norm[c] * average of (dnorm * norm))
 *   dw[c]     += sum over n of dout[n,c] * norm[c]; dw NULL for none
 * Source: Zhang and Sennrich 2019, arXiv:1910.07467.
 */
void REF(rmsnorm_forward)(real *out, real *rstd, const real *inp, const real *w, real offset, size_t N,
                          size_t C, real eps);
void REF(rmsnorm_backward)(real *dinp, real *dw, const real *dout, const real *rstd, const real *inp,
                           const real *w, real offset, size_t N, size_t C);

/* ---- rotary */

/*
 * rotary: rotate pairs of each head's channels by an angle that grows with the position.
 *
 *   a, b = inp[b,t,h,i], inp[b,t,h,i + d/2]                           for i < d/2
 *   out[b,t,h,i]       = a * cosines[t,i] - b * sines[t,i]
 *   out[b,t,h,i + d/2] = b * cosines[t,i] + a * sines[t,i]
 *   out[b,t,h,i]       = inp[b,t,h,i]                                 for i >= d
 *
 *   out             [B,T,H,D]  written; may equal inp
 *   inp             [B,T,H,D]  read
 *   cosines, sines  [T,d/2]    read
 *
 * Backward, written, not added to: dinp is dout rotated by the angles' negatives; dinp may equal dout.
 * Source: Su et al. 2021, arXiv:2104.09864; which channels are a pair: GPT-NeoX.
 */
void REF(rotary_forward)(real *out, const real *inp, const real *cosines, const real *sines, size_t B,
                         size_t T, size_t H, size_t D, size_t d);
void REF(rotary_backward)(real *dinp, const real *dout, const real *cosines, const real *sines, size_t B,
                          size_t T, size_t H, size_t D, size_t d);

/* ---- gated */

/*
 * gated: out[i] = act(gate[i]) * up[i], act being GELU or SiLU.
 *
 *   out       [n]  written; may equal gate or up
 *   gate, up  [n]  read
 *
 * Backward: dup[i] += dout[i] * act(gate[i]);  dgate[i] += dout[i] * up[i] * act'(gate[i]).
 * Source: Shazeer 2020, arXiv:2002.05202.
 */
void REF(gated_forward)(real *out, const real *gate, const real *up, size_t n, tg_activation kind);
void REF(gated_backward)(real *dgate, real *dup, const real *dout, const real *gate, const real *up, size_t n,
                         tg_activation kind);

/* ---- activation */

/*
 * activation: x times the probability that a standard normal number is below x; as SiLU, times the
 * logistic function of x; as the square of ReLU, times x above 0.
 *
 *   TG_GELU_ERF:   out[i] = 0.5 x (1 + erf(x / sqrt 2))
 *   TG_GELU_TANH:  out[i] = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
 *   TG_SILU:       out[i] = x / (1 + exp(-x))
 *   TG_RELU2:      out[i] = max(x, 0)^2
 *
 *   out  [n]  written; may equal inp
 *   inp  [n]  read
 *
 * Backward: dinp[i] += dout[i] * act'(inp[i]).
 * Sources: Hendrycks & Gimpel 2016, arXiv:1606.08415, sections 2 and 4; So et al. 2021, arXiv:2109.08668.
 */
void REF(activation_forward)(real *out, const real *inp, size_t n, tg_activation kind);
void REF(activation_backward)(real *dinp, const real *dout, const real *inp, size_t n, tg_activation kind);

/* ---- softmax */

/*
 * softmax: along the last dimension.
 *
 *   probs[n,j] = exp(scores[n,j] - max) / sum over m of exp(scores[n,m] - max)
 *
 *   probs   [N,V]  written; may equal scores
 *   scores  [N,V]  read; finite
 *
 * Backward: dscores[n,j] += probs[n,j] * (dprobs[n,j] - sum over m of probs[n,m] * dprobs[n,m]).
 * The rows are softmax_row and softmax_row_backward with n = V.
 */
void REF(softmax_forward)(real *probs, const real *scores, size_t N, size_t V);
void REF(softmax_backward)(real *dscores, const real *dprobs, const real *probs, size_t N, size_t V);
void REF(softmax_row)(real *probs, const real *scores, size_t n);
void REF(softmax_row_backward)(real *dscores, const real *dprobs, const real *probs, size_t n);

/* ---- softcap */

/*
 * softcap: a soft bound.
 *
 *   out[i] = cap * tanh(inp[i] / cap)
 *
 *   out  [n]  written; may equal inp
 *   inp  [n]  read
 *   cap       > 0
 *
 * Backward: dinp[i] += dout[i] * (1 - (out[i] / cap)^2).
 * Source: Gemma Team 2024, arXiv:2408.00118.
 */
void REF(softcap_forward)(real *out, const real *inp, size_t n, double cap);
void REF(softcap_backward)(real *dinp, const real *dout, const real *out, size_t n, double cap);

/* ---- crossentropy */

/*
 * crossentropy: how badly the logits predict the target, in nats.
 *
 *   losses[n] = -log softmax(logits[n])[targets[n]]
 *             = log(sum over v of exp(logits[n,v] - max)) - (logits[n,targets[n]] - max)
 *
 *   losses   [N]    written; 0 where the target is -1 (ignored)
 *   logits   [N,V]  read; finite
 *   targets  [N]    read; in [0,V), or -1
 *
 * Backward: dlogits[n,v] += dlosses[n] * (softmax(logits[n])[v] - (v == targets[n] ? 1 : 0));
 *           nothing where the target is -1.
 */
void REF(crossentropy_forward)(real *losses, const real *logits, const int32_t *targets, size_t N, size_t V);
void REF(crossentropy_backward)(real *dlogits, const real *dlosses, const real *logits,
                                const int32_t *targets, size_t N, size_t V);

/* ---- dropout */

/*
 * dropout: multiplication with a given mask.
 *
 *   out[i] = inp[i] * mask[i]
 *
 *   out   [n]  written; may equal inp
 *   inp   [n]  read
 *   mask  [n]  read; 0 (dropped) or 1/(1-p) (kept)
 *
 * Backward: dinp[i] += dout[i] * mask[i].
 * Source: Srivastava et al. 2014, JMLR 15 ("inverted": scaled while training).
 */
void REF(dropout_forward)(real *out, const real *inp, const real *mask, size_t n);
void REF(dropout_backward)(real *dinp, const real *dout, const real *mask, size_t n);

/* ---- rows of causal attention: one query, one head */

/*
 * attention_scores_row: the scores of query i against all keys.
 *
 *   scores[j] = (sum over d of q[d] * k_j[d]) / sqrt(D)   for j <= i
 *   scores[j] = TG_MASKED                                 for j > i
 *
 *   scores  [T]  written
 *   q       [D]  read
 *   k       T rows of D, row j at k + j*ldk; rows 0..i are read
 *
 * Backward, for j <= i; nothing flows to or from a masked score:
 *   dq[d] += dscores[j] * k_j[d] / sqrt(D);  dk_j[d] += dscores[j] * q[d] / sqrt(D)
 *   dk's row j is at dk + j*ldk.
 * Source: Vaswani et al. 2017, arXiv:1706.03762, eq. 1, with the causal mask of
 * section 3.2.3.
 */
void REF(attention_scores_row)(real *scores, const real *q, const real *k, size_t ldk, size_t T, size_t D,
                               size_t i);
void REF(attention_scores_row_backward)(real *dq, real *dk, const real *dscores, const real *q, const real *k,
                                        size_t ldk, size_t D, size_t i);

/*
 * attention_rule_row: a row of scores by another rule than attention_scores_row's, which has computed it.
 *
 *   s = scores[j] * scale * sqrt(D)           if the rule has a scale
 *   s = cap * tanh(s / cap)                   if it has a cap
 *   scores[j] = TG_MASKED                     if it has a window, and i - j >= window, else s
 *
 *   scores  [T]  changed up to i
 *
 * Backward, in place, from the gradient of this row to that of attention_scores_row's; scores are this row's:
 *   dscores[j] *= (1 - (scores[j] / cap)^2) * scale * sqrt(D), or 0 where it is masked
 * Sources: Gemma Team 2024, arXiv:2408.00118 (cap); Beltagy et al. 2020, arXiv:2004.05150 (window).
 */
void REF(attention_rule_row)(real *scores, const tg_attention_rule *rule, size_t D, size_t i);
void REF(attention_rule_row_backward)(real *dscores, const real *scores, const tg_attention_rule *rule,
                                      size_t D, size_t i);

/*
 * attention_values_row: the values, weighted by the probabilities of query i.
 *
 *   att[d] = sum over j <= i of probs[j] * keep[j] * v_j[d]
 *
 *   att    [D]  written
 *   probs  [T]  read up to i
 *   keep   [T]  read up to i; dropout of the probabilities, or NULL for ones
 *   v      row j at v + j*ldv; rows 0..i are read
 *
 * Backward, for j <= i; dv's row j is at dv + j*ldv:
 *   dprobs[j] = keep[j] * sum over d of datt[d] * v_j[d]   written; 0 for j > i
 *   dv_j[d]  += probs[j] * keep[j] * datt[d]
 */
void REF(attention_values_row)(real *att, const real *probs, const real *keep, const real *v, size_t ldv,
                               size_t D, size_t i);
void REF(attention_values_row_backward)(real *dprobs, real *dv, const real *datt, const real *probs,
                                        const real *keep, const real *v, size_t ldv, size_t T, size_t D,
                                        size_t i);

/* ---- attention cores */

/*
 * attention_1h: causal attention with a single head.
 *
 *   scores[b,i,j] = (sum over c of q[b,i,c] * k[b,j,c]) / sqrt(C)   for j <= i, else TG_MASKED
 *   probs[b,i,:]  = softmax(scores[b,i,:])
 *   att[b,i,c]    = sum over j of probs[b,i,j] * v[b,j,c]
 *
 *   att            [B,T,C]  written
 *   probs, scores  [B,T,T]  written; saved for backward (which needs only probs)
 *   q, k, v        [B,T,C]  read
 *
 * Backward: dq, dk, dv are added to; dprobs, dscores [B,T,T] are written, 0 where
 * the score is masked.
 * Source: Vaswani et al. 2017, arXiv:1706.03762, eq. 1.
 */
void REF(attention_1h_forward)(real *att, real *probs, real *scores, const real *q, const real *k,
                               const real *v, size_t B, size_t T, size_t C);
void REF(attention_1h_backward)(real *dq, real *dk, real *dv, real *dprobs, real *dscores, const real *datt,
                                const real *probs, const real *q, const real *k, const real *v, size_t B,
                                size_t T, size_t C);

/*
 * attention_mha: causal attention with H heads of size D, over the same channels.
 * [B,T,C] is read as [B,T,H,D]: head h has the channels h*D ... h*D + D - 1.
 *
 *   scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,h,d]) / sqrt(D)   for j <= i, else TG_MASKED
 *   probs[b,h,i,:]  = softmax(scores[b,h,i,:])
 *   att[b,i,h,d]    = sum over j of probs[b,h,i,j] * keep[b,h,i,j] * v[b,j,h,d]
 *
 *   att            [B,T,H,D] = [B,T,C]  written
 *   probs, scores  [B,H,T,T]            written; probs before keep
 *   q, k, v        [B,T,H,D] = [B,T,C]  read
 *   keep           [B,H,T,T]            read; a dropout mask, or NULL for ones
 *
 * H = 1 without keep is attention_1h, bit for bit.
 * Backward: dq, dk, dv are added to; dprobs, dscores [B,H,T,T] are written, 0 where
 * the score is masked.
 * Source: Vaswani et al. 2017, arXiv:1706.03762, section 3.2.2.
 */
void REF(attention_mha_forward)(real *att, real *probs, real *scores, const real *q, const real *k,
                                const real *v, const real *keep, size_t B, size_t T, size_t H, size_t D);
void REF(attention_mha_backward)(real *dq, real *dk, real *dv, real *dprobs, real *dscores, const real *datt,
                                 const real *probs, const real *q, const real *k, const real *v,
                                 const real *keep, size_t B, size_t T, size_t H, size_t D);

/*
 * attention_gqa: the same with KV heads of keys and values, each of which H/KV heads of queries read; and by
 * a rule, which may scale and cap the scores and hide keys (attention_rule_row).
 *
 *   g = h / (H/KV), rounded down
 *   scores[b,h,i,j] = (sum over d of q[b,i,h,d] * k[b,j,g,d]) / sqrt(D)   for j <= i, then by the rule;
 *                     TG_MASKED for j > i
 *   probs[b,h,i,:]  = softmax(scores[b,h,i,:])
 *   att[b,i,h,d]    = sum over j of probs[b,h,i,j] * v[b,j,g,d]
 *
 *   att            [B,T,H,D]   written
 *   probs, scores  [B,H,T,T]   written
 *   q              [B,T,H,D]   read
 *   k, v           [B,T,KV,D]  read; KV divides H
 *
 * KV = H with a rule of zeros is attention_mha, bit for bit.  Forward only.
 * Source: Ainslie et al. 2023, arXiv:2305.13245.
 */
void REF(attention_gqa_forward)(real *att, real *probs, real *scores, const real *q, const real *k,
                                const real *v, const tg_attention_rule *rule, size_t B, size_t T, size_t H,
                                size_t KV, size_t D);

/* ---- the self-attention sublayers */

/* The activations between x and out; another such struct holds their gradients. */
typedef struct REF(attention_buffers) {
    real *qkv;    /* [B,T,3C] */
    real *q;      /* [B,T,C] = qkv[:,:,0:C] */
    real *k;      /* [B,T,C] = qkv[:,:,C:2C] */
    real *v;      /* [B,T,C] = qkv[:,:,2C:3C] */
    real *scores; /* [B,T,T] with one head, else [B,H,T,T] */
    real *probs;  /* as scores */
    real *att;    /* [B,T,C] */
} REF(attention_buffers);

/*
 * self_attention: projection to q, k and v, attention, projection back.
 *
 *   qkv = x w_qkv + b_qkv;  q, k, v = slices of qkv;  att = attention(q, k, v)
 *   out = att w_proj + b_proj
 *
 *   out     [B,T,C]   written
 *   f                 all its buffers are written; saved for backward
 *   x       [B,T,C]   read
 *   w_qkv   [C,3C]    read        b_qkv   [3C]  read, or NULL for none
 *   w_proj  [C,C]     read        b_proj  [C]   read, or NULL for none
 *   keep    [B,H,T,T] read; mha only, dropout of the probabilities, or NULL for none
 *
 * Both variants have the same parameters; mha reads C as H*D.
 * Backward: dx, dw_qkv, db_qkv (or NULL), dw_proj, db_proj (or NULL) are added to;
 * all buffers of d, the intermediate gradients, are written.
 */
void REF(self_attention_1h_forward)(real *out, const REF(attention_buffers) * f, const real *x,
                                    const real *w_qkv, const real *b_qkv, const real *w_proj,
                                    const real *b_proj, size_t B, size_t T, size_t C);
void REF(self_attention_1h_backward)(real *dx, real *dw_qkv, real *db_qkv, real *dw_proj, real *db_proj,
                                     const REF(attention_buffers) * d, const real *dout,
                                     const REF(attention_buffers) * f, const real *x, const real *w_qkv,
                                     const real *w_proj, size_t B, size_t T, size_t C);
void REF(self_attention_mha_forward)(real *out, const REF(attention_buffers) * f, const real *x,
                                     const real *w_qkv, const real *b_qkv, const real *w_proj,
                                     const real *b_proj, const real *keep, size_t B, size_t T, size_t H,
                                     size_t D);
void REF(self_attention_mha_backward)(real *dx, real *dw_qkv, real *db_qkv, real *dw_proj, real *db_proj,
                                      const REF(attention_buffers) * d, const real *dout,
                                      const REF(attention_buffers) * f, const real *x, const real *w_qkv,
                                      const real *w_proj, const real *keep, size_t B, size_t T, size_t H,
                                      size_t D);

#endif
