// SPDX-License-Identifier: Apache-2.0
// The worker runs one command line of flowdedup, and ends. The page ends it to cancel.
"use strict";

const PAUSE = 100; // milliseconds between two reports of progress

// progress returns what counts the bytes that are read of all captures, and reports them.
function progress(inputs) {
  const total = inputs.reduce((sum, input) => sum + input.file.size, 0);
  const read = inputs.map(() => 0);
  let last = 0;
  return (i) => (to) => {
    read[i] = Math.max(read[i], to);
    const now = Date.now();
    if (now - last < PAUSE || total === 0) return;
    last = now;
    postMessage({ progress: read.reduce((sum, n) => sum + n, 0) / total });
  };
}

// run runs the program, and returns its exit code, what it printed, and its outputs as Blobs.
async function run({ module, args, inputs, outputs, handle }) {
  const files = new Files();
  globalThis.fs = files;
  globalThis.process = { ...globalThis.process, cwd: () => "/" };
  const report = progress(inputs);
  inputs.forEach(({ name, file }, i) => files.add(name, new Capture(file, report(i))));
  const stream = handle && (await handle.createWritable());
  const made = outputs.map((name, i) => files.add(name, new Output(i === 0 ? stream : undefined)));
  const go = new Go();
  let code = 0;
  go.argv = ["flowdedup", ...args];
  go.exit = (status) => {
    code = status;
    // A timer that the program left would fail, and the run with it.
    go._scheduledTimeouts.forEach((timer) => clearTimeout(timer));
  };
  await go.run(await WebAssembly.instantiate(module, go.importObject));
  // A result is saved if there is all that could be read.
  const whole = code === 0 || code === 3;
  if (stream) await (whole ? stream.close() : stream.abort());
  return {
    code, whole, stdout: await files.printed(1), stderr: await files.printed(2),
    sizes: made.map((output) => output.size),
    blobs: made.map((output) => (output.stream ? null : output.blob("application/octet-stream"))),
  };
}

onmessage = (event) => run(event.data).then(postMessage, (why) => postMessage({ failed: String(why.message ?? why) }));
