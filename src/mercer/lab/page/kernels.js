// Kernels as text: read, written, changed, evaluated and certified. The notation is that of mercer.kernels.parse.

const positive = (value) => value > 0;
const width = { width: { value: 1, low: 0.02, high: 100, log: true, fine: positive, must: "above 0" } };
const whole = (value, low, high) => ({ value, low, high, whole: true, fine: (each) => Number.isInteger(each) && each >= 1 && each <= 1000, must: "a whole number of at least 1" });
const mild = (value, low, high) => ({ value, low, high, fine: low < 0 ? Number.isFinite : (each) => each >= 0, must: low < 0 ? "a number" : "at least 0" });

// What there is: arguments in order, what points are, and whether it is a Mercer kernel.
export const KERNELS = {
  Gaussian: { args: width, valid: true, of: ([w]) => (x, z) => Math.exp(-0.5 * squared(x, z, w)) },
  Laplacian: { args: width, valid: true, of: ([w]) => (x, z) => Math.exp(-manhattan(x, z, w)) },
  Matern: {
    args: { ...width, nu: { value: 1.5, choices: [0.5, 1.5, 2.5], fine: (each) => [0.5, 1.5, 2.5].includes(each), must: "0.5, 1.5 or 2.5" } },
    valid: true,
    of: ([w, nu]) => matern(w, nu),
  },
  RationalQuadratic: {
    args: { ...width, shape: { value: 1, low: 0.1, high: 10, log: true, fine: positive, must: "above 0" } },
    valid: true,
    of: ([w, shape]) => (x, z) => (1 + squared(x, z, w) / (2 * shape)) ** -shape,
  },
  Periodic: {
    args: { ...width, period: { value: 1, low: 0.1, high: 20, log: true, fine: positive, must: "above 0" } },
    valid: true,
    of: ([w, period]) => (x, z) => {
      let sum = 0;
      for (let j = 0; j < x.length; j += 1) sum += (Math.sin((Math.PI * (x[j] - z[j])) / period) / at(w, j)) ** 2;
      return Math.exp(-2 * sum);
    },
  },
  Linear: { args: {}, valid: true, of: () => (x, z) => dot(x, z) },
  Polynomial: {
    args: { degree: whole(2, 1, 12), offset: mild(1, 0, 5), scale: mild(1, 0.1, 5) },
    valid: true,
    of: ([degree, offset, scale]) => (x, z) => (scale * dot(x, z) + offset) ** degree,
  },
  Cosine: {
    args: {},
    valid: true,
    of: () => (x, z) => {
      const size = Math.sqrt(dot(x, x) * dot(z, z));
      return size > 0 ? dot(x, z) / size : 0;
    },
  },
  Constant: { args: { value: mild(1, 0, 10) }, valid: true, of: ([value]) => () => value },
  Sigmoid: {
    args: { scale: mild(1, 0.1, 5), offset: mild(0, -3, 3) },
    valid: false,
    of: ([scale, offset]) => (x, z) => Math.tanh(scale * dot(x, z) + offset),
  },
  SquaredDistance: { args: {}, valid: false, of: () => (x, z) => squared(x, z, 1) },
  Words: { args: {}, valid: true, words: true, of: () => (x, z) => shared(tokens(x), tokens(z)) },
  Spectrum: {
    args: { length: whole(3, 1, 6) },
    valid: true,
    words: true,
    of: ([length]) => (x, z) => shared(pieces(x, length), pieces(z, length)),
  },
  Jaccard: {
    args: {},
    valid: true,
    words: true,
    of: () => (x, z) => {
      const a = new Set(tokens(x));
      const b = new Set(tokens(z));
      const both = [...a].filter((each) => b.has(each)).length;
      const all = a.size + b.size - both;
      return all ? both / all : 1;
    },
  },
};

const at = (w, j) => (Array.isArray(w) ? w[j] : w);
function squared(x, z, w) {
  let sum = 0;
  for (let j = 0; j < x.length; j += 1) sum += ((x[j] - z[j]) / at(w, j)) ** 2;
  return sum;
}
function manhattan(x, z, w) {
  let sum = 0;
  for (let j = 0; j < x.length; j += 1) sum += Math.abs(x[j] - z[j]) / at(w, j);
  return sum;
}
function dot(x, z) {
  let sum = 0;
  for (let j = 0; j < x.length; j += 1) sum += x[j] * z[j];
  return sum;
}
function matern(w, nu) {
  if (nu === 0.5) return (x, z) => Math.exp(-Math.sqrt(squared(x, z, w)));
  const by = Math.sqrt(nu === 1.5 ? 3 : 5);
  return (x, z) => {
    const r = by * Math.sqrt(squared(x, z, w));
    return (nu === 1.5 ? 1 + r : 1 + r + (r * r) / 3) * Math.exp(-r);
  };
}
const tokens = (text) => text.split(/\s+/).filter(Boolean);
const pieces = (text, length) => Array.from({ length: Math.max(0, text.length - length + 1) }, (_, i) => text.slice(i, i + length));
function shared(a, b) {
  const counts = new Map();
  for (const each of a) counts.set(each, (counts.get(each) ?? 0) + 1);
  let sum = 0;
  for (const each of b) sum += counts.get(each) ?? 0;
  return sum;
}

