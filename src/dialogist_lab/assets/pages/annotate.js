(() => {
  const kept = keeper("annotation", "your summaries");
  const state = { annotator: "", at: 0, texts: {} };

  // Storage and files may hold anything: only what fits is taken.
  function cleaned(found) {
    const texts = {};
    page.items.forEach((_, number) => {
      const given = (found || {})[number];
      if (typeof given !== "object" || given === null || typeof given.text !== "string") return;
      const choice = ["done", "skipped"].includes(given.choice) ? given.choice : "open";
      texts[number] = { text: given.text.slice(0, 5000), choice };
    });
    return texts;
  }
  const entry = (number) => state.texts[number] || { text: page.items[number].draft, choice: "open" };
  const count = (choice) => page.items.filter((_, number) => entry(number).choice === choice).length;

  function restore() {
    const found = kept.read();
    state.texts = cleaned(found.texts);
    state.annotator = typeof found.annotator === "string" ? found.annotator : "";
    if (Number.isInteger(found.at) && page.items[found.at]) state.at = found.at;
  }
  const keep = () => kept.write(state);

  function show(number, focus) {
    state.at = number;
    const item = page.items[number];
    showDialogue(item.turns);
    $("summary").value = entry(number).text;
    $("draft").replaceChildren(...item.sentences.map(sentence));
    refresh();
    keep();
    if (focus) focusTitle();
  }
  function sentence(one) {
    const line = document.createElement("li");
    line.dir = "auto";
    line.append(one.text);
    one.turns.forEach((number) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "quiet";
      button.textContent = String(number + 1);
      button.setAttribute("aria-label", `Show utterance ${number + 1}`);
      button.addEventListener("click", () => cite(number));
      line.append(button);
    });
    one.doubts.forEach((text) => {
      const doubt = document.createElement("div");
      doubt.className = "doubt";
      doubt.textContent = text;
      line.append(doubt);
    });
    return line;
  }
  function cite(number) {
    [...$("turns").children].forEach((line, i) => line.classList.toggle("cited", i === number));
    $("turns").children[number].scrollIntoView({ block: "nearest" });
  }
  function refresh() {
    const total = page.items.length;
    const marks = { done: " ✓", skipped: " –", open: "" };
    showProgress(state.at, count("done"), total, (i) => marks[entry(i).choice]);
    $("state").textContent = { done: "Done.", skipped: "Skipped.", open: "" }[entry(state.at).choice];
    $("next").disabled = state.at + 1 === total;
  }

  function choose(choice) {
    const text = $("summary").value.trim();
    if (choice === "done" && text === "") {
      tell("There is no summary yet: write one, or skip this dialogue.");
      $("summary").focus();
      return;
    }
    tell("");
    state.texts[state.at] = { text, choice };
    if (state.at + 1 < page.items.length) show(state.at + 1, true);
    else {
      show(state.at, false);
      tell(`That was the last dialogue; still open: ${count("open")}. Save your summaries.`, true);
    }
  }
  function exported() {
    const metadata = state.annotator.trim() === "" ? {} : { annotator: state.annotator.trim() };
    return page.items
      .map((item, number) => {
        const { text, choice } = entry(number);
        if (choice !== "done") return "";
        const record = { ...item.record, summaries: [text] };
        record.metadata = { ...item.record.metadata, ...metadata, draft_kept: text === item.draft };
        return JSON.stringify(record) + "\n";
      })
      .join("");
  }
  function save() {
    if (count("done") === 0) {
      tell("No summary is done yet: press Done at each one that is right.");
      return;
    }
    saveFile(exported(), `summaries${state.annotator.trim() ? "-" + fileName(state.annotator) : ""}.jsonl`, "application/jsonl");
    tell(`Saved ${counted(count("done"), "summaries")}; still open: ${counted(count("open"), "dialogues")}.`, true);
  }
  function load(text, name) {
    let taken = 0;
    text.split("\n").filter((line) => line.trim() !== "").forEach((line) => {
      const record = JSON.parse(line);
      const number = page.items.findIndex((item) => JSON.stringify(item.record.turns) === JSON.stringify(record.turns));
      if (number === -1 || typeof (record.summaries || [])[0] !== "string") return;
      state.texts[number] = { text: record.summaries[0].slice(0, 5000), choice: "done" };
      taken += 1;
    });
    show(state.at, false);
    tell(`${name}: ${counted(taken, "summaries")} taken.`, true);
  }

  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    choose("done");
  });
  $("summary").addEventListener("input", () => {
    state.texts[state.at] = { text: $("summary").value, choice: "open" };
    refresh();
    keep();
  });
  $("summary").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) choose("done");
  });
  $("skip").addEventListener("click", () => choose("skipped"));
  $("reset").addEventListener("click", () => {
    delete state.texts[state.at];
    show(state.at, false);
  });
  $("next").addEventListener("click", () => show(state.at + 1, true));
  $("previous").addEventListener("click", () => show(state.at - 1, true));
  $("jump").addEventListener("change", (event) => show(Number(event.target.value), false));
  $("save").addEventListener("click", save);
  onFile(load, "summaries");
  $("annotator").addEventListener("input", (event) => {
    state.annotator = event.target.value;
    keep();
  });

  restore();
  $("annotator").value = state.annotator;
  $("how").open = Object.keys(state.texts).length === 0;
  show(state.at, false);
})();
