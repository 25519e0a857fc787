export { type JsonlPlace, jsonlFiles } from "./copy/jsonl-files.js";
