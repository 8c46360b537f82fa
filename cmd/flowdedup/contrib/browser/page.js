// SPDX-License-Identifier: Apache-2.0
// The page: it takes captures, lets a worker run the program, and offers the results.

// LARGE is from how many bytes on a result goes straight into a file that the person chooses.
const LARGE = 256 << 20;
// PAGE is the name under which the program writes its page.
const PAGE = "page.html";

const element = (id) => document.getElementById(id);
const show = (id, visible) => { element(id).hidden = !visible; };

// embedded returns a part of the page that is one file, or null where parts are files.
function embedded(name) {
  const script = document.querySelector(`script[data-part="${name}"]`);
  return script && Uint8Array.from(atob(script.textContent), (c) => c.charCodeAt(0));
}

// part returns the bytes of a part of the page as a Response.
async function part(name) {
  const bytes = embedded(name);
  if (bytes) return new Response(bytes);
  const response = await fetch(name);
  if (!response.ok) throw new Error(`${name} cannot be loaded: ${response.status} ${response.statusText}`);
  return response;
}

// loadProgram compiles the program.
async function loadProgram() {
  const packed = (await part("flowdedup.wasm.gz")).body;
  const plain = new Response(packed.pipeThrough(new DecompressionStream("gzip")), { headers: { "Content-Type": "application/wasm" } });
  return WebAssembly.compileStreaming(plain);
}

// loadWorker returns the address of the worker. A worker of a Blob has the policy of the page; one
// of a file would have none, unless the server sent it.
async function loadWorker() {
  const names = ["files.js", "wasm_exec.js", "worker.js"];
  const texts = await Promise.all(names.map(async (name) => (await part(name)).text()));
  return URL.createObjectURL(new Blob(texts, { type: "text/javascript" }));
}

let program; // promise of what all runs share
let worker; // promise of the address of the worker
let current; // the run that goes on, or null
let captures = []; // {name, file}
const addresses = new Map(); // of Blobs that links lead to, by the links' names

// say tells, to screen readers too, what goes on.
function say(text) { element("status").textContent = text; }

function complain(text) { element("error").textContent = text; }

const percent = (share) => `${Math.floor(share * 100)} %`;

function bytes(n) {
  const units = ["bytes", "kB", "MB", "GB"];
  const i = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(n, 1)) / 3));
  return `${i === 0 ? n : (n / 1000 ** i).toFixed(1)} ${units[i]}`;
}

// run runs a command line on the captures. It returns null if it was cancelled.
async function run(doing, args, outputs, handle) {
  say(doing);
  complain("");
  element("progress").removeAttribute("value");
  element("share").textContent = "";
  show("running", true);
  show("result", false);
  element("clean").inert = true;
  let cancelled = () => {};
  const cancel = new Promise((resolve) => { cancelled = () => resolve(null); });
  const own = { cancel: cancelled };
  current = own;
  try {
    program ??= loadProgram();
    worker ??= loadWorker();
    const ready = await Promise.race([Promise.all([program, worker]), cancel]);
    if (!ready) return null;
    const thread = new Worker(ready[1]);
    const ended = new Promise((resolve, reject) => {
      thread.onmessage = ({ data }) => {
        if (data.progress === undefined) return resolve(data);
        element("progress").value = data.progress;
        element("share").textContent = percent(data.progress);
      };
      thread.onerror = (event) => reject(new Error(event.message || "the worker cannot be started"));
    });
    thread.postMessage({ module: ready[0], args, inputs: captures, outputs, handle });
    try {
      return await Promise.race([ended, cancel]);
    } finally {
      thread.terminate();
    }
  } catch (why) {
    program = worker = undefined; // the next run tries to load them again
    return { failed: why.message };
  } finally {
    if (current === own) current = null;
    show("running", false);
    element("clean").inert = false;
  }
}

// succeeded says how a run went wrong, and reports whether it has a result.
function succeeded(result) {
  if (!result) {
    say("Cancelled.");
    return false;
  }
  const words = (result.failed ?? result.stderr).trim();
  if (!result.whole) {
    say("Failed.");
    complain(words || `The program ended with code ${result.code}.`);
    return false;
  }
  complain(words);
  return true;
}

// offer makes a link save a Blob.
function offer(id, blob, name) {
  if (addresses.has(id)) URL.revokeObjectURL(addresses.get(id));
  addresses.set(id, URL.createObjectURL(blob));
  Object.assign(element(id), { href: addresses.get(id), download: name });
}

