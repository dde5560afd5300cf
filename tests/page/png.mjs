// Screenshots as small as they can be: the 256 colours that are commonest, and for each other the
// nearest of them. Edges of letters have thousands; nobody can tell.

import zlib from "node:zlib";

const MOST = 256;
const SIGNATURE = 8;

// Whether two PNGs show the same: of no pixel a part differs by more than `most` of 255.
export function alike(one, other, most) {
  const [a, b] = [decode(one), decode(other)];
  if (a.width !== b.width || a.height !== b.height) return false;
  return a.colours.every((colour, at) => colour === b.colours[at] || gap(colour, b.colours[at]) <= most);
}

const gap = (one, other) => Math.max(...parts(one).map((part, at) => Math.abs(part - parts(other)[at])));

// A PNG of Chromium's (8 bits, RGB or RGBA, not interlaced) as a PNG with a palette.
export function smaller(png) {
  const { width, height, colours } = decode(png);
  const counts = new Map();
  for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
  const palette = [...counts].sort((one, other) => other[1] - one[1] || one[0] - other[0]).slice(0, MOST).map(([colour]) => colour);
  const places = new Map(palette.map((colour, at) => [colour, at]));
  for (const colour of counts.keys()) if (!places.has(colour)) places.set(colour, nearest(palette, colour));
  const rows = Buffer.alloc((width + 1) * height);
  colours.forEach((colour, at) => (rows[at + Math.floor(at / width) + 1] = places.get(colour)));
  const head = Buffer.from(png.subarray(SIGNATURE + 8, SIGNATURE + 8 + 13));
  head[9] = 3; // a palette
  return Buffer.concat([
    png.subarray(0, SIGNATURE),
    chunk("IHDR", head),
    chunk("PLTE", Buffer.from(palette.flatMap(parts))),
    chunk("IDAT", zlib.deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

const parts = (colour) => [colour >> 16, (colour >> 8) & 255, colour & 255];

function nearest(palette, colour) {
  const wanted = parts(colour);
  const distance = (other) => parts(other).reduce((sum, part, at) => sum + (part - wanted[at]) ** 2, 0);
  return palette.reduce((best, other, at) => (distance(other) < distance(palette[best]) ? at : best), 0);
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(zlib.crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

// Also what `smaller` has made.
function decode(png) {
  const chunks = { PLTE: [], IDAT: [] };
  for (let at = SIGNATURE; at < png.length; at += 12 + png.readUInt32BE(at)) {
    chunks[png.toString("latin1", at + 4, at + 8)]?.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
  }
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const size = { 2: 3, 3: 1, 6: 4 }[png[25]];
  const bytes = unfiltered(zlib.inflateSync(Buffer.concat(chunks.IDAT)), width * size, height, size);
  const [palette] = chunks.PLTE;
  const colour = palette ? (at) => palette.readUIntBE(bytes[at] * 3, 3) : (at) => bytes.readUIntBE(at * size, 3);
  return { width, height, colours: Uint32Array.from({ length: width * height }, (_, at) => colour(at)) };
}

// Each line says how its bytes were foretold from those to the left (a), above (b) and both (c).
function unfiltered(raw, stride, height, size) {
  const bytes = Buffer.alloc(stride * height);
  for (let line = 0; line < height; line += 1) {
    const foretold = FORETOLD[raw[line * (stride + 1)]];
    const start = line * stride;
    for (let at = 0; at < stride; at += 1) {
      const a = at >= size ? bytes[start + at - size] : 0;
      const b = line ? bytes[start + at - stride] : 0;
      const c = at >= size && line ? bytes[start + at - stride - size] : 0;
      bytes[start + at] = raw[line * (stride + 1) + 1 + at] + foretold(a, b, c);
    }
  }
  return bytes;
}

const FORETOLD = [() => 0, (a) => a, (a, b) => b, (a, b) => (a + b) >> 1, closest];

function closest(a, b, c) {
  const [toA, toB, toC] = [a, b, c].map((one) => Math.abs(a + b - c - one));
  return toA <= toB && toA <= toC ? a : toB <= toC ? b : c;
}
