// Colours for code: once, when the block is complete and comes into view. The text stays the same,
// letter by letter, and so does the height.

const LONGEST = 50_000; // characters; longer code stays plain
const HIGHLIGHT = "../vendor/highlight-11.12.0";
const LANGUAGES = {
  bash: "bash sh zsh console shell-session",
  c: "c h",
  cpp: "cpp c++ cc hpp",
  csharp: "csharp cs c#",
  css: "css scss",
  diff: "diff patch",
  dockerfile: "dockerfile docker",
  elixir: "elixir ex exs",
  go: "go golang",
  ini: "ini toml cfg",
  java: "java",
  javascript: "javascript js jsx mjs node",
  json: "json jsonc json5 jsonl",
  kotlin: "kotlin kt",
  lua: "lua",
  makefile: "makefile make mk",
  markdown: "markdown md",
  nginx: "nginx",
  php: "php",
  powershell: "powershell ps1",
  python: "python py python3",
  r: "r",
  ruby: "ruby rb",
  rust: "rust rs",
  shell: "shell",
  sql: "sql postgresql mysql sqlite",
  swift: "swift",
  typescript: "typescript ts tsx",
  xml: "xml html svg xhtml vue",
  yaml: "yaml yml",
};
const FILES = new Map(
  Object.entries(LANGUAGES).flatMap(([file, names]) => names.split(" ").map((name) => [name, file])),
);

const blocks = new WeakMap();
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      highlight(blocks.get(target)).catch(() => {}); // plain code is good enough
    }
  },
  { rootMargin: "200px" },
);

export function highlightWhenSeen(block) {
  if (!FILES.has(block.language) || block.source.length > LONGEST) return;
  blocks.set(block.element, block);
  seen.observe(block.element);
}

let libraries;
const loaded = new Map();

async function highlight(block) {
  libraries ??= Promise.all([
    import(`${HIGHLIGHT}/core.js`),
    import("../vendor/dompurify-3.5.0/purify.js"),
  ]);
  const [{ default: hljs }, { default: purify }] = await libraries;
  const file = FILES.get(block.language);
  if (!loaded.has(file)) {
    loaded.set(file, import(`${HIGHLIGHT}/languages/${file}.js`).then((language) => {
      hljs.registerLanguage(file, language.default);
    }));
  }
  await loaded.get(file);
  if (isSelected(block.code)) return; // replacing its nodes would drop the selection
  const { value } = hljs.highlight(block.text.data, { language: file, ignoreIllegals: true });
  const fragment = purify.sanitize(value, {
    ALLOWED_TAGS: ["span"],
    ALLOWED_ATTR: ["class"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    RETURN_DOM_FRAGMENT: true,
  });
  if (fragment.textContent !== block.text.data) return; // not the same letters: keep ours
  block.code.replaceChildren(fragment);
}

function isSelected(element) {
  const selection = getSelection();
  return !selection.isCollapsed && selection.containsNode(element, true);
}
