import assert from 'node:assert/strict'
import { test } from 'node:test'
import { firstLines, type Hunk, parsePatch } from './patch.ts'

const PATCH = String.raw`diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index abaddc0..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-gone
diff --git a/two words.txt b/two words.txt
index de98044..7b7c6f9 100644
--- a/two words.txt
+++ b/two words.txt
@@ -1,3 +1,4 @@
 a
-b
+B
+-- like a header
 c
\ No newline at end of file
diff --git "a/\303\274\"q.txt" "b/\303\274\"q.txt"
index be761e0..d3b4b91 100644
--- "a/\303\274\"q.txt"
+++ "b/\303\274\"q.txt"
@@ -1 +1 @@
-x
+y
diff --git a/old.txt b/new.txt
similarity index 100%
rename from old.txt
rename to new.txt
`

test('the hunks of a git patch are found by the names that the service gives the files', () => {
  const parts = parsePatch(PATCH)
  assert.deepEqual([...parts.keys()], ['gone.txt', 'two words.txt', 'ü"q.txt', 'new.txt'])
  assert.deepEqual(parts.get('gone.txt')?.hunks[0]?.lines, [{ kind: 'removed', text: 'gone', old_line: 1 }])
  assert.deepEqual(parts.get('two words.txt')?.hunks[0]?.lines, [
    { kind: 'same', text: 'a', old_line: 1, new_line: 1 },
    { kind: 'removed', text: 'b', old_line: 2 },
    { kind: 'added', text: 'B', new_line: 2 },
    { kind: 'added', text: '-- like a header', new_line: 3 },
    { kind: 'same', text: 'c', old_line: 3, new_line: 4 },
    { kind: 'note', text: 'No newline at end of file' },
  ])
  assert.deepEqual(parts.get('new.txt'), { hunks: [] })
})

test('modes are told in words, and lines between hunks are counted', () => {
  const parts = parsePatch(`diff --git a/run b/run
old mode 100644
new mode 100755
diff --git a/stop b/stop
old mode 100755
new mode 100644
diff --git a/new b/new
new file mode 100755
index 0000000..1
--- /dev/null
+++ b/new
@@ -0,0 +1 @@
+a
diff --git a/plain b/plain
new file mode 100644
index 0000000..1
--- /dev/null
+++ b/plain
@@ -0,0 +1 @@
+a
diff --git a/long b/long
index 1..2 100644
--- a/long
+++ b/long
@@ -5 +5,2 @@
-b
+B
+B
@@ -20 +21 @@
-c
+C
`)
  const modes = ['run', 'stop', 'new', 'plain', 'long'].map((path) => parts.get(path)?.mode)
  assert.deepEqual(modes, ['now executable', 'no longer executable', 'executable', undefined, undefined])
  const before = parts.get('long')?.hunks.map(({ unchanged_before, start }) => [unchanged_before, start])
  assert.deepEqual(before, [
    [4, 5],
    [14, 21],
  ])
})

test('hunks that are not cut stay the same objects', () => {
  const hunk = (start: number, count: number): Hunk => ({
    ...{ unchanged_before: 0, start },
    lines: Array.from({ length: count }, (_, index) => ({ kind: 'same', text: String(index) })),
  })
  const hunks = [hunk(1, 3), hunk(10, 4), hunk(20, 5)]
  const shown = firstLines(hunks, 5)
  assert.equal(shown[0], hunks[0])
  assert.deepEqual(
    shown.map(({ lines }) => lines.length),
    [3, 2],
  )
  assert.deepEqual(firstLines(hunks, 3), [hunks[0]])
  assert.deepEqual(firstLines(hunks, 100), hunks)
})
