// Images, audio and moderations with OpenAI's JavaScript client, whose forms have the file first.
import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";

const { PROWESS_URL, PROWESS_API_KEY } = process.env;
const client = new OpenAI({ apiKey: PROWESS_API_KEY, baseURL: `${PROWESS_URL}/v1`, maxRetries: 0 });
const model = "oai/m1";

const image = await client.images.generate({ model, prompt: "a cat" });
assert.equal(image.data[0].b64_json, "bTE=");
const file = await toFile(Buffer.from([0, 1, 2, 255]), "b.mp3", { type: "audio/mpeg" });
const written = await client.audio.transcriptions.create({ file, model });
assert.equal(written.text, "m1 b.mp3 4 bytes");
const speech = await client.audio.speech.create({ model, voice: "alloy", input: "hi" });
assert.equal(Buffer.from(await speech.arrayBuffer()).toString("latin1"), "\0speech of m1\xff");
const moderation = await client.moderations.create({ model, input: "hello" });
assert.equal(moderation.results[0].flagged, false);
const texts = [];
for await (const chunk of await client.completions.create({ model, prompt: "a", stream: true })) {
  texts.push(chunk.choices[0].text);
}
assert.deepEqual(texts, ["th", "ree"]);
