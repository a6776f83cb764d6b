// Prints the licences of everything that is inside the copied files.
//
// GraphiQL's prebuilt bundle contains many packages. Its source map names each
// of them, so the list is read from there and cannot fall behind: a package
// without a licence text ends the build.
import { existsSync, readdirSync, readFileSync } from "node:fs";

const modules = "node_modules";

// Packages published without a licence file, and the package of the same
// repository (or, for toggle-selection, of the same author) that carries it.
const textFrom = {
  "@graphiql/plugin-doc-explorer": "graphiql",
  "@graphiql/plugin-history": "graphiql",
  "@radix-ui/react-use-escape-keydown": "@radix-ui/react-dismissable-layer",
  "react-compiler-runtime": "react",
  "react-remove-scroll-bar": "react-remove-scroll",
  "toggle-selection": "copy-to-clipboard",
};

// What the source map does not name: React itself, and the fonts that
// GraphiQL's style sheet carries as data.
const alsoInside = [
  "react",
  "react-dom",
  "scheduler",
  "graphiql",
  "@fontsource/fira-code",
  "@fontsource/roboto",
];

function packageOf(source) {
  const marker = "node_modules/";
  const at = source.lastIndexOf(marker);
  if (at >= 0) {
    const parts = source.slice(at + marker.length).split("/");
    return parts.slice(0, parts[0].startsWith("@") ? 2 : 1).join("/");
  }
  if (source.startsWith("../src/")) {
    return "graphiql";
  }
  // A sibling folder of GraphiQL's own repository: ../../graphiql-react/dist/…
  return source.split("/")[2].replace(/^graphiql-/, "@graphiql/");
}

function licenceText(name) {
  const folder = `${modules}/${textFrom[name] ?? name}`;
  const files = existsSync(folder)
    ? readdirSync(folder).filter((file) => /^licen[sc]e/i.test(file))
    : [];
  if (files.length === 0) {
    throw new Error(`no licence text for ${name}: looked in ${folder}`);
  }
  return readFileSync(`${folder}/${files[0]}`, "utf8").replaceAll("\r\n", "\n").trim();
}

const map = JSON.parse(readFileSync(`${modules}/graphiql/graphiql.min.js.map`, "utf8"));
const names = [...new Set([...map.sources.map(packageOf), ...alsoInside])].sort();

const packagesByText = new Map();
for (const name of names) {
  const text = licenceText(name);
  packagesByText.set(text, [...(packagesByText.get(text) ?? []), name]);
}

const rule = "=".repeat(78);
const sections = [...packagesByText].map(
  ([text, packages]) => `${rule}\n${packages.join("\n")}\n${rule}\n\n${text}\n`,
);
process.stdout.write(
  "The files in this folder are the work of others, copied unchanged from npm\n" +
    "packages. Each licence below stands under the packages it applies to.\n\n" +
    sections.join("\n"),
);
