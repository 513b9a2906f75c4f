import type { Tool } from '../harness.ts'
import { askUser } from './ask-user.ts'
import { attachArtifact } from './attach-artifact.ts'
import { killBackground, readBackground } from './background.ts'
import { bash } from './bash.ts'
import { edit } from './edit.ts'
import { fetchUrl } from './fetch-url.ts'
import { glob } from './glob.ts'
import { grep } from './grep.ts'
import { list } from './list.ts'
import { openPullRequest } from './open-pull-request.ts'
import { plan } from './plan.ts'
import { read } from './read.ts'
import { readRun } from './read-run.ts'
import { reportReference } from './report-reference.ts'
import { spawnRun } from './spawn-run.ts'
import { write } from './write.ts'

/** What every agent of ours can do. An execution's set is handed to it: this one, and what its run brings along. */
export const TOOLS: ReadonlyMap<string, Tool> = new Map(
  [
    ...[bash, readBackground, killBackground, read, write, edit, glob, grep, list],
    ...[fetchUrl, plan, attachArtifact, reportReference, spawnRun, readRun, askUser, openPullRequest],
  ].map((tool) => [tool.name, tool]),
)
