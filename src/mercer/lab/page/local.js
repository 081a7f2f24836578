// The answers of the static edition, worked out in the browser: the same questions and numbers as the server's.

import { eigen, inverse, zeros } from "./algebra.js";
import { certify, forWords, hasWidth, kernelFunction, partsOf, readKernel, wider, writeKernel } from "./kernels.js";

export const ALPHAS = Array.from({ length: 23 }, (_, i) => 10 ** (-8 + i / 2));
export const WIDTHS = Array.from({ length: 13 }, (_, i) => 16 ** (-1 + i / 6));
const CONFIDENCE = 0.9;

const dotOf = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i += 1) sum += a[i] * b[i];
  return sum;
};
const mean = (list) => list.reduce((sum, each) => sum + each, 0) / list.length;
const root = (list) => Math.sqrt(mean(Array.from(list, (each) => each * each)));

function matrix(k, X, Z) {
  const found = zeros(X.length, Z.length);
  for (let i = 0; i < X.length; i += 1)
    for (let j = 0; j < Z.length; j += 1) {
      const value = k(X[i], Z[j]);
      if (!(Math.abs(value) < 1e100)) throw new Error("The kernel gives no finite numbers for these points.");
      found[i][j] = value;
    }
  return found;
}

// P and the shares of y in the constant, for the matrix K and alpha: docs/derivations, sections 2 and 4.
function solved(K, alpha, intercept) {
  const A = K.map((row, i) => {
    const copy = Float64Array.from(row);
    copy[i] += alpha;
    return copy;
  });
  const G = inverse(A);
  if (!G) throw new Error("The system is singular. Use a larger alpha.");
  if (!intercept) return { P: G, shares: null };
  const ones = G.map((row) => row.reduce((sum, each) => sum + each, 0));
  const total = ones.reduce((sum, each) => sum + each, 0);
  const P = G.map((row, i) => row.map((each, j) => each - (ones[i] * ones[j]) / total));
  return { P, shares: Float64Array.from(ones, (each) => each / total) };
}

// The kernel of a question, for points of its kind.
function kernelOf(question) {
  const node = readKernel(question.kernel);
  const [first] = question.points.x;
  if (forWords(node) !== (typeof first === "string")) throw new Error(forWords(node) ? "These points are numbers: choose a kernel on numbers." : "These points are words: choose a kernel on words.");
  if (Array.isArray(first) && widestOf(node) > first.length) throw new Error(`The points have ${first.length} column${first.length > 1 ? "s" : ""}.`);
  return node;
}

const widestOf = (node) => Math.max(
  node.type === "on" ? Math.max(...[node.columns].flat()) + 1 : 0,
  node.type === "kernel" && Array.isArray(node.args.width) ? node.args.width.length : 0,
  ...partsOf(node).map((part) => (node.type === "on" ? 0 : widestOf(part))),
);

function modelOf(question) {
  const node = kernelOf(question);
  const k = kernelFunction(node);
  const { x: X, y } = question.points;
  const K = matrix(k, X, X);
  const { P, shares } = solved(K, question.alpha, question.intercept);
  const middle = question.intercept ? mean(y) : 0;
  const centred = Float64Array.from(y, (each) => each - middle);
  const dual = P.map((row) => dotOf(row, centred));
  const constant = middle + (shares ? dotOf(shares, centred) : 0);
  const residuals = dual.map((each, i) => each / P[i][i]);
  return { k, X, y, K, P, shares, dual, constant, residuals };
}

const predicted = (model, rows) => rows.map((row) => model.constant + dotOf(row, model.dual));

// How the value at a new point changes with each target.
function sharesAt(model, row) {
  const u = model.P.map((each) => dotOf(each, row));
  return model.shares ? u.map((each, i) => each + model.shares[i]) : u; // the constant has shares of its own
}

