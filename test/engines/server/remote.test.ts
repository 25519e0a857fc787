import { memory } from "../../../packages/store/src/memory.js";
import { describeStore } from "../../describe-store.js";
import { remoteTarget } from "../../server/remote-target.js";

describeStore("memory", remoteTarget({ name: "memory", open: () => memory(), capabilities: { durable: false } }));
