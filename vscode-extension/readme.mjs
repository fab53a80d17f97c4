// The extension's page shows no picture by a relative path: each is put into the text that is packaged.
import { readFile } from "node:fs/promises";

const PICTURE = /(!\[[^\]]*\]\()(images\/[\w.-]+\.png)\)/g;

/** @param {string} text @returns {Promise<string>} */
export async function withPictures(text) {
  const paths = [...text.matchAll(PICTURE)].map((match) => match[2]);
  const read = async (path) => [path, (await readFile(new URL(path, import.meta.url))).toString("base64")];
  const pictures = new Map(await Promise.all(paths.map(read)));
  return text.replaceAll(PICTURE, (_, before, path) => `${before}data:image/png;base64,${pictures.get(path)})`);
}
