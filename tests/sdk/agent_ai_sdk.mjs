// An agent on the AI SDK, by each of its providers: it has the tools of an MCP server, and
// then a skill that the request names. Everything is streamed.
//
// `PROWESS_ROWS` lists what to try: `WIRE=MODEL,…`. A line is printed for each.
import assert from "node:assert/strict";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createMCPClient } from "@ai-sdk/mcp";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { stepCountIs, streamText } from "ai";

const { PROWESS_URL: url, PROWESS_API_KEY: apiKey, PROWESS_ROWS: rows, PROWESS_SKILL: skill } = process.env;
const prompt = "Say the number";
const answer = "The command said from-42.";

const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey });
const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey });
const container = { skills: [{ type: "custom", skill_id: skill }] };
const compatible = (more) =>
  createOpenAICompatible({
    name: "prowess",
    baseURL: `${url}/v1`,
    apiKey,
    includeUsage: true,
    transformRequestBody: (body) => ({ ...body, ...more }),
  });
// Its options have no further fields of the body: they are added to the request.
const google = (more) =>
  createGoogleGenerativeAI({
    baseURL: `${url}/v1beta`,
    apiKey,
    fetch: (to, request) => fetch(to, { ...request, body: JSON.stringify({ ...JSON.parse(request.body), ...more }) }),
  });

// How each provider names a skill.
const wires = {
  responses: {
    model: (name) => openai(name),
    skills: () => ({
      tools: {
        shell: openai.tools.shell({
          environment: { type: "containerAuto", skills: [{ type: "skillReference", providerReference: { openai: skill } }] },
        }),
      },
    }),
  },
  messages: {
    model: (name) => anthropic(name),
    skills: () => ({
      tools: { code_execution: anthropic.tools.codeExecution_20250825() },
      providerOptions: { anthropic: { container: { skills: [{ type: "custom", providerReference: { anthropic: skill } }] } } },
    }),
  },
  chat: {
    model: (name) => compatible({})(name),
    skills: (name) => ({ model: compatible({ container })(name) }),
  },
  gemini: {
    model: (name) => google({})(name),
    skills: (name) => ({ model: google({ container })(name) }),
  },
};

async function ask(options) {
  const result = streamText({ prompt, maxRetries: 0, stopWhen: stepCountIs(8), onError: () => {}, ...options });
  let last = "";
  let calls = 0;
  for await (const part of result.fullStream) {
    if (part.type === "error") throw part.error;
    if (part.type === "start-step") last = "";
    if (part.type === "text-delta") last += part.text;
    if (part.type === "tool-call") calls += 1;
  }
  assert.ok(last.endsWith(answer), last);
  return calls;
}

const headers = { Authorization: `Bearer ${apiKey}` };
const mcp = await createMCPClient({ transport: { type: "http", url: `${url}/mcp`, headers } });
const tools = await mcp.tools();
for (const row of rows.split(",")) {
  const [wire, name] = row.split("=");
  const { model, skills } = wires[wire];
  const calls = await ask({ model: model(name), tools });
  assert.equal(calls, 2);
  console.log(`${wire} ${name} mcp: ${answer}`);
  await ask({ model: model(name), ...skills(name) });
  console.log(`${wire} ${name} skill: ${answer}`);
}
await mcp.close();
