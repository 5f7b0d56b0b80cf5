// Two heads side by side, and their difference: the first dump's, or the one that is compared with; the shown one; and
// the second less the first.  Without room for three maps there is one, as without anything to compare.

const SIDE_GAP = 22; // pixels between maps
const roomy = window.matchMedia("(min-width: 80rem) and (min-height: 34rem)"); // as page.css

const opensSided = dumps.length === 2; // two are given to be compared
let wantsSides = opensSided;

// The dump that a page begins with.
const firstDump = () => Number(opensSided && roomy.matches);

// The shown head is the one that others are compared with: there is nothing to compare yet.
const isBase = () => pinned ? pinned.layer === view.layer && pinned.head === view.head : which === 0;

const isSided = () => wantsSides && roomy.matches && view.of === "one" && !isBase();

// What the map and the text show: not what a head differs in from itself.
const mapShow = () => view.show === "diff" && view.of === "one" && isBase() ? "probs" : view.show;

// What both maps show; the third always has the differences.
const sideShow = () => view.show === "diff" ? "probs" : view.show;

const baseHead = () => pinned ? headOf(pinned.layer, pinned.head) : headOf(view.layer, view.head, 0);

// The numbers of `show` of a head less those of another, as far as both are computed.  A key that is masked in the
// other has probability 0 there, but no score.
class Difference {
    constructor(head, other, show) {
        Object.assign(this, {head, other, show, rows: 0, most: 0, numbers: new Float32Array(rowStart(T))});
    }

    extend() {
        const a = this.other[this.show], b = this.head[this.show], end = Math.min(this.head.rows, this.other.rows);
        const none = this.show === "scores" ? NaN : 0;
        for (let at = rowStart(this.rows); at < rowStart(end); at++) {
            const x = b[at] - (Number.isNaN(a[at]) ? none : a[at]);
            this.numbers[at] = x;
            this.most = Math.abs(x) > this.most ? Math.abs(x) : this.most;
        }
        this.rows = end;
        return this;
    }
}

let difference = null; // the last one that was shown

function differenceOf(head, other) {
    if (difference?.head !== head || difference.other !== other || difference.show !== sideShow())
        difference = new Difference(head, other, sideShow());
    return difference.extend();
}

// One scale for both maps: it ends where the greater of their own does.
function sharedScale(head, other) {
    const most = Object.fromEntries(Object.keys(head.most).map((show) => [show, Math.max(head.most[show], other.most[show])]));
    return scaleFor(sideShow(), view.kind, {top: Math.max(head.top, other.top), most});
}

const sideName = (nth) => !pinned ? `${"ab"[nth]}: ${dumps[nth === 0 ? 0 : which].name}`
    : say("head {0}", nth === 0 ? `${pinned.layer}.${pinned.head}` : `${view.layer}.${view.head}`);
const differenceName = () => pinned ? `${sideName(1)} − ${sideName(0)}` : "b − a";

// A token as the nth map has it.  What is not of one of them, the difference and the queries on the left, has both where
// they are not the same.
function sideLabel(t, nth) {
    const own = labelAt(t), other = isSided() && !pinned && firstTokens.tokens ? firstLabel(t) : own;
    return own === other || nth === 1 ? own : nth === 0 ? other : `${other}/${own}`;
}

// What the frame has, from left to right: {name, rows, numbers, show, scale}.
function mapsOf(head) {
    if (!isSided())
        return [{name: "", rows: head.rows, numbers: head[mapShow()], show: mapShow(), scale: scaleOf(head, mapShow())}];
    const other = baseHead(), show = sideShow(), scale = sharedScale(head, other), {rows, numbers, most} = differenceOf(head, other);
    return [
        {name: sideName(0), rows: other.rows, numbers: other[show], show, scale},
        {name: sideName(1), rows: head.rows, numbers: head[show], show, scale},
        {name: differenceName(), rows, numbers, show: "diff", scale: {kind: "linear", low: -most, high: most}}
    ];
}

// Until then, of all that are shown.
const workOnMaps = (head, deadline) => {
    const done = !isSided() || baseHead().work(deadline);
    return head.work(deadline) && done;
};

// The colours of the words: those of the map.
const mapScale = (head) => isSided() && view.show !== "diff" ? sharedScale(head, baseHead()) : scaleOf(head, mapShow());

// Where the map begins that has x, a place on the canvas, or else the first one.
const leftAt = (x) => frame.lefts.findLast((left) => left <= x) ?? frame.left;

// A map's number in a cell; that of the third is exact, of the two that it is made of.
function sideText(maps, nth, {i, j}) {
    const numberIn = ({rows, numbers}) => j > i || i >= rows ? NaN : numbers[rowStart(i) + j], x = numberIn(maps[nth]);
    if (Number.isNaN(x))
        return say(j > i || i < maps[nth].rows ? "masked" : "…");
    return nth < 2 ? storedText(x) : textOf(numberIn(maps[1]) - (numberIn(maps[0]) || 0));
}

// Above each map its name, and what it has in the cell under the pointer, or else in the chosen one.
function showSides(maps) {
    if (maps.length < 3)
        return;
    const boxes = [...byId("sides").children];
    boxes.forEach((box, nth) => {
        const [name, number] = box.children;
        box.style.left = `${frame.lefts[nth]}px`;
        box.style.width = `${frame.size}px`;
        name.textContent = name.title = maps[nth].name;
        number.textContent = sideText(maps, nth, pointed());
    });
}

// Below the maps: the scale that two have in common, and that of their difference.
function drawLegends(maps) {
    const [first, , third] = maps, {left, size, lefts} = frame;
    const inset = 28 * largeness(); // of the bar in its canvas
    drawLegend(byId("legend"), first, third ? left + 2 * size + SIDE_GAP - inset : byId("frame").clientWidth);
    if (!third)
        return;
    drawLegend(byId("legend-diff"), third, size + EDGE + inset);
    byId("legend-diff").style.marginLeft = `${Math.max(lefts[2] - byId("legend").offsetWidth - inset, 0)}px`;
}

// Its title says of which heads.
const sidesTitle = () => pinned ? say("Heads {0} and {1}", `${pinned.layer}.${pinned.head}`, `${view.layer}.${view.head}`)
    : say("Layer {0}, head {1}", view.layer, view.head);

// What both have in the cell, each after its name.
const sidesNumbers = (at) => [rowOfBase(view.layer, view.head, at.i), rowOf(view.layer, view.head, at.i)]
    .map((row, nth) => `${pinned ? sideName(nth) : "ab"[nth]}${say(": ")}${numbersText(row, at)}`).join(say("; "));

// The page's parts follow it.
function layOutSides() {
    const sided = isSided(), button = byId("sided");
    document.body.classList.toggle("sided", sided);
    document.body.classList.toggle("wide", !sided && view.panel in WIDE);
    button.hidden = dumps.length === 1 && !pinned;
    button.setAttribute("aria-pressed", String(sided));
}

// With the first dump alone there is nothing to compare: the second one is shown.
function setSides(wanted) {
    wantsSides = wanted;
    if (wanted && !pinned && which === 0)
        setDump(1);
    if (wanted)
        setOf("one");
    refresh();
}

const changeSides = () => {
    if (roomy.matches && (dumps.length > 1 || pinned))
        setSides(!isSided());
};
