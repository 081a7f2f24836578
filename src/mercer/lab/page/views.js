// Pictures: the plot of the points, and the panels beside it.

import { area, axes, diverging, esc, fixed, image, level, logTicks, path, scale, sequential, shown, svg, ticks } from "./draw.js";

const PLACES = 161;
const CELLS = 41;
const PAD = { left: 56, right: 14, top: 26, bottom: 42 };

const median = (list) => {
  const sorted = [...list].sort((a, b) => a - b);
  const half = sorted.length >> 1;
  return sorted.length % 2 ? sorted[half] : (sorted[half - 1] + sorted[half]) / 2;
};
const spaced = (low, high, count) => Array.from({ length: count }, (_, i) => low + ((high - low) * i) / (count - 1));
const extent = (list, margin) => {
  const low = Math.min(...list);
  const high = Math.max(...list);
  const more = margin * (high - low || Math.abs(low) || 1);
  return [low - more, high + more];
};

const widened = (range, found) => (range ? [Math.min(range[0], found[0] + 0.05 * (found[1] - found[0])), Math.max(range[1], found[1] - 0.05 * (found[1] - found[0]))] : found);

// What is drawn where: kind, ranges and the places that predictions are wanted at; `held` keeps the ranges while a point
// is dragged.
export function layoutOf(data, held = null) {
  const { points, problem } = data;
  if (typeof points.x[0] === "string") {
    const more = data.words.split(/\s+/).filter(Boolean).slice(0, 12);
    return { kind: "words", at: [...points.x, ...more], more, yRange: extent([...points.y, 1, -1], 0.2) };
  }
  const axesCount = data.axes ?? points.x[0].length;
  const ranges = held?.ranges ?? Array.from({ length: axesCount }, (_, j) => widened(problem?.range?.[j], extent(points.x.map((each) => each[j]), 0.05)));
  const rest = points.x[0].slice(axesCount).map((_, j) => median(points.x.map((each) => each[axesCount + j])));
  if (axesCount === 1) {
    const xs = spaced(...ranges[0], problem?.fine ?? PLACES);
    const yRange = held?.yRange ?? (data.labels ? [-0.08, 1.08] : extent(points.y, 0.12));
    return { kind: "curve", ranges, xs, at: xs.map((each) => [each, ...rest]), yRange };
  }
  const xs = spaced(...ranges[0], CELLS);
  const ys = spaced(...ranges[1], CELLS);
  return { kind: "map", ranges, xs, ys, at: ys.flatMap((v) => xs.map((u) => [u, v, ...rest])) };
}

export function scalesOf(layout, data, width) {
  const height = layout.kind === "map" ? Math.max(280, Math.min(520, 0.62 * width)) : Math.max(260, Math.min(420, 0.52 * width));
  const [left, right, top, bottom] = [PAD.left, width - PAD.right, PAD.top, height - PAD.bottom];
  if (layout.kind === "words") {
    const x = scale(-0.5, layout.at.length - 0.5, left, right);
    return { x, y: scale(...layout.yRange, bottom - 30, top), width, height };
  }
  const yRange = layout.kind === "map" ? layout.ranges[1] : layout.yRange;
  return { x: scale(...layout.ranges[0], left, right), y: scale(...yRange, bottom, top), width, height };
}

const inUnits = (data, column) => {
  const by = data.scale?.[column];
  return by ? { xTicksOf: (s) => ticks(by[0] + by[1] * s.low, by[0] + by[1] * s.high).map((each) => (each - by[0]) / by[1]), text: (value) => shown(by[0] + by[1] * value, 4) } : null;
};

