-- Pages of the log are limited in bytes. The database works the size out, so no insert can forget it, and a page is measured
-- without reading the data of rows beyond it. Adding the column rewrites the table: the log cannot be used meanwhile.
alter table events add column bytes int not null generated always as (octet_length(data::text)) stored;
