import { Check, Copy } from "lucide-react";
import { type ComponentProps, memo, useRef, useState } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";

const PLUGINS = [remarkGfm];

// Raw HTML is shown as text, and addresses that run code are dropped: both are what react-markdown does by itself.
const COMPONENTS: Components = {
  a: ({ node: _node, ...props }) => <a {...props} target="_blank" rel="noreferrer noopener" />,
  // A picture from elsewhere would tell that server what the model wrote into its address.
  img: ({ src, alt }) => (
    <a href={String(src)} target="_blank" rel="noreferrer noopener">
      {alt || String(src)}
    </a>
  ),
  pre: ({ node: _node, ...props }) => <Code {...props} />,
  table: ({ node: _node, ...props }) => (
    <div className="table">
      <table {...props} />
    </div>
  ),
};

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown">
      <ReactMarkdown remarkPlugins={PLUGINS} components={COMPONENTS}>
        {text}
      </ReactMarkdown>
    </div>
  );
});

function Code(props: ComponentProps<"pre">) {
  const place = useRef<HTMLPreElement>(null);
  const [isCopied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(place.current?.innerText ?? "");
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  };
  return (
    <div className="code">
      <pre {...props} ref={place} />
      <button type="button" className="icon small" onClick={() => void copy()}>
        {isCopied ? <Check aria-hidden /> : <Copy aria-hidden />}
        <span className="unseen">Copy the code</span>
      </button>
    </div>
  );
}
