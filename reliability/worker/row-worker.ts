import { durableObject } from "../../packages/store/src/durable-object.js";
import { RemoteObject, route } from "../../test/workers/agent.js";
import { canaries } from "../rows/canaries.js";
import { completeHistory } from "../rows/long-sessions.js";
import { embeddedModels } from "../rows/models.js";
import { shapes } from "../rows/shapes.js";
import type { Result } from "../tools/row.js";

const ROWS = [embeddedModels, shapes, completeHistory, canaries];

/** Runs a row on the storage of a Durable Object, which is emptied for each place that the row asks for. */
export class RowObject extends RemoteObject {
  async run(number: number, size: number): Promise<Result> {
    const row = ROWS.find((each) => each.number === number);
    if (row === undefined) throw new RangeError(`Row ${number} is not in the worker.`);
    const { ctx } = this;
    return row.run({
      engine: "workerd",
      size,
      folder: "",
      programs: "",
      postgres: "",
      place: async () => {
        await ctx.storage.deleteAll();
        return "";
      },
      open: () => durableObject(ctx),
    });
  }
}

export default route;
