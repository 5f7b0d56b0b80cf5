// Colours: the scale of a head's numbers, and the maps of both themes.

const DECADES = 4; // of the logarithmic scale, as TG_SCALE_DECADES

function scaleFor(show, kind, head) {
    if (show === "written")
        return {kind: "linear", low: -mostWritten(), high: mostWritten()};
    if (show !== "probs")
        return {kind: "linear", low: -head.most[show], high: head.most[show]};
    return {kind: kind === "auto" ? "sqrt" : kind, low: 0, high: kind === "auto" ? head.top : 1};
}

function placeOf(scale, x) {
    const clip = (y) => Math.min(Math.max(y, 0), 1);
    if (scale.kind === "sqrt")
        return Math.sqrt(clip(x / scale.high));
    if (scale.kind === "log")
        return x > 0 ? clip(1 + Math.log10(x / scale.high) / DECADES) : 0;
    return scale.high > scale.low ? clip((x - scale.low) / (scale.high - scale.low)) : 0.5;
}

function numberAt(scale, place) {
    if (scale.kind === "sqrt")
        return place * place * scale.high;
    if (scale.kind === "log")
        return scale.high * 10 ** ((place - 1) * DECADES);
    return scale.low + place * (scale.high - scale.low);
}

const STEPS = dump.light.probs.length / 6;
const stepOf = (place) => Math.floor(place * (STEPS - 1) + 0.5);

// Relative luminance of a pixel, as WCAG 2 defines it: contrast is (lighter + 0.05)/(darker + 0.05).
function luminance(pixel) {
    const linear = (at) => {
        const c = (pixel >> at & 255) / 255;
        return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    };
    return 0.2126 * linear(0) + 0.7152 * linear(8) + 0.0722 * linear(16);
}

// A map as texts, as ImageData holds them (red in the lowest byte), and black or white for each,
// whichever can be read on it.
function makePalette(hex) {
    const colors = Array.from({length: STEPS}, (_, n) => "#" + hex.slice(6 * n, 6 * n + 6));
    const pixels = Uint32Array.from(colors, (color) => {
        const [red, green, blue] = [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
        return (0xff << 24 | blue << 16 | green << 8 | red) >>> 0;
    });
    const inks = Array.from(pixels, (p) => luminance(p) > 0.1791 ? "#000" : "#fff"); // where both contrast alike
    return {colors, pixels, inks};
}

const palettes = {};
for (const theme of ["light", "dark"])
    palettes[theme] = {probs: makePalette(dump[theme].probs), scores: makePalette(dump[theme].scores)};

function isDark() {
    const theme = document.documentElement.dataset.theme;
    return theme ? theme === "dark" : window.matchMedia("(prefers-color-scheme: dark)").matches;
}

// All but probabilities diverge around 0.
const paletteOf = (show) => palettes[isDark() ? "dark" : "light"][show === "probs" ? show : "scores"];