// -- text -----------------------------------------------------------------------------------------------------------

const plainName = (name) => name.replaceAll("_", "").toLowerCase();
const BY_NAME = new Map(Object.keys(KERNELS).map((name) => [plainName(name), name]));

export class KernelError extends Error {}

function scaled(factor, part) {
  if (factor < 0) throw new KernelError("The factor of a kernel must be at least 0.");
  return { type: "scaled", factor, part };
}

function scan(text) {
  const found = [];
  const pattern = /\s+|(\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)|([A-Za-z_][A-Za-z_0-9]*)|('[^']*'|"[^"]*")|(\*\*|[-+*().,=[\]])/y;
  while (pattern.lastIndex < text.length) {
    const begin = pattern.lastIndex;
    const match = pattern.exec(text);
    if (!match) throw new KernelError(`The kernel has a sign that is not understood: ${text.slice(begin, begin + 10)}`);
    const [, number, name, quoted, sign] = match;
    if (number !== undefined) found.push({ kind: "number", value: Number(number) });
    else if (name !== undefined) found.push({ kind: "name", value: name });
    else if (quoted !== undefined) found.push({ kind: "text", value: quoted.slice(1, -1) });
    else if (sign !== undefined) found.push({ kind: sign });
  }
  return found;
}

export function readKernel(text) {
  const list = scan(text);
  let place = 0;
  const next = () => list[place]?.kind;
  const take = (kind) => {
    if (next() !== kind) throw new KernelError(`The kernel ends too early, or ${kind} is missing.`);
    place += 1;
    return list[place - 1].value;
  };
  const sum = () => {
    let left = product();
    while (next() === "+") {
      take("+");
      const right = product();
      if (typeof left === "number" || typeof right === "number") throw new KernelError("A number cannot be added to a kernel: use Constant(value).");
      left = { type: "sum", parts: [left, right] };
    }
    return left;
  };
  const product = () => {
    let left = power();
    while (next() === "*") {
      take("*");
      const right = power();
      if (typeof left === "number" && typeof right === "number") left *= right;
      else if (typeof left === "number") left = scaled(left, right);
      else if (typeof right === "number") left = scaled(right, left);
      else left = { type: "product", parts: [left, right] };
    }
    return left;
  };
  const power = () => {
    const base = method();
    if (next() !== "**") return base;
    take("**");
    const exponent = take("number");
    if (!Number.isInteger(exponent) || exponent < 1 || exponent > 1000) throw new KernelError("The exponent of a kernel must be a whole number of at least 1.");
    return typeof base === "number" ? base ** exponent : { type: "power", part: base, exponent };
  };
  const method = () => {
    let base = atom();
    while (next() === ".") {
      take(".");
      const name = take("name");
      const { list: given } = inside();
      if (name === "exp" || name === "normalized") base = { type: name, part: base };
      else if (name === "on") base = { type: "on", part: base, columns: given[0] };
      else throw new KernelError(`There is no method .${name}().`);
    }
    return base;
  };
  const atom = () => {
    if (next() === "number") return take("number");
    if (next() === "-") {
      take("-");
      return -take("number");
    }
    if (next() === "(") {
      take("(");
      const found = sum();
      take(")");
      return found;
    }
    if (next() !== "name") throw new KernelError("A kernel is expected, such as Gaussian(width=1).");
    const name = take("name");
    const known = BY_NAME.get(plainName(name));
    if (!known) throw new KernelError(`There is no kernel ${name} on this page.`);
    const given = inside();
    const names = Object.keys(KERNELS[known].args);
    const args = Object.fromEntries(names.map((each) => [each, KERNELS[known].args[each].value]));
    given.list.forEach((value, i) => {
      if (i >= names.length) throw new KernelError(`${known} takes ${names.length} numbers.`);
      args[names[i]] = value;
    });
    for (const [key, value] of Object.entries(given.named)) {
      if (!names.includes(key)) throw new KernelError(`${known} has no ${key}.`);
      args[key] = value;
    }
    for (const [key, how] of Object.entries(KERNELS[known].args))
      if (![args[key]].flat().every((each) => typeof each === "number" && Math.abs(each) < 1e100 && how.fine(each))) throw new KernelError(`${key} of ${known} must be ${how.must}.`);
    return { type: "kernel", name: known, args };
  };
  const inside = () => {
    const found = { list: [], named: {} };
    take("(");
    while (next() !== ")") {
      if (next() === "name" && list[place + 1]?.kind === "=") {
        const key = take("name");
        take("=");
        found.named[key] = value();
      } else found.list.push(value());
      if (next() === ",") take(",");
      else if (next() !== ")") throw new KernelError("A bracket is not closed.");
    }
    take(")");
    return found;
  };
  const value = () => {
    if (next() === "[") {
      take("[");
      const found = [];
      while (next() !== "]") {
        found.push(value());
        if (next() === ",") take(",");
      }
      take("]");
      return found;
    }
    if (next() === "text") return take("text");
    if (next() === "-") {
      take("-");
      return -take("number");
    }
    return take("number");
  };
  const found = sum();
  if (place < list.length) throw new KernelError("There is something behind the end of the kernel.");
  if (typeof found === "number") throw new KernelError("A number alone is no kernel.");
  return found;
}

