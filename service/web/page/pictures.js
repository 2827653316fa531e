// Fetches and shows pictures of one moment.

const kPatienceMs = 4000;

/**
 * {frame, pictures, scale} of `parts` ("picture", "flow", "next", "reference", "uncertainty") of the frame `wanted` of
 * `stream`, or of a newer frame if the server no longer has it. Nothing if a part is missing, or if the parts are of two frames.
 */
export async function fetchPictures(stream, parts, wanted, viewer) {
  const answers = await Promise.all(parts.map(part => fetch(
    `/streams/${encodeURIComponent(stream)}/${part}.jpg?frame=${wanted}&viewer=${viewer}`,
    {signal: AbortSignal.timeout(kPatienceMs)})));
  const frames = answers.map(answer => Number(answer.headers.get("X-Frame-Number")));
  if (!answers.every((answer, i) => answer.ok && frames[i] === frames[0])) return null;
  const scale = answers[parts.indexOf("flow")]?.headers.get("X-Flow-Scale");
  const pictures = await Promise.all(answers.map(answer => answer.blob()));
  return {frame: frames[0], pictures, scale: Number(scale)};
}

/** Shows the picture `bytes` in `image`, unless `image` has left the page meanwhile. */
export function swapPicture(image, bytes) {
  if (!image.isConnected) return;
  const old = image.src;
  image.src = URL.createObjectURL(bytes);
  if (old) URL.revokeObjectURL(old);
}

/** Removes `root` from the page and frees its pictures: otherwise the browser keeps them. */
export function removeWithPictures(root) {
  root.remove();
  for (const image of root.querySelectorAll("img[src^='blob:']")) URL.revokeObjectURL(image.src);
}
