import type { NewEvent } from '../contract/event.ts'
import type { Harness, Session } from '../harness/harness.ts'
import type { ToolServices } from '../harness/tool-services.ts'
import { closeContext } from '../log/context.ts'
import type { RunRow } from '../store/runs.ts'
import type { Budget } from './budget.ts'
import type { WorkerContext } from './context.ts'
import { noteFailedSetup } from './debug-turn.ts'
import type { EventWriter } from './event-writer.ts'
import type { FencedStore } from './fenced-store.ts'
import { pushableOf } from './git-plan.ts'
import type { Workspace } from './prepare.ts'
import { RunChildren } from './run-children.ts'
import { RunKeeper } from './run-keeper.ts'
import type { RunSkills } from './run-skills.ts'
import { noteShallowClones } from './shallow-clones.ts'
import { turnRunOf } from './turn.ts'
import { rulesOf } from './unsupported.ts'
import type { WayOut } from './way-out.ts'

interface Surroundings {
  context: WorkerContext
  store: FencedStore
  way_out: WayOut
  writer: EventWriter
  emit: (...events: NewEvent[]) => Promise<void>
  affords: Budget['affords']
  /** Of the turn that is being taken. */
  turn: () => AbortSignal
  /** Of the session. */
  signal: AbortSignal
}

/** Opens the harness in a prepared workspace, with all that it may see of the run and do to it. */
export async function openSession(
  harness: Harness,
  run: RunRow,
  workspace: Workspace & RunSkills,
  { context, store, way_out, writer, emit, affords, turn, signal }: Surroundings,
): Promise<Session> {
  const { sandbox, cwd, values, models, skill, skills, attached_skills, guides } = workspace
  const can_push = pushableOf(workspace).length > 0
  const workspace_notes = [
    ...(run.debug === null ? [] : [noteFailedSetup(run.status_message?.message)]),
    ...(await noteShallowClones(workspace)),
  ]
  let kept = run.harness_state
  const { spawnRun } = context.plane
  const services: ToolServices = {
    ...(can_push ? { push: (request) => way_out.push(workspace, request, turn()) } : {}),
    ...way_out.reachPages(workspace.hosts),
    keeper: new RunKeeper({
      ...{ context, store, sandbox, masked: writer.masked },
      drain: () => writer.drain(),
    }),
    ...(spawnRun
      ? { children: new RunChildren({ context, store, run, masked: writer.masked, spawnRun }) }
      : {}),
  }
  return harness.open({
    run: turnRunOf(run, store.lease.attempt, cwd),
    context: closeContext(
      await store.readContext(run),
      run.fork_of?.with_workspace ? run.fork_of.run_id : undefined,
    ),
    sandbox,
    tools: new Map([...context.tools].filter(([, { needs }]) => !needs || services[needs])),
    tool_servers: way_out.reachServers(workspace.tool_servers, workspace.tool_hosts),
    permissions: [...rulesOf(run), workspace.environment?.config.permissions ?? []],
    ...{ values, skills, attached_skills, guides, workspace_notes, ...(skill ? { skill } : {}) },
    ...(harness.runs_inside && models ? { models: models.gate, model_calls: way_out.calls } : {}),
    ...services,
    mask: (text) => writer.masked.text(text),
    maskStream: () => writer.masked.stream(),
    state: {
      read: () => kept,
      write: async (state) => {
        await store.writeHarnessState(state)
        kept = state
      },
    },
    emit,
    affords,
    delta: (message_id, text) => writer.delta(message_id, text),
    signal,
  })
}
