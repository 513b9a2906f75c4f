import { CheckField, SelectField, TextField } from '../ui/field.tsx'
import {
  type ChosenFormat,
  EVENT_TYPES,
  EVENTS,
  eventsOf,
  FORMATS,
  isMail,
  type WebhookForm,
} from './webhook-form.ts'

/** `is_new`: whose it is, is chosen once. */
export function WebhookFields({
  form,
  is_new,
  set,
}: {
  form: WebhookForm
  is_new: boolean
  set: (change: Partial<WebhookForm>) => void
}) {
  const events = eventsOf(form)
  return (
    <>
      <TextField
        label="Address"
        inputMode="url"
        spellCheck={false}
        required
        maxLength={2048}
        placeholder="https://example.com/hooks/runyard"
        hint="Or an e-mail address."
        value={form.url}
        onText={(url) => set({ url })}
      />
      {isMail(form.url) ? null : (
        <SelectField
          label="What is sent"
          value={form.format}
          onText={(format) => set({ format: format as ChosenFormat })}
        >
          {Object.entries(FORMATS).map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </SelectField>
      )}
      <TextField
        label="Description"
        maxLength={1024}
        value={form.description}
        onText={(description) => set({ description })}
      />
      <fieldset className="m-0 grid gap-1.5 border-0 p-0">
        <legend className="mb-1 p-0 font-medium text-sm">Sent when a run</legend>
        <div className="grid gap-x-4 gap-y-1.5 sm:grid-cols-2">
          {EVENT_TYPES.map((type) => (
            <CheckField
              key={type}
              label={
                <span>
                  {EVENTS[type]} <code className="text-soft text-xs">{type}</code>
                </span>
              }
              checked={events.includes(type)}
              onCheck={(is_on) =>
                set({ events: EVENT_TYPES.filter((each) => (each === type ? is_on : events.includes(each))) })
              }
            />
          ))}
        </div>
      </fieldset>
      {is_new ? (
        <CheckField
          label="Personal: of your own runs, personal ones too"
          checked={form.is_personal}
          onCheck={(is_personal) => set({ is_personal })}
        />
      ) : null}
    </>
  )
}

/** Whether all is there that has to be. */
export const isWhole = (form: WebhookForm): boolean => form.url.trim() !== '' && eventsOf(form).length > 0
