-- What the pushed commit holds, so that another run with the same result finds the pull request that is open for it.
alter table pushes add column tree text;

create index pushes_tree on pushes (repository, tree) where pull_request is not null and tree is not null;
