// A conversation through a client of the TypeScript SDK; its result goes to stdout as JSON.
// Node reads this from stdin, in the peers' folder, so that the packages there are found.
import assert from "node:assert/strict";

const url = new URL(process.env.MEAD_URL);
const options = {
  requestInit: { headers: { Authorization: `Bearer ${process.env.MEAD_TOKEN}` } },
};
const me = { name: "mead-test", version: "1" };

async function connected() {
  if (process.env.MEAD_SDK === "v1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const http = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    const client = new Client(me);
    const transport = new http.StreamableHTTPClientTransport(url, options);
    await client.connect(transport);
    const call = (params, more) => client.callTool(params, undefined, more);
    return { client, call, version: transport.protocolVersion };
  }
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const mode = process.env.MEAD_MODE;
  const versionNegotiation =
    mode === "auto" || mode === "legacy" ? { mode } : { mode: { pin: mode } };
  const client = new Client(me, { versionNegotiation });
  await client.connect(new StreamableHTTPClientTransport(url, options));
  const call = (params, more) => client.callTool(params, more);
  return { client, call, version: client.getNegotiatedProtocolVersion?.() };
}

const { client, call, version } = await connected();
const seen = [];

async function use(name, args = {}) {
  const result = await call(
    { name, arguments: args },
    { onprogress: (progress) => seen.push(progress.message) },
  );
  assert(!result.isError, JSON.stringify(result.content));
  assert.deepEqual(JSON.parse(result.content[0].text), result.structuredContent);
  return result.structuredContent;
}

const { tools } = await client.listTools();
const session = await use("start_session");
const answer = await use("submit_turn", { ...session, input: "Tell me" });
const history = await use("history", session);
const { deleted } = await use("delete_session", session);
const gone = await call({ name: "history", arguments: session });
const server = client.getServerVersion()?.name;
await client.close();
console.log(
  JSON.stringify({
    version,
    server,
    tools: tools.map((tool) => tool.name),
    output: answer.output,
    progress: seen,
    history: history.turns.map((turn) => turn.input),
    deleted,
    gone: gone.isError && gone.content[0].text,
  }),
);
