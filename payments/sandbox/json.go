package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// decodeStrictly reads one JSON object that has no unknown fields and nothing after it.
func decodeStrictly(body []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.DisallowUnknownFields()
	return decodeObject(decoder, body, into)
}

// decodeTolerantly is decodeStrictly without minding unknown fields: a provider may add some.
func decodeTolerantly(body []byte, into any) error {
	return decodeObject(json.NewDecoder(bytes.NewReader(body)), body, into)
}

func decodeObject(decoder *json.Decoder, body []byte, into any) error {
	// null would decode into anything and change nothing.
	if trimmed := bytes.TrimLeft(body, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("it is not a JSON object")
	}
	if err := decoder.Decode(into); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows the JSON object")
	}
	return nil
}
