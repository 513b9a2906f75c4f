-- What runs produced elsewhere, so that a run is found by it: every address that it pushed to or reported, in the form that
-- addresses are compared by. Found by a hash, since an address may be longer than an index takes.
create table run_urls (
  url_hash bytea not null,
  run_id uuid not null references runs on delete cascade,
  url text not null,
  primary key (url_hash, run_id)
);

create index run_urls_run on run_urls (run_id);

-- As `comparableUrl` does it: host in lower case, no default port, no fragment, no slash at the end of the path.
with known as (
  select run_id, url from pushes union select run_id, url from run_references),
split as (
  select run_id, lower(substring(url from '^[A-Za-z]+://[^/?#]+')) as host,
    regexp_replace(regexp_replace(url, '^[A-Za-z]+://[^/?#]+', ''), '#.*$', '') as rest
  from known where url ~* '^https?://[^/?#]+'),
compared as (
  select distinct run_id, regexp_replace(regexp_replace(host, '^(https://.*):443$', '\1'), '^(http://.*):80$', '\1')
    || regexp_replace(regexp_replace(rest, '\?$', ''), '^([^?]*[^/?])?/+(\?.*)?$', '\1\2') as url
  from split)
insert into run_urls (url_hash, run_id, url) select sha256(convert_to(url, 'UTF8')), run_id, url from compared;
