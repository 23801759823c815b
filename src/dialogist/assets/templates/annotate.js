(() => {
  const page = JSON.parse(document.getElementById("page").textContent);
  const store = "dialogist-annotation-" + page.page;
  const $ = (id) => document.getElementById(id);
  const state = { annotator: "", at: 0, texts: {} };
  let keeps = true;

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
    try {
      const kept = JSON.parse(localStorage.getItem(store) || "{}");
      state.texts = cleaned(kept.texts);
      state.annotator = typeof kept.annotator === "string" ? kept.annotator : "";
      if (Number.isInteger(kept.at) && page.items[kept.at]) state.at = kept.at;
    } catch {
      keeps = false;
    }
  }
  function keep() {
    try {
      localStorage.setItem(store, JSON.stringify(state));
      keeps = true;
    } catch {
      if (keeps) tell("This browser keeps nothing here: save your summaries before you close the page.");
      keeps = false;
    }
  }
  function tell(text, fine) {
    const box = $("message");
    box.textContent = text;
    box.classList.toggle("fine", Boolean(fine));
    box.hidden = text === "";
    if (text) box.scrollIntoView({ block: "nearest" });
  }

  function show(number, focus) {
    state.at = number;
    const item = page.items[number];
    const speakers = [];
    $("turns").replaceChildren(...item.turns.map(([speaker, text]) => turn(speaker, text, speakers)));
    $("scroll").scrollTop = 0;
    $("summary").value = entry(number).text;
    $("draft").replaceChildren(...item.sentences.map(sentence));
    $("main").hidden = false;
    $("foot").hidden = false;
    refresh();
    keep();
    if (focus) {
      $("how").open = false;
      window.scrollTo(0, 0);
      $("item-title").focus({ preventScroll: true });
    }
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
    const total = page.items.length, done = count("done");
    const bar = document.querySelector(".progress");
    bar.setAttribute("aria-valuemax", total);
    bar.setAttribute("aria-valuenow", done);
    bar.firstElementChild.style.width = (100 * done) / total + "%";
    $("count").textContent = `${done} of ${total}`;
    $("item-title").textContent = `Dialogue ${state.at + 1} of ${total}`;
    $("state").textContent = { done: "Done.", skipped: "Skipped.", open: "" }[entry(state.at).choice];
    $("previous").disabled = state.at === 0;
    $("next").disabled = state.at + 1 === total;
    const marks = { done: " ✓", skipped: " –", open: "" };
    [...$("jump").options].forEach((option, i) => (option.textContent = `${i + 1}${marks[entry(i).choice]}`));
    $("jump").value = String(state.at);
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
      tell(`That was the last dialogue: ${count("open")} are still open. Save your summaries.`, true);
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
    tell(`Saved ${count("done")} summaries; ${count("open")} dialogues are still open.`, true);
  }
  function load(file) {
    file.text().then((text) => {
      let taken = 0;
      text.split("\n").filter((line) => line.trim() !== "").forEach((line) => {
        const record = JSON.parse(line);
        const number = page.items.findIndex((item) => JSON.stringify(item.record.turns) === JSON.stringify(record.turns));
        if (number === -1 || typeof (record.summaries || [])[0] !== "string") return;
        state.texts[number] = { text: record.summaries[0].slice(0, 5000), choice: "done" };
        taken += 1;
      });
      show(state.at, false);
      tell(`${file.name}: ${taken} summaries taken.`, true);
    }).catch(() => tell(`${file.name} is no file of summaries; nothing was changed.`));
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
  $("load").addEventListener("change", (event) => {
    if (event.target.files[0]) load(event.target.files[0]);
    event.target.value = "";
  });
  $("annotator").addEventListener("input", (event) => {
    state.annotator = event.target.value;
    keep();
  });

  restore();
  $("annotator").value = state.annotator;
  $("jump").replaceChildren(...page.items.map((_, i) => new Option("", String(i))));
  $("how").open = Object.keys(state.texts).length === 0;
  show(state.at, false);
})();
