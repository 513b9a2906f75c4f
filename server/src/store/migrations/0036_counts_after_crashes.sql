-- A sequence is logged 32 numbers ahead, which a crash made runs that never were. Without a log it begins anew after one, which
-- whoever reads totals knows from restarts. PostgreSQL 14 has no such sequences.
do $$
declare
  counted text;
begin
  if current_setting('server_version_num')::int < 150000 then
    return;
  end if;
  foreach counted in array array['created', 'attempts', 'lost', 'succeeded', 'failed', 'error', 'cancelled', 'delivered', 'undelivered'] loop
    execute format('alter sequence %I set unlogged', 'counted_' || counted);
  end loop;
end $$;
