// The chat handler, on the database of the object that a case runs in.
import { durableObject } from "../../../packages/store/src/durable-object.js";
import { describeHandler } from "../../ai-sdk/handler-suite.js";
import { here } from "./host.js";
import { describe, expect, it } from "./vitest.js";

describeHandler("a Durable Object", () => durableObject(here().ctx), { describe, it, expect });