// present shows a page of the program. It has no scripts, and may run none.
async function present(blob, name) {
  element("frame").srcdoc = await blob.text();
  offer("save-page", blob, name);
  show("result", true);
}

// fit gives the frame the height of its page, so that one thing scrolls. The scrollHeight would be at
// least the height of the frame, which would grow with each resize.
function fit() {
  const page = element("frame").contentDocument?.documentElement;
  if (page) element("frame").style.height = `${page.offsetHeight + 16}px`;
}

// stem is the name of the first capture without its endings.
const stem = () => captures[0].file.name.replace(/(\.(pcapng|pcap|cap|gz|zst|lz4))+$/i, "") || "capture";

// named gives each file a name that no other has, and that is no flag.
function named(list) {
  const taken = new Set([PAGE]);
  return list.map((file) => {
    let name = file.name.replace(/^-/, "_");
    for (let i = 2; taken.has(name); i++) name = `${i}-${file.name}`;
    taken.add(name);
    return { name, file };
  });
}

// inspect looks at captures that were chosen or dropped.
async function inspect(list) {
  if (list.length === 0) return;
  current?.cancel();
  captures = named([...list]);
  show("clean", false);
  show("save", false);
  const names = captures.map((c) => c.name);
  const size = captures.reduce((sum, c) => sum + c.file.size, 0);
  const own = captures;
  const result = await run(`Reading ${names.join(", ")} (${bytes(size)}).`, ["inspect", "--json", "--html", PAGE, "--", ...names], [PAGE]);
  if (own !== captures || !succeeded(result)) return; // others were dropped meanwhile
  await present(result.blobs[0], `${stem()}-inspect.html`);
  const { verdict, recommendation } = JSON.parse(result.stdout);
  say(`Done: ${verdict}.`.replace(/\.+$/, "."));
  element("advice").textContent = recommendation.dedup ? "These options are recommended for this capture." : "Nothing has to be removed from this capture.";
  element("options").value = recommendation.command.replace(/^flowdedup dedup /, "").replace(/ -w .*$/, "");
  element("output").value = `${stem()}-clean.pcapng`;
  show("clean", true);
}

// chosen asks where a large result goes, where browsers can: undefined for a Blob, null if the
// person has changed their mind.
async function chosen(name) {
  const size = captures.reduce((sum, c) => sum + c.file.size, 0);
  if (size < LARGE || !window.showSaveFilePicker) return undefined;
  try {
    return await window.showSaveFilePicker({ suggestedName: name });
  } catch (why) {
    if (why.name === "AbortError") return null;
    throw why;
  }
}

// clean removes the copies.
async function clean() {
  const options = element("options").value.split(/\s+/).filter(Boolean);
  const name = element("output").value.trim().replaceAll("/", "_");
  const inputs = captures.map((c) => c.name);
  if (inputs.includes(name) || name === PAGE || name === "" || name === "-") {
    complain(`The result needs another name than ${name || "none"}.`);
    return;
  }
  const handle = await chosen(name);
  if (handle === null) return;
  const own = captures;
  const result = await run("Removing copies.", ["dedup", ...options, "-w", name, "--html", PAGE, "--", ...inputs], [name, PAGE], handle);
  if (own !== captures || !succeeded(result)) return;
  await present(result.blobs[1], `${stem()}-dedup.html`);
  show("save", !handle);
  if (!handle) offer("save", result.blobs[0], name);
  say(handle ? `Done: ${handle.name} is saved (${bytes(result.sizes[0])}).` : `Done: ${name} can be saved (${bytes(result.sizes[0])}).`);
}

// Everything is loaded at once, so that nothing is requested when there are captures. The first
// run says what failed.
program = loadProgram();
worker = loadWorker();
Promise.allSettled([program, worker]);

element("files").addEventListener("change", (event) => inspect(event.target.files));
element("cancel").addEventListener("click", () => current?.cancel());
element("clean").addEventListener("submit", (event) => {
  event.preventDefault();
  clean().catch((why) => complain(why.message));
});
element("frame").addEventListener("load", fit);
window.addEventListener("resize", fit);
window.addEventListener("dragover", (event) => {
  event.preventDefault();
  element("drop").classList.add("over");
});
window.addEventListener("dragleave", () => element("drop").classList.remove("over"));
window.addEventListener("drop", (event) => {
  event.preventDefault();
  element("drop").classList.remove("over");
  inspect(event.dataTransfer.files);
});
