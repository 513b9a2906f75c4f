-- What providers count adds up beyond an int. Another type rewrites the table.
alter table runs alter column input_tokens type bigint, alter column output_tokens type bigint;

-- A name that no file system takes was accepted, and its run could never begin again. The folder's name takes 12 bytes.
update attachments set path = 'attachments/' || attachment_id where octet_length(path) > 12 + 255;
