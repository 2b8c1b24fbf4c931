// One judgement per line: {assertion, vars, output, grader} in, the result and the grader's raw replies out.
import { AsyncLocalStorage } from "node:async_hooks";
import { createRequire } from "node:module";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

const out = process.stdout.write.bind(process.stdout);
console.log = console.info = console.debug = console.warn = () => {};
const require = createRequire(path.join(process.cwd(), "package.json"));
const { default: promptfoo } = await import(pathToFileURL(require.resolve("promptfoo")).href);
const { assertions, loadApiProvider } = promptfoo.default ?? promptfoo;
promptfoo.cache?.disableCache?.();

// Requests are told when they are sent: promptfoo tries a busy server again inside one call.
const metered = new AsyncLocalStorage();
const send = globalThis.fetch;
globalThis.fetch = (...args) => {
  const meter = metered.getStore();
  if (meter) out(JSON.stringify({ id: meter.id, requests: ++meter.requests }) + "\n");
  return send(...args);
};

out("ready\n");
const graders = new Map();
function graderOf(spec) {
  const key = JSON.stringify(spec);
  if (!graders.has(key)) {
    const id = typeof spec === "string" ? spec : spec.id;
    graders.set(key, loadApiProvider(id, { options: typeof spec === "string" ? {} : spec }));
  }
  return graders.get(key);
}

async function judge({ assertion, vars, output, grader, options }, calls) {
  const real = await graderOf(grader);
  const provider = {
    id: () => real.id(),
    callApi: async (...args) => {
      const reply = await real.callApi(...args);
      calls.push({ error: reply.error ?? null, output: reply.output ?? null, usage: reply.tokenUsage ?? null, finish: reply.finishReason ?? null });
      return reply;
    },
  };
  const test = { vars, assert: [assertion], options: { ...options, provider } };
  const result = await assertions.runAssertion({
    assertion: { ...assertion, provider }, test, prompt: "", provider: real, vars, providerResponse: { output },
  });
  return { pass: result.pass, score: result.score, reason: result.reason, failed: !!result.metadata?.graderError };
}

for await (const line of readline.createInterface({ input: process.stdin })) {
  const { id, ...asked } = JSON.parse(line);
  const calls = [];
  metered
    .run({ id, requests: 0 }, () => judge(asked, calls))
    .catch((error) => ({ raised: String(error?.message ?? error) }))
    .then((result) => out(JSON.stringify({ id, ...result, calls }) + "\n"));
}
