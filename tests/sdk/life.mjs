// What the life cycles of both JavaScript clients have in common.
import assert from "node:assert/strict";

export const url = process.env.PROWESS_URL;
export const key = process.env.PROWESS_API_KEY;
// Runs share a server, so each has names of its own.
export const name = `sdk-test-${Math.random().toString(36).slice(2, 10)}`;

export const skillMd = (body) =>
  `---\nname: ${name}\ndescription: Tests the API with real clients.\n---\n\n${body}\n`;

export async function raises(status, call, ...words) {
  await assert.rejects(call, (error) => {
    assert.equal(error.status, status, String(error));
    for (const word of words) assert.ok(String(error.message).includes(word), `${word}: ${error}`);
    return true;
  });
}

export async function all(pages) {
  const items = [];
  for await (const item of pages) items.push(item);
  return items;
}
