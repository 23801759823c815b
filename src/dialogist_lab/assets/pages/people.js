"use strict";
// What the pages for raters, annotators and readers share.
const page = JSON.parse(document.getElementById("page").textContent);
const $ = (id) => document.getElementById(id);

// What one person does on one page stays in the browser under ``name``; ``things`` is what is kept.
function keeper(name, things) {
  const store = `dialogist-${name}-${page.page}`;
  let keeps = true;
  return {
    read() {
      try {
        return JSON.parse(localStorage.getItem(store)) || {};
      } catch {
        return {};
      }
    },
    write(values) {
      try {
        localStorage.setItem(store, JSON.stringify(values));
        keeps = true;
      } catch {
        if (keeps) tell(`This browser keeps nothing here: save ${things} before you close the page.`);
        keeps = false;
      }
    },
  };
}
function tell(text, fine) {
  const box = $("message");
  box.textContent = text;
  box.classList.toggle("fine", Boolean(fine));
  box.hidden = text === "";
  if (text) box.scrollIntoView({ block: "nearest" });
}

function showDialogue(turns) {
  const speakers = [];
  $("turns").replaceChildren(...turns.map(([speaker, text]) => turn(speaker, text, speakers)));
  $("scroll").scrollTop = 0;
  $("main").hidden = false;
  $("foot").hidden = false;
}
function turn(speaker, text, speakers) {
  const line = document.createElement("li");
  line.dir = "auto";
  if (speaker) {
    if (!speakers.includes(speaker)) speakers.push(speaker);
    const name = document.createElement("span");
    name.className = "speaker speaker-" + (speakers.indexOf(speaker) % 8);
    name.textContent = speaker;
    line.append(name);
  }
  const words = document.createElement("span");
  words.className = "text";
  words.textContent = text;
  line.append(words);
  return line;
}
function focusTitle() {
  $("how").open = false;
  window.scrollTo(0, 0);
  $("item-title").focus({ preventScroll: true });
}
// Item ``at`` of all items, how many things are done, and the mark of each item in the list to jump.
function showProgress(at, done, total, mark) {
  const bar = document.querySelector(".progress");
  bar.setAttribute("aria-valuemax", total);
  bar.setAttribute("aria-valuenow", done);
  bar.firstElementChild.style.width = (100 * done) / total + "%";
  $("count").textContent = `${done} of ${total}`;
  $("item-title").textContent = `Dialogue ${at + 1} of ${page.items.length}`;
  $("previous").disabled = at === 0;
  if ($("jump").options.length === 0) $("jump").replaceChildren(...page.items.map((_, i) => new Option("", String(i))));
  [...$("jump").options].forEach((option, i) => (option.textContent = `${i + 1}${mark(i)}`));
  $("jump").value = String(at);
}

// A file that is no such thing changes nothing.
function onFile(take, what) {
  $("load").addEventListener("change", (event) => {
    const file = event.target.files[0];
    if (file) file.text().then((text) => take(text, file.name)).catch(() => tell(`${file.name} is no file of ${what}; nothing was changed.`));
    event.target.value = "";
  });
}
function saveFile(text, name, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}
const fileName = (text) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim().replaceAll(" ", "-");
const counted = (count, things) => `${count} ${count === 1 ? things.replace(/ies$/, "y").replace(/s$/, "") : things}`;
