// The page's address, which keeps the view.

// What an address without a panel means.
const panelFor = (card) => card > 0 ? cards[card].panel : "cell";

function addressOf() {
    const {layer, head, i, j, show, kind, way, from, panel, card, channel} = view;
    const parts = isBare ? {} : {layer, head, query: i, key: j, show, scale: kind, text: way};
    if (!isBare && which !== firstDump())
        parts.dump = which + 1;
    if (view.of !== "one")
        parts.of = view.of;
    if (pinned)
        parts.compare = `${pinned.layer}.${pinned.head}`;
    if (card > 0)
        parts.step = card + 1;
    if (view.out > 0)
        parts.out = view.out;
    if (wantsSides !== opensSided)
        parts.sides = Number(wantsSides);
    if (panel !== (isBare ? panels[0] : panelFor(card)))
        parts.panel = panel;
    if (panel === "patch" && whichPatch > 0)
        parts.patch = whichPatch + 1;
    if (panel === "ablation" && whichAblation > 0)
        parts.ablation = whichAblation + 1;
    if (panel === "ablation" && view.ablated !== "change")
        parts.ablated = view.ablated;
    if (panel === "lens" && view.lens !== lensShows[0])
        parts.lens = view.lens;
    if (largeness() > 1)
        parts.large = 1;
    if (language !== "en")
        parts.lang = language;
    if (channel > 0)
        parts.channel = channel;
    if (from.n < T)
        parts.zoom = from.n;
    return "#" + new URLSearchParams(parts);
}

let addressTimer = 0;

function keepAddress() {
    clearTimeout(addressTimer);
    addressTimer = 0;
    try {
        window.history.replaceState(null, "", addressOf());
    } catch { /* too many changes, or not allowed here: the next one will do */ }
}

// Browsers refuse hundreds of changes at once.
function addressLater() {
    if (addressTimer === 0)
        addressTimer = setTimeout(keepAddress, 300);
}

function greatestKey(i) {
    const {probs, first} = rowOf(view.layer, view.head, i);
    return probs.indexOf(Math.max(...probs.subarray(first)));
}

// What an address says, as far as it makes sense here.
class Address {
    constructor(address) {
        this.parts = new URLSearchParams(new URL(address).hash.slice(1));
    }

    number(name, other, low, high) {
        return /^\d{1,9}$/.test(this.parts.get(name) || "") ? clamp(Number(this.parts.get(name)), low, high) : other;
    }

    choice(name, other, ...all) {
        return all.includes(this.parts.get(name)) ? this.parts.get(name) : other;
    }
}

function readAddress(text) {
    const address = new Address(text);
    setLanguage(address.choice("lang", firstLanguage(), "en", "zh"));
    setLarge(address.choice("large", "0", "1") === "1");
    setPatch(address.number("patch", 1, 1, Math.max(patches.length, 1)) - 1);
    setAblation(address.number("ablation", 1, 1, Math.max(ablations.length, 1)) - 1);
    setAblated(address.choice("ablated", "change", ...Object.keys(ABLATED)));
    setLens(address.choice("lens", lensShows[0], ...lensShows));
    if (isBare)
        setPanel(address.choice("panel", panels[0], ...panels));
    else
        readPlace(address);
}

// Which maps are shown, and how.
function readPlace(address) {
    setDump(address.number("dump", firstDump() + 1, 1, dumps.length) - 1);
    const layer = address.number("layer", view.layer, 0, dump.nLayer);
    goTo(dump.layers.includes(layer) ? layer : view.layer, address.number("head", view.head, 0, H - 1));
    const i = address.number("query", view.i, 0, T - 1);
    moveTo(i, address.number("key", Number.isNaN(view.j) ? greatestKey(i) : view.j, 0, T - 1));
    showWindow(address.number("zoom", T, 1, T));
    setScale(address.choice("scale", view.kind, "auto", "sqrt", "linear", "log"));
    const [, base, of] = /^(\d{1,5})\.(\d{1,5})$/.exec(address.parts.get("compare") || "") || [];
    const compares = dump.layers.includes(Number(base)) && Number(of) < H;
    if (pinned || compares)
        setPinned(compares ? {layer: Number(base), head: Number(of)} : null);
    setOf(address.choice("of", "one", "one", "mean", "max"));
    wantsSides = address.choice("sides", String(Number(opensSided)), "0", "1") === "1";
    setShow(address.choice("show", view.show, ...shows()));
    setWay(address.choice("text", view.way, "row", "column"));
    setChannel(address.number("channel", 0, 0, D - 1));
    setOut(address.number("out", 0, 0, C - 1));
    view.card = address.number("step", 1, 1, cards.length) - 1;
    setPanel(address.choice("panel", panelFor(view.card), ...panels));
}
