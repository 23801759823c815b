(() => {
  const kept = keeper("rating", "your answers");
  const form = $("form");
  const groups = [...document.querySelectorAll(".question")];
  const questions = groups.map((group) => group.dataset.question);
  const state = { rater: "", at: 0, answers: {} };

  // What is known: storage and files may hold anything, so only what fits is taken.
  function cleaned(found) {
    const answers = {};
    page.items.forEach((_, number) => {
      const given = (found || {})[number];
      if (typeof given !== "object" || given === null) return;
      const answer = {};
      questions.forEach((q) => {
        if (["first", "equal", "second"].includes(given[q])) answer[q] = given[q];
      });
      const marked = Array.isArray(given.false) ? given.false : [];
      answer.false = ["first", "second"].filter((place) => marked.includes(place));
      answer.note = typeof given.note === "string" ? given.note.slice(0, 2000) : "";
      if (touched(answer)) answers[number] = answer;
    });
    return answers;
  }
  const touched = (a) => questions.some((q) => a[q]) || a.false.length > 0 || a.note !== "";
  const complete = (number) => questions.every((q) => (state.answers[number] || {})[q]);
  const answered = () => page.items.filter((_, number) => complete(number)).length;

  function restore() {
    const found = kept.read();
    state.answers = cleaned(found.answers);
    state.rater = typeof found.rater === "string" ? found.rater : "";
    if (Number.isInteger(found.at) && page.items[found.at]) state.at = found.at;
  }
  const keep = () => kept.write(state);

  function show(number, focus) {
    state.at = number;
    const item = page.items[number];
    showDialogue(item.turns);
    ["first", "second"].forEach((place) => {
      const box = $("text-" + place);
      box.textContent = item[place].trim() === "" ? "(says nothing)" : item[place];
      box.classList.toggle("empty", item[place].trim() === "");
    });
    const answer = state.answers[number] || { false: [], note: "" };
    questions.forEach((q) => form.querySelectorAll(`input[name="${q}"]`).forEach((i) => (i.checked = i.value === answer[q])));
    form.querySelectorAll('input[name="false"]').forEach((i) => (i.checked = answer.false.includes(i.value)));
    form.elements.note.value = answer.note;
    mark(questions.find((q) => !answer[q]) || "");
    $("done").hidden = true;
    refresh();
    keep();
    if (focus) focusTitle();
  }
  function mark(question) {
    groups.forEach((group) => group.classList.toggle("now", group.dataset.question === question));
  }
  function refresh() {
    const count = page.items.length, done = answered();
    showProgress(state.at, done, count, (i) => (complete(i) ? " ✓" : ""));
    $("next").firstChild.textContent = done === count ? "Finish " : "Next ";
    $("next").classList.toggle("quiet", !complete(state.at));
  }

  function take() {
    const answer = { false: [], note: form.elements.note.value };
    questions.forEach((q) => {
      const chosen = form.querySelector(`input[name="${q}"]:checked`);
      if (chosen) answer[q] = chosen.value;
    });
    form.querySelectorAll('input[name="false"]:checked').forEach((i) => answer.false.push(i.value));
    if (touched(answer)) state.answers[state.at] = answer;
    else delete state.answers[state.at];
    refresh();
    keep();
  }
  function open(from) {
    const count = page.items.length;
    for (let step = 0; step < count; step++) if (!complete((from + step) % count)) return (from + step) % count;
    return -1;
  }
  function next() {
    tell("");
    if (open(0) === -1) finish();
    else if (state.at + 1 < page.items.length) show(state.at + 1, true);
    else show(open(0), true); // the last item, and some before it are open
  }
  function previous() {
    tell("");
    if (state.at > 0) show(state.at - 1, true);
  }
  function finish() {
    $("main").hidden = true;
    $("foot").hidden = true;
    $("done").hidden = false;
    $("as-text").value = exported();
    $("done").focus();
  }

  function exported() {
    const { rater, answers } = state;
    const head = { kind: "dialogist rating answers", version: 1, page: page.page, key: page.key };
    return JSON.stringify({ ...head, rater: rater.trim(), answers }, null, 1) + "\n";
  }
  function save() {
    const wanted = state.rater.trim() === "";
    document.querySelector(".name").classList.toggle("wanted", wanted);
    if (wanted) {
      tell("Please enter your name first: it tells your answers from those of others.");
      $("rater").focus();
      return;
    }
    saveFile(exported(), `answers-${fileName(state.rater) || "rater"}.json`, "application/json");
    const missing = page.items.length - answered();
    tell(missing ? `Saved; still open: ${counted(missing, "items")}.` : "Saved.", true);
  }
  function load(text, name) {
    const found = JSON.parse(text);
    if (found.page !== page.page) {
      tell(`${name} holds answers to another page; nothing was changed.`);
      return;
    }
    state.answers = { ...state.answers, ...cleaned(found.answers) };
    state.rater = typeof found.rater === "string" && found.rater ? found.rater : state.rater;
    $("rater").value = state.rater;
    const first = open(0);
    show(first === -1 ? state.at : first, false);
    tell(`${name}: ${answered()} of ${counted(page.items.length, "items")} answered.`, true);
  }

  function key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || $("main").hidden) return;
    const here = event.target;
    if (here.matches('textarea, select, input[type="text"]')) return;
    const choice = { Digit1: "first", Numpad1: "first", Digit2: "second", Numpad2: "second", Digit0: "equal", Numpad0: "equal" }[event.code];
    if (choice && event.shiftKey) {
      const box = form.querySelector(`input[name="false"][value="${choice}"]`);
      if (box) box.click();
    } else if (choice) {
      const now = document.querySelector(".question.now");
      if (now) now.querySelector(`input[value="${choice}"]`).click();
    } else if (event.key === "n" || (event.key === "Enter" && !here.matches("button, summary, label"))) next();
    else if (event.key === "p") previous();
    else return;
    event.preventDefault();
  }

  form.addEventListener("change", (event) => {
    take();
    const group = event.target.closest(".question");
    if (!group) return;
    const rest = questions.slice(questions.indexOf(group.dataset.question) + 1);
    const left = (list) => list.find((q) => !(state.answers[state.at] || {})[q]);
    mark(left(rest) || left(questions) || "");
  });
  form.addEventListener("input", (event) => event.target.name === "note" && take());
  form.addEventListener("focusin", (event) => {
    const group = event.target.closest(".question");
    if (group && event.target.matches(":focus-visible")) mark(group.dataset.question);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", key);
  $("next").addEventListener("click", next);
  $("previous").addEventListener("click", previous);
  $("back").addEventListener("click", () => show(state.at, true));
  $("jump").addEventListener("change", (event) => show(Number(event.target.value), false));
  $("save").addEventListener("click", save);
  $("save-done").addEventListener("click", save);
  onFile(load, "answers");
  $("rater").addEventListener("input", (event) => {
    state.rater = event.target.value;
    document.querySelector(".name").classList.remove("wanted");
    keep();
  });

  restore();
  $("rater").value = state.rater;
  $("how").open = Object.keys(state.answers).length === 0;
  show(state.at, false);
})();
