// The life of skills and files with OpenAI's JavaScript client, which drops the
// folders from the names of files.
import assert from "node:assert/strict";
import OpenAI, { toFile } from "openai";
import { all, key, name, raises, skillMd, url } from "./life.mjs";

const client = new OpenAI({ apiKey: key, baseURL: `${url}/v1`, maxRetries: 0 });
const files = async (body) => [
  await toFile(Buffer.from(skillMd(body)), `${name}/SKILL.md`),
  await toFile(Buffer.from("print(1)\n"), `${name}/run.py`),
];

const skill = await client.skills.create({ files: await files("Do it.") });
assert.equal(skill.name, name);
assert.deepEqual(await client.skills.retrieve(skill.id), skill);
assert.ok((await all(client.skills.list({ limit: 1 }))).some((one) => one.id === skill.id));
const clash = [
  ...(await files("Do it.")),
  await toFile(Buffer.from("print(2)\n"), `${name}/other/run.py`),
];
await raises(400, () => client.skills.create({ files: clash }), "skill", "run.py", "zip");

const version = await client.skills.versions.create(skill.id, { files: await files("Better.") });
assert.equal(version.version, "2");
assert.deepEqual((await all(client.skills.versions.list(skill.id))).map((one) => one.version), ["2", "1"]);
assert.equal((await client.skills.update(skill.id, { default_version: "2" })).default_version, "2");
const archive = await client.skills.content.retrieve(skill.id);
const zip = await toFile(Buffer.from(await archive.arrayBuffer()), "skill.zip");
const copy = await client.skills.create({ files: zip });
assert.equal(copy.name, name);
await raises(400, () => client.skills.versions.delete("2", { skill_id: skill.id }), "default");
assert.ok((await client.skills.versions.delete("1", { skill_id: skill.id })).deleted);
for (const one of [skill, copy]) assert.ok((await client.skills.delete(one.id)).deleted);
await raises(404, () => client.skills.retrieve(skill.id), "skill", skill.id);

const upload = await toFile(Buffer.from("hello"), "a.txt");
const file = await client.files.create({ file: upload, purpose: "user_data" });
assert.equal(file.bytes, 5);
assert.ok((await all(client.files.list({ limit: 1 }))).some((one) => one.id === file.id));
assert.equal(await (await client.files.content(file.id)).text(), "hello");
assert.ok((await client.files.delete(file.id)).deleted);
