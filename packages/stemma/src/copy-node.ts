export { type JsonlPlace, jsonlFiles } from "@stemma/formats/copy-node";
