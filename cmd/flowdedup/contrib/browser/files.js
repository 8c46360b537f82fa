// SPDX-License-Identifier: Apache-2.0
// The files that the program sees in a worker, in the form that Go's wasm_exec.js asks for: that
// of Node's fs. There are the captures to read, and the outputs, which are like devices: the
// program writes them from start to end, and they have no other names. Nothing else exists, and
// nothing can be created.
"use strict";

const AHEAD = 4 << 20; // bytes that are read of a capture at once
const GATHER = 4 << 20; // bytes that are written to a Blob at once

const failure = (code) => Object.assign(new Error(code), { code });

// Capture reads a File of the browser, piece by piece.
class Capture {
  constructor(file, onRead) {
    this.file = file;
    this.onRead = onRead; // called with the position behind what was read
    this.mode = 0o100444;
    this.start = 0;
    this.ahead = new Uint8Array(0);
  }

  get size() { return this.file.size; }

  // has returns the bytes that are there from a position on, or null if they have to be read.
  has(at) {
    const from = at - this.start;
    return from >= 0 && from < this.ahead.length ? this.ahead.subarray(from) : null;
  }

  async load(at) {
    const bytes = new Uint8Array(await this.file.slice(at, at + AHEAD).arrayBuffer());
    this.start = at;
    this.ahead = bytes;
  }
}

// Output takes what the program writes: into a stream to a file, or into Blobs, which browsers
// can keep on disk.
class Output {
  constructor(stream) {
    this.stream = stream;
    this.mode = 0o020666;
    this.size = 0;
    this.parts = [];
    this.pending = [];
    this.waiting = 0;
  }

  async write(bytes) {
    this.size += bytes.length;
    if (this.stream) return this.stream.write(bytes);
    this.pending.push(bytes);
    this.waiting += bytes.length;
    if (this.waiting >= GATHER) this.gather();
  }

  gather() {
    this.parts.push(new Blob(this.pending));
    this.pending = [];
    this.waiting = 0;
  }

  blob(type) {
    this.gather();
    return new Blob(this.parts, { type });
  }
}

// Files is what wasm_exec.js calls fs. Names are those of one folder.
class Files {
  constructor() {
    this.constants = { O_WRONLY: 1, O_RDWR: 2, O_CREAT: 64, O_EXCL: 128, O_TRUNC: 512, O_APPEND: 1024, O_DIRECTORY: 65536 };
    this.named = new Map();
    this.opened = new Map([1, 2].map((fd) => [fd, { file: new Output(), at: 0 }]));
    this.next = 3;
    for (const name of ["chmod", "chown", "fchmod", "fchown", "ftruncate", "lchown", "link", "mkdir", "readlink", "rename", "rmdir", "symlink", "truncate", "unlink", "utimes"]) {
      this[name] = (...args) => args.at(-1)(failure("EROFS"));
    }
    this.folder = { mode: 0o040555, size: 0 };
  }

  add(name, file) {
    this.named.set(name, file);
    return file;
  }

  // printed returns what was written to standard output (1) or standard error (2).
  printed(fd) { return this.opened.get(fd).file.blob("text/plain").text(); }

  find(path) {
    const name = path.replace(/^(\.?\/)+/, "");
    return name === "" || name === "." ? this.folder : this.named.get(name);
  }

  describe(file) {
    const inode = 1 + [...this.named.values()].indexOf(file);
    return {
      dev: 1, ino: inode, mode: file.mode, nlink: 1, uid: 0, gid: 0, rdev: 0, size: file.size, blksize: 4096,
      blocks: Math.ceil(file.size / 512), atimeMs: 0, mtimeMs: 0, ctimeMs: 0, isDirectory: () => file === this.folder,
    };
  }

  open(path, flags, mode, done) {
    const file = this.find(path);
    if (!file) return done(failure(flags & this.constants.O_CREAT ? "EROFS" : "ENOENT"));
    const writes = (flags & 3) !== 0;
    if (writes && !(file instanceof Output)) return done(failure("EROFS"));
    this.opened.set(this.next, { file, at: 0 });
    done(null, this.next++);
  }

  close(fd, done) { done(this.opened.delete(fd) ? null : failure("EBADF")); }

  stat(path, done) {
    const file = this.find(path);
    file ? done(null, this.describe(file)) : done(failure("ENOENT"));
  }

  lstat(path, done) { this.stat(path, done); }

  fstat(fd, done) {
    const open = this.opened.get(fd);
    open ? done(null, this.describe(open.file)) : done(failure("EBADF"));
  }

  fsync(fd, done) { done(null); }

  readdir(path, done) { done(null, [...this.named.keys()]); }

  read(fd, buffer, offset, length, position, done) {
    if (fd === 0) return done(null, 0);
    const open = this.opened.get(fd);
    if (!open || !(open.file instanceof Capture)) return done(failure("EBADF"));
    const at = position ?? open.at;
    const give = (bytes) => {
      const some = bytes.subarray(0, length);
      buffer.set(some, offset);
      if (position === null) open.at += some.length;
      open.file.onRead(at + some.length);
      done(null, some.length);
    };
    if (at >= open.file.size || length === 0) return done(null, 0);
    const there = open.file.has(at);
    if (there) return give(there);
    // The file may have changed since it was chosen: the browser reads no more of it then.
    open.file.load(at).then(() => {
      const loaded = open.file.has(at);
      loaded ? give(loaded) : done(failure("EIO"));
    }, () => done(failure("EIO")));
  }

  write(fd, buffer, offset, length, position, done) {
    const open = this.opened.get(fd);
    if (!open || !(open.file instanceof Output)) return done(failure("EBADF"));
    if (position !== null && position !== open.at) return done(failure("ESPIPE"));
    open.at += length;
    open.file.write(buffer.subarray(offset, offset + length)).then(() => done(null, length), (why) => done(failure(why.name === "QuotaExceededError" ? "ENOSPC" : "EIO")));
  }

  // writeSync is for the last words of the Go runtime.
  writeSync(fd, buffer) {
    const file = this.opened.get(fd).file;
    file.pending.push(buffer.slice());
    return buffer.length;
  }
}
