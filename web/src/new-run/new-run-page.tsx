import type { RunItem } from '@runyard/client'
import { useMutation, useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { Tabs } from 'radix-ui'
import { type KeyboardEvent, useEffect, useMemo, useState } from 'react'
import { BASE_PATH, BASE_URL, useAccess } from '../client.ts'
import { useIdentityChoices } from '../keys/identity-queries.ts'
import { runQuery } from '../run/run-queries.ts'
import { plainText } from '../text/plain-text.ts'
import { Button } from '../ui/button.tsx'
import { CopyBlock } from '../ui/copy-block.tsx'
import { AreaField } from '../ui/field.tsx'
import { FileButton, FileChips } from '../ui/file-picker.tsx'
import { Problem } from '../ui/problem.tsx'
import { readAttachment } from '../ui/read-attachment.ts'
import { AgentFields, SkillField } from './agent-fields.tsx'
import { useChoices } from './choices.ts'
import { readLastPlace, writeLastPlace } from './last-place.ts'
import { MoreFields } from './more-fields.tsx'
import { readOrigin, splitRepository } from './origin-search.ts'
import { PlaceChoice } from './place-choice.tsx'
import { type SampleLanguage, writeSamples } from './request-samples.ts'
import { buildRequest, EMPTY_FORM, formOf, isWhole, type Origin, type RunForm } from './run-form.ts'

const KEY = `runyard.last-place ${BASE_PATH}`

/** Stored in this browser, which may refuse to. */
function readStored() {
  try {
    return readLastPlace(localStorage.getItem(KEY))
  } catch {
    return readLastPlace(null)
  }
}

function store(form: RunForm): void {
  try {
    localStorage.setItem(KEY, writeLastPlace(form))
  } catch {
    // The next form is then empty.
  }
}

/** Where a run is asked for: anew, again with changes, or from the end of another one. */
export function NewRunPage() {
  const {
    replay,
    fork,
    sequence,
    environment = '',
    skill = '',
    identity = '',
    prompt = '',
    repo = '',
  } = useSearch({
    from: '/new',
    select: readOrigin,
  })
  const { client } = useAccess()
  const run_id = replay ?? fork
  const { data: run, error } = useQuery({ ...runQuery(client, run_id ?? ''), enabled: run_id !== undefined })
  if (run_id === undefined)
    return (
      <Form
        key={[environment, skill, identity, prompt, repo].join('\n')}
        origin={undefined}
        start={{
          ...EMPTY_FORM,
          ...(identity ? {} : readStored()),
          // What an address names counts, and not where the last run was.
          ...(environment || repo ? { environment, ...splitRepository(repo) } : {}),
          ...{ skill, identity, prompt },
        }}
      />
    )
  if (error) return <Problem error={error} />
  if (!run) return null
  const origin = replay ? ({ kind: 'replay', run } as const) : ({ kind: 'fork', run, sequence } as const)
  return <Form key={run_id} origin={origin} start={formOf(origin)} />
}

/** What the code says as long as the form says nothing. */
const SAMPLE_REQUEST = { prompt: 'Say hello.' }

const TITLES = { replay: 'Retry with changes', fork: 'Fork' } as const

function Form({ origin, start }: { origin: Origin; start: RunForm }) {
  const { client } = useAccess()
  const navigate = useNavigate()
  const [form, setForm] = useState<RunForm>(start)
  const [files, setFiles] = useState<File[]>([])
  const request = useMemo(() => buildRequest(form, origin), [form, origin])
  const title = origin ? TITLES[origin.kind] : 'New run'
  useEffect(() => {
    document.title = `${title} · Runyard`
  }, [title])
  const create = useMutation({
    mutationFn: async () => {
      const attachments = await Promise.all(files.map(readAttachment))
      return client.runs.create({ ...request, ...(attachments.length > 0 ? { attachments } : {}) })
    },
    onSuccess: ({ run_id }) => {
      if (!origin) store(form)
      return navigate({ to: '/sessions/$run_id', params: { run_id } })
    },
  })
  const set = (change: Partial<RunForm>) => setForm((now) => ({ ...now, ...change }))
  const { all } = useIdentityChoices()
  // An address may name the environment as people do.
  const { environments } = useChoices()
  const named = environments.find(({ uid, name }) => name === form.environment && uid !== name)?.uid
  useEffect(() => {
    if (named) setForm((now) => ({ ...now, environment: named }))
  }, [named])
  const chosen = all.find(({ uid }) => uid === form.identity)
  const can_create = isWhole(form)
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || !(event.metaKey || event.ctrlKey) || event.nativeEvent.isComposing) return
    event.preventDefault()
    if (can_create && !create.isPending) create.mutate()
  }
  return (
    <>
      <h1 className="m-0 pt-6 pb-1 font-semibold text-xl">{title}</h1>
      <Before origin={origin} />
      <div className="mt-4 grid gap-x-10 gap-y-8 lg:grid-cols-[minmax(0,1fr)_26rem]">
        <form
          className="grid content-start gap-4"
          onSubmit={(event) => {
            event.preventDefault()
            create.mutate()
          }}
        >
          <PlaceChoice
            form={form}
            set={set}
            otherwise={
              origin
                ? 'As it was'
                : chosen?.environment_id
                  ? `As ${plainText(chosen.name)} has it`
                  : 'None: a repository, or an empty sandbox'
            }
          />
          <AreaField
            label="Prompt"
            hint="Markdown. With the agent “runbook”, its shell blocks are run as they stand."
            autoFocus
            rows={7}
            look="min-h-40 resize-y"
            placeholder={origin?.kind === 'fork' ? 'What it is to do next' : 'What the agent is to do'}
            value={form.prompt}
            onText={(prompt) => set({ prompt })}
            onKeyDown={onKeyDown}
          />
          <div className="grid gap-4 sm:grid-cols-2">
            <AgentFields
              form={form}
              set={set}
              as_before={origin !== undefined}
              identity={chosen}
              has_place={false}
            />
            <SkillField value={form.skill} onText={(skill) => set({ skill })} />
          </div>
          <div className="grid gap-2">
            <FileChips files={files} onFiles={setFiles} />
            <div>
              <FileButton files={files} onFiles={setFiles} label="Attach files" />
            </div>
          </div>
          <MoreFields form={form} set={set} origin={origin} />
          {create.error ? <Problem error={create.error} /> : null}
          <div>
            <Button
              kind="primary"
              type="submit"
              disabled={!can_create || create.isPending}
              title="Ctrl + Enter"
            >
              {create.isPending ? 'Starting…' : 'Start the run'}
            </Button>
          </div>
        </form>
        <Samples
          samples={writeSamples(Object.keys(request).length > 0 ? request : SAMPLE_REQUEST, BASE_URL.href)}
        />
      </div>
    </>
  )
}

