import type { StoreTarget } from "../../../packages/stemma/src/testing.js";
import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";
import { lossy, OF_LOSSES } from "../../server/remote-losses.js";
import { remoteTarget } from "../../server/remote-target.js";

const target: StoreTarget = { name: "memory", open: () => memory(), capabilities: { durable: false } };

describeStore("memory", remoteTarget(target));

const name = "memory, with losses";

// Its cases wait to ask again.
describeStore("memory", remoteTarget({ ...target, name }, lossy(name)), { ...OF_LOSSES, concurrent: true });
