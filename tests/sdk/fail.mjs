// What the programs about failures of both JavaScript clients have in common.
export const url = process.env.PROWESS_URL;
export const key = process.env.PROWESS_API_KEY;
export const say = process.env.PROWESS_SAY;
export const options = { apiKey: key, maxRetries: 0, timeout: 30_000 };

// Tries each way with each model and prints what the client was told.
export async function everyFailure(ways, line) {
  const wanted = Object.entries(ways).filter(([name]) => !process.env.PROWESS_STREAM_ONLY || name.endsWith("Streamed"));
  for (const model of process.env.PROWESS_MODELS.split(",")) {
    for (const [name, way] of wanted) {
      const error = await way(model).then(
        () => { throw new Error(`there was no error: ${name} ${model}`); },
        (error) => error,
      );
      console.log(`${model} ${name}: ${line(error)}`);
    }
  }
}
