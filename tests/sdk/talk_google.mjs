// A conversation with a tool, whole and streamed, with Google's JavaScript client.
import assert from "node:assert/strict";
import { ApiError, GoogleGenAI } from "@google/genai";
import { about, checkAnswer, cities, everyModel, key, preface, question, schema, system, tool, url, weather } from "./weather.mjs";

const client = new GoogleGenAI({ apiKey: key, httpOptions: { baseUrl: url } });
const config = {
  systemInstruction: system,
  tools: [{ functionDeclarations: [{ name: tool, description: about, parametersJsonSchema: schema }] }],
  thinkingConfig: { includeThoughts: true },
};

// Answers the model's calls until it has said all; `send` gives the pieces of an answer.
async function ask(send, model) {
  const chat = client.chats.create({ model, config });
  const first = await send(chat, question);
  const parts = first.flatMap((piece) => piece.candidates[0].content.parts);
  const said = parts.filter((part) => part.text && !part.thought).map((part) => part.text);
  const calls = parts.filter((part) => part.functionCall).map((part) => part.functionCall);
  assert.equal(said.join(""), preface);
  assert.deepEqual(calls.map((call) => [call.name, call.args.city]), cities.map((city) => [tool, city]));
  assert.equal(first.at(-1).candidates[0].finishReason, "STOP");
  assert.ok(first.at(-1).usageMetadata.promptTokenCount > 0);

  const results = calls.map(({ id, name, args }) => ({
    functionResponse: { id, name, response: { output: weather(args.city) } },
  }));
  const last = await send(chat, results);
  const text = last.flatMap((piece) => piece.candidates[0].content.parts).map((part) => part.text ?? "");
  checkAnswer(text.join(""));
}

const whole = (model) => ask(async (chat, message) => [await chat.sendMessage({ message })], model);

const streamed = (model) =>
  ask(async (chat, message) => {
    const pieces = [];
    for await (const piece of await chat.sendMessageStream({ message })) pieces.push(piece);
    return pieces;
  }, model);

async function counted(model) {
  const { totalTokens } = await client.models.countTokens({ model, contents: question });
  assert.ok(totalTokens > 0);
}

await everyModel(whole, streamed, counted);

const nobody = { model: "nobody/knows-it", contents: question };
for (const call of [() => client.models.generateContent(nobody), () => client.models.generateContentStream(nobody)]) {
  await assert.rejects(call, (error) => error instanceof ApiError && error.status === 404);
}
