// What the page can do beyond plain HTML: files, evidence that lights up, editing, copying, keys.
// Text is only ever set as text; nothing that was said becomes HTML.

const find = (selector, within = document) => within.querySelector(selector);
const all = (selector, within = document) => [...within.querySelectorAll(selector)];

for (const part of all(".script")) part.hidden = false;

let fading;
function say(text) {
  const toast = find("#toast");
  toast.textContent = text;
  toast.classList.add("on");
  clearTimeout(fading);
  fading = setTimeout(() => toast.classList.remove("on"), 1800);
}

// The first key comes behind "#", which no server and no log ever sees.
const login = find("#login");
if (login && location.hash.startsWith("#key=")) {
  find("#key").value = decodeURIComponent(location.hash.slice(5));
  history.replaceState(null, "", location.pathname);
  login.submit();
}

const ask = find("#ask");
if (ask) {
  const text = find("#text"), file = find("#file"), drop = find("#drop");
  const take = async (chosen) => {
    if (!chosen) return;
    text.value = await chosen.text();
    say(`${chosen.name} is read`);
    text.focus();
  };
  find("#choose").addEventListener("click", () => file.click());
  file.addEventListener("change", () => take(file.files[0]));
  for (const name of ["dragover", "dragleave", "drop"]) {
    drop.addEventListener(name, (event) => {
      if (![...event.dataTransfer.types].includes("Files")) return;
      event.preventDefault();
      drop.classList.toggle("over", name === "dragover");
      if (name === "drop") take(event.dataTransfer.files[0]);
    });
  }
  text.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) ask.requestSubmit();
  });
}

const list = find("#statements");
if (list) review(list);