function fit(question) {
  const model = modelOf(question);
  const { K, P, y, residuals } = model;
  const inside = predicted(model, K).map((each, i) => y[i] - each);
  const leverage = P.map((row, i) => 1 - question.alpha * row[i]);
  const told = {
    residuals,
    leverage,
    degrees: leverage.reduce((sum, each) => sum + each, 0),
  };
  const rows = matrix(model.k, question.at, model.X);
  const values = predicted(model, rows);
  if (question.points.labels) {
    const left = y.map((each, i) => each - residuals[i]);
    const scale = temperature(left, y);
    told.training = mean(inside.map((each, i) => ((y[i] - each > 0) === (y[i] > 0) ? 0 : 1)));
    told.left_out = mean(left.map((each, i) => ((each > 0) === (y[i] > 0) ? 0 : 1)));
    told.decision = values;
    told.curve = values.map((each) => 1 / (1 + Math.exp(-scale * held(each))));
    return told;
  }
  told.training = root(inside);
  told.left_out = root(residuals);
  told.error_without = withoutEach(P, model.dual);
  told.curve = values;
  [told.lower, told.upper] = bands(model, rows, values);
  return told;
}

// Root mean squared left-out errors of the other points, without each point in turn.
function withoutEach(P, a) {
  const n = a.length;
  return a.map((ar, r) => {
    let sum = 0;
    for (let i = 0; i < n; i += 1) {
      if (i === r) continue;
      const e = (a[i] * P[r][r] - P[i][r] * ar) / (P[i][i] * P[r][r] - P[i][r] ** 2);
      sum += e * e;
    }
    return Math.sqrt(sum / Math.max(n - 1, 1));
  });
}

// Jackknife+: predictions without each point, less and plus its left-out error.
function bands(model, rows, values) {
  const n = model.dual.length;
  const cut = Math.floor((1 - CONFIDENCE) * (n + 1) + 1e-9);
  const lower = [];
  const upper = [];
  rows.forEach((row, place) => {
    const shares = sharesAt(model, row);
    const low = new Float64Array(n);
    const high = new Float64Array(n);
    for (let i = 0; i < n; i += 1) {
      const moved = values[place] - shares[i] * model.residuals[i];
      low[i] = moved - Math.abs(model.residuals[i]);
      high[i] = moved + Math.abs(model.residuals[i]);
    }
    low.sort();
    high.sort();
    lower.push(cut < 1 ? null : low[cut - 1]);
    upper.push(cut < 1 ? null : high[n - cut]);
  });
  return [lower, upper];
}

// The calibration of probabilities: one scale, by bisection on held-out decision values with smoothed labels.
const held = (f) => {
  const inside = Math.max(-1, Math.min(1, f));
  return inside + 0.01 * (f - inside);
};

function temperature(left, y) {
  const counts = { "-1": 0, 1: 0 };
  for (const each of y) counts[each] += 1;
  const slope = (scale) => {
    let sum = 0;
    left.forEach((f, i) => {
      const h = held(f);
      const p = 1 / (1 + Math.exp(-scale * h));
      const smooth = 1 / (counts[y[i]] + 2);
      const target = y[i] > 0 ? 1 - smooth : smooth;
      sum += (p - target) * h;
    });
    return sum;
  };
  if (slope(0) >= 0) return 0;
  let low = 0;
  let high = 1;
  while (slope(high) < 0 && high < 1e15) high *= 2;
  for (let i = 0; i < 100; i += 1) {
    const middle = 0.5 * (low + high);
    if (slope(middle) < 0) low = middle;
    else high = middle;
  }
  return 0.5 * (low + high);
}

function without(question) {
  const model = modelOf(question);
  const rows = matrix(model.k, question.at, model.X);
  const values = predicted(model, rows);
  const { row } = question;
  return { curve: rows.map((each, place) => values[place] - sharesAt(model, each)[row] * model.residuals[row]) };
}

