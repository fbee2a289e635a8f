// Requests to the server of this page.
//
//   Server.post(path, content, signal)   a promise of the answer to JSON; an error has the server's message
//   Server.lines(answer)                 the lines of JSON of an answer, one by one as they arrive
const Server = (function () {
  async function post(path, content, signal) {
    const answer = await fetch(path, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(content), signal,
    }).catch((error) => { throw error.name === "AbortError" ? error : new Error(GONE); });
    if (answer.ok) return answer;
    const said = await answer.json().catch(() => ({}));
    throw new Error(said.error || `the server answered ${answer.status}`);
  }

  const GONE = "The playground does not answer. Was it ended? Start it again with python playground.py.";

  async function* lines(answer) {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read().catch((error) => { throw error.name === "AbortError" ? error : new Error(GONE); });
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop();
      for (const part of parts) if (part) yield JSON.parse(part);
    }
  }

  return { post, lines };
})();
