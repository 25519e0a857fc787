import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Answer, Ask } from "./ask.js";
import { bodyOf, WRITE_CASES } from "./write-cases.js";

/** A studio on a store that holds the sample. */
export interface OpenedStudio {
  readonly ask: Ask;
  close(): Promise<void>;
}

/** What a studio answers; it is made anew for each case by `open`. */
export function describeStudio(name: string, open: () => Promise<OpenedStudio>): void {
  describe(`the studio on ${name}`, () => {
    let opened: OpenedStudio;
    const ask: Ask = (question) => opened.ask(question);
    const get = async (path: string): Promise<Answer["json"]> => {
      const { status, json, text } = await ask({ path: `/api/${path}` });
      if (status !== 200) throw new RangeError(`${path}: ${status} ${text}`);
      return json;
    };
    const idsOf = ({ messages }: { messages: { message: { id: string } }[] }) =>
      messages.map(({ message }) => message.id);

    beforeEach(async () => {
      opened = await open();
    });
    afterEach(() => opened.close());

    it("lists sessions by latest change, filtered and page by page", async () => {
      const first = await get("sessions?limit=2");
      const second = await get(`sessions?limit=2&cursor=${encodeURIComponent(first.nextCursor)}`);
      const ids = [...first.sessions, ...second.sessions].map(({ id }: { id: string }) => id);
      expect(ids.toSorted()).toEqual(["nobodys", "other", "trip"]);
      expect(second.nextCursor).toBe(null);
      expect((await get("sessions?user=ada")).sessions).toMatchObject([
        { id: "trip", name: "A trip", messages: 4, input_tokens: 100, user_id: "ada" },
      ]);
      expect((await get("sessions?name=TRIP")).sessions).toHaveLength(1);
      expect((await get("sessions?prefix=oth")).sessions).toMatchObject([{ id: "other", tokens: expect.any(Number) }]);
    });

    it("shows a session: its leaf, its summaries, its change", async () => {
      const view = await get("session?id=trip");
      expect(view).toMatchObject({
        session: { id: "trip", messages: 4 },
        leafId: "m4",
        stored: 5,
        compactions: [{ summary: "A trip was booked.", fromMessageId: "m1", toMessageId: "m2" }],
        children: [],
        skills: { loaded: [], unloaded: [] },
      });
      expect(await get("change?id=trip")).toEqual({ change: view.change });
      await ask({ path: "/api/rename", body: { id: "trip", name: "Other" } });
      expect((await get("change?id=trip")).change).not.toBe(view.change);
    });

    it("pages a path in both directions, as the model sees it and as stored", async () => {
      const page = await get("messages?id=trip&limit=2");
      expect(page).toMatchObject({ hasOlder: true, hasNewer: false, leafId: "m4", originals: false });
      expect(idsOf(page)).toEqual(["m3", "m4"]);
      expect(page.messages[0].siblings).toEqual(["m3", "side"]);
      const older = await get("messages?id=trip&limit=2&from=m3&direction=older");
      expect(older).toMatchObject({ hasOlder: false, hasNewer: true, messages: [{ message: { role: "assistant" } }] });
      const [{ compactionId, message }] = older.messages;
      expect(message.id).toBe(`compaction_${compactionId}`);
      expect(idsOf(await get(`messages?id=trip&from=${message.id}&direction=newer`))).toEqual(["m3", "m4"]);
      expect(idsOf(await get(`messages?id=trip&from=${message.id}&direction=around`))).toEqual([
        message.id,
        "m3",
        "m4",
      ]);
      expect(idsOf(await get("messages?id=trip&originals=1&leaf=side"))).toEqual(["m1", "m2", "side"]);
      const beneath = await get(`messages?id=trip&compaction=${compactionId}&limit=1`);
      expect([idsOf(beneath), beneath.hasOlder]).toEqual([["m2"], true]);
      const first = await get(`messages?id=trip&compaction=${compactionId}&from=m2&direction=older`);
      expect([idsOf(first), first.hasOlder]).toEqual([["m1"], false]);
      const around = await get(`messages?id=trip&compaction=${compactionId}&from=m1&direction=around`);
      expect([idsOf(around), around.hasOlder, around.hasNewer]).toEqual([["m1", "m2"], false, false]);
    });

    it("finds the path on which a message is shown, under a summary and on another branch", async () => {
      const covered = await get("messages?id=trip&from=m1&direction=around");
      expect([idsOf(covered), covered.leafId, covered.originals]).toEqual([["m1", "m2", "m3", "m4"], "m4", true]);
      const aside = await get("messages?id=trip&from=side&direction=around");
      expect([idsOf(aside).at(-1), aside.leafId, aside.originals]).toEqual(["side", "side", false]);
      expect((await ask({ path: "/api/messages?id=trip&from=none&direction=around" })).status).toBe(404);
    });

    it("puts stubs in the place of media, and gives these alone, never as a document of its own", async () => {
      const { messages } = await get("messages?id=trip&originals=1");
      const parts = messages[1].message.parts;
      expect(parts[2].url).toEqual({ $media: { mediaType: "image/png", bytes: 70, path: "/parts/2/url" } });
      const media = (path: string) => ask({ path: `/api/media?id=trip&message=m2&path=${path}` });
      const picture = await media("/parts/2/url");
      expect(picture.headers).toMatchObject({ "content-type": "image/png", "x-content-type-options": "nosniff" });
      expect(picture.text).toContain("PNG");
      const svg = await media("/parts/3/url");
      expect(svg.headers["content-type"]).toBe("image/svg+xml");
      expect(svg.headers["content-security-policy"]).toContain("sandbox");
      const page = await media("/parts/4/url");
      expect(page.headers).toMatchObject({
        "content-type": "application/octet-stream",
        "content-disposition": "attachment",
      });
      for (const path of ["/parts/0/text", "/parts/9/url", "/id", "", "/__proto__/url"]) {
        expect((await media(path)).status).toBe(400);
      }
    });

    it("pages the tree, newest first", async () => {
      const page = await get("tree?id=trip&limit=3");
      expect(page.nodes.map(({ id, parentId }: { id: string; parentId: string }) => [id, parentId])).toEqual([
        ["side", "m2"],
        ["m4", "m3"],
        ["m3", "m2"],
      ]);
      const rest = await get(`tree?id=trip&limit=3&after=${page.next}`);
      expect([rest.nodes.length, rest.next]).toEqual([2, null]);
    });

    it("tells what was sent in a turn, and what would be sent next", async () => {
      const { turns, next } = await get("turns?id=trip");
      expect([turns.length, turns[0].messageId, next]).toEqual([1, "m3", null]);
      const past = await get("context?id=trip&turn=m3");
      expect(past.explanation).toMatchObject({ messageId: "m3", prefixHash: turns[0].prefixHash });
      const now = await get("context?id=trip");
      expect(now.explanation.parts.map(({ source }: { source: string }) => source)).toContain("summary");
      expect(now.blocks).toMatchObject([{ label: "memory", maxTokens: 1000, version: 2 }, { label: "profile" }]);
      expect(now.frozenPrompt).not.toContain("crossings");
      expect(now.currentPrompt).toContain("Likes zebras and crossings.");
      const bare = (await ask({ path: "/api/context?id=trip", onStore: true })).json;
      expect(bare).toMatchObject({ explanation: null, currentPrompt: null, frozenPrompt: now.frozenPrompt });
      expect(bare.blocks).toMatchObject([{ label: "memory", maxTokens: null, version: 2 }]);
    });

    it("shows what is remembered, its versions, and what came of a message", async () => {
      expect((await get("owners?kind=user")).owners).toEqual(["ada"]);
      expect(await get("owners?kind=key")).toEqual({ owners: ["acme"], next: null });
      expect((await get("memory?session=trip")).blocks).toMatchObject([{ label: "memory", version: 2, tokens: 7 }]);
      expect(await get("memory?user=ada")).toMatchObject({ blocks: [], collections: [{ label: "facts", count: 2 }] });
      expect((await get("memory?key=acme")).blocks).toMatchObject([{ label: "team", content: "Ships on Fridays." }]);
      const page = await get("entries?user=ada&label=facts&limit=1");
      expect(page).toMatchObject({ entries: [{ key: "home", preview: "Lima", holds: true }], next: "home" });
      expect((await get("entries?user=ada&label=facts&after=home")).entries).toMatchObject([{ key: "work" }]);
      const versions = async (path: string) =>
        (await get(path)).versions.map(({ content }: { content: string }) => content);
      expect(await versions("versions?session=trip&label=memory")).toEqual([
        "Likes zebras and crossings.",
        "Likes zebras.",
      ]);
      expect(await versions("versions?user=ada&label=facts&entry=home")).toEqual(["Lima", "Oslo"]);
      const { writes } = await get("writes?id=trip&message=m1");
      expect(writes).toHaveLength(5);
      expect(writes).toContainEqual(
        expect.objectContaining({ author: "learning", owner: { session: "trip" }, label: "memory", key: null }),
      );
      expect((await ask({ path: "/api/memory?session=trip&user=ada" })).status).toBe(400);
    });

    it("searches, and tells why a result ranks where it does", async () => {
      const { hits, nextOffset } = await get("search?q=zebra%20crossing&limit=1");
      expect(nextOffset).toBe(1);
      expect(hits).toMatchObject([
        { id: "m1", sessionId: "trip", sessionName: "A trip", ranks: { words: 1, meaning: null }, reranker: null },
      ]);
      expect(hits[0].words.map(({ word, count }: { word: string; count: number }) => [word, count]).toSorted()).toEqual(
        [
          ["crossing", 1],
          ["zebra", 1],
        ],
      );
      expect((await get("search?q=zebra%20crossing&offset=1")).hits).toMatchObject([{ id: "m4" }]);
      expect((await get("search?q=secret&user=ada")).hits).toEqual([]);
      expect((await get("search?q=zebra&session=other")).hits).toEqual([]);
      expect((await get("search?q=zebra&role=assistant&after=2020-01-01&before=2999-01-01")).hits).toHaveLength(1);
    });

    it("sums up what was used", async () => {
      const { rows, total } = await get("usage?by=session");
      expect(rows).toMatchObject([{ name: "trip", requests: 1, inputTokens: 100, outputTokens: 20, cost: 0.5 }]);
      expect(total).toEqual({ requests: 1, inputTokens: 100, outputTokens: 20, cost: 0.5 });
      const saved = await get("usage?by=model&id=trip");
      expect(saved.compactions).toMatchObject({
        by: "compaction",
        rows: [{ compactions: 1 }],
        total: { compactions: 1 },
      });
      expect(saved.compactions.total.tokensBefore).toBeGreaterThan(saved.compactions.total.tokensAfter);
      expect((await get("usage?by=day&id=other")).rows).toEqual([]);
    });

    it("lists sessions by cost and by tokens, page by page", async () => {
      for (const order of ["cost", "tokens"]) {
        const first = await get(`sessions?order=${order}&limit=1`);
        expect(first.sessions[0].id).toBe("trip");
        const rest = await get(`sessions?order=${order}&cursor=${encodeURIComponent(first.nextCursor)}`);
        expect(rest.sessions).toHaveLength(2);
      }
    });

    it.each(["jsonl", "markdown", "html"])("exports a session as %s", async (format) => {
      const { status, headers, text } = await ask({ path: `/api/export?id=trip&format=${format}` });
      expect(status).toBe(200);
      expect(headers["content-disposition"]).toMatch(/^attachment; filename="trip\.\w+"$/);
      expect(text).toContain("A trip was booked.");
    });

    it.each(Object.keys(WRITE_CASES))("writes: %s", async (name) => {
      const write = WRITE_CASES[name];
      if (write === undefined) throw new RangeError(name);
      const { status, json } = await ask({ path: `/api/${name}`, body: await bodyOf(ask, write) });
      const id = expect.any(String);
      expect([status, json]).toEqual([
        200,
        JSON.parse(JSON.stringify(write.answer ?? {})).id ? { id } : (write.answer ?? {}),
      ]);
      expect(await write.look(ask)).toEqual(write.seen);
    });

    const fact = { owner: { user: "ada" }, label: "facts", key: "home" };
    const change = async (route: string, fields: object = {}) => {
      const { status, json } = await ask({ path: `/api/${route}`, body: { ...fact, ...fields } });
      return json.code ?? status;
    };
    const factNow = () => get("entry?user=ada&label=facts&entry=home");

    it("restores and removes an entry of a user", async () => {
      const restore = (version: number) => change("restore-version", { version });
      expect(await restore(1)).toBe(200);
      expect((await get("entries?user=ada&label=facts")).entries[0].preview).toBe("Oslo");
      expect(await restore(99)).toBe("VERSION_NOT_FOUND");
      expect(await change("forget-entry")).toBe(200);
      expect(await factNow()).toEqual({ entry: null, message: { sessionId: "trip", messageId: "m1" }, lastVersion: 3 });
      expect(await restore(3)).toBe(200);
      expect((await factNow()).entry.content).toBe("Oslo");
    });

    it("edits an entry with its times, shows what has ended, and restores the times with the text", async () => {
      const times = { validFrom: "2020-01-01", validTo: "2021-01-01" };
      expect(await change("edit-entry", { content: "Rome", expectedContent: "Lima", ...times })).toBe(200);
      const { entry, message } = await factNow();
      expect([entry, message]).toMatchObject([
        { content: "Rome", holds: false, validFrom: "2020-01-01T00:00:00.000Z", validTo: "2021-01-01T00:00:00.000Z" },
        { sessionId: "trip", messageId: "m1" },
      ]);
      expect((await get("entries?user=ada&label=facts")).entries[0]).toMatchObject({ preview: "Rome", holds: false });
      expect(await change("edit-entry", { content: "Rome", expectedContent: "Rome", validTo: null })).toBe(200);
      expect((await factNow()).entry).toMatchObject({
        holds: true,
        validFrom: "2020-01-01T00:00:00.000Z",
        validTo: null,
      });
      expect(await change("restore-version", { version: 2 })).toBe(200);
      expect((await factNow()).entry).toMatchObject({ content: "Lima", validFrom: null, holds: true });
      expect(await change("restore-version", { version: 3 })).toBe(200);
      expect((await factNow()).entry).toMatchObject({ content: "Rome", validTo: "2021-01-01T00:00:00.000Z" });
    });

    it("writes no entry that somebody else changed meanwhile, or that is no text or time", async () => {
      expect(await change("edit-entry", { content: "Rome", expectedContent: "Oslo" })).toBe("ENTRY_CONFLICT");
      expect(await change("edit-entry", { key: "none", content: "Rome", expectedContent: "" })).toBe("ENTRY_CONFLICT");
      const wrong = [
        { content: "\0" },
        { content: 1 },
        { content: "x", validFrom: "soon" },
        { content: "x", validTo: 5 },
      ];
      for (const fields of wrong) {
        const code = await change("edit-entry", { expectedContent: "Lima", ...fields });
        expect(["INVALID_ARGUMENT", "INVALID_TEXT"], JSON.stringify(fields)).toContain(code);
      }
      expect((await factNow()).entry.content).toBe("Lima");
    });

    it("answers a conflict with the present block, and overwrites nothing", async () => {
      for (const onStore of [false, true]) {
        const body = { owner: { session: "trip" }, label: "memory", content: "Mine.", expectedVersion: 1 };
        const { status, json } = await ask({ path: "/api/edit-block", body, onStore });
        expect([status, json.code]).toEqual([409, "BLOCK_CONFLICT"]);
        expect(json.details.block).toMatchObject({
          label: "memory",
          content: "Likes zebras and crossings.",
          version: 2,
        });
      }
      expect((await get("memory?session=trip")).blocks[0].version).toBe(2);
    });

    it("keeps to the budget of a block that the program configured", async () => {
      const body = { owner: { session: "trip" }, label: "memory", content: "word ".repeat(5000), expectedVersion: 2 };
      expect((await ask({ path: "/api/edit-block", body })).json.code).toBe("BLOCK_OVER_BUDGET");
    });

    it("refuses to compact where nobody said how", async () => {
      const { status, json } = await ask({ path: "/api/compact", body: { id: "trip" }, onStore: true });
      expect([status, json.code]).toEqual([409, "COMPACTION_NOT_CONFIGURED"]);
    });

    it("shows a user that user's own, and nothing of anyone else's", async () => {
      const as = { user: "ada" };
      const paths = async (...list: string[]) =>
        Promise.all(list.map(async (path) => (await ask({ path: `/api/${path}`, as })).status));
      expect((await ask({ path: "/api/sessions", as })).json.sessions).toMatchObject([{ id: "trip" }]);
      expect((await ask({ path: "/api/info", as })).json.sessions).toBe(1);
      expect(await paths("session?id=trip", "messages?id=trip", "memory?user=ada", "memory?session=trip")).toEqual([
        200, 200, 200, 200,
      ]);
      for (const id of ["other", "nobodys"]) {
        expect(
          await paths(
            ...["session", "change", "messages", "tree", "turns", "context", "export", "usage"].map(
              (name) => `${name}?id=${id}`,
            ),
            `memory?session=${id}`,
            `search?q=secret&session=${id}`,
            `writes?id=${id}&message=b1`,
            `media?id=${id}&message=b1&path=/parts/0/url`,
          ),
        ).toEqual(Array.from({ length: 12 }, () => 404));
      }
      expect(await paths("memory?user=bob", "memory?key=acme")).toEqual([404, 403]);
      expect((await ask({ path: "/api/owners?kind=user", as })).json.owners).toEqual(["ada"]);
      expect((await ask({ path: "/api/owners?kind=key", as })).json.owners).toEqual([]);
      expect((await ask({ path: "/api/search?q=secret", as })).json.hits).toEqual([]);
      expect((await ask({ path: "/api/usage?by=session", as: { user: "bob" } })).json.rows).toEqual([]);
      const refused = await ask({ path: "/api/delete-session", body: { id: "other" }, as });
      expect([refused.status, refused.json.code]).toEqual([404, "SESSION_NOT_FOUND"]);
      expect(await get("session?id=other")).toMatchObject({ leafId: "b1" });
    });
  });
}
