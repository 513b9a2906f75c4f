-- A test of a webhook is a delivery about no run.
alter table webhook_deliveries alter column run_id drop not null;
