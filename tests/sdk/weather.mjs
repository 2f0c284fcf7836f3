// The conversation that both JavaScript clients have: about the weather, with a tool
// called twice.
import assert from "node:assert/strict";

export const url = process.env.PROWESS_URL;
export const key = process.env.PROWESS_API_KEY;

export const system = "You know the weather only from your tool.";
export const question = "How is the weather in Bern and in Oslo?";
export const preface = "Let me look.";
export const cities = ["Bern", "Oslo"];
export const tool = "get_weather";
export const about = "How the weather is in a city";
export const schema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};

const said = { Bern: "Bern: rain, 7 degrees", Oslo: "Oslo: snow, -3 degrees" };
export const weather = (city) => said[city];

export const checkAnswer = (text) =>
  assert.equal(text, `I see. ${weather("Bern")}\n${weather("Oslo")}`);

// Has each conversation with each model; says which one failed.
export async function everyModel(...talks) {
  for (const model of process.env.PROWESS_MODELS.split(",")) {
    for (const talk of talks) {
      await talk(model).catch((error) => {
        console.log(`failed: ${talk.name} with ${model}`);
        throw error;
      });
    }
  }
}
