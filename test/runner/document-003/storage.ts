// storage.ts
import { FileSessionStorage } from "stemma/agent";

export const sessionStorage = new FileSessionStorage("./data/sessions");
