// Systems of a kernel and points, for any alpha: through explicit features where they are fewer than the points, and
// through the kernel matrix otherwise, as the library does. Letters and formulas as in docs/derivations, sections 2 to 4.

import { cholesky, conditionNumber, dotOf, eigen, inverseFrom, singular, solveWith, zeros } from "./algebra.js";
import { featuresOf, kernelFunction } from "./kernels.js";

const EPS = Number.EPSILON;
const SINGULAR = 0.5 / EPS; // condition number beyond which the smallest eigenvalue is rounding
const NORMAL = 1e7; // condition number beyond which the library takes singular values
const TIED = 100 * EPS; // a prediction below this share of the terms that it is the sum of is zero
const NOTHING = 1e-13; // a share of a prediction that is not worth computing
const MOST_FEATURES = 100; // whose singular values take half a second

const sumOf = (list) => list.reduce((sum, each) => sum + each, 0);
export const mean = (list) => sumOf(list) / list.length;
const sizeOf = (list) => Math.sqrt(dotOf(list, list));
const digitsLeft = (...lost) => Math.max(0, -Math.log10(3 * EPS * Math.max(1, ...lost.map((each) => each || 1)))); // 0 / 0 loses none

export function matrix(k, X, Z) {
  const found = zeros(X.length, Z.length);
  for (let i = 0; i < X.length; i += 1)
    for (let j = 0; j < Z.length; j += 1) {
      const value = k(X[i], Z[j]);
      if (!(Math.abs(value) < 1e100)) throw new Error("The kernel gives no finite numbers for these points.");
      found[i][j] = value;
    }
  return found;
}

// The system of a kernel: `at` factors it for one alpha, `along` serves many alphas from one decomposition.
export function systemOf(node, X, intercept) {
  const k = kernelFunction(node);
  const features = typeof X[0] === "string" ? null : featuresOf(node, X[0].length);
  return features && features.count < Math.min(X.length, MOST_FEATURES) ? primal(features, X, intercept) : dual(k, X, intercept);
}

// Left-out residuals, and for labels the left-out decision values: y less the residual has no digits of one that is much
// smaller than y, which is therefore computed by itself.
export function leaveOneOut(solved, y, labels) {
  const fit = solved.fit(y);
  const residuals = Array.from(fit.a, (each, i) => each / solved.diagonal[i]);
  if (!labels) return { residuals };
  const least = Math.min(Math.max(1e-6, 10 * EPS * solved.condition), 1e-3);
  const decisions = residuals.map((each, i) => {
    if (solved.singular || !(Math.abs(y[i] - each) < least)) return y[i] - each;
    const [value, terms] = solved.without(i, each, y, fit);
    return Math.abs(value) <= TIED * terms ? 0 : value;
  });
  return { residuals, decisions };
}

// -- through the kernel matrix ----------------------------------------------------------------------------------------

function dual(k, X, intercept) {
  const K = matrix(k, X, X);
  let spectrum = null;
  return {
    rows: (at) => matrix(k, at, X),
    at: (alpha) => factored(K, alpha, intercept),
    along: (alpha) => spectral(K, (spectrum ??= eigen(K)), alpha, intercept),
  };
}

function factored(K, alpha, intercept) {
  const A = K.map((row, i) => Float64Array.from(row, (each, j) => (i === j ? each + alpha : each)));
  const L = cholesky(A);
  const solve = (b) => solveWith(L, b);
  const condition = L ? conditionNumber(A, solve) : Infinity;
  if (condition > SINGULAR) return spectral(K, eigen(K), alpha, intercept);
  const G = inverseFrom(L);
  return bordered(K, alpha, intercept, { solve, condition, diagonal: G.map((row, i) => row[i]), row: (i) => G[i], rank: K.length, reach: Infinity });
}

