DROP TABLE IF EXISTS waiting_entries;
DROP TABLE IF EXISTS waiting_lists;
