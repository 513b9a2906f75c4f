-- A run may be claimed for longer than an int has milliseconds, which is 24.8 days.
alter table runs alter column run_time_ms type bigint;

-- An interrupt stops what the log holds up to this sequence. It waits on the row until an attempt has stopped its turn,
-- whichever attempt that is; no message is delivered before.
alter table runs add column interrupt_sequence int;

update runs set interrupt_sequence = last_sequence where interrupt_attempt is not null;

alter table runs drop column interrupt_attempt;

-- What a harness keeps between its sessions: an agent's session id, what it acknowledged.
alter table runs add column harness_state jsonb;

-- A worker that is stopping has no head start for the runs whose workspace it keeps, and neither has one without disk.
alter table workers add column draining boolean not null default false;

alter table workers add column disk_full boolean not null default false;
