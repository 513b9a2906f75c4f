-- The claim asks this no more of each run that it passes over.
drop function needs_agent(uuid, text[]);
