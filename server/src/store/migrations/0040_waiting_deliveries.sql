-- waiting: a refusal that passes, such as a full quota. It is tried again for a day.
alter table trigger_deliveries drop constraint trigger_deliveries_outcome_check;

alter table trigger_deliveries add constraint trigger_deliveries_outcome_check
  check (outcome in ('run_started', 'followup_sent', 'filtered', 'failed', 'waiting'));

create index trigger_deliveries_waiting on trigger_deliveries (trigger_id, delivery_id) where outcome = 'waiting';