function review(list) {
  const marks = all("mark");
  const statements = all(".statement", list);
  const first = new Map(statements.map((one) => [one, said(one).textContent]));
  const kinds = new Map(statements.map((one) => [one, find(".kind", one).cloneNode(true)]));
  const summary = find("#as-json").value;
  let current = null;
  let pinned = null;

  function said(statement) { return find(".said", statement); }
  function marksOf(statement) {
    return marks.filter((mark) => mark.dataset.by.split(" ").includes(statement.dataset.number));
  }

  // Evidence, both ways. What was clicked or is focused stays lit; pointing shows more for a while.
  function light(lit, follow) {
    for (const one of statements) one.classList.toggle("lit", lit.includes(one));
    const shown = lit.flatMap(marksOf);
    for (const mark of marks) mark.classList.toggle("lit", shown.includes(mark));
    if (follow && shown.length) reveal(shown[0]);
  }
  function reveal(mark) {
    const turns = find("#turns");
    if (turns.scrollHeight <= turns.clientHeight) return;
    const top = mark.getBoundingClientRect().top - turns.getBoundingClientRect().top;
    if (top < 0 || top > turns.clientHeight - 60) turns.scrollTop += top - turns.clientHeight / 3;
  }
  const rest = () => light(pinned ? [pinned] : [], false);
  function choose(statement) {
    current = pinned = statement;
    light([statement], true);
  }
  for (const statement of statements) {
    statement.addEventListener("mouseenter", () => light([statement], true));
    statement.addEventListener("mouseleave", rest);
    statement.addEventListener("focusin", () => choose(statement));
    statement.addEventListener("click", () => choose(statement));
  }
  for (const mark of marks) {
    const of = () => statements.filter((one) => mark.dataset.by.split(" ").includes(one.dataset.number));
    mark.addEventListener("mouseenter", () => light(of(), false));
    mark.addEventListener("mouseleave", rest);
    mark.addEventListener("click", () => {
      const [one] = of();
      choose(one);
      one.scrollIntoView({ block: "nearest", behavior: "smooth" });
    });
  }

  // Editing. The form's text is always what the statements say: it works without this script, too.
  function lines() {
    return all(".statement:not(.gone)", list).map((one) => said(one).textContent.replace(/\s+/g, " ").trim());
  }
  function keep() {
    const now = lines().filter(Boolean);
    const isEdited = now.join("\n") !== find("[name=before]").value;
    find("#after").value = now.join("\n");
    find("#as-text").value = now.join("\n");
    find("#as-markdown").value = now.map((line) => `- ${line}`).join("\n");
    const whole = JSON.parse(summary);
    find("#as-json").value = isEdited ? JSON.stringify({ ...whole, edited: now.join("\n") }, null, 2) : summary;
    for (const one of statements) {
      const text = said(one).textContent;
      const isChanged = text !== first.get(one);
      const kind = text === one.dataset.quote ? "quoted" : "edited";
      find(".kind", one).textContent = isChanged ? kind : kinds.get(one).textContent;
      find(".kind", one).className = isChanged ? `kind ${kind}` : kinds.get(one).className;
      find("[data-do=undo]", one).hidden = !isChanged && !one.classList.contains("gone");
    }
  }
  function edit(statement) {
    const text = said(statement);
    text.contentEditable = "plaintext-only";
    if (text.contentEditable !== "plaintext-only") text.contentEditable = "true";
    text.setAttribute("role", "textbox");
    text.setAttribute("aria-label", "Statement");
    text.focus();
    getSelection().selectAllChildren(text);
    getSelection().collapseToEnd();
  }
  function stop(text) {
    text.textContent = text.textContent.replace(/\s+/g, " ").trim();
    for (const name of ["contenteditable", "role", "aria-label"]) text.removeAttribute(name);
    keep();
  }
  const actions = {
    edit,
    quote(statement) { if (statement.dataset.quote) said(statement).textContent = statement.dataset.quote; },
    remove(statement) { statement.classList.add("gone"); },
    up(statement) {
      const before = statement.previousElementSibling;
      if (before?.classList.contains("statement")) before.before(statement);
      statement.focus();
    },
    undo(statement) {
      statement.classList.remove("gone");
      said(statement).textContent = first.get(statement);
    },
  };
  function act(name, statement) {
    actions[name](statement);
    if (name !== "edit") keep();
  }
  list.addEventListener("click", (event) => {
    const button = event.target.closest("[data-do]");
    if (button) act(button.dataset.do, button.closest(".statement"));
  });
  list.addEventListener("dblclick", (event) => {
    if (event.target.classList.contains("said")) edit(event.target.closest(".statement"));
  });
  list.addEventListener("focusout", (event) => {
    if (event.target.isContentEditable) stop(event.target);
  });
  list.addEventListener("keydown", (event) => {
    if (!event.target.isContentEditable) return;
    if (event.key === "Escape") event.target.textContent = first.get(event.target.closest(".statement"));
    if (event.key === "Enter" || event.key === "Escape") {
      event.preventDefault();
      event.target.closest(".statement").focus();
    }
  });

  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      const field = find(`#as-${button.dataset.copy}`);
      try {
        await navigator.clipboard.writeText(field.value);
        say("Copied");
      } catch {
        find("#forms").open = true;
        field.select();
        say("Press Ctrl+C to copy");
      }
    });
  }

  document.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    const shown = all(".statement", list);
    const place = shown.indexOf(current);
    if (event.key === "j") shown[Math.min(place + 1, shown.length - 1)]?.focus();
    else if (event.key === "k") shown[Math.max(place - 1, 0)]?.focus();
    else if (event.key === "a") find("#approve .main").focus();
    else if (current && "equx".includes(event.key)) {
      act({ e: "edit", q: "quote", u: "undo", x: "remove" }[event.key], current);
    } else return;
    event.preventDefault();
  });
}

function isTyping(event) {
  const { target } = event;
  const isField = target.isContentEditable || ["INPUT", "TEXTAREA", "SELECT"].includes(target.tagName);
  return isField || event.ctrlKey || event.metaKey || event.altKey;
}

const queue = find("#queue");
if (queue) {
  document.addEventListener("keydown", (event) => {
    if (isTyping(event)) return;
    const links = all("a", queue);
    const place = links.indexOf(document.activeElement);
    if (event.key === "j") links[Math.min(place + 1, links.length - 1)].focus();
    if (event.key === "k") links[Math.max(place - 1, 0)].focus();
  });
}
