// The example has its own types of workerd, so it is checked as the project that it is.
declare module "example:memory-per-user" {
  interface Env {
    readonly MEMORY: unknown;
    readonly TOKEN_SECRET: string;
  }
  export class UserMemory {
    constructor(ctx: import("../agent.js").TestContext, env: Env);
    fetch(request: Request): Promise<Response>;
  }
  const worker: { fetch(request: Request, env: Env): Promise<Response> };
  export default worker;
}
