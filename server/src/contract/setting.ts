import { z } from 'zod'

export const Setting = z
  .object({
    name: z.string().meta({ description: 'Of the environment variable.' }),
    value: z.string().nullable().meta({
      description:
        '`null` where it is not set, and of secrets. Addresses are without user, password and query.',
    }),
    is_set: z.boolean(),
    is_secret: z.boolean().meta({ description: 'Its value is never shown.' }),
    source: z.enum(['default', 'environment', 'flag']).meta({ description: 'Where the value comes from.' }),
    default: z.string().meta({ description: 'What counts where it is not set, in words.' }),
    meaning: z.string().meta({ description: 'What it does.' }),
  })
  .meta({ id: 'Setting', description: 'A setting of the process that answers.' })
export type Setting = z.infer<typeof Setting>

export const ListSettingsResponse = z
  .object({ version: z.string().meta({ description: 'Of the service.' }), settings: z.array(Setting) })
  .meta({ id: 'ListSettingsResponse' })
