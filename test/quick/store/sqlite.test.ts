import { describeStore } from "../../describe-store.js";
import { sqliteTarget } from "../../store/sqlite-target.js";

describeStore("sqlite", sqliteTarget("SQLite"));

describeStore("sqlite", sqliteTarget("SQLite, on new files", { isNew: true }), { topics: ["migrations"] });
