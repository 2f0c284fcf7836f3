// A conversation with a tool, whole and streamed, with Anthropic's JavaScript client.
import assert from "node:assert/strict";
import Anthropic from "@anthropic-ai/sdk";
import { about, checkAnswer, cities, everyModel, key, preface, question, schema, system, tool, url, weather } from "./weather.mjs";

const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
const tools = [{ name: tool, description: about, input_schema: schema }];

async function ask(create, model) {
  const messages = [{ role: "user", content: question }];
  const request = { model, max_tokens: 500, system, tools, messages };
  const first = await create(request);
  assert.equal(first.stop_reason, "tool_use");
  const [text, ...calls] = first.content;
  assert.deepEqual([text.type, text.text], ["text", preface]);
  assert.deepEqual(calls.map((call) => [call.name, call.input.city]), cities.map((city) => [tool, city]));
  assert.ok(first.usage.input_tokens > 0 && first.usage.output_tokens > 0);

  const result = (call) => ({ type: "tool_result", tool_use_id: call.id, content: weather(call.input.city) });
  messages.push({ role: "assistant", content: first.content }, { role: "user", content: calls.map(result) });
  const last = await create(request);
  assert.equal(last.stop_reason, "end_turn");
  checkAnswer(last.content.map((block) => block.text).join(""));
}

const whole = (model) => ask((request) => client.messages.create(request), model);

const streamed = (model) =>
  ask(async (request) => {
    let text = "";
    const stream = client.messages.stream(request).on("text", (delta) => (text += delta));
    const message = await stream.finalMessage();
    assert.equal(text, message.content.map((block) => block.text ?? "").join(""));
    return message;
  }, model);

await everyModel(whole, streamed);
