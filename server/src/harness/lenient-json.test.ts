import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readLenientJson } from './lenient-json.ts'

test('what models write in place of JSON is read as it is meant', () => {
  for (const [text, value] of [
    ['{"command":"echo tc",}', { command: 'echo tc' }],
    ['{"edits":[{"old_text":"a","new_text":"b",},],}', { edits: [{ old_text: 'a', new_text: 'b' }] }],
    // A line end, and a tab, as they are in the middle of a string.
    ['{"content":"a\n\tb"}', { content: 'a\n\tb' }],
    ['{"command":"make \\\n  all"}', { command: 'make \\\n  all' }],
    // Python's way to print a dictionary.
    [
      "{'command': 'echo \"x\"', 'background': False, 'cwd': None}",
      { command: 'echo "x"', background: false, cwd: null },
    ],
    ["{command: 'it\\'s'}", { command: "it's" }],
    ['```json\n{"path": "a"}\n```', { path: 'a' }],
    [' {"a": [1, -2.5e3, true, null, "\\u00e9\\n"]} ', { a: [1, -2500, true, null, 'é\n'] }],
    ['{"__proto__": {"x": 1}, }', JSON.parse('{"__proto__": {"x": 1}}')],
  ] as const)
    assert.deepEqual(readLenientJson(text), { value }, text)
})

test('what was cut, or may be meant in two ways, is a problem that names its place', () => {
  for (const [text, problem] of [
    ['{"path":"big.txt","content":"aaaa', /inside the string that begins \(line 1, column 29/],
    ['{"path":"a",', /in double quotes.*\(line 1, column 13, where the text ends: was it cut\?\)/],
    ['{"edits":[{"a":1}', /expected , or \].*where the text ends/],
    ['{"command":', /expected a value \(line 1, column 12, where the text ends/],
    ['', /expected a value/],
    ['{"pattern":"foo\\d+"}', /a backslash is written \\\\ in JSON \(line 1, column 16, at "\\\\d\+/],
    ['{"command":"echo "hi""}', /expected , or }.*\\".*column 19, at "hi/],
    ['{"a":1}{"b":2}', /complete, but more text follows \(line 1, column 8/],
    ['{"a":1,\n "b":2 "c":3}', /\(line 2, column 8, at "\\"c/],
    ['{"a": yes}', /expected a value \(line 1, column 7, at "yes/],
    ['{"a": 1.}', /expected a value/],
    ['I will now run it.', /expected a value \(line 1, column 1/],
    ['['.repeat(100_000), /nested more than 64 levels/],
  ] as const) {
    const reading = readLenientJson(text)
    assert('problem' in reading, text)
    assert.match(reading.problem, problem, text.slice(0, 80))
  }
})
