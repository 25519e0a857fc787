/** The pages; each is the same document, whose script shows what the URL says. */
export const PAGES = ["/", "/search", "/session", "/context", "/memory", "/usage"] as const;

/** The document of every page. */
export function shell(base: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="stemma-base" content="${base}">
<title>Stemma Studio</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${base}/page.css">
<script type="module" src="${base}/page.js"></script>
</head>
<body><noscript>The studio needs JavaScript.</noscript></body>
</html>
`;
}
