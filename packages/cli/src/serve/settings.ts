import { invalid, isJsonObject, kindOf, quote } from "@stemma/model";
import type { Quota } from "@stemma/server";
import { InvalidArgumentError, Option } from "commander";
import { hidePasswords, isUrl } from "../open-database.js";
import { nonEmpty, portNumber, positiveNumber, quota, wholeNumber } from "../options.js";

/** The settings of `stemma serve`: a flag, a variable or a file gives each. */
export interface Settings {
  db?: string;
  schema?: string;
  tenants?: string;
  maxTenants: number;
  host: string;
  port: number;
  publicUrl?: string;
  adminKey?: string;
  origins: readonly string[];
  jwtJwks?: string;
  jwtIssuer?: string;
  jwtAudience?: string;
  jwtUserClaim?: string;
  jwtTenantClaim?: string;
  rateLimit: number;
  quota?: Quota;
  tenantQuota?: Quota;
  auditDays: number;
  maxBodyMb: number;
  drainDelay: number;
  drainTimeout: number;
  studio: boolean;
  mcp: boolean;
  model?: string;
  modelBaseUrl?: string;
}

interface Setting {
  /** As commander takes it; none for a secret, which others see in a list of processes, and for options of every command. */
  readonly flags?: string;
  readonly description?: string;
  /** Variables, the one that counts first. */
  readonly variables: readonly string[];
  readonly parse: (text: string) => unknown;
  readonly usual?: unknown;
}

const SETTINGS: Readonly<Record<keyof Settings, Setting>> = {
  db: { variables: ["STEMMA_DB", "DATABASE_URL"], parse: nonEmpty },
  schema: { variables: ["STEMMA_SCHEMA"], parse: nonEmpty },
  tenants: {
    flags: "--tenants <place>",
    description:
      "a store for each tenant: a path such as tenants/{tenant}.db, a postgres://… with a schema for each, or `schema` for that of --db",
    variables: ["STEMMA_TENANTS"],
    parse: tenantsPlace,
  },
  maxTenants: {
    flags: "--max-tenants <number>",
    description: "stores of tenants that are open at once",
    variables: ["STEMMA_MAX_TENANTS"],
    parse: positiveNumber,
    usual: 500,
  },
  host: {
    flags: "--host <address>",
    description: "where to listen; others than this machine need keys",
    variables: ["STEMMA_HOST", "HOST"],
    parse: nonEmpty,
    usual: "127.0.0.1",
  },
  port: {
    flags: "-p, --port <number>",
    description: "0 takes a free one",
    variables: ["STEMMA_PORT", "PORT"],
    parse: portNumber,
    usual: 4985,
  },
  publicUrl: {
    flags: "--public-url <url>",
    description: "the address that clients know: tokens hold for it",
    variables: ["STEMMA_PUBLIC_URL"],
    parse: origin,
  },
  adminKey: { variables: ["STEMMA_ADMIN_KEY"], parse: nonEmpty },
  origins: {
    flags: "--origins <list>",
    description: "origins whose pages may send requests, with commas between them",
    variables: ["STEMMA_ORIGINS"],
    parse: (text) => text.split(",").map((each) => origin(each.trim())),
    usual: [],
  },
  jwtJwks: {
    flags: "--jwt-jwks <url>",
    description: "the public keys of whoever signs your users' tokens",
    variables: ["STEMMA_JWT_JWKS"],
    parse: nonEmpty,
  },
  jwtIssuer: {
    flags: "--jwt-issuer <url>",
    description: "the iss of these tokens",
    variables: ["STEMMA_JWT_ISSUER"],
    parse: nonEmpty,
  },
  jwtAudience: {
    flags: "--jwt-audience <text>",
    description: "their aud; default: the public URL, of MCP the URL with /mcp",
    variables: ["STEMMA_JWT_AUDIENCE"],
    parse: nonEmpty,
  },
  jwtUserClaim: {
    flags: "--jwt-user-claim <name>",
    description: "the claim that is the user's id",
    variables: ["STEMMA_JWT_USER_CLAIM"],
    parse: nonEmpty,
    usual: "sub",
  },
  jwtTenantClaim: {
    flags: "--jwt-tenant-claim <name>",
    description: "the claim that is the tenant",
    variables: ["STEMMA_JWT_TENANT_CLAIM"],
    parse: nonEmpty,
  },
  rateLimit: {
    flags: "--rate-limit <number>",
    description: "requests of a key or a user in a minute",
    variables: ["STEMMA_RATE_LIMIT"],
    parse: positiveNumber,
    usual: 600,
  },
  quota: {
    flags: "--quota <limits>",
    description: "most of a key without a quota, or of a user: writesPerDay=1000,bytesPerDay=5000000, say",
    variables: ["STEMMA_QUOTA"],
    parse: quota,
  },
  tenantQuota: {
    flags: "--tenant-quota <limits>",
    description: "most of a tenant, all of its keys together: writesPerDay=1000000, say",
    variables: ["STEMMA_TENANT_QUOTA"],
    parse: quota,
  },
  auditDays: {
    flags: "--audit-days <number>",
    description: "days that it is stored who wrote what; 0 stores nothing",
    variables: ["STEMMA_AUDIT_DAYS"],
    parse: wholeNumber,
    usual: 90,
  },
  maxBodyMb: {
    flags: "--max-body-mb <number>",
    description: "MiB of a request",
    variables: ["STEMMA_MAX_BODY_MB"],
    parse: positiveNumber,
    usual: 16,
  },
  drainDelay: {
    flags: "--drain-delay <seconds>",
    description: "at the end, how long /readyz answers 503 before no connection is taken",
    variables: ["STEMMA_DRAIN_DELAY"],
    parse: wholeNumber,
    usual: 5,
  },
  drainTimeout: {
    flags: "--drain-timeout <seconds>",
    description: "then, how long requests may take to end",
    variables: ["STEMMA_DRAIN_TIMEOUT"],
    parse: wholeNumber,
    usual: 25,
  },
  studio: {
    flags: "--no-studio",
    description: "do not serve the studio",
    variables: ["STEMMA_STUDIO"],
    parse: yesOrNo,
    usual: true,
  },
  mcp: {
    flags: "--no-mcp",
    description: "do not serve MCP",
    variables: ["STEMMA_MCP"],
    parse: yesOrNo,
    usual: true,
  },
  model: {
    flags: "-m, --model <name>",
    description: "serve chats with this model at /api/chat: anthropic/…, openai/…",
    variables: ["STEMMA_MODEL"],
    parse: nonEmpty,
  },
  modelBaseUrl: {
    flags: "--model-base-url <url>",
    description: "an OpenAI-compatible server that has the model",
    variables: ["STEMMA_MODEL_BASE_URL"],
    parse: nonEmpty,
  },
};