export function frame(layout, data, s) {
  if (layout.kind === "words") {
    const turned = layout.at.length > 7;
    const names = layout.at.map((word, i) => {
      const at = fixed(s.x(i));
      const low = s.y.from + 16;
      const attributes = turned ? `transform="rotate(-35 ${at} ${low})" text-anchor="end"` : 'text-anchor="middle"';
      return `<text class="${i < data.points.x.length ? "strong" : ""}" x="${at}" y="${low}" ${attributes}>${esc(word)}</text>`;
    });
    return axes(s.x, s.y, ["", data.names[1]], { xTicks: [] }) + names.join("");
  }
  const first = inUnits(data, 0);
  const how = {};
  if (first) Object.assign(how, { xTicks: first.xTicksOf(s.x), xText: first.text });
  if (layout.kind === "map") {
    const second = inUnits(data, 1);
    if (second) Object.assign(how, { yTicks: second.xTicksOf(s.y), yText: second.text });
    return axes(s.x, s.y, [data.names[0], data.names[1]], how);
  }
  const last = data.labels ? `probability of ${data.labels[1]}` : data.names[data.names.length - 1];
  return axes(s.x, s.y, [data.names[0], last], how);
}

export function ground(layout, data, s, fit) {
  if (layout.kind !== "map") return layout.kind === "curve" && fit.lower ? `<path class="band" d="${area(layout.xs, fit.lower, fit.upper, s.x, s.y)}"/>` : "";
  const low = data.labels ? 0 : Math.min(...data.points.y);
  const high = data.labels ? 1 : Math.max(...data.points.y);
  const share = (value) => (value - low) / (high - low || 1);
  const colour = data.labels ? diverging : (t) => sequential(t).map((each) => Math.round(each * 0.6 + 255 * 0.4));
  const picture = image(CELLS, CELLS, (i, j) => colour(share(fit.curve[(CELLS - 1 - i) * CELLS + j])));
  const half = [(s.x.to - s.x.from) / (CELLS - 1) / 2, (s.y.from - s.y.to) / (CELLS - 1) / 2];
  const box = `x="${fixed(s.x.from - half[0])}" y="${fixed(s.y.to - half[1])}" width="${fixed(s.x.to - s.x.from + 2 * half[0])}" height="${fixed(s.y.from - s.y.to + 2 * half[1])}"`;
  return `<image ${box} preserveAspectRatio="none" clip-path="url(#inside)" href="${picture}"/>`;
}

export function lines(layout, data, s, fit) {
  if (layout.kind === "words") {
    const known = data.points.x.length;
    return fit.curve.map((value, i) => {
      const left = i < known && fit.residuals ? data.points.y[i] - fit.residuals[i] : null;
      const bar = `<rect class="${value < 0 ? "bar" : "negative"}" x="${fixed(s.x(i) - 9)}" width="18" y="${fixed(Math.min(s.y(0), s.y(value)))}" height="${fixed(Math.abs(s.y(value) - s.y(0)))}"/>`;
      return bar + (left === null ? "" : `<path class="mark" d="M${fixed(s.x(i) - 13)} ${fixed(s.y(left))}h26"/>`);
    }).join("") + `<line class="axis" x1="${s.x.from}" x2="${s.x.to}" y1="${fixed(s.y(0))}" y2="${fixed(s.y(0))}"/>`;
  }
  if (layout.kind === "map") {
    if (!data.labels) return "";
    return `<path class="level" d="${level(fit.decision, CELLS, CELLS, layout.xs, layout.ys, 0, s.x, s.y)}"/>`;
  }
  const truth = data.problem?.truth && data.points.y.length > 3 ? `<path class="truth" d="${path(layout.xs, layout.xs.map(data.problem.truth), s.x, s.y)}"/>` : "";
  return `${truth}<path class="curve" d="${path(layout.xs, fit.curve, s.x, s.y)}"/>`;
}

// The curve without a point; for labels the line that it would move.
export function gone(layout, data, s, curve) {
  if (layout.kind === "map") return data.labels ? `<path class="gone" d="${level(curve, CELLS, CELLS, layout.xs, layout.ys, 0, s.x, s.y)}"/>` : "";
  if (layout.kind === "words") return curve.map((value, i) => `<path class="gone" d="M${fixed(s.x(i) - 13)} ${fixed(s.y(value))}h26"/>`).join("");
  return data.labels ? "" : `<path class="gone" d="${path(layout.xs, curve, s.x, s.y)}"/>`;
}

export const placeOf = (layout, data, s, row) => {
  const x = data.points.x[row];
  if (layout.kind === "words") return [s.x(row), s.y(data.points.y[row])];
  if (layout.kind === "map") return [s.x(x[0]), s.y(x[1])];
  return [s.x(x[0]), s.y(data.labels ? (data.points.y[row] + 1) / 2 : data.points.y[row])];
};

