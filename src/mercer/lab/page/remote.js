// The answers of the server: every question is a request to this machine.

async function post(what, body, headers) {
  let reply;
  try {
    reply = await fetch(`api/${what}`, { method: "POST", body, headers });
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  const json = reply.headers.get("content-type")?.startsWith("application/json");
  const told = json ? await reply.json() : null;
  if (told?.error || !reply.ok) throw new Error(told?.error ?? "The server refused the request.");
  return told ?? reply.blob();
}

const ask = (what, question) => post(what, JSON.stringify(question), { "content-type": "application/json" });

export const remoteEngine = {
  name: "server",
  ask,
  take: (question) => ask("export", question),
  open: (file) => post("table", file, { "content-type": "application/octet-stream", "x-name": encodeURIComponent(file.name) }),
};
