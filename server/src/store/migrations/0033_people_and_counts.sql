-- The keys of one principal, newest last: few, however many there are.
create index api_keys_principal on api_keys (principal_id, key_id);

-- What has happened since this migration, for /metrics. Sequences count without a lock that many transactions would wait for, and
-- nothing has to be scanned. One that is rolled back stays counted.
create sequence counted_created;

create sequence counted_attempts;

create sequence counted_lost;

create sequence counted_succeeded;

create sequence counted_failed;

create sequence counted_error;

create sequence counted_cancelled;

create sequence counted_delivered;

create sequence counted_undelivered;

create function count_run() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    perform nextval('counted_created');
    return null;
  end if;
  if new.attempt > old.attempt then
    perform nextval('counted_attempts');
  end if;
  if new.lost_attempts > old.lost_attempts then
    perform nextval('counted_lost');
  end if;
  if new.state <> old.state and new.state in ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED') then
    perform nextval('counted_' || lower(new.state));
  end if;
  return null;
end $$;

create trigger runs_counted after insert or update of state on runs for each row execute function count_run();

create function count_delivery() returns trigger language plpgsql as $$
begin
  perform nextval(case new.status when 'delivered' then 'counted_delivered' else 'counted_undelivered' end);
  return null;
end $$;

create trigger webhook_deliveries_counted after update of status on webhook_deliveries for each row
  when (new.status <> old.status and new.status <> 'pending') execute function count_delivery();