const short = (value) => (Array.isArray(value) ? `[${value.map(short).join(", ")}]` : typeof value === "string" ? `'${value}'` : String(Number(value.toPrecision(4))));

export function writeKernel(node, inner = false) {
  const closed = (part) => (["sum", "product", "scaled", "power"].includes(part.type) ? `(${writeKernel(part)})` : writeKernel(part));
  if (node.type === "kernel") return `${node.name}(${Object.entries(node.args).map(([key, value]) => `${key}=${short(value)}`).join(", ")})`;
  if (node.type === "sum") return node.parts.map((part) => writeKernel(part)).join(" + ");
  if (node.type === "product") return node.parts.map((part) => (part.type === "sum" ? closed(part) : writeKernel(part))).join(" * ");
  if (node.type === "scaled") return `${short(node.factor)} * ${node.part.type === "sum" ? closed(node.part) : writeKernel(node.part)}`;
  if (node.type === "power") return `${closed(node.part)} ** ${node.exponent}`;
  if (node.type === "on") return `${closed(node.part)}.on(${short(node.columns)})`;
  return `${closed(node.part)}.${node.type}()`;
}

export const partsOf = (node) => node.parts ?? (node.part ? [node.part] : []);

// Numbers of a kernel that sliders move: what it is called, its range, and how it is set.
export function slidersOf(node, found = []) {
  if (node.type === "scaled")
    found.push({ label: "factor", low: 0.01, high: 100, log: true, get: () => node.factor, set: (value) => { node.factor = value; } });
  if (node.type === "kernel")
    for (const [key, how] of Object.entries(KERNELS[node.name].args)) {
      if (Array.isArray(node.args[key])) continue;
      found.push({ ...how, label: `${key} of ${node.name}`, get: () => node.args[key], set: (value) => { node.args[key] = value; } });
    }
  for (const part of partsOf(node)) slidersOf(part, found);
  return found;
}

export const forWords = (node) => (node.type === "kernel" ? Boolean(KERNELS[node.name].words) : partsOf(node).some(forWords));

export function wider(node, by) {
  const copy = structuredClone(node);
  const change = (each) => {
    if (each.type === "kernel" && "width" in each.args)
      each.args.width = Array.isArray(each.args.width) ? each.args.width.map((value) => value * by) : each.args.width * by;
    partsOf(each).forEach(change);
  };
  change(copy);
  return copy;
}

export const hasWidth = (node) => (node.type === "kernel" && "width" in node.args) || partsOf(node).some(hasWidth);

// -- values ---------------------------------------------------------------------------------------------------------

// A function of a point that works out every point once: kernels inside kernels would ask for it again and again.
const remembered = (f) => {
  const known = new Map();
  return (x) => {
    if (!known.has(x)) known.set(x, f(x));
    return known.get(x);
  };
};