const NAMES = Object.keys(SETTINGS) as (keyof Settings)[];

/** The flags, as options of a command. */
export function settingOptions(): Option[] {
  return NAMES.flatMap((name) => {
    const { flags, description = "", variables, parse, usual } = SETTINGS[name];
    if (flags === undefined) return [];
    const shown = usual === undefined || usual === true || `${usual}` === "" ? "" : `; default: ${usual}`;
    const option = new Option(flags, `${description}${shown} (${variables.join(", ")})`);
    return [flags.startsWith("--no-") ? option : option.argParser(parse)];
  });
}

/**
 * The settings: what a flag says, else a variable, else the file, else what is usual. Errors: `INVALID_ARGUMENT`, also for a name
 * in the file that is none.
 */
export function readSettings(
  flags: Readonly<Record<string, unknown>>,
  environment: NodeJS.ProcessEnv,
  file: unknown,
): Settings {
  if (file !== undefined && !isJsonObject(file))
    throw invalid(`The file of --config holds an object; got ${kindOf(file)}.`);
  const unknown = Object.keys(file ?? {}).find((name) => !NAMES.includes(name as keyof Settings));
  if (unknown !== undefined) {
    const message = `The file of --config has the setting ${quote(unknown)}; known are: ${NAMES.join(", ")}.`;
    throw invalid(message, { setting: unknown });
  }
  const settingOf = (name: keyof Settings): unknown => {
    const { variables, parse, usual } = SETTINGS[name];
    if (flags[name] !== undefined) return flags[name];
    const variable = variables.find((each) => (environment[each] ?? "") !== "");
    if (variable !== undefined) return parsed(variable, environment[variable] as string, parse);
    const given = file?.[name];
    if (given === undefined) return usual;
    return parsed(`${name} of --config`, textOf(given), parse);
  };
  return Object.fromEntries(
    NAMES.flatMap((name) => {
      const value = settingOf(name);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as unknown as Settings;
}

/** The settings as they are shown: without secrets. */
export function shownSettings({ adminKey, ...settings }: Settings): object {
  const { db, tenants } = settings;
  return {
    ...settings,
    ...(db !== undefined && { db: hidePasswords(db) }),
    ...(tenants !== undefined && { tenants: hidePasswords(tenants) }),
    ...(adminKey !== undefined && { adminKey: "***" }),
  };
}

// As a flag has it.
function textOf(given: unknown): string {
  if (Array.isArray(given)) return given.join(",");
  return isJsonObject(given) ? textOf(Object.entries(given).map((each) => each.join("="))) : String(given);
}

function parsed(name: string, text: string, parse: Setting["parse"]): unknown {
  try {
    return parse(text);
  } catch (error) {
    // The text may be a secret.
    if (error instanceof InvalidArgumentError) throw invalid(`${name} is no such setting. ${error.message}`, { name });
    throw error;
  }
}

function origin(text: string): string {
  if (URL.canParse(text)) {
    const url = new URL(text);
    if (/^https?:$/.test(url.protocol) && text.replace(/\/$/, "") === url.origin) return url.origin;
  }
  throw new InvalidArgumentError("It must be an origin, such as https://memory.example.com, without a path.");
}

// The files that SQLite puts beside one, as acme-wal, would be another tenant's where the name ended the path.
function tenantsPlace(text: string): string {
  if (isUrl(text) || text === "schema" || /\{tenant\}[./\\]/.test(text)) return text;
  throw new InvalidArgumentError(
    "It must be a path with {tenant} before an ending or a slash, postgres://…, or schema.",
  );
}

function yesOrNo(text: string): boolean {
  if (/^(?:1|true|yes|on)$/i.test(text)) return true;
  if (/^(?:0|false|no|off)$/i.test(text)) return false;
  throw new InvalidArgumentError("It must be yes or no.");
}
