// What Anthropic's JavaScript client is told when the upstream fails.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { everyFailure, options, say, url } from "./fail.mjs";

const client = new Anthropic({ ...options, baseURL: url });
const request = (model) => ({ model, max_tokens: 100, messages: [{ role: "user", content: say }] });

const ways = {
  messagesWhole: (model) => client.messages.create(request(model)),
  messagesStreamed: (model) => client.messages.stream(request(model)).finalMessage(),
};

await everyFailure(ways, (error) => {
  assert.ok(error instanceof Anthropic.APIError, String(error));
  const body = error.error;
  assert.equal(body?.type, "error", String(error));
  assert.ok(body.request_id, JSON.stringify(body));
  return `${error.constructor.name} ${error.status ?? "mid-stream"} ${body.error.type}: ${body.error.message}`;
});
