// Scales, axes and shapes as SVG text, and matrices as images.

export const byId = (id) => document.getElementById(id);
export const esc = (text) => String(text).replace(/[&<>"']/g, (sign) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" })[sign]);
export const fixed = (value) => value.toFixed(2);

export function shown(value, count = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) return value.toExponential(Math.max(count - 2, 0)).replace(/\.0+e/, "e").replace("e+", "e").replaceAll("-", "−");
  return String(Number(value.toPrecision(count))).replace("-", "−");
}

// An error in words: a share of wrong labels, or a number in units of the target.
export const errorText = (value, labels) => (labels ? `${(100 * value).toFixed(1)} %` : shown(value, 4));

export function scale(low, high, from, to, log = false) {
  const f = log ? Math.log : (value) => value;
  const a = f(low);
  const b = f(high) === a ? a + 1 : f(high);
  const there = (value) => from + ((f(value) - a) / (b - a)) * (to - from);
  there.back = (place) => {
    const value = a + ((place - from) / (to - from)) * (b - a);
    return log ? Math.exp(value) : value;
  };
  Object.assign(there, { low, high, from, to, log });
  return there;
}

export function ticks(low, high, count = 5) {
  const rough = (high - low) / count || 1;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((each) => each * power).find((each) => each >= rough);
  const found = [];
  for (let value = Math.ceil(low / step) * step; value <= high + 1e-9 * step; value += step) found.push(Math.abs(value) < 1e-9 * step ? 0 : value);
  return found;
}

export function logTicks(low, high, most = 5) {
  const first = Math.ceil(Math.log10(low) - 1e-9);
  const last = Math.floor(Math.log10(high) + 1e-9);
  const step = Math.max(1, Math.ceil((last - first + 1) / most));
  const found = [];
  for (let power = first; power <= last; power += step) found.push(10 ** power);
  return found;
}

const powers = (value) => (Math.abs(Math.log10(value)) < 2.5 ? shown(value, 2) : `1e${Math.round(Math.log10(value))}`.replace("-", "−"));

// Grid lines, numbers and names of both axes.
export function axes(x, y, names, { xTicks, yTicks, xText, yText } = {}) {
  const parts = [];
  const tx = xTicks ?? (x.log ? logTicks(Math.min(x.low, x.high), Math.max(x.low, x.high)) : ticks(x.low, x.high));
  const ty = yTicks ?? (y.log ? logTicks(y.low, y.high, 5) : ticks(y.low, y.high, 4));
  const sayX = xText ?? (x.log ? powers : (value) => shown(value, 4));
  const sayY = yText ?? (y.log ? powers : (value) => shown(value, 4));
  for (const value of tx) {
    const at = fixed(x(value));
    parts.push(`<line class="grid" x1="${at}" x2="${at}" y1="${y.from}" y2="${y.to}"/><text x="${at}" y="${y.from + 16}" text-anchor="middle">${esc(sayX(value))}</text>`);
  }
  for (const value of ty) {
    const at = fixed(y(value));
    parts.push(`<line class="grid" x1="${x.from}" x2="${x.to}" y1="${at}" y2="${at}"/><text x="${x.from - 6}" y="${Number(at) + 4}" text-anchor="end">${esc(sayY(value))}</text>`);
  }
  parts.push(`<line class="axis" x1="${x.from}" x2="${x.to}" y1="${y.from}" y2="${y.from}"/><line class="axis" x1="${x.from}" x2="${x.from}" y1="${y.from}" y2="${y.to}"/>`);
  parts.push(`<text x="${(x.from + x.to) / 2}" y="${y.from + 32}" text-anchor="middle">${esc(names[0])}</text>`);
  parts.push(`<text x="${x.from}" y="${y.to - 8}" text-anchor="start">${esc(names[1])}</text>`);
  return parts.join("");
}

export function path(xs, ys, x, y) {
  let pen = "M";
  let found = "";
  for (let i = 0; i < xs.length; i += 1) {
    if (ys[i] === null || !Number.isFinite(ys[i])) {
      pen = "M";
      continue;
    }
    found += `${pen}${fixed(x(xs[i]))} ${fixed(Math.max(-1e4, Math.min(1e4, y(ys[i]))))}`;
    pen = "L";
  }
  return found;
}

export function area(xs, low, high, x, y) {
  const there = [];
  for (let i = 0; i < xs.length; i += 1) if (low[i] !== null && high[i] !== null) there.push(i);
  if (!there.length) return "";
  const up = there.map((i) => `${fixed(x(xs[i]))} ${fixed(Math.max(-1e4, y(high[i])))}`);
  const down = there.reverse().map((i) => `${fixed(x(xs[i]))} ${fixed(Math.min(1e4, y(low[i])))}`);
  return `M${[...up, ...down].join("L")}Z`;
}

export const svg = (width, height, title, body) =>
  `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${esc(title)}">${body}</svg>`;

// -- colours ----------------------------------------------------------------------------------------------------------

const mix = (stops, t) => {
  const place = Math.max(0, Math.min(1, t)) * (stops.length - 1);
  const i = Math.min(Math.floor(place), stops.length - 2);
  return stops[i].map((each, k) => Math.round(each + (place - i) * (stops[i + 1][k] - each)));
};
const SEQUENCE = [[68, 1, 84], [59, 82, 139], [33, 145, 140], [94, 201, 98], [253, 231, 37]];
export const dark = () => globalThis.matchMedia?.("(prefers-color-scheme: dark)").matches ?? false;
export const sequential = (t) => mix(SEQUENCE, t);
export const diverging = (t) => mix(dark() ? [[60, 150, 215], [32, 36, 42], [225, 135, 60]] : [[120, 185, 225], [255, 255, 255], [245, 175, 120]], t);

// A matrix of shares between 0 and 1 as the address of an image, one pixel for each.
export function image(width, height, colour) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const pen = canvas.getContext("2d");
  const data = pen.createImageData(width, height);
  for (let i = 0; i < height; i += 1)
    for (let j = 0; j < width; j += 1) {
      const [r, g, b] = colour(i, j);
      const at = 4 * (i * width + j);
      data.data[at] = r;
      data.data[at + 1] = g;
      data.data[at + 2] = b;
      data.data[at + 3] = 255;
    }
  pen.putImageData(data, 0, 0);
  return canvas.toDataURL();
}

// Lines where a function on a grid crosses a level (marching squares).
export function level(values, columns, rows, xs, ys, at, x, y) {
  const parts = [];
  const value = (i, j) => values[i * columns + j] - at;
  for (let i = 0; i + 1 < rows; i += 1)
    for (let j = 0; j + 1 < columns; j += 1) {
      const corners = [[i, j], [i, j + 1], [i + 1, j + 1], [i + 1, j]];
      const cuts = [];
      for (let k = 0; k < 4; k += 1) {
        const [a, b] = [corners[k], corners[(k + 1) % 4]];
        const [u, v] = [value(...a), value(...b)];
        if (u > 0 !== v > 0) {
          const t = u / (u - v);
          cuts.push([x(xs[a[1]] + t * (xs[b[1]] - xs[a[1]])), y(ys[a[0]] + t * (ys[b[0]] - ys[a[0]]))]);
        }
      }
      for (let k = 0; k + 1 < cuts.length; k += 2) parts.push(`M${fixed(cuts[k][0])} ${fixed(cuts[k][1])}L${fixed(cuts[k + 1][0])} ${fixed(cuts[k + 1][1])}`);
    }
  return parts.join("");
}
