(() => {
  const kept = keeper("reading", "the sheet");
  const FILLED = ["verdict", "error", "facts", "held", "note"];
  const state = { reader: "", at: 0, row: 0 };
  const errors = [...document.querySelectorAll("[data-error]")];
  const verdicts = [...document.querySelectorAll("[data-verdict]")];

  const rows = () => page.items[state.at].rows;
  const row = () => rows()[state.row];
  const every = () => page.items.flatMap((item) => item.rows);

  // Storage may hold anything: only what fits is taken.
  function restore() {
    const found = kept.read();
    every().forEach((own, number) => {
      const given = (found.filled || [])[number];
      if (!Array.isArray(given)) return;
      FILLED.forEach((name, i) => { if (typeof given[i] === "string") own[name] = given[i].slice(0, 1000); });
    });
    if (typeof found.reader === "string") state.reader = found.reader;
    if (Number.isInteger(found.at) && page.items[found.at]) state.at = found.at;
  }
  function keep() {
    const filled = every().map((own) => FILLED.map((name) => own[name]));
    kept.write({ reader: state.reader, at: state.at, filled });
  }

  function show(number, at) {
    state.at = number;
    state.row = Math.min(at || 0, rows().length - 1);
    const item = page.items[number];
    showDialogue(item.turns);
    $("statements").replaceChildren(...item.rows.map(statement));
    $("listed").replaceChildren(...item.facts.map((text) => {
      const line = document.createElement("li");
      line.textContent = text;
      return line;
    }));
    $("facts").value = item.rows[0].facts;
    $("held").value = item.rows[0].held;
    refresh();
  }
  function statement(own, number) {
    const line = document.createElement("li");
    line.dir = "auto";
    line.append(own.statement);
    const said = document.createElement("span");
    said.className = "verdict";
    line.append(said);
    line.addEventListener("click", () => { state.row = number; refresh(); });
    return line;
  }
  function refresh() {
    const own = row(), cited = page.items[state.at].cited[state.row];
    [...$("turns").children].forEach((line, i) => line.classList.toggle("cited", cited.includes(i)));
    const first = $("turns").children[Math.min(...cited)];
    if (first) first.scrollIntoView({ block: "nearest" });
    [...$("statements").children].forEach((line, i) => {
      const { verdict, error } = rows()[i];
      line.classList.toggle("now", i === state.row);
      line.lastChild.className = "verdict " + verdict;
      line.lastChild.textContent = verdict + (error ? ": " + error : "");
    });
    verdicts.forEach((b) => b.setAttribute("aria-pressed", b.dataset.verdict === own.verdict));
    errors.forEach((b) => b.setAttribute("aria-pressed", b.dataset.error === own.error));
    $("errors").hidden = own.verdict !== "wrong";
    $("note").value = own.note;
    const read = every().filter((one) => one.verdict).length;
    const done = (i) => page.items[i].rows.every((one) => one.verdict);
    showProgress(state.at, read, every().length, (i) => (done(i) ? " ✓" : ""));
    $("next").disabled = state.at + 1 === page.items.length;
    keep();
  }
  function move(step) {
    const next = state.row + step;
    if (next >= 0 && next < rows().length) { state.row = next; refresh(); }
    else if (next < 0 && state.at > 0) show(state.at - 1, Infinity);
    else if (next > 0 && state.at + 1 < page.items.length) show(state.at + 1);
    else refresh();
  }
  function judge(verdict) {
    row().verdict = verdict;
    if (verdict !== "wrong") { row().error = ""; move(1); }
    else refresh();
  }
  function blame(error) {
    row().error = error;
    move(1);
  }

  const cell = (text) => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  function save() {
    const open = every().filter((one) => !one.verdict).length;
    const lines = [page.columns, ...every().map((own) => page.columns.map((name) => own[name]))];
    const who = state.reader.trim() ? "-" + fileName(state.reader) : "";
    saveFile(lines.map((cells) => cells.map(cell).join(",") + "\n").join(""), `sheet${who}.csv`, "text/csv");
    tell(open ? `Saved; not read yet: ${counted(open, "statements")}.` : "Saved: all statements are read.", true);
  }

  document.addEventListener("keydown", (event) => {
    if (event.target.matches("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
    const key = event.key.toLowerCase();
    const verdict = verdicts["123".indexOf(key)];
    const error = row().verdict === "wrong" && errors.find((b) => b.dataset.error[0] === key);
    if (key.length === 1 && verdict) judge(verdict.dataset.verdict);
    else if (error) blame(error.dataset.error);
    else if (key === "arrowdown") move(1);
    else if (key === "arrowup") move(-1);
    else if (key === "arrowright" && state.at + 1 < page.items.length) show(state.at + 1);
    else if (key === "arrowleft" && state.at > 0) show(state.at - 1);
    else if (key === "k") $("held").focus();
    else return;
    event.preventDefault();
  });
  verdicts.forEach((b) => b.addEventListener("click", () => judge(b.dataset.verdict)));
  errors.forEach((b) => b.addEventListener("click", () => blame(b.dataset.error)));
  ["facts", "held"].forEach((name) => $(name).addEventListener("input", (event) => {
    rows()[0][name] = event.target.value.replace(/\D/g, "");
    keep();
  }));
  $("held").addEventListener("keydown", (event) => { if (event.key === "Enter") event.target.blur(); });
  $("note").addEventListener("input", (event) => { row().note = event.target.value; keep(); });
  $("reader").addEventListener("input", (event) => { state.reader = event.target.value; keep(); });
  $("next").addEventListener("click", () => show(state.at + 1));
  $("previous").addEventListener("click", () => show(state.at - 1));
  $("jump").addEventListener("change", (event) => show(Number(event.target.value)));
  $("save").addEventListener("click", save);

  restore();
  $("reader").value = state.reader;
  $("how").open = every().every((one) => !one.verdict);
  show(state.at);
})();
