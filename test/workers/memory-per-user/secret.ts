/** What signs the tokens of the test. */
export const SECRET = "a secret of the test, and of nothing else";
