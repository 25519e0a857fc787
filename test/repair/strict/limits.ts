// After the pages on images, files and errors of platform.claude.com, platform.openai.com, ai.google.dev, docs.mistral.ai,
// console.groq.com and docs.aws.amazon.com, and the errors that these APIs answer with.
import { must } from "./refuse.js";

interface Limits {
  readonly images: number;
  /** Characters of base64. */
  readonly image?: number;
  readonly documents?: number;
}

const LIMITS: Record<string, Limits> = {
  anthropic: { images: 100, image: 5_242_880 },
  openai: { images: 500 },
  chat: { images: 500 },
  google: { images: 3_000 },
  bedrock: { images: 20, documents: 5, image: 5_000_000 },
  mistral: { images: 8 },
  groq: { images: 5 },
  xai: { images: Number.POSITIVE_INFINITY },
  deepseek: { images: 0, documents: 0 },
};

/** What each text of a request must be, wherever it stands, and how many files there may be. */
export function checkLimits(provider: string, body: unknown): void {
  const files = { images: 0, documents: 0 };
  const limits = LIMITS[provider];
  const look = (value: unknown) => {
    if (typeof value === "string") return checkText(value, look);
    if (typeof value !== "object" || value === null) return;
    const kind = kindOf(value as Record<string, unknown>);
    if (kind !== null) files[kind] += 1;
    if (kind === "images" && limits?.image !== undefined) {
      must(JSON.stringify(value).length <= limits.image + 200, "image exceeds the maximum size");
    }
    for (const [key, child] of Object.entries(value)) {
      checkText(key);
      look(child);
    }
  };
  look(body);
  must(files.images <= (limits?.images ?? Number.POSITIVE_INFINITY), `too many images: ${files.images}`);
  must(files.documents <= (limits?.documents ?? Number.POSITIVE_INFINITY), `too many documents: ${files.documents}`);
}

function checkText(text: string, look?: (value: unknown) => void): void {
  must(text.isWellFormed(), "The request body is not valid JSON: no low surrogate in string");
  must(!text.includes("\0"), "NUL");
  must(text.length <= 10_485_760, "string too long. Expected a string with maximum length 10485760");
  // The arguments of calls, and many results, are JSON in a text.
  if (look && /^[[{"]/.test(text) && text.length < 1_000_000) {
    let inner: unknown = null;
    try {
      inner = JSON.parse(text);
    } catch {
      return;
    }
    look(inner);
  }
}

function kindOf({ type, inlineData }: Record<string, unknown>): "images" | "documents" | null {
  if (type === "image" || type === "image_url" || type === "input_image") return "images";
  if (type === "document" || type === "file" || type === "input_file") return "documents";
  const { mimeType } = (inlineData ?? {}) as { mimeType?: string };
  return mimeType === undefined ? null : mimeType.startsWith("image/") ? "images" : "documents";
}
