// Embeddings with OpenAI's JavaScript client: as numbers and as bytes.
import assert from "node:assert/strict";
import OpenAI from "openai";

const { PROWESS_URL, PROWESS_API_KEY, PROWESS_MODELS } = process.env;
const client = new OpenAI({ apiKey: PROWESS_API_KEY, baseURL: `${PROWESS_URL}/v1`, maxRetries: 0 });
const texts = ["a small text", "another"];
const vector = (text) => [Buffer.byteLength(text) / 1024, text.split(" ").length / 64, -0.5];

for (const model of PROWESS_MODELS.split(",")) {
  for (const options of [{}, { encoding_format: "float" }]) {
    const many = await client.embeddings.create({ model, input: texts, ...options });
    assert.deepEqual(many.data.map((item) => Array.from(item.embedding)), texts.map(vector), model);
    assert.ok(many.usage.prompt_tokens > 0);
  }
}
await assert.rejects(client.embeddings.create({ model: "gem/m1", input: [1, 2] }), OpenAI.BadRequestError);