// G from eigenvalues that are not rounding. Where some are, rows are left out by the limit of alpha G for a small alpha,
// which projects on their eigenvectors.
function spectral(K, { values, vectors }, alpha, intercept) {
  const n = K.length;
  const shifted = values.map((each) => each + alpha);
  const sizes = shifted.map(Math.abs);
  const largest = Math.max(...sizes);
  const kept = Array.from(sizes, (each) => each > n * EPS * largest);
  const rank = kept.filter(Boolean).length;
  const through = (weights) => ({
    solve: (b) => {
      const found = new Float64Array(n);
      vectors.forEach((v, k) => {
        if (!weights[k]) return;
        const by = weights[k] * dotOf(v, b);
        for (let i = 0; i < n; i += 1) found[i] += by * v[i];
      });
      return found;
    },
    diagonal: Float64Array.from({ length: n }, (_, i) => vectors.reduce((sum, v, k) => sum + weights[k] * v[i] * v[i], 0)),
    row: (i) => Float64Array.from({ length: n }, (_, j) => vectors.reduce((sum, v, k) => sum + weights[k] * v[i] * v[j], 0)),
  });
  const G = through(kept.map((each, k) => (each ? 1 / shifted[k] : 0)));
  const condition = rank < n ? Infinity : largest / Math.min(...sizes);
  const limit = rank < n ? through(kept.map((each) => Number(!each))) : null;
  return bordered(K, alpha, intercept, { ...G, limit, condition, rank, reach: 1 / Math.min(...sizes) });
}

// The system with its constant: P = G - g g' / 1'g for g = G 1, and everything that is read from it.
function bordered(K, alpha, intercept, G) {
  const n = K.length;
  const ones = new Float64Array(n).fill(1);
  const left = G.limit ?? G; // what rows are left out by
  const over = (g) => ({ g, total: sumOf(g) });
  const inside = intercept ? over(left.solve(ones)) : null;
  const border = inside && Math.abs(inside.total) > (G.limit ? 1e-12 * n : 0) ? inside : null;
  const constant = intercept && !border ? over(G.solve(ones)) : border; // which a direction without a penalty decides
  const centred = (y) => {
    const middle = intercept ? mean(y) : 0;
    return [middle, Float64Array.from(y, (each) => each - middle)];
  };
  const own = (i) => (border ? border.g[i] / border.total : 0);
  const found = {
    singular: Boolean(G.limit),
    unit: alpha, // P times this is the identity less the smoother
    condition: G.condition,
    diagonal: left.diagonal.map((each, i) => each - (border ? border.g[i] * own(i) : 0)),
    row: (i) => {
      const P = Float64Array.from(left.row(i));
      return border ? P.map((each, j) => each - border.g[j] * own(i)) : P;
    },
    // Dual coefficients and constant, and P y: the same, except where the system is singular.
    fit: (y) => {
      const [middle, c] = centred(y);
      const more = constant ? dotOf(constant.g, c) / constant.total : 0;
      const w = G.solve(c.map((each) => each - more));
      const a = G.limit ? left.solve(border ? c.map((each) => each - more) : c) : w;
      return { w, constant: middle + more, a };
    },
    value: (fit, row) => fit.constant + dotOf(row, fit.w),
    shares: (row) => {
      const u = G.solve(row);
      if (!constant) return u;
      const by = (1 - sumOf(u)) / constant.total;
      return u.map((each, i) => each + constant.g[i] * by);
    },
    // The prediction without point i, whose residual is e, and the size of the terms that it is the sum of.
    without: (i, e, y, fit) => {
      const others = Float64Array.from(K[i]);
      others[i] = 0;
      const sizes = others.map(Math.abs);
      const terms = dotOf(sizes, fit.w.map(Math.abs));
      let value = dotOf(others, fit.w) + fit.constant - own(i) * e;
      const most = (G.reach * sumOf(sizes) * sizeOf(others)) / Math.max(Math.abs(K[i][i]), 1e-300);
      if (!(most * Math.abs(e) <= NOTHING * terms)) value -= dotOf(others, found.row(i)) * e;
      return [value, terms + (border ? dotOf(border.g.map(Math.abs), y.map(Math.abs)) / Math.abs(border.total) : 0)];
    },
    digits: (y, fit) => {
      const roots = K.map((row, i) => Math.sqrt(Math.abs(row[i])));
      return digitsLeft(G.condition, (sizeOf(roots.map((each, i) => each * fit.w[i])) * sizeOf(roots)) / sizeOf(y));
    },
  };
  found.degrees = G.limit ? G.rank + Number(Boolean(border)) : n - alpha * sumOf(found.diagonal);
  return found;
}

// -- through explicit features ----------------------------------------------------------------------------------------

