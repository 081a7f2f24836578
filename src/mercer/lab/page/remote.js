// The answers of the server: every question is a request to this machine.

async function post(what, body, headers) {
  let reply;
  try {
    reply = await fetch(`api/${what}`, { method: "POST", body, headers });
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  if (!reply.ok) {
    const told = await reply.json().catch(() => ({}));
    throw new Error(told.error ?? "The server refused the request.");
  }
  return reply;
}

const ask = async (what, question) => (await post(what, JSON.stringify(question), { "content-type": "application/json" })).json();

export const remoteEngine = {
  name: "server",
  ask,
  take: async (question) => (await post("export", JSON.stringify(question), { "content-type": "application/json" })).blob(),
  open: async (file) =>
    (await post("table", file, { "content-type": "application/octet-stream", "x-name": encodeURIComponent(file.name) })).json(),
};