function Before({ origin }: { origin: Origin }) {
  if (!origin) return null
  const { kind, run } = origin
  return (
    <p className="m-0 text-base text-soft">
      {kind === 'fork'
        ? origin.sequence === undefined
          ? 'Goes on from the end of '
          : 'Goes on from a turn of '
        : 'Does it again, but for what you change: '}
      <RunLink run={run} />
      {kind === 'fork' ? ', with its conversation and its workspace. That run stays as it is.' : ''}
    </p>
  )
}

const RunLink = ({ run }: { run: RunItem }) => (
  <Link to="/sessions/$run_id" params={{ run_id: run.run_id }}>
    {plainText(run.title)}
  </Link>
)

function Samples({ samples }: { samples: Record<SampleLanguage, string> }) {
  const languages = Object.keys(samples) as SampleLanguage[]
  return (
    <section aria-label="The same request as code" className="min-w-0">
      <h2 className="m-0 mb-2 font-semibold text-base">The same as code</h2>
      <Tabs.Root defaultValue="curl">
        <Tabs.List aria-label="Language" className="mb-2 flex gap-1">
          {languages.map((language) => (
            <Tabs.Trigger
              key={language}
              value={language}
              className="rounded-md px-2.5 py-1 text-sm text-soft hover:text-ink data-[state=active]:bg-ink/7 data-[state=active]:text-ink"
            >
              {language}
            </Tabs.Trigger>
          ))}
        </Tabs.List>
        {languages.map((language) => (
          <Tabs.Content key={language} value={language}>
            <CopyBlock text={samples[language]} />
          </Tabs.Content>
        ))}
      </Tabs.Root>
    </section>
  )
}