// Features less their means, so that a constant takes up whatever they have in common, and their singular values, which
// have the root of the condition of their products.
function primal(features, X, intercept) {
  const n = X.length;
  const phi = X.map(features.of);
  if (!phi.flat().every((each) => Math.abs(each) < 1e100)) throw new Error("The kernel gives no finite numbers for these points.");
  const columns = Array.from({ length: features.count }, (_, j) => Float64Array.from(phi, (row) => row[j]));
  const middles = columns.map((column) => {
    if (!intercept) return 0;
    const middle = column.every((each) => each === column[0]) ? column[0] : mean(column);
    return middle + mean(column.map((each) => each - middle));
  });
  const F = columns.map((column, j) => column.map((each) => each - middles[j]));
  const parts = { ...singular(F), C: F.map((a) => F.map((b) => dotOf(a, b))), middles, intercept, n };
  const at = (alpha) => penalized(parts, alpha);
  return { rows: (list) => list.map((x) => features.of(x).map((each, j) => each - middles[j])), at, along: at };
}

// The condition number of C + alpha I, or its root where that is so large that singular values have more digits; and
// how much more of the fit is lost then, since directions of small singular values are turned a little.
function conditionOf(C, s, alpha) {
  const shifted = C.map((row, j) => row.map((each, i) => (i === j ? each + alpha : each)));
  const L = cholesky(shifted);
  const condition = L ? conditionNumber(shifted, (b) => solveWith(L, b)) : Infinity;
  if (condition <= NORMAL) return [condition, 1];
  const varying = C.filter((row, j) => row[j] > 0).length;
  const squares = [...s.map((each) => each * each + alpha), ...(s.length < varying ? [alpha] : [])];
  const turned = Math.max(...s) * Math.max(...s.map((each) => each / (each * each + alpha)));
  return [Math.sqrt(Math.max(...squares) / Math.min(...squares)), Math.max(1, turned / 4)];
}

function penalized({ U, s, V, C, middles, intercept, n }, alpha) {
  const shrink = s.map((each) => each / (each * each + alpha));
  const smooth = s.map((each, k) => each * shrink[k]);
  const share = intercept ? 1 / n : 0;
  const combined = (vectors, weights, length) => {
    const found = new Float64Array(length);
    vectors.forEach((v, k) => { for (let i = 0; i < length; i += 1) found[i] += weights[k] * v[i]; });
    return found;
  };
  const row = (i) => combined(U, U.map((u, k) => smooth[k] * u[i]), n).map((each, j) => Number(i === j) - share - each);
  const [condition, turned] = conditionOf(C, s, alpha);
  return {
    singular: false,
    unit: 1,
    condition,
    diagonal: Float64Array.from({ length: n }, (_, i) => 1 - share - U.reduce((sum, u, k) => sum + smooth[k] * u[i] * u[i], 0)),
    row,
    degrees: sumOf(smooth) + Number(intercept),
    // Weights of the features, what is predicted where they are at their means, and y less the fit.
    fit: (y) => {
      const first = intercept ? mean(y) : 0;
      const constant = intercept ? first + mean(y.map((each) => each - first)) : 0;
      const c = Float64Array.from(y, (each) => each - constant);
      const along = U.map((u) => dotOf(u, c));
      const fitted = combined(U, along.map((each, k) => smooth[k] * each), n);
      return { w: combined(V, along.map((each, k) => shrink[k] * each), C.length), constant, a: c.map((each, i) => each - fitted[i]) };
    },
    value: (fit, features) => fit.constant + dotOf(features, fit.w),
    shares: (features) => combined(U, V.map((v, k) => shrink[k] * dotOf(v, features)), n).map((each) => each + share),
    without: (i, e, y) => {
      const others = row(i);
      const by = -1 / others[i];
      others[i] = 0;
      return [by * dotOf(others, y), Math.abs(by) * dotOf(others.map(Math.abs), y.map(Math.abs))];
    },
    digits: (y, fit) => {
      const offset = dotOf(middles.map(Math.abs), fit.w.map(Math.abs)) * Math.sqrt(n);
      const size = turned * sizeOf(y.map((each) => each - fit.constant));
      return digitsLeft(condition, (size + offset) / sizeOf(fit.a), offset / sizeOf(y));
    },
  };
}
