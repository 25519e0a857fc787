/** The style of an exported page. */
export const HTML_STYLE = `
:root { color-scheme: light dark; font: 16px/1.55 system-ui, sans-serif; }
body { margin: 0; background: light-dark(#fff, #16181c); color: light-dark(#1c1f24, #e6e8eb); }
main { max-width: 46rem; margin: 0 auto; padding: 2rem 1rem; }
h1 { font-size: 1.5rem; overflow-wrap: anywhere; }
h2, .about { font-size: .85rem; font-weight: 600; color: light-dark(#5b6470, #9aa4b1); overflow-wrap: anywhere; }
h2 time { font-weight: 400; }
h3 { font-size: .8rem; margin: .75rem 0 .25rem; }
article { margin: 1rem 0; padding: .25rem 1rem 1rem; border: 1px solid light-dark(#d9dde3, #31363d); border-radius: .5rem; }
article.user { background: light-dark(#f3f6fb, #1d2128); }
article.summary { border-style: dashed; }
.text { white-space: pre-wrap; overflow-wrap: anywhere; }
.text + *, details + * { margin-top: .75rem; }
details { border-left: 3px solid light-dark(#d9dde3, #31363d); padding-left: .75rem; }
summary { cursor: pointer; overflow-wrap: anywhere; }
pre { overflow-x: auto; white-space: pre-wrap; overflow-wrap: anywhere; font-size: .8rem; }
img { max-width: 100%; height: auto; }
`;