export function dots(layout, data, s, chosen, marked = -1) {
  const low = Math.min(...data.points.y);
  const high = Math.max(...data.points.y);
  const many = data.points.y.length > 150;
  return data.points.y.map((target, row) => {
    const [u, v] = placeOf(layout, data, s, row).map(fixed);
    const on = `${row === marked ? " marked" : ""}${row === chosen ? " chosen" : ""}`;
    const ring = row === marked && data.labels ? `<circle class="ring" cx="${u}" cy="${v}" r="10"/>` : "";
    if (data.labels && target < 0) return `${ring}<rect class="point minus${on}" data-row="${row}" x="${fixed(u - 4.5)}" y="${fixed(v - 4.5)}" width="9" height="9"/>`;
    const shaded = layout.kind === "map" && !data.labels;
    const fill = shaded ? ` fill="rgb(${sequential((target - low) / (high - low || 1)).join(",")})"` : "";
    return `${ring}<circle class="point${data.labels ? " plus" : shaded ? " shaded" : ""}${on}" data-row="${row}" cx="${u}" cy="${v}" r="${row === marked ? 6.5 : many ? 3.5 : 5}"${fill}/>`;
  }).join("");
}

// -- panels -----------------------------------------------------------------------------------------------------------

const panel = (width) => ({ width, height: 210, x: [48, width - 10], y: [172, 22] });
const finite = (list) => list.filter((each) => Number.isFinite(each) && each > 0);

export function alphaPanel(width, overview, alpha, error, labels) {
  const p = panel(width);
  const good = finite(overview.errors);
  const top = labels ? Math.max(...overview.errors, 0.05) : Math.min(Math.max(...good), 30 * Math.min(...good));
  const x = scale(overview.alphas[0], overview.alphas[overview.alphas.length - 1], ...p.x, true);
  const y = labels ? scale(0, top * 1.1, ...p.y) : scale(Math.min(...good) * 0.9, top * 1.1, ...p.y, top > 4 * Math.min(...good));
  const drawn = overview.errors.map((each) => (each > top * 1.1 ? null : each));
  const here = Math.min(top * 1.1, Math.max(y.low, error));
  const mark = Number.isFinite(error) ? `<line class="mark" x1="${fixed(x(alpha))}" x2="${fixed(x(alpha))}" y1="${p.y[0]}" y2="${p.y[1]}"/><circle class="dot" cx="${fixed(x(alpha))}" cy="${fixed(y(here))}" r="5"/>` : "";
  const yTicks = y.log ? undefined : ticks(y.low, y.high, 4);
  return svg(width, p.height, `Leave-one-out error against alpha; now ${shown(error)} at alpha ${shown(alpha)}.`,
    axes(x, y, ["alpha", labels ? "share of wrong labels" : "error"], { yTicks: y.log ? around(y) : yTicks }) + `<path class="curve" d="${path(overview.alphas, drawn, x, y)}"/>${mark}`);
}

const around = (s) => {
  const found = logTicks(s.low, s.high, 5);
  return found.length > 1 ? found : ticks(s.low, s.high, 6);
};

