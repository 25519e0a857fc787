// Builds the package. tsdown's own command warns about Node 20, on which the version that is pinned runs.
import { build } from "tsdown";

await build({ logLevel: "error" });
