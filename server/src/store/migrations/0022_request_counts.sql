-- Requests of each key in its current minute, as rate-limiter-flexible counts them. Unlogged: a count that a crash of the
-- database takes along is no loss, and so a request costs no write to disk. Every request rewrites a row, in place.
create unlogged table request_counts (
  key varchar(255) primary key,
  points int not null default 0,
  -- Milliseconds since 1970.
  expire bigint
) with (fillfactor = 50);
