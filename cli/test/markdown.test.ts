import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createColors } from '../src/colors.ts'
import { readEdit } from '../src/edit-diff.ts'
import { MarkdownWriter, renderMarkdown } from '../src/markdown.ts'
import { formatPlan, pinPlan, readPlan } from '../src/plan-view.ts'
import { widthOf } from '../src/table.ts'

const plain = createColors(false)
const at = (columns: number) => ({ colors: plain, columns: () => columns })
const TEXT = `# What I found

The **sum** of \`1 + 2\` was *wrong*, because \`sum.js\` subtracts. It is a snake_case_name, 2*3*4 and a ** that opens nothing.

- One thing that is so long that it has to go on in the next line of a narrow terminal
  1. nested
- [ ] to do
- [x] done

> A quotation that goes on for longer than the terminal is wide.

\`\`\`js
export const add = (a, b) =>   a + b // **not bold** and longer than any terminal
\`\`\`
---
| File | What |
|------|------|
| sum.js | \`add\` |
| README.md | words |

The end`

test('markdown is text of a terminal, with no word broken', () => {
  assert.equal(
    renderMarkdown(TEXT, at(41)),
    `What I found

The sum of 1 + 2 was wrong, because
sum.js subtracts. It is a
snake_case_name, 2*3*4 and a ** that
opens nothing.

• One thing that is so long that it has
  to go on in the next line of a narrow
  terminal
  1. nested
☐ to do
☑ done

│ A quotation that goes on for longer
│ than the terminal is wide.

  export const add = (a, b) =>   a + b // **not bold** and longer than any terminal
────────────────────────────────────────
File       What
sum.js     add
README.md  words

The end`,
  )
})

test('it is the same in whatever pieces it comes', () => {
  for (const size of [1, 2, 3, 7, 50]) {
    const writer = new MarkdownWriter(at(41))
    let written = ''
    for (let from = 0; from < TEXT.length; from += size) written += writer.push(TEXT.slice(from, from + size))
    assert.equal(written + writer.end(), renderMarkdown(TEXT, at(41)), `pieces of ${size}`)
  }
})

test('a word is written when it is whole, not when its line is', () => {
  const writer = new MarkdownWriter(at(80))
  assert.equal(writer.push('Half a sen'), 'Half a')
  assert.equal(writer.push('tence'), '')
  assert.equal(writer.push(' goes'), ' sentence')
  assert.equal(writer.end(), ' goes')
})

test('whatever it is made of, nothing is lost and it ends in time', () => {
  const odd = [
    '```',
    '|',
    '| a',
    '**',
    '`',
    '- ',
    '1.',
    '> ',
    '#',
    '\n\n\n',
    '* * *',
    '~~~\n~~~',
    '漢字'.repeat(60),
  ]
  for (const text of [...odd, odd.join(' '), odd.join('\n'), `${'*'.repeat(50_000)}x`, '| '.repeat(20_000)])
    renderMarkdown(text, at(30))
  const wide = renderMarkdown(`${'漢字 '.repeat(30)}`, at(30))
  for (const line of wide.split('\n')) assert(widthOf(line) < 30, line)
  assert.equal(renderMarkdown('a\n\n\n```\nb\n```\n\n', at(30)), 'a\n\n\n  b')
  assert.equal(renderMarkdown('<b>as it is</b> [a](b)', at(80)), '<b>as it is</b> [a](b)')
})

test('code, bold and italic are painted', () => {
  const colors = createColors(true)
  const painted = renderMarkdown('**a** `b` *c*', { colors, columns: () => 80 })
  assert.equal(painted, `${colors.bold('a')} ${colors.cyan('b')} ${colors.italic('c')}`)
})

test('an edit is what it takes away and what it puts there, in the words of any agent', () => {
  const edit = (input: Record<string, unknown>, name = 'edit') =>
    readEdit({ name, input }).map(({ sign, text }) => sign + text)
  const [old_text, new_text] = ['a\nb\nc\n', 'a\nB\nc\n']
  assert.deepEqual(edit({ path: 'x', old_text, new_text }), ['-b', '+B'])
  assert.deepEqual(
    edit({
      edits: [
        { old_text: 'a', new_text: 'b' },
        { old_text: 'c', new_text: '' },
      ],
    }),
    ['-a', '+b', '-c'],
  )
  assert.deepEqual(edit({ file_path: 'x', old_string: 'a', new_string: 'a\nb' }, 'Edit'), ['+b'])
  assert.deepEqual(edit({ filePath: 'x', oldString: 'a', newString: 'b' }), ['-a', '+b'])
  assert.deepEqual(edit({ path: 'x', content: 'a\nb\n' }, 'write'), ['+a', '+b'])
  assert.deepEqual(edit({ content: 'a' }, 'bash'), [])
  assert.deepEqual(edit({ edits: [null, 5, {}], old_text: 5 }), [])
})

test('a plan is a checklist, of which a narrow place shows what is under way', () => {
  const steps = readPlan({
    name: 'plan',
    input: {
      steps: [
        ...Array.from({ length: 20 }, (_, n) => ({ step: `Step ${n}`, status: n < 10 ? 'done' : 'pending' })),
        { step: 'now', status: 'in_progress' },
        { step: 5 },
      ],
    },
  })
  assert(steps)
  assert.equal(steps.length, 21)
  const output = { colors: plain, columns: () => 60, rows: () => 24, clean: (text: string) => text }
  const all = formatPlan(steps, output as Parameters<typeof formatPlan>[1])
  assert.deepEqual([all[0], all[10], all[20]], ['☑ Step 0', '☐ Step 10', '▸ now'])
  const pinned = pinPlan(steps, output as Parameters<typeof pinPlan>[1])
  assert.deepEqual([pinned[0], pinned.length, pinned.at(-1)], ['Plan: 10 of 21 done', 9, '▸ now'])
  assert.equal(readPlan({ name: 'plan', input: { steps: 'x' } }), null)
  assert.equal(readPlan({ name: 'bash', input: { steps: [] } }), null)
})
