// The life of skills and files with Anthropic's JavaScript client.
import assert from "node:assert/strict";
import Anthropic, { toFile } from "@anthropic-ai/sdk";
import { all, key, name, raises, skillMd, url } from "./life.mjs";

const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
const files = async (body) => [
  await toFile(Buffer.from(skillMd(body)), `${name}/SKILL.md`, { type: "text/markdown" }),
  await toFile(Buffer.from("print(1)\n"), `${name}/scripts/run.py`),
];

const skill = await client.skills.create({ display_name: "A test", files: await files("Do it.") });
assert.equal(skill.display_name, "A test");
assert.deepEqual(skill.source, { type: "custom" });
assert.deepEqual(await client.skills.retrieve(skill.id), skill);
assert.ok((await all(client.skills.list({ limit: 1 }))).some((one) => one.id === skill.id));

const version = await client.skills.versions.create(skill.id, { files: await files("Better.") });
assert.equal(version.name, name);
const versions = await all(client.skills.versions.list(skill.id, { limit: 1 }));
assert.deepEqual(versions.map((one) => one.id), [version.id, skill.latest_version_id]);
const archive = await client.beta.skills.versions.download(version.id, { skill_id: skill.id });
assert.equal(Buffer.from(await archive.arrayBuffer()).subarray(0, 2).toString(), "PK");
const latest = await client.skills.versions.retrieve("latest", { skill_id: skill.id });
assert.equal(latest.id, version.id);
await client.skills.versions.delete(version.id, { skill_id: skill.id });
await raises(400, () => client.skills.versions.delete(skill.latest_version_id, { skill_id: skill.id }), "skill");
assert.equal((await client.skills.delete(skill.id)).type, "skill_deleted");
await raises(404, () => client.skills.retrieve(skill.id), "skill", skill.id);

const file = await client.files.upload({ file: await toFile(Buffer.from("hello"), "a.txt") });
assert.equal(file.size_bytes, 5);
assert.ok((await all(client.files.list({ limit: 1 }))).some((one) => one.id === file.id));
assert.deepEqual(await client.files.retrieveMetadata(file.id), file);
await raises(400, () => client.files.download(file.id), "file_not_downloadable");
assert.equal((await client.files.delete(file.id)).type, "file_deleted");
