// Numbers as text, and page elements: shared by all parts of the page.

export const number = value => Math.round(value).toLocaleString("en");
export const rate = value => value.toFixed(1);
export const shortRate = value => String(Number(value.toFixed(2)));

export function duration(ms) {
  if (ms <= 0) return "–";
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

export function element(tag, text, className) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** A copy of the template `id`, and its parts by name. */
export function fromTemplate(id) {
  const root = document.getElementById(id).content.firstElementChild.cloneNode(true);
  const parts = {};
  for (const part of root.querySelectorAll("[data-is]")) parts[part.dataset.is] = part;
  return {root, parts};
}

export function setText(place, text) {
  if (place.textContent !== text) place.textContent = text;
}
