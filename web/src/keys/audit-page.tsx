import type { AuditEntry } from '@runyard/client'
import { Link, useNavigate, useSearch } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../client.ts'
import { plainText } from '../text/plain-text.ts'
import { Button, buttonClass } from '../ui/button.tsx'
import { SelectField, TextField } from '../ui/field.tsx'
import { Ago } from '../ui/moment.tsx'
import { PageHead } from '../ui/page-head.tsx'
import { PagedRows, usePages } from '../ui/paged-rows.tsx'
import { type AuditSearch, readAuditSearch, toAuditParams } from './audit-search.ts'
import { SOUGHT, sayDeed } from './audit-words.ts'
import { useKeyList } from './key-list.ts'

const PAGE = 100
/** Who did what, when and from where. For admins. */
export function AuditPage() {
  const { client, may_administer } = useAccess()
  const search = useSearch({ from: '/keys/audit', select: readAuditSearch })
  const pages = usePages<AuditEntry>(
    ['audit-log', search],
    async (cursor, options) => {
      const { entries, page_info } = await client.auditLog.list(
        { ...toAuditParams(search), limit: PAGE, ...cursor },
        options,
      )
      return { items: entries, page_info }
    },
    { enabled: may_administer },
  )
  return (
    <>
      <PageHead title="Audit log">
        <Link to="/keys" className={buttonClass()}>
          Access
        </Link>
      </PageHead>
      {may_administer ? (
        <>
          <Filters key={JSON.stringify(search)} search={search} />
          <PagedRows
            pages={pages}
            label="Audit log"
            more="Older entries"
            empty={
              <p className="text-soft">
                Nothing like this was done.{' '}
                <Link to="/keys/audit" search={{}}>
                  Show all
                </Link>
              </p>
            }
          >
            {(entry) => <EntryRow key={entry.entry_id} entry={entry} />}
          </PagedRows>
        </>
      ) : (
        <p className="text-soft">Only admins read the audit log.</p>
      )}
    </>
  )
}

/** All of them are in the address, which can be shared. */
function Filters({ search }: { search: AuditSearch }) {
  const navigate = useNavigate({ from: '/keys/audit' })
  const { items: keys = [] } = useKeyList()
  const [action, setAction] = useState(search.action ?? '')
  const [target, setTarget] = useState(search.target ?? '')
  const people = new Map(
    keys.map(({ principal }) => [principal.uid, principal.display_name ?? principal.uid]),
  )
  if (search.who && !people.has(search.who)) people.set(search.who, search.who)
  const show = (change: { who?: string; days?: string }) => {
    const { who = search.who, days = search.days } = change
    const next = Object.entries({ action: action.trim(), target: target.trim(), who, days: Number(days) })
    navigate({ search: Object.fromEntries(next.filter(([, value]) => value)) })
  }
  return (
    <search>
      <form
        className="mb-4 grid items-end gap-3 sm:grid-cols-2 lg:grid-cols-[1fr_1fr_1fr_1fr_auto]"
        onSubmit={(event) => {
          event.preventDefault()
          show({})
        }}
      >
        <TextField
          label="What was done"
          list="actions"
          placeholder="createApiKey"
          value={action}
          onText={setAction}
        />
        <TextField label="To what" placeholder="Its id or name" value={target} onText={setTarget} />
        <SelectField label="By whom" value={search.who ?? ''} onText={(who) => show({ who })}>
          <option value="">Anybody</option>
          {[...people].map(([uid, name]) => (
            <option key={uid} value={uid}>
              {plainText(name)}
            </option>
          ))}
        </SelectField>
        <SelectField label="When" value={search.days ?? ''} onText={(days) => show({ days: days || '0' })}>
          <option value="">At any time</option>
          <option value="1">Today</option>
          <option value="7">Last 7 days</option>
          <option value="30">Last 30 days</option>
        </SelectField>
        <Button type="submit" className="min-h-10">
          Show
        </Button>
        <datalist id="actions">
          {SOUGHT.map(([action, deed]) => (
            <option key={action} value={action}>
              {deed}
            </option>
          ))}
        </datalist>
      </form>
    </search>
  )
}

const VIAS = { http: '', command_line: 'on the machine', worker: 'by a worker', service: 'by the service' }

function EntryRow({ entry }: { entry: AuditEntry }) {
  const { occurred_at, action, target, via, principal_id, principal_name, role, address, status, detail } =
    entry
  const is_denied = status !== undefined && status >= 400
  const said = sayDeed(action, is_denied)
  const nobody =
    action === 'POST /web/visits' || detail?.includes('visit ')
      ? 'a visitor'
      : via === 'http'
        ? 'somebody unknown'
        : ''
  const who = plainText(principal_name ?? principal_id ?? nobody)
  const facts = [role, VIAS[via], address ? `from ${address}` : '', detail].filter(Boolean).join(' · ')
  return (
    <li className="grid gap-0.5 py-2.5 text-sm">
      <div className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-3">
        <span className="flex flex-wrap items-baseline gap-x-3">
          {said ? <span className="font-medium">{said}</span> : null}
          <code className={`wrap-anywhere ${said ? 'text-soft text-xs' : 'font-medium'}`}>
            {plainText(action)}
          </code>
          {is_denied ? <span className="font-medium text-bad">refused, {status}</span> : null}
        </span>
        <span className="text-soft">
          <Ago at={occurred_at} />
        </span>
      </div>
      {target ? <code className="text-soft text-xs wrap-anywhere">{plainText(target)}</code> : null}
      <span className="text-soft wrap-anywhere">
        {principal_id ? (
          <Link to="/keys/audit" search={{ who: principal_id }}>
            {who}
          </Link>
        ) : (
          who
        )}
        {facts ? `${who ? ' · ' : ''}${plainText(facts)}` : ''}
      </span>
    </li>
  )
}
