import { type FormEvent, useState } from "react";
import { signIn } from "./api";

export function SignIn() {
  const [name, setName] = useState("");
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== "") void signIn(name.trim());
  };
  return (
    <main className="sign-in">
      <form onSubmit={submit}>
        <img src="/icon.svg" alt="" width="44" height="44" />
        <h1>Who is chatting?</h1>
        <p>
          Your chats and what is remembered of you are kept under your name. There is no password: this is an example.
        </p>
        <label>
          <span className="unseen">Your name</span>
          <input
            value={name}
            onChange={(event) => setName(event.target.value)}
            maxLength={60}
            placeholder="Your name"
            // biome-ignore lint/a11y/noAutofocus: the page has nothing else.
            autoFocus
          />
        </label>
        <button type="submit" className="primary" disabled={name.trim() === ""}>
          Begin
        </button>
      </form>
    </main>
  );
}
