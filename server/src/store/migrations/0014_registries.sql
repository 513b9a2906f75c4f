-- Of a secret that is the password of a registry of images.
alter table secrets add column registry jsonb;
