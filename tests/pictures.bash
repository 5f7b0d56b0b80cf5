# Images of tg-attn-view, read and checked by tests.

# png_module: a module that holds a PNG's palette indices, checked on the way.
png_module() {
    cat > png.py << 'END'
import struct, sys, zlib
def read(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + n]
        assert struct.unpack(">I", data[at + 8 + n : at + 12 + n])[0] == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + n
    assert at == len(data)
    kinds = [kind for kind, _ in chunks]
    assert kinds[:2] == [b"IHDR", b"PLTE"] and kinds[-1] == b"IEND" and set(kinds[2:-1]) == {b"IDAT"}
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert rest == [8, 3, 0, 0, 0], rest
    flat = zlib.decompress(b"".join(body for kind, body in chunks if kind == b"IDAT"))
    assert len(flat) == height * (width + 1)
    rows = [flat[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    palette = chunks[1][1]
    assert max(flat) < len(palette) // 3
    return [row[1:] for row in rows], [palette[n : n + 3] for n in range(0, len(palette), 3)]
END
}

# svg_module: a module that reads an SVG image; what is there, and how, is checked on the way.
svg_module() {
    cat > svg.py << 'END'
import re
import xml.etree.ElementTree as tree
W3 = "{http://www.w3.org/2000/svg}"
class Image:
    def __init__(self, path):
        root = tree.parse(path).getroot()
        assert root.tag == W3 + "svg" and root.get("shape-rendering") == "crispEdges"
        self.size = int(root.get("width")), int(root.get("height"))
        assert root.get("viewBox") == "0 0 %d %d" % self.size
        kinds = [x.tag.replace(W3, "") for x in root]
        assert kinds[:3] == ["title", "pattern", "rect"] and set(kinds[3:]) == {"rect", "text"}
        self.title = root[0].text
        assert root[1].get("id") == "masked"
        self.text = [x.text for x in root[3:] if x.tag == W3 + "text"]
        self.rects = [([int(x.get(n)) for n in ("x", "y", "width", "height")], x.get("fill"))
                      for x in root[2:] if x.tag == W3 + "rect"]
        assert self.rects[0] == ([0, 0, *self.size], "#ffffff")
        for (x, y, w, h), fill in self.rects:
            assert w and h and x + w <= self.size[0] and y + h <= self.size[1]
            assert re.fullmatch("#[0-9a-f]{6}|url\\(#masked\\)", fill), fill
        # each map begins with what is under its masked cells; the legend's sample is not square
        self.maps = [r for r, fill in self.rects if fill[0] == "u" and r[2] == r[3]]
    def cells(self, map):
        x0, y0, w, h = map
        return [(r, f) for r, f in self.rects if f[0] == "#" and x0 <= r[0] < x0 + w and y0 <= r[1] < y0 + h]
    def at(self, x, y):
        return [f for r, f in self.rects if r[0] <= x < r[0] + r[2] and r[1] <= y < r[1] + r[3]][-1]
END
}
