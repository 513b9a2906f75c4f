import type { Setting } from '@runyard/client'
import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { countOf } from '../text/format.ts'
import { plainText } from '../text/plain-text.ts'
import { CheckField, TextField } from '../ui/field.tsx'
import { PageHead, Rows } from '../ui/page-head.tsx'
import { Problem } from '../ui/problem.tsx'

/** How the service is set up, for admins: what is set, from where, and what it does. */
export function SettingsPage() {
  const { client, may_administer } = useAccess()
  const [text, setText] = useState('')
  const [only_set, setOnlySet] = useState(false)
  const { data, error, isPending, refetch } = useQuery({
    queryKey: ['settings'],
    queryFn: ({ signal }) => client.settings.list({ signal }),
    enabled: may_administer,
  })
  if (!may_administer)
    return (
      <>
        <PageHead title="Settings" />
        <p className="text-soft">Only admins can see the settings of the service.</p>
      </>
    )
  const wanted = text.trim().toLowerCase()
  const shown = data?.settings.filter(
    ({ name, meaning, is_set }) =>
      (is_set || !only_set) && `${name} ${meaning}`.toLowerCase().includes(wanted),
  )
  return (
    <>
      <PageHead title="Settings" />
      <p className="mt-0 mb-4 max-w-2xl text-sm text-soft">
        Settings of the service that answers{data ? `, version ${data.version}` : ''}; a worker on another
        machine has its own. Change them as environment variables and restart. Values of secrets are never
        shown.
      </p>
      {error ? <Problem error={error} onRetry={() => refetch()} /> : null}
      {isPending ? <p className="text-soft">Loading…</p> : null}
      {shown ? (
        <>
          <div className="mb-4 grid max-w-md gap-3">
            <TextField label="Search" type="search" value={text} onText={setText} />
            <CheckField label="Only what is set" checked={only_set} onCheck={setOnlySet} />
          </div>
          <p role="status" className="mt-0 mb-2 text-sm text-soft">
            {shown.length === 0 ? 'No setting matches.' : countOf(shown.length, 'setting')}
          </p>
          {shown.length > 0 ? (
            <Rows label="Settings">
              {shown.map((setting) => (
                <SettingRow key={setting.name} setting={setting} />
              ))}
            </Rows>
          ) : null}
        </>
      ) : null}
    </>
  )
}

const SOURCES: Record<Setting['source'], string> = {
  default: 'default',
  environment: 'environment variable',
  flag: 'flag',
}

function SettingRow({
  setting: { name, value, is_set, source, default: usual, meaning },
}: {
  setting: Setting
}) {
  const shown = value ?? (is_set ? 'set' : usual || 'not set')
  return (
    <li className="grid grid-cols-[minmax(0,1fr)] gap-1 py-3 text-sm">
      <span className="flex flex-wrap items-baseline gap-x-4 gap-y-1">
        <code className="wrap-anywhere">{name}</code>
        <span className={`min-w-0 wrap-anywhere ${is_set ? 'font-semibold' : 'text-soft'}`}>
          {plainText(shown)}
        </span>
        <span className="ml-auto text-soft">{SOURCES[source] ?? source}</span>
      </span>
      <span className="max-w-3xl text-soft wrap-anywhere first-letter:uppercase">{meaning}</span>
    </li>
  )
}
