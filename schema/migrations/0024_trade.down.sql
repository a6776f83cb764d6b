DROP TABLE IF EXISTS trade_calendar_nights;
DROP TABLE IF EXISTS trade_messages;
DROP TABLE IF EXISTS trade_room_types;
DROP TABLE IF EXISTS trade_hotels;
