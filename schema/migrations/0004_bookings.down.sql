DROP TABLE IF EXISTS outbox_events;
DROP TABLE IF EXISTS booking_lines;
DROP TABLE IF EXISTS bookings;
