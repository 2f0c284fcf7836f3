// What OpenAI's JavaScript client is told when the upstream fails.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { everyFailure, options, say, url } from "./fail.mjs";

const client = new OpenAI({ ...options, baseURL: `${url}/v1` });
const chat = (model) => ({ model, messages: [{ role: "user", content: say }] });
const responses = (model) => ({ model, input: say });

// Reads a stream to its end, or to its error.
async function drain(stream) {
  for await (const _ of await stream);
}

const ways = {
  chatWhole: (model) => client.chat.completions.create(chat(model)),
  chatStreamed: (model) => drain(client.chat.completions.create({ ...chat(model), stream: true })),
  responsesWhole: (model) => client.responses.create(responses(model)),
  responsesStreamed: (model) => drain(client.responses.create({ ...responses(model), stream: true })),
};

await everyFailure(ways, (error) => {
  assert.ok(error instanceof OpenAI.APIError, String(error));
  assert.ok(error.error?.message, String(error));
  return `${error.constructor.name} ${error.status ?? "mid-stream"} ${error.type} ${error.code}: ${error.error.message}`;
});
