// Losses other than the squared one: the minimum by Newton's method and left-out values by one step from it, as in the
// library. Letters and formulas as in docs/derivations, section 30.

import { cholesky, dotOf, solveWith } from "./algebra.js";
import { mean } from "./systems.js";

export const LEVELS = [0.05, 0.5, 0.95]; // of quantiles
const HUBER = 1.345; // standard deviations of the noise that are delta
const NORMAL_SPREAD = 1.4826; // standard deviation of normal noise over its median absolute deviation
const SMOOTHINGS = Array.from({ length: 7 }, (_, step) => 0.1 * 10 ** (-step / 2)); // over the mean distance from the quantile
const STEPS = 500;
const HALVES = 40; // of a line search
const ENOUGH = 1e-13; // decrease of the objective, over its size, that is the last one

const total = (list) => list.reduce((sum, each) => sum + each, 0);
const largestOf = (list) => list.reduce((most, each) => Math.max(most, Math.abs(each)), 0);
const times = (K, x) => Float64Array.from(K, (row) => dotOf(row, x));
const expit = (f) => 1 / (1 + Math.exp(-f));
const ascending = (list) => Float64Array.from(list).sort();
const middleOf = (list) => { const s = ascending(list); return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2; };
const quantileOf = (y, level) => ascending(y)[Math.min(y.findIndex((_, i) => i + 1 >= level * y.length), y.length - 1)];

// Each loss: rows l(y, f), slope dl/df, curvature d2l/df2, and the constant where Newton's method begins.
const huber = (delta) => ({
  rows: (y, f) => { const r = Math.abs(y - f); return r <= delta ? 0.5 * r * r : delta * (r - 0.5 * delta); },
  slope: (y, f) => Math.max(-delta, Math.min(delta, f - y)),
  curvature: (y, f) => Number(Math.abs(f - y) <= delta),
  constant: (y) => quantileOf(y, 0.5),
});
const pinball = (level, h) => ({
  rows: (y, f) => { const r = y - f; return Math.abs(r) < h ? (r * r) / (4 * h) + (level - 0.5) * r + 0.25 * h : Math.max(level * r, (level - 1) * r); },
  slope: (y, f) => 0.5 - level - Math.max(-0.5, Math.min(0.5, (y - f) / (2 * h))),
  curvature: (y, f) => (Math.abs(y - f) < h ? 0.5 / h : 0),
  constant: (y) => quantileOf(y, level),
});
const logistic = {
  rows: (y, f) => Math.max(f, 0) + Math.log1p(Math.exp(-Math.abs(f))) - y * f,
  slope: (y, f) => expit(f) - y,
  curvature: (_, f) => expit(f) * expit(-f),
  constant: (y) => { const share = mean(y); return Math.log(share / (1 - share)); },
};

// Standard deviation of the noise, from the differences of points to their nearest ones in kernel distance.
function noiseScale(y, K) {
  const differences = y.map((each, i) => {
    let nearest = i ? 0 : 1;
    K[i].forEach((k, j) => { if (j !== i && K[j][j] - 2 * k < K[nearest][nearest] - 2 * K[i][nearest]) nearest = j; });
    return Math.abs(each - y[nearest]) / Math.SQRT2;
  });
  const spread = y.map((each) => Math.abs(each - middleOf(y)));
  return [NORMAL_SPREAD * middleOf(differences), NORMAL_SPREAD * middleOf(spread), mean(spread), 1].find((size) => size > 0);
}

// A = V^1/2 (alpha I + V^1/2 K V^1/2)^-1 V^1/2 times columns, from the points whose second derivative v is not 0.
function curved(K, v, alpha) {
  const active = [...v.keys()].filter((i) => v[i] > 0);
  const root = active.map((i) => Math.sqrt(v[i]));
  const B = active.map((i, a) => Float64Array.from(active, (j, b) => root[a] * K[i][j] * root[b] + (a === b ? alpha : 0)));
  const L = cholesky(B);
  if (!L) throw new Error(`alpha = ${Number(alpha.toPrecision(3))} is lost in rounding beside the kernel matrix. Use a larger alpha.`);
  return (x) => {
    const found = new Float64Array(v.length);
    solveWith(L, active.map((i, a) => root[a] * x[i])).forEach((each, a) => { found[active[a]] = root[a] * each; });
    return found;
  };
}

