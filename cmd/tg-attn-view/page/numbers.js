"use strict";

// Numbers: the dump that the page carries, and what attention makes of it, computed in double
// precision in the order of the reference (lib/nn/ref/attention_rows.c, softmax.c), so that
// Math.fround() of a result is the number that tg-attn-dump stores.

const dump = JSON.parse(document.getElementById("dump").textContent);
const {T, H, D, B, b} = dump;
const C = H * D;

// ---- q and k, as they lie in memory

const layers = new Map(); // number of a layer: {q, k}, once it was looked at

function decode(id) {
    const element = document.getElementById(id);
    const text = atob(element.textContent);
    const bytes = new Uint8Array(text.length);
    for (let n = 0; n < text.length; n++)
        bytes[n] = text.charCodeAt(n);
    element.remove(); // the text is no longer needed, and is large
    return new Float32Array(bytes.buffer);
}

function layerOf(number) {
    if (!layers.has(number))
        layers.set(number, {q: decode(`q${number}`), k: decode(`k${number}`)});
    return layers.get(number);
}

// Where head h of token t starts in q and k: in the whole array, and in the page's part of it,
// which is sequence b.
function baseOf(t, h) {
    return (dump.layout === "bhtd" ? (b * H + h) * T + t : (b * T + t) * H + h) * D;
}

function localBase(t, h) {
    return baseOf(t, h) - b * T * C;
}

function offsetOf(h, i, j) {
    return ((b * H + h) * T + i) * T + j;
}

// ---- rows

// scores[0..i] of query i: the sum over ascending d, divided by the root of D.
function fillScores(scores, {q, k}, h, i) {
    const root = Math.sqrt(D);
    const qi = localBase(i, h);
    for (let j = 0; j <= i; j++) {
        const kj = localBase(j, h);
        let sum = 0;
        for (let d = 0; d < D; d++)
            sum += q[qi + d] * k[kj + d];
        scores[j] = sum / root;
    }
}

// probs[0..n-1] = softmax of scores[0..n-1]; returns the greatest score and the sum of exponentials.
function fillProbs(probs, scores, n) {
    let max = scores[0], sum = 0;
    for (let j = 1; j < n; j++)
        max = scores[j] > max ? scores[j] : max;
    for (let j = 0; j < n; j++) {
        probs[j] = Math.exp(scores[j] - max);
        sum += probs[j];
    }
    for (let j = 0; j < n; j++)
        probs[j] /= sum;
    return {max, sum};
}

// Row i of a head, unrounded.
function rowOf(layer, h, i) {
    const scores = new Float64Array(i + 1), probs = new Float64Array(i + 1);
    fillScores(scores, layerOf(layer), h, i);
    return {scores, probs, ...fillProbs(probs, scores, i + 1)};
}

// ---- whole heads

const rowStart = (i) => i * (i + 1) / 2; // of row i in a head's packed rows

// Where a head's own scale of probabilities ends, as tg_scale_top() in lib/view/scale.c.
function topOf(maxima) {
    const n = maxima.length, top = n > 0 ? maxima.slice().sort()[n - 1 - Math.floor(n / 10)] : 1;
    return top > 0.9 ? 1 : top;
}

// A head's rows, computed a few at a time: work(deadline) goes on until then; true when all are
// there.  Rounded, as they are in a dump.
class Head {
    constructor(layer, h) {
        this.layer = layer;
        this.h = h;
        this.rows = 0;
        this.scores = new Float32Array(rowStart(T));
        this.probs = new Float32Array(rowStart(T));
        this.maxima = new Float32Array(T); // of the rows' probabilities
        this.most = 0; // the greatest score, without its sign
        this.top = 1;
        this.row = [new Float64Array(T), new Float64Array(T)];
    }

    work(deadline) {
        const data = layerOf(this.layer), before = this.rows;
        while (this.rows < T && performance.now() < deadline)
            this.addRow(data, this.rows++);
        if (this.rows > before)
            this.top = topOf(this.maxima.subarray(0, this.rows));
        return this.rows === T;
    }

    addRow(data, i) {
        const [scores, probs] = this.row, at = rowStart(i);
        fillScores(scores, data, this.h, i);
        fillProbs(probs, scores, i + 1);
        for (let j = 0; j <= i; j++) {
            this.scores[at + j] = scores[j];
            this.probs[at + j] = probs[j];
            this.most = Math.max(this.most, Math.abs(scores[j]));
            this.maxima[i] = Math.max(this.maxima[i], probs[j]);
        }
    }
}

const kept = []; // heads, the last used at the end
const KEPT_BYTES = 192e6;

function headOf(layer, h) {
    const at = kept.findIndex((head) => head.layer === layer && head.h === h);
    const head = at < 0 ? new Head(layer, h) : kept.splice(at, 1)[0];
    kept.push(head);
    while (kept.length > 2 && kept.length * rowStart(T) * 8 > KEPT_BYTES)
        kept.shift();
    return head;
}

// ---- fewer cells: each holds the greatest of the cells that it stands for, or NaN: all masked

// Take in the n numbers of row i, for keys j0 on, of a square of `size` tokens from (i0, j0), made
// `side` cells wide.
function reduceRow(cells, side, size, i, row, at, n) {
    const line = Math.floor(i * side / size) * side;
    for (let j = 0; j < n; j++) {
        const c = line + Math.floor(j * side / size);
        if (!(cells[c] >= row[at + j]))
            cells[c] = row[at + j];
    }
}

// ---- numbers as text

// Without zeros at the end, of a text without an exponent.
const trimmed = (text) => text.includes(".") ? text.replace(/\.?0*$/, "") : text;

// "d.ddde+x" with so many digits.  Of two texts that are equally near, the even one, as C takes it.
function rounded(x, digits) {
    const near = x.toExponential(digits - 1), exact = x.toExponential(40);
    const cut = exact.slice(0, near.indexOf("e")), rest = exact.slice(cut.length);
    return /[02468]$/.test(cut) && /^\.?50*e/.test(rest) ? cut + rest.slice(rest.indexOf("e")) : near;
}

// A number as C's "%.*g" writes it.
function textOf(x, digits = 9) {
    if (!Number.isFinite(x))
        return String(x).replace("Infinity", "inf");
    const [mantissa, exponent] = rounded(x, digits).split("e"), power = Number(exponent);
    const sign = x < 0 ? "-" : "", figures = mantissa.replace(/[-.]/g, "");
    if (power < -4 || power >= digits)
        return trimmed(mantissa) + "e" + exponent[0] + exponent.slice(1).padStart(2, "0");
    if (power < 0)
        return trimmed(`${sign}0.${"0".repeat(-power - 1)}${figures}`);
    return trimmed(`${sign}${figures.slice(0, power + 1)}.${figures.slice(power + 1)}`);
}

// A float32 number, as what tells it apart from all others: six to nine digits.  The one text of a number
// that is stored, wherever the page shows it.
function storedText(x) {
    const stored = Math.fround(x);
    let digits = 6;
    while (digits < 9 && Math.fround(Number(textOf(stored, digits))) !== stored)
        digits++;
    return textOf(stored, digits);
}

// A masked score: as the dump's setting has it, and as tg-attn-dump prints it.
const MASKED = {"-1e9": "-1e9", "-inf": "-inf", "min": "-3.40282347e+38"}[dump.mask];
const PRINTED_MASK = dump.mask === "-1e9" ? "-1e+09" : MASKED;
