export { type MemoryOptions, memory } from "@stemma/store/memory";