export function kernelFunction(node) {
  const parts = partsOf(node).map(kernelFunction);
  switch (node.type) {
    case "kernel":
      return KERNELS[node.name].of(Object.values(node.args));
    case "sum":
      return (x, z) => parts[0](x, z) + parts[1](x, z);
    case "product":
      return (x, z) => parts[0](x, z) * parts[1](x, z);
    case "scaled":
      return (x, z) => node.factor * parts[0](x, z);
    case "power":
      return (x, z) => parts[0](x, z) ** node.exponent;
    case "exp":
      return (x, z) => Math.exp(parts[0](x, z));
    case "on": {
      const columns = [node.columns].flat();
      if (columns.some((each) => !Number.isInteger(each))) throw new KernelError(".on(...) takes numbers of columns on this page, such as .on(0).");
      const cut = remembered((x) => columns.map((each) => x[each]));
      return (x, z) => parts[0](cut(x), cut(z));
    }
    default: {
      const own = remembered((x) => parts[0](x, x));
      return (x, z) => {
        const size = Math.sqrt(own(x) * own(z));
        return size > 0 ? parts[0](x, z) / size : 0;
      };
    }
  }
}

// -- features -----------------------------------------------------------------------------------------------------------

const choose = (n, k) => {
  let found = 1;
  for (let i = 1; i <= k; i += 1) found = (found * (n - k + i)) / i;
  return found;
};

// All monomials of a degree in some numbers, each with the root of how often it occurs: their products are (x'z)^degree.
function monomials(numbers, degree) {
  if (numbers.length === 1) return [numbers[0] ** degree];
  const found = [];
  for (let k = 0; k <= degree; k += 1) {
    const factor = Math.sqrt(choose(degree, k)) * numbers[0] ** k;
    for (const each of monomials(numbers.slice(1), degree - k)) found.push(factor * each);
  }
  return found;
}

const unit = (list) => {
  const size = Math.sqrt(dot(list, list));
  return size > 0 ? list.map((each) => each / size) : list;
};

// Explicit features of a kernel on rows of so many columns: how many, and those of a row; null where they are not finite.
export function featuresOf(node, width) {
  const parts = partsOf(node).map((part) => featuresOf(part, node.type === "on" ? [node.columns].flat().length : width));
  if (parts.includes(null)) return null;
  const [first, second] = parts;
  switch (node.type) {
    case "kernel": {
      const { degree, offset, scale, value } = node.args;
      if (node.name === "Linear") return { count: width, of: (x) => x };
      if (node.name === "Cosine") return { count: width, of: unit };
      if (node.name === "Constant") return { count: 1, of: () => [Math.sqrt(value)] };
      if (node.name !== "Polynomial") return null;
      const all = (x) => [...(offset ? [Math.sqrt(offset)] : []), ...x.map((each) => Math.sqrt(scale) * each)];
      return { count: choose(width + Boolean(offset) + degree - 1, degree), of: (x) => monomials(all(x), degree) };
    }
    case "sum":
      return { count: first.count + second.count, of: (x) => [...first.of(x), ...second.of(x)] };
    case "product":
      return { count: first.count * second.count, of: (x) => first.of(x).flatMap((a) => second.of(x).map((b) => a * b)) };
    case "scaled":
      return { count: first.count, of: (x) => first.of(x).map((each) => Math.sqrt(node.factor) * each) };
    case "power":
      return { count: choose(first.count + node.exponent - 1, node.exponent), of: (x) => monomials(first.of(x), node.exponent) };
    case "on":
      return { count: first.count, of: (x) => first.of([node.columns].flat().map((each) => x[each])) };
    case "normalized":
      return { count: first.count, of: (x) => unit(first.of(x)) };
    default:
      return null;
  }
}

// -- certificates -----------------------------------------------------------------------------------------------------

const RULES = {
  sum: "a sum of Mercer kernels is a Mercer kernel",
  product: "a product of Mercer kernels is a Mercer kernel",
  scaled: "a Mercer kernel times a number that is not negative is a Mercer kernel",
  power: "a power of a Mercer kernel with a whole exponent is a product of Mercer kernels",
  exp: "the exponential of a Mercer kernel is a limit of sums of its powers",
  on: "a Mercer kernel of some of the columns is a Mercer kernel",
  normalized: "dividing by the lengths of the features leaves a dot product",
};

export function certify(node, depth = 0) {
  const pad = "  ".repeat(depth);
  const parts = partsOf(node).map((part) => certify(part, depth + 1));
  let valid;
  let why;
  if (node.type === "kernel") {
    valid = KERNELS[node.name].valid;
    why = valid ? "its matrices are positive semi-definite for all points" : "some of its matrices have negative eigenvalues";
  } else {
    const all = parts.every((part) => part.valid === true);
    valid = all ? true : node.type === "scaled" && node.factor > 0 ? parts[0].valid : null;
    why = valid ? RULES[node.type] : "no rule decides";
  }
  const word = valid === true ? "valid" : valid === false ? "not valid" : "unknown";
  return { valid, because: [`${pad}${word}: ${writeKernel(node)}`, `${pad}  because ${why}`, ...parts.flatMap((part) => part.because)] };
}