export function surfacePanel(width, found, alpha, labels) {
  const p = panel(width);
  const all = found.errors.flat().filter(Number.isFinite);
  const low = Math.min(...all);
  const high = labels ? Math.max(...all) : Math.min(Math.max(...all), 4 * low);
  const rows = found.errors.length;
  const columns = found.alphas.length;
  const t = (value) => (Number.isFinite(value) ? 1 - Math.min(1, (value - low) / (high - low || 1)) : 0);
  const picture = image(columns, rows, (i, j) => sequential(t(found.errors[rows - 1 - i][j])));
  const x = scale(found.alphas[0], found.alphas[columns - 1], ...p.x, true);
  const y = scale(found.factors[0], found.factors[rows - 1], ...p.y, true);
  let best = [0, 0];
  found.errors.forEach((row, i) => row.forEach((each, j) => { if (each < found.errors[best[0]][best[1]]) best = [i, j]; }));
  const inside = (value, [a, b]) => Math.max(Math.min(a, b) + 8, Math.min(Math.max(a, b) - 8, value));
  const star = [inside(x(found.alphas[best[1]]), p.x), inside(y(found.factors[best[0]]), p.y)].map(fixed);
  const here = [x(alpha), y(1)].map(fixed);
  const body = `<image x="${p.x[0]}" y="${p.y[1]}" width="${p.x[1] - p.x[0]}" height="${p.y[0] - p.y[1]}" preserveAspectRatio="none" href="${picture}"/>`;
  const cross = `d="M${star[0] - 6} ${star[1]}h12M${star[0]} ${star[1] - 6}v12"`;
  const ring = `cx="${here[0]}" cy="${here[1]}" r="6"`;
  const marks = `<path class="halo" ${cross}/><path class="best" ${cross}/><circle class="halo" ${ring}/><circle class="best" ${ring}/>`;
  return svg(width, p.height, `Leave-one-out error by width and alpha, from ${shown(low)}; the cross is the least, the ring is here.`,
    body + axes(x, y, ["alpha", "factor on the width"], { yTicks: [1 / 16, 0.25, 1, 4, 16], yText: (value) => (value < 1 ? `1/${Math.round(1 / value)}` : String(value)) }) + marks)
    + '<p class="hint">Yellow is small; + is the least, ○ is here.</p>';
}

export function spectrumPanel(width, overview, alpha) {
  const p = panel(width);
  const all = overview.eigenvalues;
  const top = Math.max(Math.abs(all[0]), Math.abs(all[all.length - 1]), alpha);
  const floor = Math.max(top * 1e-14, Math.min(alpha / 10, top * 1e-6));
  const x = scale(1, Math.max(all.length, 2), ...p.x);
  const y = scale(floor, top * 2, ...p.y, true);
  const shownOnes = all.map((value, i) => [value, i]).filter(([value]) => Math.abs(value) > floor);
  const dotsOf = shownOnes.map(([value, i]) => {
    const negative = value < -1e-10 * top;
    return negative ? `<path class="negative" d="M${fixed(x(i + 1) - 4)} ${fixed(y(-value) - 4)}h8l-4 8z"/>` : value > 0 ? `<circle class="bar" cx="${fixed(x(i + 1))}" cy="${fixed(y(value))}" r="2.5"/>` : "";
  });
  const below = all.filter((value) => value < -1e-10 * top).length;
  const line = `<line class="mark" x1="${p.x[0]}" x2="${p.x[1]}" y1="${fixed(y(alpha))}" y2="${fixed(y(alpha))}"/><text class="strong" x="${p.x[1]}" y="${fixed(y(alpha) - 5)}" text-anchor="end">alpha</text>`;
  const words = below ? `size; ${below} of ${all.length} negative (▼)` : "size of eigenvalue";
  return svg(width, p.height, `${all.length} eigenvalues of the kernel matrix, ${below} negative; the largest is ${shown(all[0])}, the smallest ${shown(all[all.length - 1])}.`,
    axes(x, y, ["number of the eigenvalue", words], { xTicks: ticks(1, Math.max(all.length, 2)).filter(Number.isInteger), yTicks: logTicks(floor, top * 2, 5) }) + dotsOf.join("") + line);
}

const bytesOf = (given) => (typeof given === "string" ? Uint8Array.from(atob(given), (sign) => sign.charCodeAt(0)) : given);

export function gramPanel(width, gram) {
  const bytes = bytesOf(gram.bytes);
  const side = Math.min(width - 20, 172);
  const left = (width - side) / 2;
  const picture = image(gram.size, gram.size, (i, j) => sequential(bytes[i * gram.size + j] / 255));
  return svg(width, 210, `Kernel matrix of ${gram.size} points, from ${shown(gram.low)} to ${shown(gram.high)}.`,
    `<image x="${left}" y="4" width="${side}" height="${side}" preserveAspectRatio="none" image-rendering="pixelated" href="${picture}"/><text x="${width / 2}" y="198" text-anchor="middle">dark ${esc(shown(gram.low))}, yellow ${esc(shown(gram.high))}</text>`);
}
