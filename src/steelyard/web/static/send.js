// A change goes to the server with the secret of this page; the answer comes when it is on disk.
const csrf = document.querySelector('meta[name="csrf"]').content;

export async function send(path, body) {
  const text = JSON.stringify(body);
  const answer = await fetch(path, {
    method: "POST",
    headers: { "content-type": "application/json", "x-steelyard-csrf": csrf },
    body: text,
    keepalive: text.length < 60000,
  }).catch(() => null);
  if (answer === null) return { refused: "the server does not answer: start it again; nothing that was saved is lost." };
  return answer.json().catch(() => ({ refused: "the server was started again: open the link that it printed." }));
}
