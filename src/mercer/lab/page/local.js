// The answers of the static edition, worked out in the browser: the same questions and numbers as the server's.

import { dotOf, eigen } from "./algebra.js";
import { certify, forWords, hasWidth, kernelFunction, partsOf, readKernel, wider, writeKernel } from "./kernels.js";
import { LEVELS, leftOut, minima } from "./losses.js";
import { leaveOneOut, matrix, mean, systemOf } from "./systems.js";

export const ALPHAS = Array.from({ length: 23 }, (_, i) => 10 ** (-8 + i / 2));
export const WIDTHS = Array.from({ length: 13 }, (_, i) => 16 ** (-1 + i / 6));
const CONFIDENCE = 0.9;
const MOST_PARTS = 12; // of a kernel

const root = (list) => Math.sqrt(mean(Array.from(list, (each) => each * each)));

// The kernel of a question, for points of its kind.
function kernelOf(question) {
  const node = readKernel(question.kernel);
  if (partCount(node) > MOST_PARTS) throw new Error(`A kernel on this page may have at most ${MOST_PARTS} parts.`);
  const [first] = question.points.x;
  if (forWords(node) !== (typeof first === "string")) throw new Error(forWords(node) ? "These points are numbers: choose a kernel on numbers." : "These points are words: choose a kernel on words.");
  if (Array.isArray(first) && widestOf(node) > first.length) throw new Error(`The points have ${first.length} column${first.length > 1 ? "s" : ""}.`);
  return node;
}

const partCount = (node) => partsOf(node).reduce((sum, part) => sum + partCount(part), 1);

const widestOf = (node) => Math.max(
  node.type === "on" ? Math.max(...[node.columns].flat()) + 1 : 0,
  node.type === "kernel" && Array.isArray(node.args.width) ? node.args.width.length : 0,
  ...partsOf(node).map((part) => (node.type === "on" ? 0 : widestOf(part))),
);

function modelOf(question) {
  const { x: X, y, labels } = question.points;
  const system = systemOf(kernelOf(question), X, question.intercept);
  const solved = system.at(question.alpha);
  const fit = solved.fit(y);
  const predicted = (rows) => rows.map((row) => solved.value(fit, row));
  return { system, solved, fit, predicted, ...leaveOneOut(solved, y, labels) };
}

const wrongShare = (decisions, y) => mean(decisions.map((each, i) => Number(each > 0 !== y[i] > 0)));

function fit(question) {
  if ((question.loss ?? "squared") !== "squared") return fitLoss(question);
  const model = modelOf(question);
  const { system, solved, residuals, decisions } = model;
  const { x: X, y, labels } = question.points;
  const inside = model.predicted(system.rows(X));
  const told = {
    residuals,
    leverage: solved.singular ? null : Array.from(solved.diagonal, (each) => 1 - solved.unit * each),
    degrees: solved.degrees,
    digits: solved.digits(y, model.fit),
  };
  const rows = system.rows(question.at);
  const values = model.predicted(rows);
  if (labels) {
    const scale = temperature(decisions, y);
    told.training = wrongShare(inside, y);
    told.left_out = wrongShare(decisions, y);
    told.decision = values;
    told.curve = values.map((each) => 1 / (1 + Math.exp(-scale * held(each))));
    return told;
  }
  told.training = root(inside.map((each, i) => y[i] - each));
  told.left_out = root(residuals);
  told.error_without = solved.singular ? null : withoutEach(y.map((_, i) => solved.row(i)), model.fit.a);
  told.curve = values;
  [told.lower, told.upper] = bands(model, rows, values);
  return told;
}

