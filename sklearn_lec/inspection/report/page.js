// The list of samples, and what a person decides on them. All texts of the data reach the page as text, never as HTML.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const data = JSON.parse($("data").textContent);
  const { samples, classes, content } = data;
  const n = samples.number.length;
  const STORE = "sklearn-lec:" + data.digest;
  const WORDS = { keep: "kept", change: "changed", drop: "dropped" };
  // What a sample would be changed to: the suggestion, or else a prediction that differs from the label.
  const other = samples.suggested.map((label, k) =>
    label >= 0 ? label : samples.predicted[k] !== samples.given[k] ? samples.predicted[k] : -1);

  let decisions = load(); // from the number of a sample to [decision, new label or -1, given label]
  let undone = []; // what to go back to: [position, decision before]
  let view = Int32Array.from({ length: n }, (_, k) => k);
  let at = 0; // the place of the selected sample in the view
  let sort = { key: "quality", down: false };

  // --- elements ---

  function element(tag, name, text) {
    const made = document.createElement(tag);
    if (name) made.className = name;
    if (text !== undefined) made.textContent = text;
    return made;
  }

  function label(code) {
    const made = element("bdi", "label", code >= 0 ? classes[code].text : undefined);
    made.dir = "auto";
    return made;
  }

  function decisionOf(k) {
    return decisions[samples.number[k]];
  }

  function nameOf(k) {
    return "Sample " + samples.number[k];
  }

  // --- thumbnails: parts of large images, which are decoded when they are first seen ---

  const sheets = new Map();

  function sheet(number) {
    if (!sheets.has(number)) {
      const characters = atob($("sheet-" + number).textContent);
      const bytes = new Uint8Array(characters.length);
      for (let k = 0; k < bytes.length; k++) bytes[k] = characters.charCodeAt(k);
      sheets.set(number, URL.createObjectURL(new Blob([bytes], { type: content.mime })));
    }
    return sheets.get(number);
  }

  function thumbnail(k, side) {
    const made = element("span", "thumb");
    const scale = side / Math.max(content.width, content.height);
    const [row, column] = [Math.floor((k % content.across ** 2) / content.across), k % content.across];
    const [width, height] = [content.cell_width * scale, content.cell_height * scale];
    made.classList.toggle("pixels", content.width <= 16); // larger ones are easier to recognize if they are smooth
    made.style.width = content.width * scale + "px";
    made.style.height = content.height * scale + "px";
    made.style.backgroundImage = `url(${sheet(Math.floor(k / content.across ** 2))})`;
    made.style.backgroundSize = `${width * content.across}px ${height * content.across}px`;
    made.style.backgroundPosition = `${-column * width}px ${-row * height}px`;
    made.setAttribute("role", "img");
    made.setAttribute("aria-label", "Image of sample " + samples.number[k]);
    return made;
  }

  function feature(entry) {
    return content.names ? content.names[entry[0]] : "feature " + entry[0];
  }

  // --- the list: only the rows that can be seen are there ---

  const viewport = $("viewport");
  const canvas = $("canvas");
  const ROW = 60;

  function row(place) {
    const k = view[place];
    const made = element("div", "row");
    made.id = "row-" + samples.number[k];
    made.setAttribute("role", "option");
    made.setAttribute("aria-selected", place === at);
    made.setAttribute("aria-posinset", place + 1);
    made.setAttribute("aria-setsize", view.length);
    made.style.top = place * ROW + "px";
    made.dataset.place = place;
    const who = element("span", "who");
    if (content.kind === "image") who.append(thumbnail(k, 48));
    const words = element("span");
    const number = element("span", "number", "#" + samples.number[k]);
    if (samples.name) number.append(" ", Object.assign(element("bdi", "", samples.name[k]), { dir: "auto" }));
    words.append(number);
    if (content.kind === "text") words.append(snippet(content.texts[k]));
    if (content.kind === "table" && content.values[k].length) {
      const first = content.values[k][0];
      words.append(snippet(`${feature(first)}: ${first[1]}`));
    }
    who.append(words);
    const given = element("span", "given");
    given.append(label(samples.given[k]));
    const suggested = element("span", "other");
    if (other[k] >= 0) suggested.append(label(other[k]));
    made.append(who, given, suggested, meter(k), badge(k));
    return made;
  }

  function snippet(text) {
    const made = element("span", "text", text);
    made.dir = "auto";
    return made;
  }

  function quality(k) {
    const value = samples.quality[k];
    return value === null ? "" : value < 0.001 ? "< 0.001" : value.toFixed(3);
  }

  function meter(k) {
    const made = element("span", "meter", quality(k));
    const bar = element("i");
    const full = element("b", samples.issue[k] ? "bad" : "");
    full.style.width = 100 * (samples.quality[k] ?? 0) + "%";
    bar.append(full);
    made.append(bar);
    return made;
  }

  function badge(k) {
    const decision = decisionOf(k);
    if (!decision) return element("span", "badge soft", samples.issue[k] ? "suspect" : "");
    const made = element("span", "badge " + decision[0], decision[0] === "change" ? "→ " : WORDS[decision[0]]);
    if (decision[0] === "change") made.append(element("bdi", "", classes[decision[1]].text));
    return made;
  }

  function render() {
    canvas.style.height = view.length * ROW + "px";
    const first = Math.max(0, Math.floor(viewport.scrollTop / ROW) - 4);
    const last = Math.min(view.length, Math.ceil((viewport.scrollTop + viewport.clientHeight) / ROW) + 4);
    const rows = [];
    for (let place = first; place < last; place++) rows.push(row(place));
    canvas.replaceChildren(...rows);
    const selected = view.length ? "row-" + samples.number[view[at]] : "";
    viewport.setAttribute("aria-activedescendant", selected);
  }

  // --- the selected sample ---

  function detail() {
    const none = view.length === 0;
    for (const id of ["keep", "accept", "drop", "change", "target"]) $(id).disabled = none;
    $("undo").disabled = undone.length === 0;
    const box = $("content");
    box.replaceChildren();
    for (const id of ["name", "labels", "figures", "decided"]) $(id).replaceChildren();
    if (none) {
      $("name").textContent = "No sample is left by these filters";
      return;
    }
    const k = view[at];
    const narrow = matchMedia("(max-width: 860px)").matches;
    box.classList.toggle("broad", content.kind !== "image");
    if (content.kind === "image") box.append(thumbnail(k, narrow ? 96 : 240));
    if (content.kind === "text") {
      const text = element("p", "text", content.texts[k]);
      text.dir = "auto";
      text.tabIndex = 0;
      box.append(text);
    }
    if (content.kind === "table") box.append(features(k));
    $("name").textContent = nameOf(k);
    if (samples.name) $("name").append(" · ", Object.assign(element("bdi", "", samples.name[k]), { dir: "auto" }));
    $("labels").append("labelled ", label(samples.given[k]));
    if (other[k] >= 0) $("labels").append(samples.suggested[k] >= 0 ? ", suggested: " : ", predicted: ", label(other[k]));
    const figures = [`quality ${quality(k)}`];
    if (samples.probability[k] !== null && samples.predicted[k] >= 0) {
      figures.push(`predicted with ${(100 * samples.probability[k]).toFixed(1)} %`);
    }
    if (samples.clean[k] !== null) figures.push(`learned from in ${(100 * samples.clean[k]).toFixed(0)} % of the epochs`);
    $("figures").textContent = figures.join(" · ");
    const decision = decisionOf(k);
    if (decision) {
      $("decided").className = "decided " + decision[0];
      $("decided").textContent = decision[0] === "change" ? "changed to " : WORDS[decision[0]];
      if (decision[0] === "change") $("decided").append(label(decision[1]));
    }
    $("accept").disabled = other[k] < 0;
    $("accept-text").replaceChildren("Change");
    if (other[k] >= 0) $("accept-text").append(" to ", element("bdi", "", classes[other[k]].text));
    $("accept").title = $("accept-text").textContent;
    $("target").value = decision && decision[0] === "change" ? decision[1] : Math.max(0, other[k]);
  }

  function features(k) {
    const table = element("table", "features");
    const head = table.createTHead().insertRow();
    for (const title of ["feature", "value", "usual for this label"]) {
      head.append(Object.assign(element("th", "", title), { scope: "col" }));
    }
    const body = table.createTBody();
    for (const entry of content.values[k]) {
      const line = body.insertRow();
      for (const text of [feature(entry), entry[1], entry[2]]) {
        line.insertCell().append(Object.assign(element("bdi", "", text), { dir: "auto" }));
      }
    }
    return table;
  }

  function select(place, { scroll = true } = {}) {
    at = Math.max(0, Math.min(view.length - 1, place));
    if (scroll) {
      const top = at * ROW;
      if (top < viewport.scrollTop) viewport.scrollTop = top;
      if (top + ROW > viewport.scrollTop + viewport.clientHeight) viewport.scrollTop = top + ROW - viewport.clientHeight;
    }
    render();
    detail();
  }

  // --- sort and filter ---

  const RANK = { keep: 1, change: 2, drop: 3 };
  const keys = {
    number: (k) => samples.number[k],
    given: (k) => samples.given[k],
    other: (k) => (other[k] < 0 ? classes.length : other[k]),
    quality: (k) => samples.quality[k] ?? 2,
    decision: (k) => RANK[decisionOf(k)?.[0]] ?? 0,
  };
  let texts = null; // what a search looks at, made when there is one

  function searched(k) {
    const words = ["#" + samples.number[k], classes[samples.given[k]]?.text ?? ""];
    if (other[k] >= 0) words.push(classes[other[k]].text);
    if (samples.name) words.push(samples.name[k]);
    if (content.kind === "text") words.push(content.texts[k]);
    if (content.kind === "table") for (const entry of content.values[k]) words.push(feature(entry), entry[1]);
    return words.join("\n").toLowerCase();
  }

  function isShown() {
    const status = $("status").value;
    const [given, suggested] = [Number($("given").value), Number($("other").value)];
    const low = $("low").value === "" ? -Infinity : Number($("low").value);
    const high = $("high").value === "" ? Infinity : Number($("high").value);
    const word = $("search").value.trim().toLowerCase();
    if (word && !texts) texts = samples.number.map((_, k) => searched(k));
    return (k) => {
      const decision = decisionOf(k)?.[0];
      if (status === "issue" && !samples.issue[k]) return false;
      if (status === "open" && decision) return false;
      if (status === "decided" && !decision) return false;
      if (status in RANK && decision !== status) return false;
      if (given >= 0 && samples.given[k] !== given) return false;
      if (suggested >= 0 && other[k] !== suggested) return false;
      if (!(samples.quality[k] >= low && samples.quality[k] <= high)) return false;
      return !word || texts[k].includes(word);
    };
  }

  function update({ keepPlace = false } = {}) {
    const before = view.length ? view[at] : -1;
    const test = isShown();
    const found = [];
    for (let k = 0; k < n; k++) if (test(k)) found.push(k);
    const values = new Float64Array(n);
    for (const k of found) values[k] = keys[sort.key](k);
    const sign = sort.down ? -1 : 1;
    found.sort((a, b) => sign * (values[a] - values[b]) || a - b);
    view = Int32Array.from(found);
    for (const head of $("heads").children) {
      const isOn = head.dataset.sort === sort.key;
      head.dataset.order = isOn ? (sort.down ? "down" : "up") : "";
      head.setAttribute("aria-pressed", isOn);
      head.setAttribute("aria-label", `Sort by ${head.textContent.toLowerCase()}` +
        (isOn ? `, now ${sort.down ? "descending" : "ascending"}` : ""));
    }
    const all = data.n_samples > n ? ` (the most suspect of ${data.n_samples.toLocaleString("en")})` : "";
    $("found").textContent = `${view.length.toLocaleString("en")} of ${n.toLocaleString("en")} samples${all}`;
    const place = view.indexOf(before);
    select(keepPlace ? Math.max(0, place) : 0);
  }

  function sortBy(key, down) {
    sort = { key, down };
    const value = (down ? "-" : "") + key;
    $("sort").value = [...$("sort").options].some((option) => option.value === value) ? value : key;
    viewport.scrollTop = 0;
    update();
  }

  // --- decisions ---

  function load() {
    try {
      return JSON.parse(localStorage.getItem(STORE)) ?? {};
    } catch {
      return {};
    }
  }

  function save() {
    try {
      localStorage.setItem(STORE, JSON.stringify(decisions));
    } catch {
      $("notice").textContent = "This browser does not keep your decisions: download them before you leave the page.";
      $("notice").hidden = false;
    }
    progress();
  }

  function progress() {
    const count = Object.keys(decisions).length;
    $("progress").textContent = `${count.toLocaleString("en")} decided`;
    $("download").disabled = count === 0;
  }

  function put(k, decision) {
    if (decision) decisions[samples.number[k]] = decision;
    else delete decisions[samples.number[k]];
    save();
  }

  function dependsOnDecisions() {
    return sort.key === "decision" || ["open", "decided", ...Object.keys(RANK)].includes($("status").value);
  }

  function decide(kind, to = -1) {
    if (!view.length || (kind === "change" && to < 0)) return;
    const k = view[at];
    undone.push([k, decisionOf(k)]);
    put(k, [kind, kind === "change" ? to : -1, samples.given[k]]);
    const next = view[Math.min(at + 1, view.length - 1)];
    if (dependsOnDecisions()) {
      const place = at;
      update();
      select(view.indexOf(next) >= 0 ? view.indexOf(next) : place);
    } else {
      select(at + 1);
    }
    const said = kind === "change" ? `changed to ${classes[to].text}` : WORDS[kind];
    say(`${nameOf(k)} ${said}.`);
  }

  function undo() {
    if (!undone.length) return;
    const [k, before] = undone.pop();
    put(k, before);
    if (dependsOnDecisions()) update();
    const place = view.indexOf(k);
    select(place >= 0 ? place : at);
    say(`Undone: ${nameOf(k)}.`);
  }

  function say(text) {
    const next = view.length ? ` Now ${nameOf(view[at])}, labelled ${classes[samples.given[view[at]]]?.text}.` : "";
    $("announce").textContent = text + next;
  }

  function csv() {
    const quoted = (cell) => `"${String(cell).replaceAll('"', '""')}"`;
    const lines = [["sample", "n_samples", "given_label", "decision", "new_label"]];
    for (const number of Object.keys(decisions).sort((a, b) => a - b)) {
      const [kind, to, given] = decisions[number];
      lines.push([number, data.n_samples, classes[given].cell, kind, kind === "change" ? classes[to].cell : ""]);
    }
    return "\ufeff" + lines.map((line) => line.map(quoted).join(",") + "\r\n").join("");
  }

  function download() {
    const link = element("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv" }));
    link.download = "decisions.csv";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    say("The decisions were downloaded as decisions.csv.");
  }

  // --- events ---

  const change = () => decide("change", Number($("target").value));
  const accept = () => (view.length && other[view[at]] >= 0 ? decide("change", other[view[at]]) : $("target").focus());
  $("keep").addEventListener("click", () => decide("keep"));
  $("accept").addEventListener("click", accept);
  $("drop").addEventListener("click", () => decide("drop"));
  $("undo").addEventListener("click", undo);
  $("change").addEventListener("click", change);
  $("download").addEventListener("click", download);
  $("form").addEventListener("input", (event) => {
    if (event.target.id === "sort") sortBy(event.target.value.replace("-", ""), event.target.value.startsWith("-"));
    else {
      viewport.scrollTop = 0;
      update();
    }
  });
  $("form").addEventListener("submit", (event) => event.preventDefault());
  $("form").addEventListener("reset", () => setTimeout(() => sortBy("quality", false)));
  $("heads").addEventListener("click", (event) => {
    const key = event.target.dataset.sort;
    if (key) sortBy(key, sort.key === key && !sort.down);
  });
  viewport.addEventListener("scroll", () => requestAnimationFrame(render), { passive: true });
  new ResizeObserver(() => select(at, { scroll: false })).observe(viewport);
  canvas.addEventListener("click", (event) => {
    const clicked = event.target.closest(".row");
    if (clicked) select(Number(clicked.dataset.place));
  });
  window.addEventListener("storage", (event) => {
    if (event.key !== STORE) return;
    decisions = load();
    progress();
    update({ keepPlace: true });
  });

  const page = () => Math.max(1, Math.floor(viewport.clientHeight / ROW) - 1);
  const actions = {
    ArrowDown: () => select(at + 1),
    ArrowUp: () => select(at - 1),
    n: () => select(at + 1),
    j: () => select(at + 1),
    p: () => select(at - 1),
    PageDown: () => select(at + page()),
    PageUp: () => select(at - page()),
    Home: () => select(0),
    End: () => select(view.length - 1),
    k: () => decide("keep"),
    c: accept,
    o: () => $("target").focus(),
    d: () => decide("drop"),
    u: undo,
    "/": () => {
      $("filters").open = true;
      $("search").focus();
    },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || $("review").hidden) return;
    const typing = event.target.matches("input, select, [role=tab]");
    if (typing) {
      if (event.key === "Enter" && event.target.id === "target") change();
      else if (event.key !== "Escape") return;
      event.preventDefault();
      viewport.focus();
      return;
    }
    const scrolls = event.key.length > 1 && event.target.closest(".text, .filters");
    if (scrolls || !(event.key in actions)) return;
    event.preventDefault();
    actions[event.key]();
  });

  const tabs = [$("tab-review"), $("tab-overview")];
  function open(tab) {
    for (const one of tabs) {
      one.setAttribute("aria-selected", one === tab);
      one.tabIndex = one === tab ? 0 : -1;
      $(one.getAttribute("aria-controls")).hidden = one !== tab;
    }
    if (tab === tabs[0]) select(at);
  }
  for (const tab of tabs) {
    tab.addEventListener("click", () => open(tab));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      const next = tabs[1 - tabs.indexOf(tab)];
      next.focus();
      open(next);
    });
  }

  // --- the beginning ---

  for (const id of ["given", "other", "target"]) {
    const options = classes.map((one, code) => Object.assign(element("option", "", one.text), { value: code }));
    $(id).append(...options);
  }
  if (matchMedia("(max-width: 860px)").matches) $("filters").open = false;
  sortBy("quality", false);
  progress();
  viewport.focus({ preventScroll: true });
})();