// Left-out errors of all alphas from one eigendecomposition: docs/derivations, section 13.
function errorsOf(K, question) {
  const { values, vectors } = eigen(K);
  const { y, labels } = question.points;
  const middle = question.intercept ? mean(y) : 0;
  const centred = Float64Array.from(y, (each) => each - middle);
  const n = y.length;
  const inY = vectors.map((v) => dotOf(v, centred));
  const inOnes = vectors.map((v) => v.reduce((sum, each) => sum + each, 0));
  const squares = vectors.map((v) => v.map((each) => each * each));
  const errors = ALPHAS.map((alpha) => {
    const a = new Float64Array(n);
    const ones = new Float64Array(n);
    const diagonal = new Float64Array(n);
    for (let k = 0; k < n; k += 1) {
      const by = 1 / (values[k] + alpha);
      const v = vectors[k];
      const s = squares[k];
      for (let i = 0; i < n; i += 1) {
        a[i] += by * inY[k] * v[i];
        diagonal[i] += by * s[i];
        if (question.intercept) ones[i] += by * inOnes[k] * v[i];
      }
    }
    if (question.intercept) {
      const total = ones.reduce((sum, each) => sum + each, 0);
      const share = a.reduce((sum, each) => sum + each, 0) / total;
      for (let i = 0; i < n; i += 1) {
        a[i] -= share * ones[i];
        diagonal[i] -= (ones[i] * ones[i]) / total;
      }
    }
    const residuals = Array.from(a, (each, i) => each / diagonal[i]);
    if (labels) return mean(residuals.map((each, i) => ((y[i] - each > 0) === (y[i] > 0) ? 0 : 1)));
    return root(residuals);
  });
  return { errors, values };
}

function overview(question) {
  const { x: X, y, labels } = question.points;
  const K = matrix(kernelFunction(kernelOf(question)), X, X);
  const { errors, values } = errorsOf(K, question);
  const order = X.map((_, i) => i);
  if (typeof X[0] !== "string")
    order.sort((i, j) => (labels && y[i] !== y[j] ? y[i] - y[j] : X[i].reduce((sign, each, c) => sign || each - X[j][c], 0)));
  let low = Infinity;
  let high = -Infinity;
  for (const row of K) for (const each of row) { low = Math.min(low, each); high = Math.max(high, each); }
  const bytes = new Uint8Array(K.length ** 2);
  const by = 255 / (high > low ? high - low : 1);
  order.forEach((i, a) => order.forEach((j, b) => { bytes[a * K.length + b] = Math.round((K[i][j] - low) * by); }));
  return { alphas: ALPHAS, errors, eigenvalues: Array.from(values).reverse(), gram: { size: K.length, low, high, bytes } };
}

const pause = () => new Promise((done) => { setTimeout(done, 0); });

async function surface(question) {
  const node = kernelOf(question);
  if (!hasWidth(node)) throw new Error("This kernel has no width, so there is no surface.");
  const { x: X } = question.points;
  const errors = [];
  for (const by of WIDTHS) {
    errors.push(errorsOf(matrix(kernelFunction(wider(node, by)), X, X), question).errors);
    await pause();
  }
  return { factors: WIDTHS, alphas: ALPHAS, errors };
}

function draws(question) {
  const k = kernelFunction(kernelOf(question));
  const { x: X } = question.points;
  const { P, shares } = solved(matrix(k, X, X), question.alpha, question.intercept);
  const rows = matrix(k, question.at, X);
  const curves = question.draws.map((y) => {
    const model = { dual: P.map((row) => dotOf(row, y)), constant: shares ? dotOf(shares, y) : 0 };
    return predicted(model, rows);
  });
  return { curves };
}

function kernel(question) {
  const node = readKernel(question.kernel);
  kernelFunction(node);
  return { text: writeKernel(node), ...certify(node) };
}

const ANSWERS = { fit, without, overview, surface, draws, kernel };

export const localEngine = {
  name: "static",
  ask: async (what, question) => {
    if (!Object.hasOwn(ANSWERS, what)) throw new Error("This needs mercer lab on your own machine.");
    return ANSWERS[what](question);
  },
};
