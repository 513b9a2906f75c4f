import type { TriggerDelivery } from '@runyard/client'

const OUTCOMES: Record<TriggerDelivery['outcome'], { label: string; tone: string }> = {
  run_started: { label: 'Started a run', tone: 'text-good' },
  followup_sent: { label: 'Sent to a run', tone: 'text-good' },
  filtered: { label: 'Filtered out', tone: 'text-soft' },
  waiting: { label: 'Waiting', tone: 'text-soft' },
  failed: { label: 'Refused', tone: 'text-bad' },
}

/** What a delivery did, in words and a colour. */
export const lookOfOutcome = (outcome: TriggerDelivery['outcome']): { label: string; tone: string } =>
  OUTCOMES[outcome] ?? { label: outcome, tone: 'text-soft' }
