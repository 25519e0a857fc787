// A process of its own for each row and engine: `<its place in the list> <engine> <size> <folder> <postgres>`. Its last line is the result as JSON.
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import type { Engine } from "./row.js";
import { ROWS } from "./rows.js";
import { newPlace, openStore } from "./stores.js";

const [index = "", engine = "", size = "", folder = "", postgres = ""] = process.argv.slice(2);
const row = ROWS[Number(index)];
if (row === undefined) throw new RangeError(`There is no row at ${index}.`);
const programs = dirname(fileURLToPath(process.argv[1] === undefined ? "" : `file://${process.argv[1]}`));
const result =
  engine === "workerd" && row.portable
    ? // Loading it starts workerd, to see whether it is there.
      await (await import("./in-worker.js")).runInWorker(row.number, Number(size))
    : await row.run({
        engine: engine as Engine,
        size: Number(size),
        folder,
        programs,
        postgres,
        place: () => newPlace(engine, folder, postgres),
        open: openStore,
      });
process.stdout.write(`\n${JSON.stringify(result)}\n`, () => process.exit());
