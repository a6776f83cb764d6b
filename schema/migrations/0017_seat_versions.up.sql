-- What a show's map says changes with each write of a seat. A write raises version, by one or to the time in
-- seconds, whichever is more, so that the sum over a show's seats is the version of its map: the same
-- number in every process that reads the same state, and a larger one after any change. It costs a
-- write nothing more than eight bytes of the row that it writes anyway, and no row that buyers of
-- different seats share.

ALTER TABLE IF EXISTS show_seats ADD COLUMN IF NOT EXISTS version bigint NOT NULL DEFAULT 1;

ALTER TABLE IF EXISTS past_show_seats ADD COLUMN IF NOT EXISTS version bigint NOT NULL DEFAULT 1;
