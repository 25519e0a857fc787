import { describe, expect, it } from "vitest";
import { memory } from "../../../store/src/memory.js";
import { createStudio } from "../../src/create-studio.js";
import type { StudioOptions } from "../../src/options.js";

const store = memory();
const create = (options: Partial<StudioOptions>) => createStudio(store, options as StudioOptions);

describe("createStudio", () => {
  it("is refused without authorize, and with options that are none", () => {
    expect(() => create({})).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
    expect(() => create({})).toThrow("whoever reaches the page would read every session");
    for (const wrong of [
      { authorize: true },
      { authorize: () => true, basePath: "studio" },
      { authorize: () => true, basePath: '/"><script>' },
      { authorize: () => true, hosts: "localhost" },
      { authorize: () => true, onError: "log" },
    ]) {
      expect(() => create(wrong as unknown as StudioOptions)).toThrow(
        expect.objectContaining({ code: "INVALID_ARGUMENT" }),
      );
    }
    expect(() => createStudio({} as never, { authorize: () => true })).toThrow();
  });

  it.each([undefined, null, "yes", 1, {}, { userId: 1 }, []])(
    "lets nobody in for whom authorize gives %o",
    async (given) => {
      const studio = create({ authorize: (() => given) as unknown as StudioOptions["authorize"] });
      expect((await studio(new Request("http://a/studio"))).status).toBe(401);
    },
  );

  it.each([
    ["/", "http://a/", ""],
    ["/studio", "http://a/studio", "/studio"],
    ["/a/b/", "http://a/a/b/session?id=1", "/a/b"],
  ])("stands under %s", async (basePath, url, base) => {
    const page = await (await create({ authorize: () => true, basePath })(new Request(url))).text();
    expect(page).toContain(`<meta name="stemma-base" content="${base}">`);
    expect(page).toContain(`src="${base}/page.js"`);
  });

  it("tells the program of a fault, and the page only that there was one", async () => {
    const errors: unknown[] = [];
    const broken = new RangeError("the secret of the database");
    const failing = { ...store, sessions: { ...store.sessions, count: () => Promise.reject(broken) } };
    const manager = create({ authorize: () => Promise.reject(broken), onError: (error) => errors.push(error) });
    const onStore = createStudio(failing, { authorize: () => true, onError: (error) => errors.push(error) });
    for (const studio of [manager, onStore]) {
      const response = await studio(new Request("http://a/studio/api/info"));
      expect(response.status).toBe(500);
      expect(await response.json()).toEqual({
        code: "INTERNAL",
        message: "The server failed. Its own output says why.",
      });
    }
    expect(errors).toEqual([broken, broken]);
  });
});