// Another loss than the squared one: predictions, outer quantiles and mean losses.
function fitLoss(question) {
  const { alpha, intercept, loss } = question;
  const { x: X, y: given, labels } = question.points;
  const node = kernelOf(question);
  if (certify(node).valid === false) throw new Error("The kernel of this loss must be a Mercer kernel.");
  const k = kernelFunction(node);
  const y = given.map((each) => (labels ? Number(each > 0) : each));
  const problem = { K: matrix(k, X, X), y, alpha, intercept };
  const found = minima(loss, problem);
  const ordered = (values) => (found.length > 1 ? [...values].sort((a, b) => a - b) : values); // quantiles do not cross
  const mine = (rows, level) => mean(Array.from(rows, (f, i) => found[level].loss.rows(y[i], f)));
  const inside = y.map((_, i) => ordered(found.map((each) => each.f[i])));
  const at = matrix(k, question.at, X).map((row) => ordered(found.map((each) => each.b + dotOf(row, each.a))));
  const told = { left_out: null, residuals: null, leverage: null, error_without: null, degrees: null, digits: null };
  told.training = mean(found.map((_, level) => mine(inside.map((each) => each[level]), level)));
  told.converged = found.every((each) => each.converged);
  if (loss !== "quantile") {
    const left = leftOut(problem, found[0]);
    told.left_out = mine(left, 0);
    told.residuals = labels ? null : y.map((each, i) => each - left[i]);
  }
  told.curve = at.map((each) => (labels ? 1 / (1 + Math.exp(-each[0])) : each[found.length >> 1]));
  if (labels) told.decision = at.map(([each]) => each);
  if (found.length > 1) [told.lower, told.upper] = [0, LEVELS.length - 1].map((level) => at.map((each) => each[level]));
  return told;
}

// Root mean squared left-out errors of the other points, without each point in turn.
function withoutEach(P, a) {
  const n = a.length;
  return Array.from(a, (ar, r) => {
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
  const n = model.residuals.length;
  const cut = Math.floor((1 - CONFIDENCE) * (n + 1) + 1e-9);
  const lower = [];
  const upper = [];
  rows.forEach((row, place) => {
    const shares = model.solved.shares(row);
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
  const { system, solved, predicted, residuals } = modelOf(question);
  const rows = system.rows(question.at);
  const { row } = question;
  return { curve: predicted(rows).map((each, place) => each - solved.shares(rows[place])[row] * residuals[row]) };
}

// Left-out errors of all alphas from one decomposition: docs/derivations, section 13.
function errorsOf(node, question) {
  const { x: X, y, labels } = question.points;
  const system = systemOf(node, X, question.intercept);
  return ALPHAS.map((alpha) => {
    const { residuals, decisions } = leaveOneOut(system.along(alpha), y, labels);
    return labels ? wrongShare(decisions, y) : root(residuals);
  });
}

function overview(question) {
  const { x: X, y, labels } = question.points;
  const node = kernelOf(question);
  const K = matrix(kernelFunction(node), X, X);
  const order = X.map((_, i) => i);
  if (typeof X[0] !== "string")
    order.sort((i, j) => (labels && y[i] !== y[j] ? y[i] - y[j] : X[i].reduce((sign, each, c) => sign || each - X[j][c], 0)));
  let low = Infinity;
  let high = -Infinity;
  for (const row of K) for (const each of row) { low = Math.min(low, each); high = Math.max(high, each); }
  const bytes = new Uint8Array(K.length ** 2);
  const by = 255 / (high > low ? high - low : 1);
  order.forEach((i, a) => order.forEach((j, b) => { bytes[a * K.length + b] = Math.round((K[i][j] - low) * by); }));
  return { alphas: ALPHAS, errors: errorsOf(node, question), eigenvalues: Array.from(eigen(K).values).reverse(), gram: { size: K.length, low, high, bytes } };
}

const pause = () => new Promise((done) => { setTimeout(done, 0); });

async function surface(question) {
  const node = kernelOf(question);
  if (!hasWidth(node)) throw new Error("This kernel has no width, so there is no surface of errors.");
  const errors = [];
  for (const by of WIDTHS) {
    errors.push(errorsOf(wider(node, by), question));
    await pause();
  }
  return { factors: WIDTHS, alphas: ALPHAS, errors };
}

function draws(question) {
  const system = systemOf(kernelOf(question), question.points.x, question.intercept);
  const solved = system.at(question.alpha);
  const rows = system.rows(question.at);
  return { curves: question.draws.map((y) => { const fitted = solved.fit(y); return rows.map((row) => solved.value(fitted, row)); }) };
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
