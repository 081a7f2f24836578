// The state of the page, kept in the address: back, forward and reload lead to the same picture.

import { PROBLEMS } from "./problems.js";

// What an address may bring, as the server has it: more would keep the page busy.
const MOST_POINTS = 300;
const MOST_WORDS = 60;
const LONGEST_WORD = 40;

// What is minimized, the mean of which over points is an error.
export const LOSSES = {
  squared: { title: "squared", short: "Squared" },
  huber: { title: "Huber", error: "mean Huber loss" },
  quantile: { title: "quantiles (5, 50, 95 %)", short: "Quantiles", error: "mean pinball loss" },
  logistic: { title: "logistic", short: "Logistic", error: "log loss" },
};
export const lossesOf = (labels) => (labels ? ["squared", "logistic"] : ["squared", "huber", "quantile"]);

const digits = (value) => String(Number(value.toPrecision(5)));

export function fresh(problem = "sinusoid") {
  const found = PROBLEMS[problem];
  return {
    tab: "play", tour: "", step: 0, problem, n: found.n ?? 0, noise: found.noise ?? 0, seed: 3, kernel: found.kernel,
    alpha: found.alpha, loss: "squared", intercept: true, edited: null, words: found.words ?? "", table: null,
  };
}

export function toHash(state) {
  const found = new URLSearchParams();
  if (state.tab !== "play") found.set("tab", state.tab);
  if (state.tour) found.set("tour", `${state.tour}.${state.step}`);
  found.set("problem", state.problem);
  if (PROBLEMS[state.problem]?.draw) {
    found.set("n", state.n);
    found.set("noise", state.noise);
    found.set("seed", state.seed);
  }
  found.set("kernel", state.kernel);
  found.set("alpha", digits(state.alpha));
  if (state.loss !== "squared") found.set("loss", state.loss);
  if (!state.intercept) found.set("constant", "no");
  if (state.words && state.words !== PROBLEMS[state.problem]?.words) found.set("words", state.words);
  if (state.table) found.set("table", JSON.stringify(state.table));
  if (state.edited) found.set("points", state.edited.x.map((x, i) => [...[x].flat(), state.edited.y[i]].map((each) => (typeof each === "number" ? digits(each) : encodeURIComponent(each))).join("_")).join("~"));
  return `#${found}`;
}

const number = (text, low, high, otherwise) => {
  const value = Number(text);
  return text !== null && text !== "" && Number.isFinite(value) ? Math.min(high, Math.max(low, value)) : otherwise;
};

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function editedPoints(text, words, columns, labels) {
  if (!text) return null;
  const x = [];
  const y = [];
  for (const each of text.split("~", MOST_POINTS)) {
    const parts = each.split("_");
    const target = Number(parts.pop());
    if (words) x.push(decoded(parts.join("_")));
    else x.push(parts.map(Number));
    y.push(target);
  }
  const small = (value) => Math.abs(value) < 1e9;
  const known = words ? x.length <= MOST_WORDS && x.every((each) => each.length <= LONGEST_WORD) : x.every((each) => each.length === columns && each.every(small));
  const fine = known && y.every(labels ? (each) => Math.abs(each) === 1 : small);
  return fine && y.length > 1 ? { x, y } : null;
}

function tableOf(text) {
  try {
    const found = JSON.parse(text);
    return found && typeof found.key === "string" && Array.isArray(found.axes) ? found : null;
  } catch {
    return null;
  }
}

// What an address says; whatever it does not say, or says badly, is as at the beginning.
export function fromHash(hash) {
  const found = new URLSearchParams(hash.replace(/^#/, ""));
  const table = tableOf(found.get("table"));
  const named = found.get("problem");
  const problem = table && named === "table" ? "table" : Object.hasOwn(PROBLEMS, named ?? "") ? named : "sinusoid";
  const state = problem === "table" ? { ...fresh(), problem, table } : fresh(problem);
  const tab = found.get("tab");
  if (["select", "tours"].includes(tab)) state.tab = tab;
  const [tour, step] = (found.get("tour") ?? "").split(".");
  if (tour) Object.assign(state, { tour, step: Math.round(number(step, 0, 20, 0)) });
  if (PROBLEMS[problem]?.draw) {
    state.n = Math.round(number(found.get("n"), 5, 300, state.n));
    state.noise = number(found.get("noise"), 0, 1, state.noise);
    state.seed = Math.round(number(found.get("seed"), 1, 1e6, state.seed));
  }
  state.kernel = (found.get("kernel") ?? state.kernel).slice(0, 2000);
  state.alpha = number(found.get("alpha"), 1e-8, 1e3, state.alpha);
  if (Object.hasOwn(LOSSES, found.get("loss") ?? "")) state.loss = found.get("loss");
  state.intercept = found.get("constant") !== "no";
  state.words = (found.get("words") ?? state.words).slice(0, 200);
  state.edited = problem === "table" ? null : editedPoints(found.get("points"), problem === "greetings", PROBLEMS[problem].names.length - (PROBLEMS[problem].labels ? 0 : 1), Boolean(PROBLEMS[problem].labels));
  return state;
}
