// A conversation with a tool, whole and streamed, with both of OpenAI's APIs and its
// JavaScript client.
import assert from "node:assert/strict";
import OpenAI from "openai";
import { about, checkAnswer, cities, everyModel, key, preface, question, schema, system, tool, url, weather } from "./weather.mjs";

const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
const details = { name: tool, description: about, parameters: schema, strict: true };

async function askChat(create, model) {
  const messages = [{ role: "system", content: system }, { role: "user", content: question }];
  const request = { model, messages, tools: [{ type: "function", function: details }] };
  const first = await create(request);
  const { finish_reason, message } = first.choices[0];
  assert.deepEqual([finish_reason, message.content], ["tool_calls", preface]);
  const city = (call) => JSON.parse(call.function.arguments).city;
  assert.deepEqual(message.tool_calls.map(city), cities);
  assert.ok(first.usage.prompt_tokens > 0 && first.usage.completion_tokens > 0);

  messages.push(message);
  for (const call of message.tool_calls) {
    messages.push({ role: "tool", tool_call_id: call.id, content: weather(city(call)) });
  }
  const last = await create(request);
  assert.equal(last.choices[0].finish_reason, "stop");
  checkAnswer(last.choices[0].message.content);
}

const chatWhole = (model) => askChat((request) => client.chat.completions.create(request), model);

const chatStreamed = (model) =>
  askChat(async (request) => {
    const options = { ...request, stream_options: { include_usage: true } };
    let text = "";
    const stream = client.chat.completions.stream(options).on("content", (delta) => (text += delta));
    const completion = await stream.finalChatCompletion();
    assert.equal(text, completion.choices[0].message.content ?? "");
    return completion;
  }, model);

async function askResponses(create, model) {
  const input = [{ role: "user", content: question }];
  const request = { model, instructions: system, input, tools: [{ type: "function", ...details }], store: false };
  const first = await create(request);
  assert.deepEqual([first.status, first.output_text], ["completed", preface]);
  const calls = first.output.filter((item) => item.type === "function_call");
  const city = (call) => JSON.parse(call.arguments).city;
  assert.deepEqual(calls.map(city), cities);
  assert.ok(first.usage.input_tokens > 0 && first.usage.output_tokens > 0);

  input.push(...first.output);
  for (const call of calls) {
    input.push({ type: "function_call_output", call_id: call.call_id, output: weather(city(call)) });
  }
  const last = await create(request);
  assert.equal(last.status, "completed");
  checkAnswer(last.output_text);
}

const responsesWhole = (model) => askResponses((request) => client.responses.create(request), model);

const responsesStreamed = (model) =>
  askResponses(async (request) => {
    let text = "";
    const stream = client.responses.stream(request);
    stream.on("response.output_text.delta", (event) => (text += event.delta));
    const response = await stream.finalResponse();
    assert.equal(text, response.output_text);
    return response;
  }, model);

await everyModel(chatWhole, chatStreamed, responsesWhole, responsesStreamed);
