-- Who had a schedule run at once; null: it was due. Such a firing's `due_at` is when it was asked for, never a whole second:
-- those are for the times of the cron expression.
alter table schedule_firings add column asked_by uuid references principals;