// The minimum of the sum of losses plus alpha / 2 a'K a over f = K a + b.
function minimum({ K, y, alpha, intercept }, loss, start = null) {
  const ones = new Float64Array(y.length).fill(1);
  const pull = (f) => f.map((each, i) => -loss.slope(y[i], each));
  const at = (a, Ka, b) => { const f = Ka.map((each) => each + b); return { a, Ka, b, f, value: total(f.map((each, i) => loss.rows(y[i], each))) + 0.5 * alpha * dotOf(a, Ka) }; };
  const system = (f) => curved(K, f.map((each, i) => loss.curvature(y[i], each)), alpha);
  const solve = (A, r, surplus) => { // da, K da and db
    const ar = A(times(K, r));
    let da = r.map((each, i) => (each - ar[i]) / alpha);
    const left = intercept ? A(ones) : null;
    const sum = left ? total(left) : 0;
    const db = sum ? (total(da) + surplus) / sum : 0;
    if (db) da = da.map((each, i) => each - left[i] * db);
    return [da, times(K, da), db];
  };
  const zero = new Float64Array(y.length);
  let now = at(zero, zero, intercept ? loss.constant(y) : 0);
  if (start) {
    const other = at(...solve(system(start), pull(start).map((each, i) => each + loss.curvature(y[i], start[i]) * start[i]), 0));
    if (other.value < now.value) now = other;
  }
  let converged = false;
  for (let step = 0; step < STEPS && !converged; step += 1) {
    const g = pull(now.f);
    const r = g.map((each, i) => each - alpha * now.a[i]);
    const [da, Kda, db] = solve(system(now.f), r, total(now.a));
    const gain = dotOf(r, Kda) + total(g) * db;
    const least = ENOUGH * Math.max(Math.abs(now.value), 1e-300);
    const moved = (size) => at(now.a.map((each, i) => each + size * da[i]), now.Ka.map((each, i) => each + size * Kda[i]), now.b + size * db);
    let size = 1;
    let trial = moved(size);
    for (let half = 1; half < HALVES && !(trial.value <= now.value - 1e-4 * size * gain) && gain > least; half += 1) trial = moved((size /= 2));
    if (!(trial.value <= now.value - 1e-4 * size * gain) && gain > least) break; // no decrease that rounding would show
    converged = gain <= least;
    if (!converged || trial.value <= now.value) now = trial;
  }
  const g = pull(now.f);
  converged ||= largestOf(g.map((each, i) => each - alpha * now.a[i])) <= 1e-6 * Math.max(largestOf(g), 1e-300);
  return { ...now, loss, converged };
}

// The minima of a loss, one for each level, for targets y; labels are 0 and 1.
export function minima(name, problem) {
  const { y, K } = problem;
  if (name !== "quantile") return [minimum(problem, name === "huber" ? huber(HUBER * noiseScale(y, K)) : logistic)];
  const found = [];
  for (const level of LEVELS) {
    const spread = mean(y.map((each) => Math.abs(each - quantileOf(y, level))));
    const least = 1e-12 * Math.max(1, largestOf(y));
    const last = Math.max(SMOOTHINGS[6] * spread, least);
    let start = found.length ? found[found.length - 1].f : null;
    let best;
    for (const smoothing of SMOOTHINGS) {
      best = minimum(problem, pinball(level, (last * smoothing) / SMOOTHINGS[6]), start);
      start = best.f;
    }
    found.push(best);
  }
  return found;
}

// Values at all points, each without itself, by one Newton step from the minimum.
export function leftOut({ K, y, alpha, intercept }, { f, loss }) {
  const v = f.map((each, i) => loss.curvature(y[i], each));
  const A = curved(K, v, alpha);
  const left = intercept ? A(new Float64Array(y.length).fill(1)) : null;
  const sum = left ? total(left) : 0;
  return f.map((each, i) => {
    const own = K[i][i] - dotOf(K[i], A(K[i])) + (sum ? (1 - dotOf(K[i], left)) ** 2 / sum : 0);
    return each + (own * (loss.slope(y[i], each) / alpha)) / (1 - (v[i] * own) / alpha);
  });
}
