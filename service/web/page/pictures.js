// Pictures of one moment, from the server to the page.

const kPatienceMs = 4000;

/**
 * {frame, pictures, scale} of `parts` ("picture", "flow", "next") of the frame `wanted` of `stream`, or of a newer one
 * where the server has that no more; nothing where one is missing, or where they are of two moments.
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

/** Shows `bytes`, a picture, in `image`, unless that has left the page meanwhile. */
export function swapPicture(image, bytes) {
  if (!image.isConnected) return;
  const old = image.src;
  image.src = URL.createObjectURL(bytes);
  if (old) URL.revokeObjectURL(old);
}

/** Takes `root` from the page, and frees the pictures in it: the browser keeps them otherwise. */
export function removeWithPictures(root) {
  root.remove();
  for (const image of root.querySelectorAll("img[src^='blob:']")) URL.revokeObjectURL(image.src);
}
